// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Multiply-accumulate operators on int16 data ("16x8"): zero point 0, int8
// weights without zero points, exact sums, an int64 bias that counts products,
// one rounding by a Q15 multiplier. These are the numbers of arm_convolve_s16,
// arm_depthwise_conv_s16, arm_fully_connected_s16 and arm_batch_matmul_s16; the
// same definition covers groups and ConvTranspose.

// sixteenBit reports int16 with one scale and zero point 0; the reason why not otherwise.
func sixteenBit(what string, v *ir.Value) string {
	t := v.Type
	switch {
	case t.Quant == nil:
		return fmt.Sprintf("the %s %s is %s and not quantised", what, v, t.DType)
	case t.DType != tensor.I16:
		return fmt.Sprintf("the %s %s is of type %s, want int16", what, v, t.DType)
	case t.Quant.PerAxis():
		return fmt.Sprintf("the %s %s is quantised per channel, want per tensor", what, v)
	case t.Quant.Zero[0] != 0:
		return fmt.Sprintf("the %s %s has zero point %d, want 0", what, v, t.Quant.Zero[0])
	}
	return ""
}

// Sixteen reports a node whose first input and first output are int16 with
// one scale and zero point 0.
func Sixteen(n *ir.Node) bool {
	return len(n.In) > 0 && n.In[0] != nil && sixteenBit("", n.In[0]) == "" && sixteenBit("", n.Out[0]) == ""
}

// mac16Params is macParams for int16 data. The right side may be int16, too,
// where both is set.
func mac16Params(n *ir.Node, axis, channels int, fc, both bool) (*MACParams, string) {
	x, w, y := n.In[0], n.In[1], n.Out[0]
	for _, why := range []string{sixteenBit("input", x), sixteenBit("output", y)} {
		if why != "" {
			return nil, why
		}
	}
	wq := w.Type.Quant
	switch {
	case wq == nil:
		return nil, fmt.Sprintf("the weights %s are %s and not quantised", w, w.Type.DType)
	case both && w.Type.DType == tensor.I16 && !wq.PerAxis():
	case w.Type.DType != tensor.I8 && w.Type.DType != tensor.I4:
		return nil, fmt.Sprintf("the weights %s are of type %s, want int8 or int4", w, w.Type.DType)
	case wq.PerAxis() && wq.Axis != axis:
		return nil, fmt.Sprintf("the weights %s are quantised along dimension %d, want one scale, or one an output "+
			"channel", w, wq.Axis)
	}
	for c, z := range wq.Zero {
		if z != 0 {
			return nil, fmt.Sprintf("the weights %s have zero point %d in channel %d, want 0", w, z, c)
		}
	}
	p := &MACParams{FilterOff: []int32{0}}
	p.ActMin, p.ActMax = ActRange(n, y.Type)
	if why := p.scales(n, channels, fc); why != "" {
		return nil, why
	}
	for c, s := range p.Shift {
		if s > 14 {
			return nil, fmt.Sprintf("the scale of the products is 2^%d in channel %d, want below 2^14", s, c)
		}
	}
	return p, bias64Why(n, x.Type.Quant.Scale[0], wq)
}

