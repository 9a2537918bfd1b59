package op

import (
	"math"

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
	bound := func(name string) int32 {
		r := math.Round(float64(n.Float(name) / out.Quant.ScaleAt(0)))
		return int32(ir.ClampInt(r+float64(out.Quant.ZeroAt(0)), l, h))
	}
	if n.Has("act_min") {
		lo = max(lo, bound("act_min"))
	}
	if n.Has("act_max") {
		hi = min(hi, bound("act_max"))
	}
	return lo, hi
}

// evalActQ is the EvalQ of operators with an absorbed activation and without
// an integer kernel: the rule of ir.EvalDequantised on the operator without
// its activation, then the integer clamp of ActRange.
func evalActQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if n.Out[0].Type.Quant == nil || !n.Has("act_min") && !n.Has("act_max") {
		return ir.EvalDequantised(n, in)
	}
	bare := *n
	bare.Attrs = n.Attrs.Clone()
	delete(bare.Attrs, "act_min")
	delete(bare.Attrs, "act_max")
	out, err := ir.EvalDequantised(&bare, in)
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
