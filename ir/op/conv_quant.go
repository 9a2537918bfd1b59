// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Quantised convolutions: the int32 sums of (x - zx) * (w - zw) start at the
// bias (an int32 constant with the scale of the products, zero point 0), are
// requantised per output channel by the multiplier of s_x*s_w[c]/s_y, and
// clamped by ActRange. Where CMSIS-NN has the kernel the sums are those of
// arm_convolve_s8, arm_depthwise_conv_s8 and arm_transpose_conv_s8; the same
// definition covers three dimensions, grouped and dilated ConvTranspose, and
// weights with zero points. For int16 data see mac16.go. Anything else (a bias of
// another scale) follows the general rule of ir.EvalDequantised.

// ConvQuantParams are the integer parameters of a quantised Conv or
// ConvTranspose, with one multiplier for every output channel. A reason that
// is not empty says why the integer arithmetic does not apply.
func ConvQuantParams(n *ir.Node) (*MACParams, string) {
	g, err := ConvGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	if g.Transposed {
		return macParams(n, 1, g.COut, false)
	}
	return macParams(n, 0, g.COut, false)
}

func evalConvQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(ConvGeometry(n))
	if p, why := Conv16Params(n); why == "" {
		return evalConv16(n, g, p, in)
	}
	p, why := ConvQuantParams(n)
	if why != "" {
		return evalActQ(n, in)
	}
	var bias []int32
	if b := opt(in, 2); b != nil {
		bias = tensor.As[int32](b)
	}
	x, w := s8(in[0]), s8(in[1])
	var y []int8
	var err error
	switch {
	case !p.Symmetric() || len(g.In) > 2, g.Transposed && (g.Group > 1 || product(g.Dilations) > 1):
		y = convExact(g, p, x, w, bias)
	case g.Transposed:
		y, err = convTransposeS8(g, p, x, w, bias)
	case IsDepthwise(g):
		y, err = depthwiseS8(g, p, x, w, bias)
	default:
		y, err = convS8(g, p, x, w, bias)
	}
	if err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(eightBitOf(n.Out[0].Type, append([]int{g.N, g.COut}, g.Out...), y))
}

// hw gives a one- or two-dimensional list as height and width.
func hw(s []int, v int) qref.Tile {
	p := pad3(s, v)
	return qref.Tile{H: p[1], W: p[2]}
}

// nhwc are the dimensions of a [n, c, spatial...] tensor in channels-last order.
func nhwc(n, c int, spatial []int) qref.Dims {
	t := hw(spatial, 1)
	return qref.Dims{N: n, H: t.H, W: t.W, C: c}
}

// conv are the parameters of an ordinary convolution, without the sums.
func (p *MACParams) conv(g *ConvGeom) *qref.ConvParams {
	return &qref.ConvParams{
		In: nhwc(g.N, g.CIn, g.In), Filter: nhwc(g.COut, g.CIn/g.Group, g.Kernel), Out: nhwc(g.N, g.COut, g.Out),
		Stride: hw(g.Strides, 1), Pad: hw(g.PadBegin, 0), Dilation: hw(g.Dilations, 1),
		InputOffset: p.InOff, OutputOffset: p.OutOff, ActMin: p.ActMin, ActMax: p.ActMax, Mult: p.Mult, Shift: p.Shift,
		Rounding: p.Rounding,
	}
}

// depthwise is conv for a depthwise convolution.
func (p *MACParams) depthwise(g *ConvGeom) *qref.DepthwiseParams {
	return &qref.DepthwiseParams{
		In: nhwc(g.N, g.CIn, g.In), Filter: nhwc(1, g.COut, g.Kernel), Out: nhwc(g.N, g.COut, g.Out),
		ChMult: g.COut / g.CIn,
		Stride: hw(g.Strides, 1), Pad: hw(g.PadBegin, 0), Dilation: hw(g.Dilations, 1),
		InputOffset: p.InOff, OutputOffset: p.OutOff, ActMin: p.ActMin, ActMax: p.ActMax, Mult: p.Mult, Shift: p.Shift,
		Rounding: p.Rounding,
	}
}

func convS8(g *ConvGeom, p *MACParams, x, w []int8, bias []int32) ([]int8, error) {
	c := p.conv(g)
	y := make([]int8, c.Out.Size())
	err := qref.Conv(c, swapInner(g.N, g.CIn, product(g.In), x), swapInner(g.COut, g.CIn/g.Group, g.Taps(), w), bias, y)
	return swapInner(g.N, product(g.Out), g.COut, y), err
}

func depthwiseS8(g *ConvGeom, p *MACParams, x, w []int8, bias []int32) ([]int8, error) {
	c := p.depthwise(g)
	y := make([]int8, c.Out.Size())
	err := qref.Depthwise(c, swapInner(g.N, g.CIn, product(g.In), x), swapInner(1, g.COut, g.Taps(), w), bias, y)
	return swapInner(g.N, product(g.Out), g.COut, y), err
}

func convTransposeS8(g *ConvGeom, p *MACParams, x, w []int8, bias []int32) ([]int8, error) {
	c := &qref.TransposeConvParams{
		In: nhwc(g.N, g.CIn, g.In), Filter: nhwc(g.COut, g.CIn, g.Kernel), Out: nhwc(g.N, g.COut, g.Out),
		Stride: hw(g.Strides, 1), Pad: hw(g.PadBegin, 0),
		InputOffset: p.InOff, OutputOffset: p.OutOff, ActMin: p.ActMin, ActMax: p.ActMax, Mult: p.Mult, Shift: p.Shift,
		Rounding: p.Rounding,
	}
	y := make([]int8, c.Out.Size())
	// weights [CIn][COut][taps] become [COut][taps][CIn]
	err := qref.TransposeConv(c, swapInner(g.N, g.CIn, product(g.In), x), swapInner(1, g.CIn, g.COut*g.Taps(), w), bias,
		y)
	return swapInner(g.N, product(g.Out), g.COut, y), err
}

// convExact is the definition itself, for every geometry, in logical order.
func convExact(g *ConvGeom, p *MACParams, x, w []int8, bias []int32) []int8 {
	xs, ws := make([]int32, len(x)), make([]int32, len(w))
	for i, v := range x {
		xs[i] = int32(v) + p.InOff
	}
	taps := g.Taps()
	for i, v := range w {
		c := i / (g.CIn / g.Group * taps) // [COut][CIn/group][taps]
		if g.Transposed {                 // [CIn][COut/group][taps]
			co := g.COut / g.Group
			c = i/(co*taps)/(g.CIn/g.Group)*co + i/taps%co
		}
		ws[i] = int32(v) + p.FilterOffset(c)
	}
	out := product(g.Out)
	acc := make([]int32, g.N*g.COut*out)
	if g.Transposed {
		convTransposeSum(g, xs, ws, bias, acc)
	} else {
		convSum(g, xs, ws, bias, acc)
	}
	y := make([]int8, len(acc))
	for i, a := range acc {
		y[i] = p.Requantise(a, i/out%g.COut)
	}
	return y
}
