// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// EvalNode evaluates one node on the given inputs (nil where absent): in
// float or plain integers by Op.Eval; on quantised values by the rule that
// Op.Quant names. Inputs beyond their limits (OpDef.Limits) are an error. A panic
// inside an operator is returned as an error that names the node.
func EvalNode(n *Node, in []*tensor.Dense) (out []*tensor.Dense, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = bug.Errorf("evaluating %s: %v", n, r)
		}
	}()
	if n.Op.Eval == nil && n.Op.EvalQ == nil {
		return nil, Errf(n, "no-eval", "the reference interpreter has no evaluation for this operator")
	}
	if err := checkLimits(n, LimitsOf(n), func(i int) *tensor.Dense { return in[i] }); err != nil {
		return nil, err
	}
	if n.Quantised() {
		switch {
		case n.Op.EvalQ != nil && n.Op.Quant != QMove:
			return n.Op.EvalQ(n, in)
		case n.Op.Quant == QFloat:
			if t, ok := Table(n); ok && in[0].Len() > len(t) {
				return []*tensor.Dense{evalTable(n, in[0], t)}, nil
			}
			if c, ok := InterpolatedLUT(n); ok {
				return []*tensor.Dense{evalInterpolated(in[0], c)}, nil
			}
			return EvalDequantised(n, in)
		}
	}
	return n.Op.Eval(n, in)
}

// EvalOn evaluates a node on its constants and on what get gives of its other inputs.
func EvalOn(n *Node, get func(v *Value) *tensor.Dense) ([]*tensor.Dense, error) {
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil:
			in[i] = v.Const
		default:
			if in[i] = get(v); in[i] == nil {
				return nil, bug.Errorf("%s: value %s is not there", n, v)
			}
		}
	}
	return EvalNode(n, in)
}

// functionWork is what a function of one element takes in elements: logarithms
// and powers are no additions.
const functionWork = 4

// Work is what evaluating n takes, in elements read and written, roughly: a
// few nanoseconds each. The types of inputs and outputs must be there, data
// need not.
func Work(n *Node) int64 {
	var in, out, more int64
	for _, v := range n.In {
		if v != nil {
			in += int64(v.Type.Elems())
		}
	}
	for _, v := range n.Out {
		if v != nil {
			out += int64(v.Type.Elems())
		}
	}
	switch {
	case n.Op.Work != nil:
		more = n.Op.Work(n)
	case n.Op.MACs != nil:
		more = n.Op.MACs(n) / 4
	case n.Op.Scalar != nil:
		more = out * (functionWork - 1)
	}
	if more < 0 || in+out+more < 0 { // more than can be counted
		return math.MaxInt64
	}
	return in + out + more
}

// EvalDequantised is the contract's rule for int8 operators without a
// CMSIS-NN kernel: clamp(round_half_away(f(dequantised, float64) / s) + zp).
// An EvalQ calls it for the types that its kernel does not take.
func EvalDequantised(n *Node, in []*tensor.Dense) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	fin := make([]*tensor.Dense, len(in))
	for i, d := range in {
		if d == nil {
			continue
		}
		switch {
		case n.In[i].Type.Quant != nil:
			fin[i] = Dequantise(d, n.In[i].Type.Quant)
		case d.DType.IsFloat():
			fin[i] = d.Cast(tensor.F64)
		default:
			fin[i] = d
		}
	}
	out := fail.Must(n.Op.Eval(n, fin))
	for i := range out {
		if i >= len(n.Out) {
			break
		}
		switch t := n.Out[i].Type; {
		case t.Quant != nil:
			out[i] = QuantiseAway(out[i], t)
		case t.DType.IsFloat():
			out[i] = out[i].Cast(t.DType)
		}
	}
	return out, nil
}

// Dequantise gives the reals, in float64, for which d stands.
func Dequantise(d *tensor.Dense, q *Quant) *tensor.Dense {
	out := make([]float64, d.Len())
	ch := ChannelOf(d.Shape, q)
	for i := range out {
		c := ch(i)
		out[i] = float64(d.Int(i)-int64(q.ZeroAt(c))) * float64(q.ScaleAt(c))
	}
	return tensor.Of(d.Shape, out)
}

// QuantiseAway is clamp(round_half_away(x/s) + zp) for every element.
func QuantiseAway(d *tensor.Dense, t Type) *tensor.Dense {
	return quantise(d, t, math.Round)
}

// QuantiseEven is ONNX QuantizeLinear: x/s (in float32 when x is float32)
// rounded half to even, then zp added and the sum clamped.
func QuantiseEven(d *tensor.Dense, t Type) *tensor.Dense {
	return quantise(d, t, math.RoundToEven)
}

func quantise(d *tensor.Dense, t Type, round func(float64) float64) *tensor.Dense {
	out := tensor.New(t.DType, d.Shape)
	lo, hi := t.DType.IntRange()
	ch := ChannelOf(d.Shape, t.Quant)
	f32 := d.DType == tensor.F32
	for i, n := 0, d.Len(); i < n; i++ {
		c := ch(i)
		x, s := d.Float(i), t.Quant.ScaleAt(c)
		var r float64
		if f32 {
			r = round(float64(float32(x) / s))
		} else {
			r = round(x / float64(s))
		}
		if r != r { // not a number counts as zero, as in the C kernels
			r = 0
		}
		out.SetInt(i, ClampInt(r+float64(t.Quant.ZeroAt(c)), lo, hi))
	}
	return out
}

