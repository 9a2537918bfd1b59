// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
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
	in = slices.Clone(in)
	in[2] = tensor.Of(b.Shape, lists.Make(b.Len(), func(i int) float64 {
		return float64(b.Int(i)) * float64(x.Scale[0]) * float64(w.ScaleAt(i%len(w.Scale)))
	}))
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
	out := fail.Must(ir.EvalDequantised(bare, in))
	lo, hi := ActRange(n, n.Out[0].Type)
	clampInts(out[0], int64(lo), int64(hi))
	return out, nil
}

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

// ChannelAffine is x * scale[c] + offset[c], c being the index along a dimension. It stands
// behind inputs of which each channel gets a quantisation of its own: calibration leaves it
// in float, as a Mul and an Add, which the quantisation of the input takes in.
var ChannelAffine = def(ir.OpDef{
	Name: "ChannelAffine", Domain: "nncc", Doc: "x * scale + offset for each index of an axis of an input",
	Attrs: ir.Declare[struct {
		Axis int `attr:",required"`
	}](),
	MinIn: 3, Pattern: ir.Broadcast, Quant: ir.QNone,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, floatTypes)
		shape := n.In[0].Type.Shape
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(shape)))
		wantVectors(n, shape[axis], fmt.Sprintf("the size of dimension %d", axis), "scale", "offset")
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, y := in[0], tensor.New(in[0].DType, in[0].Shape)
		axis := fail.Must(Axis(n, ir.AttrsOf[AxisAttr](n).Axis, len(x.Shape)))
		inner, dim := tensor.Count(x.Shape[axis+1:]), x.Shape[axis]
		for i, k := 0, x.Len(); i < k; i++ {
			c := i / inner % dim
			y.SetFloat(i, float64(x.Float(i)*in[1].Float(c))+in[2].Float(c))
		}
		return outs(y)
	},
})

// clampInts limits integers to lo, and then to hi, in place.
func clampInts(y *tensor.Dense, lo, hi int64) {
	for i, k := 0, y.Len(); i < k; i++ {
		y.SetInt(i, min(max(y.Int(i), lo), hi))
	}
}

// Clip limits x to [min, max]; both bounds are optional scalar inputs. Where
// min is above max the result is max. Scalar holds for constant bounds only.
var Clip = def(ir.OpDef{
	Name: "Clip", Doc: "limits x to [min, max] (optional scalar inputs)", MinIn: 1, MaxIn: 3, Pattern: ir.Elementwise,
	Straight: true, Activation: true,
	Finite: true,
	Infer: func(n *ir.Node) ([]ir.Type, error) {
		wantType(n, 0, numTypes)
		for i, what := range []string{1: "min", 2: "max"} {
			if v := n.Input(i); i > 0 && v != nil {
				refuse(n, v.Type.Elems() != 1, "shape", "%s (input %d, %s) has shape %v, want a scalar", what, i, v,
					v.Type.Shape)
			}
		}
		wantSameTypes(n, 0, 1, 2)
		return one(like(n))
	},
	Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		x, mn, mx := in[0], opt(in, 1), opt(in, 2)
		y := tensor.New(x.DType, x.Shape)
		if x.DType.IsInt() {
			lo, hi := x.DType.IntRange()
			if mn != nil {
				lo = mn.Int(0)
			}
			if mx != nil {
				hi = mx.Int(0)
			}
			y = x.Clone()
			clampInts(y, lo, hi)
			return outs(y)
		}
		lo, hi := negInf, posInf
		if mn != nil {
			lo = mn.Float(0)
		}
		if mx != nil {
			hi = mx.Float(0)
		}
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetFloat(i, min(max(x.Float(i), lo), hi))
		}
		return outs(y)
	},
	Scalar: func(n *ir.Node, x float64) float64 {
		lo, _ := constReal(n, 1, negInf)
		hi, _ := constReal(n, 2, posInf)
		return min(max(x, lo), hi)
	},
})

// ClipBounds are the bounds of a Clip in the order in which a kernel may apply
// them, lo <= hi: infinite where absent, both the upper one where the node has
// them the other way round. False where one is computed at run time or NaN, of
// which the result is NaN.
func ClipBounds(n *ir.Node) (lo, hi float64, ok bool) {
	lo, known := constReal(n, 1, negInf)
	hi, ok = constReal(n, 2, posInf)
	return min(lo, hi), hi, known && ok && lo == lo && hi == hi
}
