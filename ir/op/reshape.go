// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// The operators of this file change the shape only: the elements and their
// row-major order stay. Their shape and axes inputs must be constants.

// ReshapeAttrs are the attributes of Reshape.
type ReshapeAttrs struct {
	Allowzero int `default:"0"`
}

// Reshape gives input 0 the shape of input 1: 0 copies the input's dimension
// (unless allowzero is 1), one -1 is computed from the rest.
var Reshape = def(ir.OpDef{
	Name: "Reshape", Doc: "same elements, another shape", View: ir.Reshaped,
	Attrs: ir.Declare[ReshapeAttrs](), MinIn: 2,
	Infer: inferReshape, Eval: evalReshape(inferReshape), Pattern: ir.Injective, Quant: ir.QMove,
})

// Flatten makes a matrix: the dimensions before axis, and those from it on.
var Flatten = def(ir.OpDef{
	Name: "Flatten", Doc: "same elements as a matrix", View: ir.Reshaped,
	Attrs: ir.Declare[struct {
		Axis int `default:"1"`
	}](), MinIn: 1,
	Infer: inferFlatten, Eval: evalReshape(inferFlatten), Pattern: ir.Injective, Quant: ir.QMove,
})

// Squeeze removes the dimensions of size 1 that input 1 lists, all of them
// when it is absent or, as in ONNX Runtime, lists none.
var Squeeze = def(ir.OpDef{
	Name: "Squeeze", Doc: "removes dimensions of size 1", View: ir.Reshaped, MinIn: 1, MaxIn: 2,
	Infer: inferSqueeze, Eval: evalReshape(inferSqueeze), Pattern: ir.Injective, Quant: ir.QMove,
})

// Unsqueeze inserts dimensions of size 1, so that they are at the places
// that input 1 lists.
var Unsqueeze = def(ir.OpDef{
	Name: "Unsqueeze", Doc: "inserts dimensions of size 1", View: ir.Reshaped, MinIn: 2,
	Infer: inferUnsqueeze, Eval: evalReshape(inferUnsqueeze), Pattern: ir.Injective, Quant: ir.QMove,
})

func evalReshape(infer func(*ir.Node) ([]ir.Type, error)) func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error) {
	return func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		t := fail.Must(infer(n))
		return outs(in[0].Reshaped(t[0].Shape))
	}
}

func inferReshape(n *ir.Node) ([]ir.Type, error) {
	x := n.In[0].Type
	want := fail.Must(ConstInts(n, 1, "the target shape"))
	r := n.In[1].Type.Rank()
	refuse(n, r != 1, "rank", "the target shape %s has rank %d, want a vector", n.In[1], r)
	have, err := tensor.Elems(x.Shape)
	refuse(n, err != nil, "shape", "%v", err)
	shape := make([]int, len(want))
	free, known := -1, 1
	for i, d := range want {
		switch {
		case d == -1 && free >= 0:
			return nil, ir.Errf(n, "shape", "the target shape %v has more than one -1", want)
		case d == -1:
			free = i
			continue
		case d < 0:
			return nil, ir.Errf(n, "shape", "the target shape %v has a negative dimension", want)
		case d == 0 && ir.AttrsOf[ReshapeAttrs](n).Allowzero == 0:
			refuse(n, i >= len(x.Shape), "shape",
				"the target shape %v copies dimension %d, which the input %v does not have", want, i, x.Shape)
			d = x.Shape[i]
		}
		refuse(n, d > tensor.MaxElems, "shape", "the target shape %v is too large: more than %d elements", want,
			tensor.MaxElems)
		shape[i] = d
		known = min(known*d, tensor.MaxElems+1) // the product stays small: no overflow
	}
	if free >= 0 {
		refuse(n, known == 0 || have%known != 0, "shape",
			"the input %v (%d elements) cannot become %v: %d is no multiple of %d", x.Shape, have, want, have, known)
		shape[free] = have / known
	} else if known != have {
		return nil, ir.Errf(n, "shape", "the input %v has %d elements, the target shape %v another number", x.Shape,
			have, want)
	}
	return one(ir.T(x.DType, shape...))
}

func inferFlatten(n *ir.Node) ([]ir.Type, error) {
	x := n.In[0].Type
	axis, r := ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)
	refuse(n, axis < -r || axis > r, "axis", "axis %d is out of range for rank %d", axis, r)
	if axis < 0 {
		axis += r
	}
	return one(ir.T(x.DType, product(x.Shape[:axis]), product(x.Shape[axis:])))
}

// distinctAxes are axes of a value of the given rank, each at most once, none of them negative.
func distinctAxes(n *ir.Node, axes []int, rank int) []int {
	out, seen := make([]int, len(axes)), make([]bool, rank)
	for i, axis := range axes {
		a := fail.Must(Axis(n, axis, rank))
		refuse(n, seen[a], "axis", "axes %v name dimension %d twice", axes, a)
		out[i], seen[a] = a, true
	}
	return out
}

func inferSqueeze(n *ir.Node) ([]ir.Type, error) {
	x := n.In[0].Type
	axes, shape := distinctAxes(n, fail.Must(ConstInts(n, 1, "the axes")), len(x.Shape)), []int{}
	all, set := len(axes) == 0, make([]bool, len(x.Shape))
	for _, a := range axes {
		set[a] = true
	}
	for i, d := range x.Shape {
		switch {
		case all && d != 1, !all && !set[i]:
			shape = append(shape, d)
		case d != 1:
			return nil, ir.Errf(n, "shape", "dimension %d of the input %v cannot be removed: it is not 1", i, x.Shape)
		}
	}
	return one(ir.T(x.DType, shape...))
}

func inferUnsqueeze(n *ir.Node) ([]ir.Type, error) {
	x := n.In[0].Type
	axes := fail.Must(ConstInts(n, 1, "the axes"))
	axes = distinctAxes(n, axes, len(x.Shape)+len(axes))
	shape := make([]int, len(x.Shape)+len(axes))
	for _, a := range axes {
		shape[a] = 1
	}
	k := 0
	for i := range shape {
		if shape[i] == 0 {
			shape[i] = x.Shape[k]
			k++
		}
	}
	return one(ir.T(x.DType, shape...))
}