// ClampInt converts v to an integer within [lo, hi]; NaN becomes lo clamped
// zero, so that every host agrees.
func ClampInt(v float64, lo, hi int64) int64 {
	switch {
	case v != v:
		v = 0
	case v <= float64(lo):
		return lo
	case v >= float64(hi):
		return hi
	}
	return min(max(int64(v), lo), hi)
}

// ChannelOf gives the index of every element along the axis of a quantisation.
func ChannelOf(shape []int, q *Quant) func(int) int {
	if q.Axis < 0 {
		return func(int) int { return 0 }
	}
	inner := tensor.Strides(shape)[q.Axis]
	dim := shape[q.Axis]
	return func(i int) int { return i / inner % dim }
}

// Table gives an element-wise node on an 8-bit quantised value as a table:
// entry i is the result for the i-th integer of the input's type, from the
// lowest. ok is false for nodes that are not a function of one 8-bit value
// with one scale. The entries are exactly what EvalNode computes.
func Table(n *Node) (entries []int64, ok bool) {
	if !scalarNode(n) {
		return nil, false
	}
	x, y := n.In[0].Type, n.Out[0].Type
	if x.Quant == nil || y.Quant == nil || x.Quant.PerAxis() || y.Quant.PerAxis() || x.DType != tensor.I8 &&
		x.DType != tensor.U8 {
		return nil, false
	}
	lo, hi := x.DType.IntRange()
	v := make([]float64, hi-lo+1)
	for i := range v {
		v[i] = n.Op.Scalar(n, float64(lo+int64(i)-int64(x.Quant.Zero[0]))*float64(x.Quant.Scale[0]))
	}
	q := QuantiseAway(tensor.Of([]int{len(v)}, v), y.WithShape([]int{len(v)}))
	return q.Int64s(), true
}

// evalTable looks every element up.
func evalTable(n *Node, x *tensor.Dense, entries []int64) *tensor.Dense {
	y := tensor.New(n.Out[0].Type.DType, x.Shape)
	lo, _ := x.DType.IntRange()
	if xs, ok := x.Data.([]int8); ok {
		if ys, ok := y.Data.([]int8); ok {
			for i, q := range xs {
				ys[i] = int8(entries[int(q)+128])
			}
			return y
		}
	}
	for i, k := 0, x.Len(); i < k; i++ {
		y.SetInt(i, entries[x.Int(i)-lo])
	}
	return y
}

// InterpolatedLUT gives the function of a quantised node from int16 to int16, both
// of zero point 0, as straight lines between 513 points. That is the definition of
// such nodes (TFLite's int16 look-up tables); operators marked Straight are exact.
// ok is false for all other nodes.
func InterpolatedLUT(n *Node) (c *fixp.InterpolatedLUT16, ok bool) {
	if n.Op.Straight || !scalarNode(n) || !Int16Zero(n.In[0].Type) || !Int16Zero(n.Out[0].Type) {
		return nil, false
	}
	x, y := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	return fixp.NewInterpolatedLUT16(func(v float64) float64 { return n.Op.Scalar(n, v*x) / y }), true
}

// InterpolationError is the largest difference, in steps of the output, between the
// interpolated function of a node that InterpolatedLUT accepts and the exact one.
func InterpolationError(n *Node) float64 {
	c, ok := InterpolatedLUT(n)
	if !ok {
		return 0
	}
	x, y := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	worst := 0.0
	for v := math.MinInt16; v <= math.MaxInt16; v++ {
		exact := n.Op.Scalar(n, float64(v)*x) / y
		exact = min(max(exact, math.MinInt16), math.MaxInt16)
		if exact != exact {
			exact = 0
		}
		worst = max(worst, math.Abs(exact-float64(c.At(int16(v)))))
	}
	return worst
}

// QuantError is how far the result of a quantised node may be from the exact
// one by definition, in steps of the output: that of its interpolation, or of its kernel.
func QuantError(n *Node) float64 {
	if !n.Quantised() {
		return 0
	}
	if n.Op.QError != nil {
		return n.Op.QError(n)
	}
	return InterpolationError(n)
}

// Int16Zero reports int16 with one scale and zero point 0.
func Int16Zero(t Type) bool {
	return t.DType == tensor.I16 && t.Quant != nil && !t.Quant.PerAxis() && t.Quant.Zero[0] == 0
}

// scalarNode reports a quantised node that is a function of its first input.
func scalarNode(n *Node) bool {
	if n.Op.Scalar == nil || n.Op.Quant != QFloat || n.Op.EvalQ != nil || len(n.Out) != 1 {
		return false
	}
	return !slices.ContainsFunc(n.In[1:], func(v *Value) bool { return v != nil && v.Const == nil })
}

// evalInterpolated is c of every element.
func evalInterpolated(x *tensor.Dense, c *fixp.InterpolatedLUT16) *tensor.Dense {
	y := tensor.New(tensor.I16, x.Shape)
	ys := y.Data.([]int16)
	for i, v := range x.Data.([]int16) {
		ys[i] = c.At(v)
	}
	return y
}
