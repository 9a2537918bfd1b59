// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Slice reads input 0 from starts (input 1) to ends (2) along axes (3, all in
// order when absent) in steps (4, ones when absent; negative ones go
// backwards). Negative starts and ends count from the end; all are clamped.
var Slice = def(ir.OpDef{
	Name: "Slice", Doc: "reads a strided part of a tensor", View: ir.Partial, MinIn: 3, MaxIn: 5,
	Infer: inferSlice, Eval: evalSlice, Pattern: ir.Injective, Quant: ir.QMove,
})

// Crop is a Slice that copies into the memory order that its output's type
// has, whatever the input's is.
var Crop = def(ir.OpDef{
	Name: "Crop", Domain: "nncc", Doc: "Slice into another memory order", MinIn: 3, MaxIn: 5,
	Infer: inferSlice, Eval: evalSlice, Pattern: ir.Injective, Quant: ir.QMove,
})

func inferSlice(n *ir.Node) ([]ir.Type, error) {
	g := fail.Must(SliceGeometry(n))
	return one(ir.T(n.In[0].Type.DType, g.Shape...))
}

func evalSlice(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(SliceGeometry(n))
	y := tensor.New(in[0].DType, g.Shape)
	st := tensor.Strides(in[0].Shape)
	base := 0
	for i := range st {
		base += st[i] * g.Start[i]
		st[i] *= g.Step[i]
	}
	tensor.Gather(y, in[0], g.Shape, st, base)
	return outs(y)
}

// SliceGeom says, for every dimension of a Slice node's input, where reading
// starts, its step, and how many elements are read.
type SliceGeom struct{ Start, Step, Shape []int }

// SliceGeometry resolves the inputs of a Slice node.
func SliceGeometry(n *ir.Node) (_ *SliceGeom, err error) {
	defer fail.Catch(&err)
	x := n.In[0].Type.Shape
	names := []string{"", "the starts", "the ends", "the axes", "the steps"}
	var v [5][]int
	for i := 1; i < 5; i++ {
		v[i] = fail.Must(ConstInts(n, i, names[i]))
	}
	starts, ends, axes, steps := v[1], v[2], v[3], v[4]
	if axes == nil {
		axes = ir.Identity(len(starts))
	}
	if steps == nil {
		steps = ones(len(starts))
	}
	refuse(n, len(ends) != len(starts) || len(axes) != len(starts) || len(steps) != len(starts), "slice",
		"%d starts, %d ends, %d axes and %d steps: want the same number", len(starts), len(ends), len(axes),
		len(steps))
	g := &SliceGeom{make([]int, len(x)), ones(len(x)), append([]int(nil), x...)}
	seen := make([]bool, len(x))
	for i, a := range axes {
		a := fail.Must(Axis(n, a, len(x)))
		refuse(n, seen[a], "axis", "axes %v name dimension %d twice", axes, a)
		seen[a] = true
		d, s, e, st := x[a], starts[i], ends[i], steps[i]
		refuse(n, st == 0, "slice", "the step of dimension %d is 0", a)
		if s < 0 {
			s += d
		}
		if e < 0 {
			e += d
		}
		if st > 0 {
			s, e = min(max(s, 0), d), min(max(e, 0), d)
			g.Shape[a] = max((e-s+st-1)/st, 0)
		} else {
			s, e = min(max(s, 0), d-1), min(max(e, -1), d-1)
			g.Shape[a] = max((s-e-st-1)/-st, 0)
			if d == 0 {
				g.Shape[a] = 0
			}
		}
		g.Start[a], g.Step[a] = s, st
		if g.Shape[a] == 0 {
			g.Start[a] = 0
		}
	}
	return g, nil
}
