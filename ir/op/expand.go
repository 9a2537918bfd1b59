// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// Expand broadcasts input 0 with the shape in input 1, in both directions.
var Expand = def(ir.OpDef{
	Name: "Expand", Doc: "broadcasts to a shape", MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		want := fail.Must(ConstInts(n, 1, "the target shape"))
		for _, d := range want {
			refuse(n, d < 0, "shape", "the target shape %v has a negative dimension", want)
		}
		shape := fail.Must(Broadcast(n, n.In[0].Type.Shape, want))
		return one(ir.T(n.In[0].Type.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		want := make([]int, in[1].Len())
		for i := range want {
			want[i] = int(in[1].Int(i))
		}
		shape := fail.Must(Broadcast(n, in[0].Shape, want))
		return outs(expand(in[0], shape))
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// Tile repeats input 0 as often as input 1 says for each dimension.
var Tile = def(ir.OpDef{
	Name: "Tile", Doc: "repeats a tensor", MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		rep := fail.Must(ConstInts(n, 1, "the repeats"))
		refuse(n, len(rep) != len(x.Shape), "shape", "the repeats are %v, want %d values for the input %v", rep,
			len(x.Shape), x.Shape)
		shape := make([]int, len(rep))
		for i, r := range rep {
			refuse(n, r < 0 || r > maxExtent, "shape", "the repeats are %v, want values from 0 to %d", rep,
				maxExtent)
			shape[i] = r * x.Shape[i]
		}
		return one(ir.T(x.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		st := tensor.Strides(x.Shape)
		var shape, wide, strides []int
		for i, d := range x.Shape {
			r := int(in[1].Int(i))
			shape = append(shape, r*d)
			wide, strides = append(wide, r, d), append(strides, 0, st[i])
		}
		y := tensor.New(x.DType, shape)
		tensor.Gather(y, x, wide, strides, 0)
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})
