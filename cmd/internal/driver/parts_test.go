// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// TestFetchedInParts: weights that have no room in the arena as a whole are fetched in parts,
// before calls for a part of the output channels each: every bit is the same, the arena no
// larger, the estimate smaller, and the program's text stands for it. Channels that fill no
// four, pointwise layers, and sums of two branches are among them.
func TestFetchedInParts(t *testing.T) {
	g := ir.New("parts")
	x := g.AddInput("x", ir.T(tensor.F32, 1, 8, 12, 12))
	seed := uint64(0)
	add := func(d *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		t.Helper()
		n, err := g.Add(d, name, attrs, 1, in...)
		if err != nil {
			t.Fatal(err)
		}
		n.Origin = []string{name}
		return n.Out[0]
	}
	conv := func(name string, x *ir.Value, to, k int) *ir.Value {
		seed++
		w := g.AddConst("w_"+name, ir.Rand(seed, tensor.F32, []int{to, x.Type.Shape[1], k, k}))
		b := g.AddConst("b_"+name, ir.Rand(seed+100, tensor.F32, []int{to}))
		return add(op.Conv, name, ir.Attrs{"pads": ir.Ints(k/2, k/2, k/2, k/2)}, x, w, b)
	}
	pool := func(name string, x *ir.Value) *ir.Value {
		return add(op.MaxPool, name, ir.Attrs{"kernel_shape": ir.Ints(3, 3), "strides": ir.Ints(2, 2)}, x)
	}
	v := pool("pool", conv("wide", x, 120, 1)) // the arena is as large as this needs
	v = conv("odd", v, 62, 3)
	y := conv("relu", v, 50, 3)
	y = add(op.Relu, "relu_r", nil, y)
	z := add(op.Add, "sum", nil, conv("added", y, 62, 3), v)
	z = conv("pointwise", z, 200, 1)
	g.AddOutput("y", add(op.GlobalAveragePool, "mean", nil, conv("last", z, 96, 1)))
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "test"})
	require(t, err)
	b, err := onnx.Marshal(m)
	require(t, err)
	model := filepath.Join(t.TempDir(), "parts.onnx")
	require(t, os.WriteFile(model, b, 0o644))
	slow := slowFlash(t, "cortex-m4", 256<<10, "states: 20, line: 16")
	profile := func(passes ...string) (*Compiled, uint64) {
		c := config(model, slow)
		c.Passes = passes
		f, err := Compile(c)
		require(t, err)
		vs, err := f.Profile(context.Background())
		require(t, err)
		if vs[0].Differs() {
			t.Errorf("%+v", vs[0].Outputs)
		}
		return f.Models[0], uint64(vs[0].Cycles)
	}
	off, before := profile("fetch=off")
	on, after := profile()
	if a, b := on.Report.Memory.ArenaBytes, off.Report.Memory.ArenaBytes; a != b || after >= before {
		t.Errorf("an arena of %d bytes, %d without copies; %d cycles, %d without", a, b, after, before)
	}
	p, parts := on.Lowered.Program, 0
	for _, s := range p.Steps {
		t.Logf("%s: %d calls, fetches %v", s.Name, len(s.Calls), s.Fetches)
		for i, f := range s.Fetches {
			if slices.ContainsFunc(s.Fetches[:i], func(x program.Fetch) bool { return x.Buffer == f.Buffer }) {
				parts++
			}
		}
	}
	t.Logf("%d cycles, %d without copies", after, before)
	if parts == 0 {
		t.Error("nothing is fetched in parts")
	}
	again, err := program.Parse(p.String())
	require(t, err)
	if again.String() != p.String() {
		t.Error("the text of the program is that of another one")
	}
	for _, s := range p.Steps { // copies that are still read
		if len(s.Fetches) > 1 {
			s.Calls[0], s.Calls[1] = s.Calls[1], s.Calls[0]
			if p.Verify() == nil {
				t.Errorf("%s: the first copy is read behind the second one", s.Name)
			}
			s.Calls[0], s.Calls[1] = s.Calls[1], s.Calls[0]
		}
	}
}
