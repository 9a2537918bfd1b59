// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// LinearParams reads the scale and zero point of a QuantizeLinear or
// DequantizeLinear node. ok is false when they are not constant.
func LinearParams(n *ir.Node) (t tensor.DType, q *ir.Quant, ok bool) {
	s := n.ConstIn(1)
	if s == nil {
		return 0, nil, false
	}
	in := n.In[0].Type
	q = &ir.Quant{Axis: -1, Scale: make([]float32, s.Len()), Zero: make([]int32, s.Len())}
	for i := range q.Scale {
		q.Scale[i] = float32(s.Float(i))
		if !(q.Scale[i] > 0) || math.IsInf(float64(q.Scale[i]), 0) {
			return 0, nil, false
		}
	}
	if len(s.Shape) > 1 {
		return 0, nil, false // blocked quantisation
	}
	if s.Len() > 1 {
		q.Axis = ir.AttrsOf[AxisAttr](n).Axis
		if q.Axis < 0 {
			q.Axis += len(in.Shape)
		}
		if q.Axis < 0 || q.Axis >= len(in.Shape) || in.Shape[q.Axis] != s.Len() {
			return 0, nil, false
		}
	}
	if n.Op == DequantizeLinear {
		t = in.DType
	} else {
		t = n.Out[0].Type.DType
	}
	if v := n.Input(2); v != nil {
		if v.Const == nil || v.Const.Len() != s.Len() {
			return 0, nil, false
		}
		for i := range q.Zero {
			q.Zero[i] = int32(v.Const.Int(i))
		}
	}
	return t, q, true
}

// Meant is the type of an integer value with the quantisation that all DequantizeLinear
// nodes say that read it, or what only moves it, so that reals can be brought to it; its
// own type where it has one, is no integer, or is read in another way.
func Meant(v *ir.Value) ir.Type {
	if v.Type.Quant != nil || !v.Type.DType.IsInt() {
		return v.Type
	}
	if q := readAs(v, nil); q != nil {
		return v.Type.WithQuant(v.Type.DType, q)
	}
	return v.Type
}

// readAs is the one quantisation that readers of v take it in, which is that of others
// (nil: none yet); nil where they take it in another way.
func readAs(v *ir.Value, others *ir.Quant) *ir.Quant {
	for _, u := range v.Uses() {
		n, q := u.Node, (*ir.Quant)(nil)
		switch {
		case n.Op == DequantizeLinear && u.Index == 0:
			if _, p, ok := LinearParams(n); ok && !p.PerAxis() {
				q = p
			}
		case n.Op.Quant == ir.QMove && len(n.Out) == 1 && u.Index == 0 && n.Op.DataIn == nil:
			q = readAs(n.Out[0], others)
		}
		if q == nil || others != nil && !q.Equal(others) {
			return nil
		}
		others = q
	}
	return others
}
