// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// ActRange is the integer clamp of a quantised node's output: the range of
// out's element type, narrowed by the absorbed activation act_min, act_max.
// The bounds are quantised in float32 with ties away from zero, as TFLite's
// CalculateActivationRangeQuantized does.
func ActRange(n *ir.Node, out ir.Type) (lo, hi int32) {
	l, h := out.DType.IntRange()
	lo, hi = int32(l), int32(h)
	if out.Quant == nil {
		return lo, hi
	}
	bound := func(v *float32) int32 {
		r := math.Round(float64(*v / out.Quant.ScaleAt(0)))
		return int32(ir.ClampInt(r+float64(out.Quant.ZeroAt(0)), l, h))
	}
	act := ir.AttrsOf[Act](n)
	if act.ActMin != nil {
		lo = max(lo, bound(act.ActMin))
	}
	if act.ActMax != nil {
		hi = min(hi, bound(act.ActMax))
	}
	return lo, hi
}

// countedBias gives the reals of an integer bias without a quantisation of its
// own, which counts products of data and weights; other inputs stay.
func countedBias(n *ir.Node, in []*tensor.Dense) []*tensor.Dense {
	b := opt(in, 2)
	if n.Op.MACs == nil || b == nil || !b.DType.IsInt() || n.In[2].Type.Quant != nil {
		return in
	}
	x, w := n.In[0].Type.Quant, n.In[1].Type.Quant
	if x == nil || w == nil {
		return in
	}
	v := make([]float64, b.Len())
	for i := range v {
		v[i] = float64(b.Int(i)) * float64(x.Scale[0]) * float64(w.ScaleAt(i%len(w.Scale)))
	}
	in = slices.Clone(in)
	in[2] = tensor.Of(b.Shape, v)
	return in
}

// ActAttrs are the bounds of n's absorbed activation, as attributes.
func ActAttrs(n *ir.Node) ir.Attrs {
	out := ir.Attrs{}
	for _, name := range []string{"act_min", "act_max"} {
		if a, ok := n.Attrs[name]; ok {
			out[name] = a
		}
	}
	return out
}

// evalActQ is the EvalQ of operators with an absorbed activation and without
// an integer kernel: the rule of ir.EvalDequantised on the operator without
// its activation, then the integer clamp of ActRange.
func evalActQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	in = countedBias(n, in)
	if n.Out[0].Type.Quant == nil || !HasAct(n) {
		return ir.EvalDequantised(n, in)
	}
	bare := n.Bare()
	bare.DropAttr("act_min", "act_max")
	out, err := ir.EvalDequantised(bare, in)
	if err != nil {
		return nil, err
	}
	lo, hi := ActRange(n, n.Out[0].Type)
	y := out[0]
	for i, k := 0, y.Len(); i < k; i++ {
		y.SetInt(i, min(max(y.Int(i), int64(lo)), int64(hi)))
	}
	return out, nil
}
