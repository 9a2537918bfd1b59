// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ScatterElements is input 0 with the elements that the indices (input 1)
// name along axis replaced by, or combined with, those of input 2.
var ScatterElements = def(ir.OpDef{
	Name: "ScatterElements", Doc: "replaces elements along an axis by index",
	Attrs: ir.Declare[struct {
		Axis      int    `default:"0"`
		Reduction string `default:"none"`
	}](), MinIn: 3, Limits: alongAxis,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, i, u := n.In[0].Type, n.In[1].Type, n.In[2].Type
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		fail.Check(elementIndices(n, x.Shape, i.Shape, axis))
		refuse(n, !sameShape(i.Shape, u.Shape), "shape-mismatch",
			"indices of shape %v with updates of shape %v, want the same", i.Shape, u.Shape)
		return scatterType(n)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(in[0].Shape)))
		return outs(scatter(n, in[0], in[2], elementOffsets(in[0].Shape, in[1], axis)))
	},
	EvalQ: evalScatterQ, Pattern: ir.Opaque, Quant: ir.QInt, DataIn: []int{0, 2},
})

// ScatterND is input 0 with the slices at the coordinates in the last
// dimension of input 1 replaced by, or combined with, those of input 2.
var ScatterND = def(ir.OpDef{
	Name: "ScatterND", Doc: "replaces slices by coordinates",
	Attrs: ir.Declare[struct {
		Reduction string `default:"none"`
	}](), MinIn: 3, Limits: func(n *ir.Node) []ir.Limit { return tuples(n, 0) },
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x, i, u := n.In[0].Type.Shape, n.In[1].Type.Shape, n.In[2].Type.Shape
		fail.Check(indexInput(n, 1))
		refuse(n, len(x) < 1 || len(i) < 1 || i[len(i)-1] > len(x), "shape-mismatch", "data %v with coordinates %v",
			x, i)
		want := append(append([]int(nil), i[:len(i)-1]...), x[i[len(i)-1]:]...)
		refuse(n, !sameShape(u, want), "shape-mismatch",
			"the updates have shape %v, want %v from the data %v and the coordinates %v", u, want, x, i)
		return scatterType(n)
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, idx := in[0], in[1]
		k := idx.Shape[len(idx.Shape)-1]
		rows, inner := product(idx.Shape[:len(idx.Shape)-1]), product(x.Shape[k:])
		at := make([]int, 0, rows*inner)
		for r := 0; r < rows; r++ {
			p := coordinates(idx, r*k, x.Shape[:k])
			for i := range inner {
				at = append(at, p*inner+i)
			}
		}
		return outs(scatter(n, x, in[2], at))
	},
	EvalQ: evalScatterQ, Pattern: ir.Opaque, Quant: ir.QInt, DataIn: []int{0, 2},
})

func scatterType(n *ir.Node) ([]ir.Type, error) {
	x, u := n.In[0].Type, n.In[2].Type
	refuse(n, x.DType != u.DType, "dtype", "the data are of type %s, the updates of type %s: they must agree",
		x.DType, u.DType)
	switch r := ir.AttrsOf[ReductionAttr](n).Reduction; r {
	case "none":
	case "add", "mul", "max", "min":
		fail.Check(wantType(n, 0, numTypes))
	default:
		return nil, ir.Errf(n, "reduction", "reduction is %q, want none, add, mul, max or min", r)
	}
	return one(ir.T(x.DType, x.Shape...))
}

// scatter stores element i of u in place at[i] of a copy of x, in order.
func scatter(n *ir.Node, x, u *tensor.Dense, at []int) *tensor.Dense {
	y := x.Clone()
	how := ir.AttrsOf[ReductionAttr](n).Reduction
	switch {
	case how == "none":
		y.Put(at, u)
	case x.DType.IsFloat():
		for i, p := range at {
			y.SetFloat(p, combine(how, y.Float(p), u.Float(i)))
		}
	default:
		for i, p := range at {
			y.SetInt(p, combine(how, y.Int(p), u.Int(i)))
		}
	}
	return y
}

func combine[T float64 | int64](how string, a, b T) T {
	switch how {
	case "add":
		return a + b
	case "mul":
		return a * b
	case "max":
		return max(a, b)
	}
	return min(a, b)
}

// evalScatterQ moves integers where data, updates and result share one
// quantisation and nothing is computed; otherwise the general rule applies.
func evalScatterQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	q := n.Out[0].Type.Quant
	if ir.AttrsOf[ReductionAttr](n).Reduction == "none" && q.Equal(n.In[0].Type.Quant) && q.Equal(n.In[2].Type.Quant) {
		return n.Op.Eval(n, in)
	}
	return ir.EvalDequantised(n, in)
}
