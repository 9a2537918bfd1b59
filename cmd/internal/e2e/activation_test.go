// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// spelt are activations as exporters write them, from %c to %a.
var spelt = map[string]string{
	"SiLU": `%s = Sigmoid(%c)
  %a = Mul(%c, %s)`,
	"GELU": `const %root : f32[] = {1.4142135}
  const %one : f32[] = {1}
  const %half : f32[] = {0.5}
  %d = Div(%c, %root)
  %e = Erf(%d)
  %p = Add(%e, %one)
  %m = Mul(%c, %p)
  %a = Mul(%m, %half)`,
	"GELU by sigmoid": `const %slope : f32[] = {1.702}
  %d = Mul(%c, %slope)
  %s = Sigmoid(%d)
  %a = Mul(%c, %s)`,
	"HardSwish": `const %three : f32[] = {3}
  const %six : f32[] = {6}
  const %zero : f32[] = {0}
  %d = Add(%c, %three)
  %l = Clip(%d, %zero, %six)
  %m = Mul(%c, %l)
  %a = Div(%m, %six)`,
	"Mish": `%s = Softplus(%c)
  %t = Tanh(%s)
  %a = Mul(%c, %t)`,
	"a diamond that has no name": `%s = Sigmoid(%c)
  %t = Tanh(%s)
  %u = Mul(%t, %c)
  %v = Sub(%u, %s)
  %a = Mul(%v, %v)`,
}

// oneLetter are the values of an activation; its constants have longer names.
var oneLetter = regexp.MustCompile(`%([a-z])\b`)

// activated is a network of two convolutions with the activation behind each,
// plain or with a residual addition around the second.
func activated(t *testing.T, activation string, residual bool) *ir.Graph {
	second := oneLetter.ReplaceAllString(strings.ReplaceAll(activation, "%a", "%y"), "%${1}2")
	second = strings.ReplaceAll(second, "%y2", "%y")
	var body []string
	for _, line := range strings.Split(second, "\n") {
		if !strings.Contains(line, "const") { // shared with the first
			body = append(body, line)
		}
	}
	last, out := "", "%y"
	if residual {
		last, out = "  %z = Add(%y, %a)\n", "%z"
	}
	return irtest.Parse(t, fmt.Sprintf(`graph "g" {
  in %%x : f32[1,5,9,9]
  const %%w : f32[8,5,1,1] = rand 1
  const %%b : f32[8] = rand 2
  const %%w2 : f32[8,8,3,3] = rand 3
  const %%b2 : f32[8] = rand 4
  %%c = Conv(%%x, %%w, %%b)
  %s
  %%c2 = Conv(%%a, %%w2, %%b2) {pads=[1,1,1,1]}
%s
%s  out "y" = %s
}`, activation, strings.Join(body, "\n"), last, out))
}

// TestActivationsInStore: an int8 activation, however it is spelt, is one table
// that the convolution before it applies where it stores; with --fuse off the
// results are the same.
func TestActivationsInStore(t *testing.T) {
	for name, text := range spelt {
		for _, residual := range []bool{false, true} {
			c := driver.Defaults()
			c.Board, c.Name = "cortex-m55", "net"
			o := compileNet(t, activated(t, text, residual), &c)
			var ops []string
			for i, n := range o.Lowered.Schedule.Nodes {
				if n.Op != op.Relayout {
					ops = append(ops, o.Report.Layers[i].Op)
				}
			}
			most := 2
			if residual {
				most = 3
			}
			if len(ops) > most ||
				slices.ContainsFunc(ops[:2], func(s string) bool { return !strings.HasPrefix(s, "Conv+") }) {
				t.Errorf("%s, residual %v: steps %v, want convolutions with their activations\n%s", name, residual, ops,
					o.Explain())
			}
			off := c
			off.Fuse = false
			sameResults(t, name, o, compileNet(t, activated(t, text, residual), &off))
		}
	}
}

// sameResults compares two programs on seeded inputs.
func sameResults(t *testing.T, name string, a, b *driver.Compiled) {
	t.Helper()
	for seed := range uint64(3) {
		in := irtest.Inputs(a.Lowered.Graph, seed)
		x, err := interp.Run(a.Lowered.Graph, in, nil)
		require(t, err)
		y, err := interp.Run(b.Lowered.Graph, in, nil)
		require(t, err)
		for i := range x {
			if !tensor.Equal(x[i], y[i]) {
				t.Errorf("%s: output %d differs without fusion", name, i)
			}
		}
	}
}

// TestSharedActivations: every SiLU of a network of them is in the store of
// the convolution that it belongs to.
func TestSharedActivations(t *testing.T) {
	o := compileShared(t, shared(t), "yolov8seg_tiny", "cortex-m55", nil)
	fused := 0
	for i, s := range o.Lowered.Program.Steps {
		switch n := o.Lowered.Schedule.Nodes[i]; {
		case n.Op == op.Fused && strings.HasPrefix(o.Report.Layers[i].Op, "Conv+"):
			fused++
		case n.Op == op.Swish, n.Op == op.Lookup && i > 0:
			t.Errorf("%s is a step of its own", s.Name)
		}
	}
	if fused < 50 {
		t.Errorf("%d convolutions with an activation, want those of the whole network", fused)
	}
}

// TestCurves: with 16-bit data the same subgraphs are one curve, where it is as
// near to the exact function as the nodes, and the report says how near.
func TestCurves(t *testing.T) {
	c := driver.Defaults()
	c.Board, c.Name, c.Precision = "cortex-m4", "net", option.Int16x8
	o := compileNet(t, activated(t, spelt["a diamond that has no name"], false), &c)
	curves := 0
	for _, f := range o.Report.Fusion {
		if f.Kind != "curve" {
			continue
		}
		curves++
		if f.MaxError <= 0 || f.MaxError > f.SeparateError+0.5 || len(f.Nodes) != 5 {
			t.Errorf("%v: %v steps from the exact function, separately %v", f.Nodes, f.MaxError, f.SeparateError)
		}
	}
	if curves == 0 {
		t.Errorf("no curve behind any of the convolutions\n%s", o.Explain())
	}
	off := c
	off.Fuse = false
	sameResults(t, "curves", o, compileNet(t, activated(t, spelt["a diamond that has no name"], false), &off))
}
