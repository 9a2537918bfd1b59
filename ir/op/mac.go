// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Multiply-accumulate operators on integers. On 8-bit data the int32 sums of
// (x - zx) * (w - zw) start at the bias (int32, with the scale of the products, zero
// point 0), are requantised per output channel by the multiplier of s_x*s_w[c]/s_y, and
// clamped by ActRange: the numbers of CMSIS-NN's convolutions and products of int8. On
// int16 data ("16x8") zero points are 0, sums exact, the bias is int64, and one rounding
// by a Q15 multiplier follows: those of its kernels of int16. The same definition covers
// what CMSIS-NN lacks: three dimensions, groups, dilation, weights with zero points. Anything
// else (a bias of another scale) follows the general rule of ir.EvalDequantised.

// MACParams are the integer parameters of a multiply-accumulate operator:
// out = clamp(requantise(bias + sum (x+InOff)*(w+FilterOff), Mult, Shift) + OutOff).
// They are in the terms of int8 kernels: a uint8 tensor stands for the int8
// one that is 128 less, and its zero point likewise.
type MACParams struct {
	InOff          int32   // minus the zero point of the data
	FilterOff      []int32 // minus the zero points of the weights: one, or one an output channel
	OutOff         int32   // the zero point of the output
	ActMin, ActMax int32
	// Mult and Shift hold an element for every output channel, or a single one
	// for a fully connected layer or matrix product quantised per tensor.
	Mult, Shift []int32
	Rounding    fixp.Rounding // of the kernel that computes the node
}

// Symmetric reports weights whose zero points are all 0.
func (p *MACParams) Symmetric() bool {
	return !slices.ContainsFunc(p.FilterOff, func(o int32) bool { return o != 0 })
}

// FilterOffset is minus the zero point of the weights of output channel c.
func (p *MACParams) FilterOffset(c int) int32 { return p.FilterOff[c%len(p.FilterOff)] }

// Requantise turns the accumulator of output channel c into an int8 value.
func (p *MACParams) Requantise(acc int32, c int) int8 { return requantised[int8](p, acc, c) }

// requantised turns the accumulator of output channel c into a value: one of 64 bits belongs to int16.
func requantised[T int8 | int16, A int32 | int64](p *MACParams, acc A, c int) T {
	c %= len(p.Mult)
	var v int32
	if narrow, ok := any(acc).(int32); ok {
		v = p.Rounding.Requantize(narrow, p.Mult[c], p.Shift[c]) + p.OutOff
	} else {
		v = fixp.RequantizeS64(int64(acc), fixp.ReduceMultiplier(p.Mult[c]), p.Shift[c])
	}
	return T(fixp.Clamp(v, p.ActMin, p.ActMax))
}

// eightBit reports int8 and uint8 with one scale; the reason why not otherwise.
func eightBit(what string, v *ir.Value) string {
	return oneScale(what, v, "int8 or uint8", tensor.I8, tensor.U8)
}

// sixteenBit reports int16 with one scale and zero point 0; the reason why not otherwise.
func sixteenBit(what string, v *ir.Value) string {
	if why := oneScale(what, v, "int16", tensor.I16); why != "" {
		return why
	}
	if z := v.Type.Quant.Zero[0]; z != 0 {
		return fmt.Sprintf("the %s %s has zero point %d, want 0", what, v, z)
	}
	return ""
}

func oneScale(what string, v *ir.Value, want string, types ...tensor.DType) string {
	t := v.Type
	switch {
	case t.Quant == nil:
		return fmt.Sprintf("the %s %s is %s and not quantised", what, v, t.DType)
	case !slices.Contains(types, t.DType):
		return fmt.Sprintf("the %s %s is of type %s, want %s", what, v, t.DType, want)
	case t.Quant.PerAxis():
		return fmt.Sprintf("the %s %s is quantised per channel, want per tensor", what, v)
	}
	return ""
}

// endsWhy is why input 0 or output 0 is not as one of these functions wants it.
func endsWhy(n *ir.Node, bits func(what string, v *ir.Value) string) string {
	if why := bits("input", n.In[0]); why != "" {
		return why
	}
	return bits("output", n.Out[0])
}

// Sixteen reports a node whose first input and first output are int16 with
// one scale and zero point 0.
func Sixteen(n *ir.Node) bool {
	return len(n.In) > 0 && n.In[0] != nil && endsWhy(n, sixteenBit) == ""
}

// bias8 is 128 for uint8, 0 for int8: what is subtracted to get int8.
func bias8(t ir.Type) int32 {
	if t.DType == tensor.U8 {
		return 128
	}
	return 0
}