// bias64Why checks that the bias is int64 and counts accumulator steps.
func bias64Why(n *ir.Node, xs float32, wq *ir.Quant) string {
	b := n.Input(2)
	switch {
	case b == nil:
		return ""
	case b.Type.DType != tensor.I64:
		return fmt.Sprintf("the bias %s is of type %s, want int64", b, b.Type.DType)
	}
	return biasScaleWhy(b, xs, wq)
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

// Conv16Params is ConvQuantParams for int16 data.
func Conv16Params(n *ir.Node) (*MACParams, string) {
	g, err := ConvGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	axis := 0
	if g.Transposed {
		axis = 1
	}
	return mac16Params(n, axis, g.COut, false, false)
}

// MatMul16Params is MatMulQuantParams for int16 data; the right side is int8,
// or int16 with one scale.
func MatMul16Params(n *ir.Node) (*MACParams, string) {
	g, err := MatMulGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	axis := -1
	if n.In[1].Type.Rank() == 2 {
		axis = 1
	}
	return mac16Params(n, axis, g.N, true, true)
}

// Gemm16Params is GemmQuantParams for int16 data.
func Gemm16Params(n *ir.Node) (*MACParams, string) {
	g, err := GemmGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	axis := 1
	if ir.AttrsOf[GemmAttrs](n).TransB != 0 {
		axis = 0
	}
	if why := plainGemm(n); why != "" {
		return nil, why
	}
	return mac16Params(n, axis, g.N, true, false)
}

// evalConv16 is a convolution of any kind on int16 data.
func evalConv16(n *ir.Node, g *ConvGeom, p *MACParams, in []*tensor.Dense) ([]*tensor.Dense, error) {
	x, w := in[0].Data.([]int16), in[1].Data.([]int8)
	var bias []int64
	if b := opt(in, 2); b != nil {
		bias = tensor.As[int64](b)
	}
	shape := append([]int{g.N, g.COut}, g.Out...)
	if g.Transposed || len(g.In) > 2 {
		return outs(tensor.Of(shape, conv16Exact(g, p, x, w, bias)))
	}
	x = swapInner(g.N, g.CIn, product(g.In), x)
	y := make([]int16, product(shape))
	var err error
	if IsDepthwise(g) {
		err = qref.Depthwise16(p.depthwise(g), x, swapInner(1, g.COut, g.Taps(), w), bias, y)
	} else {
		err = qref.Conv16(p.conv(g), x, swapInner(g.COut, g.CIn/g.Group, g.Taps(), w), qref.Bias16{S64: bias}, y)
	}
	if err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(tensor.Of(shape, swapInner(g.N, product(g.Out), g.COut, y)))
}

// conv16Exact is the definition itself, for every geometry, in logical order.
func conv16Exact(g *ConvGeom, p *MACParams, x []int16, w []int8, bias []int64) []int16 {
	xs, ws := make([]int64, len(x)), make([]int64, len(w))
	for i, v := range x {
		xs[i] = int64(v)
	}
	for i, v := range w {
		ws[i] = int64(v)
	}
	out := product(g.Out)
	acc := make([]int64, g.N*g.COut*out)
	if g.Transposed {
		convTransposeSum(g, xs, ws, bias, acc)
	} else {
		convSum(g, xs, ws, bias, acc)
	}
	y := make([]int16, len(acc))
	for i, a := range acc {
		c := i / out % g.COut
		y[i] = int16(fixp.Clamp(fixp.RequantizeS64(a, fixp.ReduceMultiplier(p.Mult[c]), p.Shift[c]), p.ActMin,
			p.ActMax))
	}
	return y
}

// product16 is one matrix product on int16 data, a [m][k] times b transposed [n][k].
func product16[W int8 | int16](p *MACParams, m, k, n int, a []int16, b []W, bias []int64, y []int16) error {
	if m*k*n == 0 {
		k = 0
	}
	if k == 0 { // nothing but the bias
		for i := range y {
			var acc int64
			if bias != nil {
				acc = bias[i%n]
			}
			c := i % n % len(p.Mult)
			y[i] = int16(fixp.Clamp(fixp.RequantizeS64(acc, fixp.ReduceMultiplier(p.Mult[c]), p.Shift[c]), p.ActMin,
				p.ActMax))
		}
		return nil
	}
	return qref.FullyConnected16(p.fc(m, k, n), a, b, bias, y)
}

func evalGemm16(n *ir.Node, g *GemmGeom, p *MACParams, in []*tensor.Dense) ([]*tensor.Dense, error) {
	var bias []int64
	if b := opt(in, 2); b != nil {
		bias = tensor.As[int64](expand(b, []int{1, g.N}))
	}
	w := in[1].Data.([]int8)
	if ir.AttrsOf[GemmAttrs](n).TransB == 0 {
		w = swapInner(1, g.K, g.N, w)
	}
	y := make([]int16, g.M*g.N)
	if err := product16(p, g.M, g.K, g.N, in[0].Data.([]int16), w, bias, y); err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(tensor.Of([]int{g.M, g.N}, y))
}

func evalMatMul16(n *ir.Node, g *MatGeom, p *MACParams, in []*tensor.Dense) ([]*tensor.Dense, error) {
	a := in[0].Data.([]int16)
	y := make([]int16, len(g.A)*g.M*g.N)
	var err error
	if b, ok := in[1].Data.([]int16); ok {
		err = matMul16(p, g, a, b, y)
	} else {
		err = matMul16(p, g, a, in[1].Data.([]int8), y)
	}
	if err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(tensor.Of(g.Shape, y))
}

func matMul16[W int8 | int16](p *MACParams, g *MatGeom, a []int16, b []W, y []int16) error {
	b = swapInner(len(b)/max(g.K*g.N, 1), g.K, g.N, b)
	for i := range g.A {
		fail.Check(product16(p, g.M, g.K, g.N, a[g.A[i]*g.M*g.K:][:g.M*g.K], b[g.B[i]*g.K*g.N:][:g.K*g.N], nil,
			y[i*g.M*g.N:][:g.M*g.N]))
	}
	return nil
}
