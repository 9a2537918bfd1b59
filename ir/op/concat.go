// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

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
			if v == nil {
				return nil, ir.Errf(n, "arity", "input %d is missing", i)
			}
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
				"input %d (%s) has shape %v, input 0 has %v: they may "+"differ in dimension %d only", i, v, s,
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
