// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// AddParams describes an addition, as arm_elementwise_add_s8 and
// arm_elementwise_add_s16 take it.
type AddParams struct {
	Offset1, Offset2 int32 // minus the input zero points
	OutputOffset     int32
	Scales           fixp.AddScales // see fixp.NewAddScales
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Add adds two tensors of the same shape element by element: both inputs are
// shifted left, brought to a common scale, added and scaled down.
// Source: arm_elementwise_add_s8, arm_elementwise_add_s16.
func Add[T int8 | int16](p *AddParams, a, b, out []T) { sum(p, a, b, out, 1) }

// Sub is Add with the second term subtracted. Source: TensorFlow Lite's
// subtraction of int16; CMSIS-NN has none.
func Sub[T int8 | int16](p *AddParams, a, b, out []T) { sum(p, a, b, out, -1) }

func sum[T int8 | int16](p *AddParams, a, b, out []T, sign int32) {
	s := &p.Scales
	for i, v := range a {
		x := p.Rounding.Requantize((int32(v)+p.Offset1)<<uint(s.LeftShift), s.Mult1, s.Shift1)
		y := p.Rounding.Requantize((int32(b[i])+p.Offset2)<<uint(s.LeftShift), s.Mult2, s.Shift2)
		z := p.Rounding.Requantize(x+sign*y, s.OutMult, s.OutShift)
		out[i] = T(fixp.Clamp(z+p.OutputOffset, p.ActMin, p.ActMax))
	}
}

// MulParams describes a multiplication, as arm_elementwise_mul_s8 and
// arm_elementwise_mul_s16 take it.
type MulParams struct {
	Offset1, Offset2 int32
	OutputOffset     int32
	Mult, Shift      int32 // of scale1*scale2/outputScale
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Mul multiplies two tensors of the same shape element by element.
// Source: arm_elementwise_mul_s8, arm_elementwise_mul_s16.
func Mul[T int8 | int16](p *MulParams, a, b, out []T) {
	for i, v := range a {
		product := (int32(v) + p.Offset1) * (int32(b[i]) + p.Offset2)
		out[i] = T(fixp.Clamp(p.Rounding.Requantize(product, p.Mult, p.Shift)+p.OutputOffset, p.ActMin, p.ActMax))
	}
}
