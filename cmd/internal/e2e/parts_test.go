// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
)

// TestFetchedInParts: weights that have no room in the arena as a whole are fetched in parts,
// before calls for a part of the output channels each: every bit is the same, the arena no
// larger, the estimate smaller, and the program's text stands for it. Channels that fill no
// four, pointwise layers, and sums of two branches are among them. Parts that equal each other
// are one constant, which a step fetches once: such weights are not cut. Nor are those that are
// staged, or bound at run time, when parts may be equal.
func TestFetchedInParts(t *testing.T) {
	t.Run("drawn", func(t *testing.T) { fetchedInParts(t, false) })
	t.Run("equal channels", func(t *testing.T) { fetchedInParts(t, true) })
}

func fetchedInParts(t *testing.T, same bool) {
	d := &drawnNetwork{t: t, g: ir.New("parts"), same: same}
	pool := func(name string, x *ir.Value) *ir.Value {
		return d.add(op.MaxPool, name, ir.Attrs{"kernel_shape": ir.Ints(3, 3), "strides": ir.Ints(2, 2)}, x)
	}
	x := d.g.AddInput("x", ir.T(tensor.F32, 1, 8, 12, 12))
	v := pool("pool", d.conv("wide", x, 120, 1)) // the arena is as large as this needs
	v = d.conv("odd", v, 62, 3)
	y := d.conv("relu", v, 50, 3)
	y = d.add(op.Relu, "relu_r", nil, y)
	z := d.add(op.Add, "sum", nil, d.conv("added", y, 62, 3), v)
	z = d.conv("pointwise", z, 200, 1)
	d.g.AddOutput("y", d.add(op.GlobalAveragePool, "mean", nil, d.conv("last", z, 96, 1)))
	model := graphFile(t, d.g)
	slow := slowFlash(t, "cortex-m4", 256<<10, "states: 20, line: 16")
	c := config(model, slow)
	c.Passes = []string{"fetch=off"}
	off, before := profiled(t, c)
	on, after := profiled(t, config(model, slow))
	t.Logf("%d cycles, %d without copies", after.Cycles, before.Cycles)
	if a, b := on.Report.Memory.ArenaBytes, off.Report.Memory.ArenaBytes; a != b || after.Cycles >= before.Cycles {
		t.Errorf("an arena of %d bytes, %d without copies; %d cycles, %d without", a, b, after.Cycles, before.Cycles)
	}
	p, parts, was := on.Lowered.Program, 0, map[string]int{}
	for _, l := range before.Layers {
		was[l.Name] = l.Cycles
	}
	for _, l := range after.Layers {
		if l.Cycles > was[l.Name]*101/100 {
			t.Errorf("%s: %d cycles, %d without copies", l.Name, l.Cycles, was[l.Name])
		}
	}
	for _, s := range p.Steps {
		t.Logf("%s: %d calls, fetches %v", s.Name, len(s.Calls), s.Fetches)
		for i, f := range s.Fetches {
			if slices.ContainsFunc(s.Fetches[:i], func(x program.Fetch) bool { return x.Buffer == f.Buffer }) {
				parts++
			}
		}
	}
	if parts == 0 {
		t.Error("nothing is fetched in parts")
	}
	if a, b := sum(on.Info.StepBlobs), sum(off.Info.StepBlobs); a != b {
		t.Errorf("%d bytes of constants, %d without copies", a, b)
	}
	last := slices.IndexFunc(p.Steps, func(s *program.Step) bool { return s.Name == "last" })
	if cut := len(p.Steps[last].Calls) > 1; cut == same { // a multiple of four channels
		t.Errorf("last: %d calls", len(p.Steps[last].Calls))
	}
	uncut(t, model, slow)
	again, err := program.Parse(p.String())
	require(t, err)
	if again.String() != p.String() {
		t.Error("the text of the program is that of another one")
	}
	inOrder(t, p)
}

func sum(list []int) int {
	n := 0
	for _, x := range list {
		n += x
	}
	return n
}

// uncut: no layer is cut where constants are staged or bound.
func uncut(t *testing.T, model, board string) {
	t.Helper()
	for _, set := range []func(c *driver.Config){func(c *driver.Config) { c.StageWeights = true },
		func(c *driver.Config) { c.WeightsFile = true }} {
		c := config(model, board)
		set(c)
		o := mustCompile(t, c)
		for _, s := range o.Lowered.Program.Steps {
			if len(s.Calls) > 1 {
				t.Errorf("%s: %d calls, with constants that are staged or bound", s.Name, len(s.Calls))
			}
		}
	}
}

// inOrder: a program that reads a copy behind the one that takes its place is wrong.
func inOrder(t *testing.T, p *program.Program) {
	t.Helper()
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
