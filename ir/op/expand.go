// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
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
		want := lists.Make(in[1].Len(), func(i int) int { return int(in[1].Int(i)) })
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
			refuse(n, r < 0 || r > maxExtent, "shape", "the repeats are %v, want values from 0 to %d", rep, maxExtent)
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

// OneHot adds a dimension of size depth (input 1) at axis, with values[1] where
// the index (input 0) names the place and values[0] elsewhere; values is input
// 2. Negative indices count from the end, those out of range name no place.
var OneHot = def(ir.OpDef{
	Name: "OneHot", Doc: "indices as one-hot vectors",
	Attrs: ir.Declare[struct {
		Axis int `default:"-1"`
	}](), MinIn: 3,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		axis, depth := oneHot(n)
		s := n.In[2].Type.Shape
		refuse(n, len(s) != 1 || s[0] != 2, "shape", "the values %s have shape %v, want [2]: off, on", n.In[2], s)
		x := n.In[0].Type.Shape
		shape := append(append(append([]int(nil), x[:axis]...), depth), x[axis:]...)
		return one(ir.T(n.In[2].Type.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		axis, depth := oneHot(n)
		x := in[0]
		shape := append(append(append([]int(nil), x.Shape[:axis]...), depth), x.Shape[axis:]...)
		pick := make([]int, tensor.Count(shape))
		inner := product(x.Shape[axis:])
		for i, k := 0, x.Len(); i < k; i++ {
			v := int(x.Int(i))
			if v < 0 {
				v += depth
			}
			if v >= 0 && v < depth {
				pick[(i/inner*depth+v)*inner+i%inner] = 1
			}
		}
		return outs(in[2].Pick(shape, pick))
	},
	Pattern: ir.Opaque, Quant: ir.QMove, DataIn: []int{2},
})

func oneHot(n *ir.Node) (axis, depth int) {
	axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, n.In[0].Type.Rank()+1))
	v := fail.Must(ConstInts(n, 1, "the depth"))
	refuse(n, len(v) != 1 || v[0] < 0 || v[0] > tensor.MaxElems, "depth",
		"the depth is %v, want one value of 0 or more", v)
	return axis, v[0]
}

// TriluAttrs are the attributes of Trilu.
type TriluAttrs struct {
	Upper int `default:"1"`
}

// Trilu keeps the upper (or lower) triangle of the last two dimensions, from
// diagonal k (input 1, 0 when absent) on, and zeroes the rest.
var Trilu = def(ir.OpDef{
	Name: "Trilu", Doc: "upper or lower triangle",
	Attrs: ir.Declare[TriluAttrs](), MinIn: 1, MaxIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		refuse(n, len(x.Shape) < 2, "rank", "the input has shape %v, want at least two dimensions", x.Shape)
		if v := n.Input(1); v != nil && v.Type.Elems() != 1 {
			return nil, ir.Errf(n, "shape", "k has shape %v, want one value", v.Type.Shape)
		}
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, k := in[0], 0
		if d := opt(in, 1); d != nil {
			k = int(min(max(d.Int(0), -1<<40), 1<<40))
		}
		y := x.Clone()
		zero := zeroOf(n, x)
		r := len(x.Shape)
		rows, cols := x.Shape[r-2], x.Shape[r-1]
		for i := 0; i < y.Len(); i += cols {
			row := i / cols % rows
			// columns from row+k on are the upper triangle
			edge := min(max(row+k, 0), cols)
			if ir.AttrsOf[TriluAttrs](n).Upper != 0 {
				y.Fill(i, edge, zero)
			} else {
				edge = min(max(row+k+1, 0), cols)
				y.Fill(i+edge, cols-edge, zero)
			}
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// zeroOf is one element, in the type of x, that stands for zero: the zero
// point where x holds the quantised data of input 0.
func zeroOf(n *ir.Node, x *tensor.Dense) *tensor.Dense {
	z := tensor.New(x.DType, []int{1})
	if t := n.In[0].Type; t.Quant != nil && t.DType == x.DType {
		z.SetInt(0, int64(t.Quant.ZeroAt(0)))
	}
	return z
}
