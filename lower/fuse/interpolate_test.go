// SPDX-License-Identifier: Apache-2.0

package fuse_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kerneltest"
)

// everyInt16 is the result of a graph of one input of 65,536 elements for all
// its values.
func everyInt16(t *testing.T, g *ir.Graph) *tensor.Dense {
	x := tensor.New(tensor.I16, g.In[0].Type.Shape)
	for i := range x.Len() {
		x.SetInt(i, int64(i-1<<15))
	}
	return irtest.Run(t, g, []*tensor.Dense{x})[0]
}

// TestInterpolate: SiLU spelled out on int16 is one interpolated function whose error, measured here
// by the formula, is what is reported and within a rounding of that of the two nodes.
func TestInterpolate(t *testing.T) {
	const sx, sy = 0.0003, 0.0003
	g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
  in %%x : i16[65536] q(%g:0)
  %%s : i16[65536] q(3.0517578e-05:0) = Sigmoid(%%x)
  %%y : i16[65536] q(%g:0) = Mul(%%x, %%s)
  out "y" = %%y
}`, sx, sy))
	before := g.Clone()
	done := testenv.Must(fuse.Interpolate(g))(t)
	irtest.Verify(t, g)
	testenv.Require(t, len(g.Nodes) == 1 && g.Nodes[0].Op == op.InterpolatedLUT && len(done) == 1,
		"%v: want one interpolated function\n%s", done, g)
	worst := func(d *tensor.Dense) float64 {
		w := 0.0
		for i := range d.Len() {
			x := float64(i-1<<15) * float64(float32(sx))
			y := x / (1 + math.Exp(-x)) / float64(float32(sy))
			w = max(w, math.Abs(min(max(y, math.MinInt16), math.MaxInt16)-float64(d.Int(i))))
		}
		return w
	}
	one, two := worst(everyInt16(t, g)), worst(everyInt16(t, before))
	if math.Abs(done[0].Error-one) > 1e-6 || math.Abs(done[0].Apart-two) > 1e-6 || one > two+0.5 {
		t.Errorf("reported %v steps instead of %v, measured %v instead of %v", done[0].Error, done[0].Apart, one, two)
	}
}

// TestInterpolateRefused: where the nodes are nearer to the exact function they stay.
func TestInterpolateRefused(t *testing.T) {
	// the result saturates between two points, where no line can follow it
	g := irtest.Parse(t, `graph "g" {
  in %x : i16[65536] q(0.0003:0)
  %s : i16[65536] q(3.0517578e-05:0) = Sigmoid(%x)
  %y : i16[65536] q(0.0002:0) = Mul(%x, %s)
  out "y" = %y
}`)
	before := g.String()
	done := testenv.Must(fuse.Interpolate(g))(t)
	testenv.Check(t, len(done) == 0 && g.String() == before, "%v: want the nodes as they are\n%s", done, g)
}

// TestRandomCurves: random int16 graphs become what is reported, in the
// interpreter and in C.
func TestRandomCurves(t *testing.T) {
	var graphs []*ir.Graph
	made := 0
	for seed := range uint64(testenv.Count(t, 40)) {
		r := rand.New(rand.NewPCG(seed, 3))
		d := &dag{r: r, g: ir.New("g")}
		d.values = []*ir.Value{d.quantise(d.g.AddInput("x", ir.T(tensor.I16, 1<<16)), tensor.I16)}
		for i := range 2 + r.IntN(4) {
			name := fmt.Sprintf("n%d", i)
			x := d.pick(tensor.I16)
			var y *ir.Value
			if r.IntN(2) == 0 {
				y = d.add(pickOp(r, op.Sigmoid, op.Tanh, op.HardSwish, op.Relu, op.Requantize), name, x)
			} else {
				c := d.quantise(d.g.AddConst(name+".c", tensor.Of([]int{1}, []int16{int16(r.IntN(1 << 16))})),
					tensor.I16)
				y = d.add(pickOp(r, op.Add, op.Mul), name, x, [2]*ir.Value{d.pick(tensor.I16), c}[r.IntN(2)])
			}
			d.values = append(d.values, d.quantise(y, tensor.I16))
		}
		g := d.g
		g.AddOutput("y", d.values[len(d.values)-1])
		g.RemoveDead()
		before := g.Clone()
		done := testenv.Must(fuse.Interpolate(g))(t)
		irtest.Verify(t, g)
		made += len(done)
		a, b := everyInt16(t, before), everyInt16(t, g)
		for _, f := range done {
			if f.Error > f.Apart+0.5 {
				t.Errorf("seed %d: %v is %v steps off, separately %v", seed, f.Nodes, f.Error, f.Apart)
			}
			if len(g.Nodes) > 1 {
				continue // more than the interpolated function lies between x and y
			}
			for i := range a.Len() {
				most := f.Error + f.Apart
				if i < 1<<16/10 || i > 1<<16/10*9 { // the outermost fifth
					most = 16
				}
				if e := math.Abs(float64(a.Int(i) - b.Int(i))); e > most {
					t.Fatalf("seed %d: %v steps between it and the nodes at %d, want at most %v\n%s", seed,
						e, i-1<<15, most, before)
				}
			}
		}
		graphs = append(graphs, g)
	}
	testenv.Check(t, made >= testenv.Count(t, 40)/16,
		"%d interpolated functions in %d graphs: the test shows nothing", made, testenv.Count(t, 40))
	kerneltest.Host(t, plainTable, 0, graphs...)
}
