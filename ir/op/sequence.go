// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// ReverseSequenceAttrs are the attributes of ReverseSequence.
type ReverseSequenceAttrs struct {
	BatchAxis int `default:"1"`
	TimeAxis  int `default:"0"`
}

// ReverseSequence reverses the first lens[b] (input 1) steps of every batch
// entry b along time_axis; batch_axis and time_axis are 0 and 1 in some order.
var ReverseSequence = def(ir.OpDef{
	Name: "ReverseSequence", Doc: "reverses sequences of given lengths",
	Attrs: ir.Declare[ReverseSequenceAttrs](), MinIn: 2,
	Limits: func(n *ir.Node) []ir.Limit {
		return []ir.Limit{ir.Counts(1, "length", n.In[0].Type.Shape[ir.AttrsOf[ReverseSequenceAttrs](n).TimeAxis])}
	},
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		x := n.In[0].Type
		b, t := ir.AttrsOf[ReverseSequenceAttrs](n).BatchAxis, ir.AttrsOf[ReverseSequenceAttrs](n).TimeAxis
		refuse(n, len(x.Shape) < 2 || b+t != 1 || b*t != 0 || b < 0 || t < 0, "axis",
			"batch_axis %d and time_axis %d of an input %v, want 0 and 1 in some order", b, t, x.Shape)
		s := n.In[1].Type.Shape
		refuse(n, len(s) != 1 || s[0] != x.Shape[b], "shape-mismatch", "the lengths have shape %v, want [%d]", s,
			x.Shape[b])
		indexInput(n, 1)
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x := in[0]
		ba, ta := ir.AttrsOf[ReverseSequenceAttrs](n).BatchAxis, ir.AttrsOf[ReverseSequenceAttrs](n).TimeAxis
		st, inner := tensor.Strides(x.Shape), product(x.Shape[2:])
		y := tensor.New(x.DType, x.Shape)
		for b := 0; b < x.Shape[ba]; b++ {
			l := int(in[1].Int(b))
			for t := 0; t < x.Shape[ta]; t++ {
				from := t
				if t < l {
					from = l - 1 - t
				}
				y.Copy(b*st[ba]+t*st[ta], x, b*st[ba]+from*st[ta], inner)
			}
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// NonZero lists the coordinates of the elements that are not zero, [rank,
// count]. The count is only known for a constant.
var NonZero = def(ir.OpDef{
	Name: "NonZero", Doc: "coordinates of the elements that are not zero, of a constant", MinIn: 1,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		if n.In[0].Const == nil {
			return nil, ir.Dynamicf(n, n.In[0], "the input %s is computed at run time, so that the size of the result "+
				"is not known: only constants are supported", n.In[0])
		}
		return one(ir.T(tensor.I64, nonZero(n.In[0].Const).Shape...))
	},
	Eval:    func(_ *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) { return outs(nonZero(in[0])) },
	Pattern: ir.Opaque, Quant: ir.QNone,
})

func nonZero(x *tensor.Dense) *tensor.Dense {
	at := make([][]int64, len(x.Shape))
	pos := newIndex(x.Shape)
	for i, k := 0, x.Len(); i < k; i++ {
		if x.Float(i) != 0 {
			for d, v := range pos.at {
				at[d] = append(at[d], int64(v))
			}
		}
		pos.next()
	}
	count, all := 0, []int64{}
	for _, v := range at {
		count = len(v)
		all = append(all, v...)
	}
	return tensor.Of([]int{len(x.Shape), count}, all)
}

// CompressAttrs are the attributes of Compress.
type CompressAttrs struct {
	Axis *int
}

// Compress keeps the slices along axis (all elements when absent) for which
// the condition, input 1, is true. The condition must be a constant.
var Compress = def(ir.OpDef{
	Name: "Compress", Doc: "slices selected by a constant condition",
	Attrs: ir.Declare[CompressAttrs](), MinIn: 2,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		shape, _, _ := compress(n)
		return one(ir.T(n.In[0].Type.DType, shape...))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		shape, from, keep := compress(n)
		axis := len(from) - 1
		if ir.AttrsOf[CompressAttrs](n).Axis != nil {
			axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(from)))
		}
		y := tensor.New(in[0].DType, shape)
		inner := product(from[axis+1:])
		for o := 0; o < product(from[:axis]); o++ {
			for k, i := range keep {
				y.Copy((o*len(keep)+k)*inner, in[0], (o*from[axis]+i)*inner, inner)
			}
		}
		return outs(y)
	},
	Pattern: ir.Injective, Quant: ir.QMove,
})

// compress gives the result's shape, the shape as which the input is read,
// and the indices that stay.
func compress(n *ir.Node) (shape, from, keep []int) {
	cond := fail.Must(ConstInts(n, 1, "the condition"))
	for i, c := range cond {
		if c != 0 {
			keep = append(keep, i)
		}
	}
	x := n.In[0].Type.Shape
	from, axis := []int{product(x)}, 0
	if ir.AttrsOf[CompressAttrs](n).Axis != nil {
		from = x
		axis = fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x)))
	}
	refuse(n, len(cond) > from[axis], "shape-mismatch", "the condition has %d elements, dimension %d has %d", len(cond),
		axis, from[axis])
	shape = append([]int(nil), from...)
	shape[axis] = len(keep)
	return shape, from, keep
}
