// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// CurveOf are the points of an interpolated function of one int16 value: of a
// InterpolatedLUT its own, of other nodes those that define them (ir.InterpolatedLUT).
func CurveOf(n *ir.Node) (c *fixp.InterpolatedLUT16, ok bool) {
	if n.Op == op.InterpolatedLUT {
		points := fixp.InterpolatedLUT16(n.In[1].Const.Data.([]int16))
		return &points, true
	}
	return ir.InterpolatedLUT(n)
}

// StraightLines are the Lines of a straight function between int16 values, or
// between int16 and int8, with one scale each.
var StraightLines = NewFact(func(n *Node) (*qref.PiecewiseLinear, string) {
	x, y := n.In[0].Type, n.Out[0].Type
	if !lineType(x) || !lineType(y) || x.DType == tensor.I8 && y.DType == tensor.I8 {
		return nil, Unread
	}
	return Lines(n.Node)
})

func lineType(t ir.Type) bool {
	return t.Quant != nil && !t.Quant.PerAxis() && (t.DType == tensor.I16 || t.DType == tensor.I8)
}

// Lines are the constants by which a straight function of one int16 or int8
// value (Relu, LeakyRelu, a change of scale) is two lines, proven for every
// input; or why there are none.
func Lines(n *ir.Node) (*qref.PiecewiseLinear, string) {
	x, y := n.In[0].Type, n.Out[0].Type
	lo, hi := x.DType.IntRange()
	all := tensor.New(x.DType, []int{int(hi - lo + 1)})
	for i := range all.Len() {
		all.SetInt(i, lo+int64(i))
	}
	in := make([]*tensor.Dense, len(n.In))
	in[0] = all
	for i, v := range n.In[1:] {
		switch {
		case v == nil:
		case v.Const == nil:
			return nil, fmt.Sprintf("input %d (%s) is computed at run time, want a constant", i+1, v)
		default:
			in[i+1] = v.Const
		}
	}
	out, err := Probe(n, in, all.Shape)
	if err != nil {
		return nil, err.Error()
	}
	want := make([]int32, out.Len())
	for i := range want {
		want[i] = int32(out.Int(i))
	}
	sx, sy, zero := float64(x.Quant.Scale[0]), float64(y.Quant.Scale[0]), x.Quant.Zero[0]
	p, ok := qref.FitPiecewiseLinear(int32(lo), zero, y.Quant.Zero[0], want, func(d int32) float64 {
		return n.Op.Scalar(n, float64(d)*sx) / sy
	})
	if !ok {
		return nil, "no two straight lines give the defined results for all inputs"
	}
	return p, ""
}