// s8 is the data of an 8-bit tensor as int8, without a copy for int8 and int4.
func s8(d *tensor.Dense) []int8 {
	if u, ok := d.Data.([]uint8); ok {
		s := make([]int8, len(u))
		for i, v := range u {
			s[i] = int8(v ^ 0x80)
		}
		return s
	}
	return d.Data.([]int8)
}

// eightBitOf wraps int8 results as a tensor of the node's output type.
func eightBitOf(t ir.Type, shape []int, y []int8) *tensor.Dense {
	if t.DType != tensor.U8 {
		return tensor.Of(shape, y)
	}
	u := make([]uint8, len(y))
	for i, v := range y {
		u[i] = uint8(v) ^ 0x80
	}
	return tensor.Of(shape, u)
}

// MAC8Params are the integer parameters of a quantised Conv, ConvTranspose, MatMul or Gemm on 8-bit data,
// and MAC16Params those on int16. A reason that is not empty says why the integer arithmetic does not apply.
func MAC8Params(n *ir.Node) (*MACParams, string) {
	form, why := weightsOf(n)
	if why != "" {
		return nil, why
	}
	if why := endsWhy(n, eightBit); why != "" {
		return nil, why
	}
	if why := weightsWhy(n, form.axis, "int8, uint8 or int4", tensor.I8, tensor.U8, tensor.I4); why != "" {
		return nil, why
	}
	x, w, y := n.In[0].Type, n.In[1].Type, n.Out[0].Type
	p := &MACParams{InOff: bias8(x) - x.Quant.Zero[0], OutOff: y.Quant.Zero[0] - bias8(y), Rounding: Rounding(n)}
	p.ActMin, p.ActMax = ActRange(n, y)
	p.ActMin, p.ActMax = p.ActMin-bias8(y), p.ActMax-bias8(y)
	for c := range form.channels {
		p.FilterOff = append(p.FilterOff, bias8(w)-w.Quant.Zero[c%len(w.Quant.Zero)])
	}
	if one := slices.Compact(slices.Clone(p.FilterOff)); len(one) <= 1 {
		p.FilterOff = []int32{bias8(w) - w.Quant.Zero[0]}
	}
	if why := p.scales(n, form.channels, form.fc); why != "" {
		return nil, why
	}
	return p, biasWhy(n, tensor.I32)
}

// MAC16Params is MAC8Params for int16 data.
func MAC16Params(n *ir.Node) (*MACParams, string) {
	form, why := weightsOf(n)
	if why != "" {
		return nil, why
	}
	if why := endsWhy(n, sixteenBit); why != "" {
		return nil, why
	}
	w := n.In[1]
	if wq := w.Type.Quant; !form.wide || wq == nil || w.Type.DType != tensor.I16 || wq.PerAxis() {
		if why := weightsWhy(n, form.axis, "int8 or int4", tensor.I8, tensor.I4); why != "" {
			return nil, why
		}
	}
	for c, z := range w.Type.Quant.Zero {
		if z != 0 {
			return nil, fmt.Sprintf("the weights %s have zero point %d in channel %d, want 0", w, z, c)
		}
	}
	p := &MACParams{FilterOff: []int32{0}}
	p.ActMin, p.ActMax = ActRange(n, n.Out[0].Type)
	if why := p.scales(n, form.channels, form.fc); why != "" {
		return nil, why
	}
	for c, s := range p.Shift {
		if s > 14 {
			return nil, fmt.Sprintf("the scale of the products is 2^%d in channel %d, want below 2^14", s, c)
		}
	}
	return p, biasWhy(n, tensor.I64)
}

// weightsWhy is why input 1 is not quantised weights of one of these types.
func weightsWhy(n *ir.Node, axis int, want string, types ...tensor.DType) string {
	w := n.In[1]
	switch q := w.Type.Quant; {
	case q == nil:
		return fmt.Sprintf("the weights %s are %s and not quantised", w, w.Type.DType)
	case !slices.Contains(types, w.Type.DType):
		return fmt.Sprintf("the weights %s are of type %s, want %s", w, w.Type.DType, want)
	case q.PerAxis() && q.Axis != axis:
		return fmt.Sprintf("the weights %s are quantised along dimension %d, want one scale, or one an output "+
			"channel", w, q.Axis)
	}
	return ""
}

