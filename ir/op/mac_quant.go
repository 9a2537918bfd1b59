// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

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
	for _, o := range p.FilterOff {
		if o != 0 {
			return false
		}
	}
	return true
}

// FilterOffset is minus the zero point of the weights of output channel c.
func (p *MACParams) FilterOffset(c int) int32 {
	if len(p.FilterOff) == 1 {
		return p.FilterOff[0]
	}
	return p.FilterOff[c]
}

// Requantise turns the accumulator of output channel c into an int8 value.
func (p *MACParams) Requantise(acc int32, c int) int8 {
	if len(p.Mult) == 1 {
		c = 0
	}
	return int8(fixp.Clamp(p.Rounding.Requantize(acc, p.Mult[c], p.Shift[c])+p.OutOff, p.ActMin, p.ActMax))
}

// eightBit reports int8 and uint8 with one scale; the reason why not otherwise.
func eightBit(what string, v *ir.Value) string {
	t := v.Type
	switch {
	case t.Quant == nil:
		return fmt.Sprintf("the %s %s is %s and not quantised", what, v, t.DType)
	case t.DType != tensor.I8 && t.DType != tensor.U8:
		return fmt.Sprintf("the %s %s is of type %s, want int8 or uint8", what, v, t.DType)
	case t.Quant.PerAxis():
		return fmt.Sprintf("the %s %s is quantised per channel, want per tensor", what, v)
	}
	return ""
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

// macParams derives the parameters for data in input 0 and weights in input
// 1; the second result is the reason why integer arithmetic does not apply.
// axis is the dimension of the weights that may carry a scale per channel (-1:
// none), channels the number of output channels, which take the scales round
// robin. Scales multiply in float64, or in float32 where fc is set and the
// weights have one scale, as TFLite does for each.
func macParams(n *ir.Node, axis, channels int, fc bool) (*MACParams, string) {
	x, w, y := n.In[0], n.In[1], n.Out[0]
	for _, why := range []string{eightBit("input", x), eightBit("output", y)} {
		if why != "" {
			return nil, why
		}
	}
	wq := w.Type.Quant
	switch {
	case wq == nil:
		return nil, fmt.Sprintf("the weights %s are %s and not quantised", w, w.Type.DType)
	case w.Type.DType != tensor.I8 && w.Type.DType != tensor.U8 && w.Type.DType != tensor.I4:
		return nil, fmt.Sprintf("the weights %s are of type %s, want int8, uint8 or int4", w, w.Type.DType)
	case wq.PerAxis() && wq.Axis != axis:
		return nil, fmt.Sprintf("the weights %s are quantised along dimension %d, want one scale, or one an output "+
			"channel", w, wq.Axis)
	}
	xq, yq := x.Type.Quant, y.Type.Quant
	p := &MACParams{InOff: bias8(x.Type) - xq.Zero[0], OutOff: yq.Zero[0] - bias8(y.Type), Rounding: Rounding(n)}
	p.ActMin, p.ActMax = ActRange(n, y.Type)
	p.ActMin -= bias8(y.Type)
	p.ActMax -= bias8(y.Type)
	if why := p.scales(n, channels, fc); why != "" {
		return nil, why
	}
	p.FilterOff = []int32{bias8(w.Type) - wq.Zero[0]}
	for c := range channels {
		o := bias8(w.Type) - wq.Zero[c%len(wq.Zero)]
		if o != p.FilterOff[0] && len(p.FilterOff) == 1 {
			first := p.FilterOff[0]
			p.FilterOff = make([]int32, channels)
			for i := range p.FilterOff {
				p.FilterOff[i] = first
			}
		}
		if len(p.FilterOff) > 1 {
			p.FilterOff[c] = o
		}
	}
	return p, biasWhy(n, xq.Scale[0], wq)
}

// biasWhy checks that the bias counts accumulator steps: int32, with the
// product of the scales of data and weights where it names scales at all.
func biasWhy(n *ir.Node, xs float32, wq *ir.Quant) string {
	b := n.Input(2)
	if b == nil {
		return ""
	}
	if b.Type.DType != tensor.I32 {
		return fmt.Sprintf("the bias %s is of type %s, want int32", b, b.Type.DType)
	}
	return biasScaleWhy(b, xs, wq)
}

// biasScaleWhy checks that a bias that names scales has those of the products.
func biasScaleWhy(b *ir.Value, xs float32, wq *ir.Quant) string {
	q := b.Type.Quant
	if q == nil {
		return ""
	}
	for c := range max(len(q.Scale), len(wq.Scale)) {
		want := float64(xs) * float64(wq.Scale[c%len(wq.Scale)])
		if got := float64(q.Scale[c%len(q.Scale)]); math.Abs(got-want) > 1e-5*want {
			return fmt.Sprintf("the bias %s has scale %g, the products have %g", b, got, want)
		}
		if q.Zero[c%len(q.Zero)] != 0 {
			return fmt.Sprintf("the bias %s has a zero point", b)
		}
	}
	return ""
}

// swapInner turns [batch][a][b] into [batch][b][a]: channels-first data and
// weights into channels-last ones, and back.
func swapInner[T any](batch, a, b int, src []T) []T {
	dst := make([]T, len(src))
	if a == 1 || b == 1 {
		copy(dst, src)
		return dst
	}
	const tile = 32
	for n := 0; n < batch; n++ {
		s, d := src[n*a*b:][:a*b], dst[n*a*b:][:a*b]
		for i0 := 0; i0 < a; i0 += tile {
			for j0 := 0; j0 < b; j0 += tile {
				for i := i0; i < min(i0+tile, a); i++ {
					for j := j0; j < min(j0+tile, b); j++ {
						d[j*a+i] = s[i*b+j]
					}
				}
			}
		}
	}
	return dst
}
