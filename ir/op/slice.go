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
	Name: "Crop", Domain: "nncc", Doc: "Slice into another memory order", Planned: true, MinIn: 3, MaxIn: 5,
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
	for i, a := range distinctAxes(n, axes, len(x)) {
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

// SplitAttrs are the attributes of Split.
type SplitAttrs struct {
	Axis       int `default:"0"`
	NumOutputs *int
}

// Split cuts input 0 along axis: into the sizes of input 1, or into
// num_outputs equal parts, the last of which may be smaller. Without either
// the number of outputs of the node decides.
var Split = def(ir.OpDef{
	Name: "Split", Doc: "cuts a tensor along an axis", View: ir.Partial,
	Attrs: ir.Declare[SplitAttrs](), MinIn: 1, MaxIn: 2, MaxOut: -1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		axis, sizes := fail.Must2(SplitSizes(n))
		types := make([]ir.Type, len(sizes))
		for i, k := range sizes {
			s := append([]int(nil), x.Shape...)
			s[axis] = k
			types[i] = ir.T(x.DType, s...)
		}
		return types, nil
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		axis, sizes := fail.Must2(SplitSizes(n))
		out := make([]*tensor.Dense, len(sizes))
		outer, row := product(x.Shape[:axis]), product(x.Shape[axis:])
		at := 0
		for i, k := range sizes {
			s := append([]int(nil), x.Shape...)
			s[axis] = k
			out[i] = tensor.New(x.DType, s)
			length := product(s[axis:])
			for o := 0; o < outer; o++ {
				out[i].Copy(o*length, x, o*row+at, length)
			}
			at += length
		}
		return out, nil
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// SplitSizes are the axis of a Split node and the sizes of its outputs along it.
func SplitSizes(n *ir.Node) (axis int, sizes []int, err error) {
	defer fail.Catch(&err)
	attrs := ir.AttrsOf[SplitAttrs](n)
	x := n.In[0].Type.Shape
	axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	sizes = fail.Must(ConstInts(n, 1, "the sizes of the parts"))
	if sizes != nil {
		sum := 0
		for _, k := range sizes {
			refuse(n, k < 0, "split", "the sizes %v contain a negative one", sizes)
			sum += k
		}
		refuse(n, sum != x[axis], "split", "the sum of the sizes %v is %d, dimension %d of the input %v has %d",
			sizes, sum, axis, x, x[axis])
		refuse(n, len(sizes) != len(n.Out), "split", "%d sizes %v for %d outputs", len(sizes), sizes, len(n.Out))
		return axis, sizes, nil
	}
	parts := len(n.Out)
	if attrs.NumOutputs != nil {
		parts = *attrs.NumOutputs
	}
	refuse(n, parts < 1 || parts != len(n.Out), "split", "num_outputs is %d, the node has %d outputs", parts,
		len(n.Out))
	each := (x[axis] + parts - 1) / parts
	last := x[axis] - each*(parts-1)
	refuse(n, last < 0 || attrs.NumOutputs == nil && last != each, "split",
		"dimension %d of the input %v cannot be split into %d parts of %d", axis, x, parts, each)
	for i := 0; i < parts-1; i++ {
		sizes = append(sizes, each)
	}
	return axis, append(sizes, last), nil
}

// Concat joins its inputs along axis; the other dimensions must agree.
var Concat = def(ir.OpDef{
	Name: "Concat", Doc: "joins tensors along an axis", View: ir.Partial,
	Attrs: ir.Declare[struct {
		Axis int `attr:",required"`
	}](), MinIn: 1, MaxIn: -1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		first := n.In[0].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(first.Shape)))
		shape := append([]int(nil), first.Shape...)
		for i, v := range n.In {
			refuse(n, v == nil, "arity", "input %d is missing", i)
			s := v.Type.Shape
			if i == 0 {
				continue
			}
			refuse(n, v.Type.DType != first.DType, "dtype",
				"input %d (%s) is of type %s, input 0 of type %s: they must agree", i, v, v.Type.DType, first.DType)
			ok := len(s) == len(shape)
			for d := range s {
				ok = ok && (d == axis || s[d] == shape[d])
			}
			refuse(n, !ok, "shape-mismatch",
				"input %d (%s) has shape %v, input 0 has %v: they may differ in dimension %d only", i, v, s,
				first.Shape, axis)
			shape[axis] += s[axis]
		}
		return one(ir.T(first.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		shape := append([]int(nil), in[0].Shape...)
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape)))
		for _, d := range in[1:] {
			shape[axis] += d.Shape[axis]
		}
		y := tensor.New(in[0].DType, shape)
		outer, row, at := product(shape[:axis]), product(shape[axis:]), 0
		for _, d := range in {
			k := product(d.Shape[axis:])
			for o := 0; o < outer; o++ {
				y.Copy(o*row+at, d, o*k, k)
			}
			at += k
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove, DataIn: ir.AllInputs,
})