// biasWhy checks that the bias counts accumulator steps: of their type, with the
// product of the scales of data and weights where it names scales at all.
func biasWhy(n *ir.Node, want tensor.DType) string {
	b := n.Input(2)
	switch {
	case b == nil:
		return ""
	case b.Type.DType != want:
		return fmt.Sprintf("the bias %s is of type %s, want %s", b, b.Type.DType, want.ONNXName())
	case b.Type.Quant == nil:
		return ""
	}
	q, xs, ws := b.Type.Quant, n.In[0].Type.Quant.Scale[0], n.In[1].Type.Quant.Scale
	for c := range max(len(q.Scale), len(ws)) {
		want := float64(xs) * float64(ws[c%len(ws)])
		if got := float64(q.Scale[c%len(q.Scale)]); math.Abs(got-want) > 1e-5*want {
			return fmt.Sprintf("the bias %s has scale %g, the products have %g", b, got, want)
		}
		if q.Zero[c%len(q.Zero)] != 0 {
			return fmt.Sprintf("the bias %s has a zero point", b)
		}
	}
	return ""
}

// scales derives multipliers and shifts from the scales of the node's operands.
func (p *MACParams) scales(n *ir.Node, channels int, fc bool) string {
	xq, wq, yq := n.In[0].Type.Quant, n.In[1].Type.Quant, n.Out[0].Type.Quant
	count := channels
	if fc && !wq.PerAxis() {
		count = 1
	}
	p.Mult, p.Shift = make([]int32, count), make([]int32, count)
	for c := range count {
		s := wq.Scale[c%len(wq.Scale)]
		eff := fixp.EffectiveScale(xq.Scale[0], s, yq.Scale[0])
		if count == 1 && fc || !wq.PerAxis() && n.Op.Name == "Conv" && ir.AttrsOf[ConvAttrs](n).FcScale != 0 {
			eff = fixp.EffectiveScaleFC(xq.Scale[0], s, yq.Scale[0])
		}
		if !(eff > 0) || math.IsInf(eff, 0) || eff >= 1<<30 {
			return fmt.Sprintf("the scale %g of the products has no fixed-point form", eff)
		}
		p.Mult[c], p.Shift[c] = fixp.QuantizeMultiplier(eff)
	}
	return ""
}

// WeightChannels give the channels of the input and of the output that a weight is of: of a convolution, or of a
// product with a matrix, with weights of a shape.
func WeightChannels(n *ir.Node, shape []int) (in, out func(i int) int) {
	st, per := tensor.Strides(shape), shape[0]
	if n.Op.Window == ir.Convolved {
		per /= ir.AttrsOf[GroupAttr](n).Group
	}
	row := func(i int) int { return i / st[0] }
	within := func(i int) int { return row(i)/per*shape[1] + i/st[1]%shape[1] } // of the row's group
	if n.Op.WeightAxis(n) == 0 {
		return within, row
	}
	return row, within
}

// macWeights is input 1 of a multiply-accumulate operator. Scales multiply in float64, or in float32
// where fc is set and the weights have one scale, as TFLite does for each.
type macWeights struct {
	axis     int // that may carry a scale per channel, -1: none
	channels int // of the output, which take the scales round robin
	fc       bool
	wide     bool // may be int16 beside data of int16
}

// weightsOf describes the weights of a Conv, ConvTranspose, MatMul or Gemm; the reason why it has none otherwise. Those
// of a MatMul may have a scale a column in a matrix [K, N]. A Gemm is a product plus bias: alpha = beta = 1, no transA,
// and at most one bias a column.
func weightsOf(n *ir.Node) (macWeights, string) {
	switch n.Op.Name {
	case "Gemm":
		if why := plainGemm(n); why != "" {
			return macWeights{}, why
		}
		return macWeights{n.Op.WeightAxis(n), n.Out[0].Type.Shape[1], true, false}, ""
	case "MatMul":
		g, err := MatMulGeometry(n)
		if err != nil {
			return macWeights{}, err.Error()
		}
		if n.In[1].Type.Rank() == 2 {
			return macWeights{1, g.N, true, true}, ""
		}
		return macWeights{-1, g.N, true, true}, ""
	}
	g, err := ConvGeometry(n)
	if err != nil {
		return macWeights{}, err.Error()
	}
	return macWeights{n.Op.WeightAxis(n), g.COut, false, false}, ""
}

// plainGemm is the reason why a Gemm is no product plus bias.
func plainGemm(n *ir.Node) string {
	if _, err := GemmGeometry(n); err != nil {
		return err.Error()
	}
	a := ir.AttrsOf[GemmAttrs](n)
	switch {
	case a.TransA != 0:
		return "transA is set"
	case a.Alpha != 1:
		return fmt.Sprintf("alpha is %v, want 1", a.Alpha)
	case n.Input(2) != nil && a.Beta != 1:
		return fmt.Sprintf("beta is %v, want 1", a.Beta)
	}
	if b := n.Input(2); b != nil {
		if s := b.Type.Shape; len(s) == 2 && s[0] != 1 {
			return fmt.Sprintf("the bias %s has shape %v, want one value a column", b, s)
		}
	}
	return ""
}
