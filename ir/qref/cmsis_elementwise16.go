// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// Add16 adds two int16 tensors of the same shape: both are shifted left by 15,
// brought to a common scale, added and scaled down. Source: arm_elementwise_add_s16.
func Add16(p *AddParams, a, b, out []int16) error { return sum16("Add16", p, a, b, out, 1) }

// Sub16 is Add16 with the second term subtracted. Source: TensorFlow Lite's
// subtraction of int16; CMSIS-NN has none.
func Sub16(p *AddParams, a, b, out []int16) error { return sum16("Sub16", p, a, b, out, -1) }

func sum16(name string, p *AddParams, a, b, out []int16, sign int32) error {
	if err := firstErr(checkLen(name, "second input", len(b), len(a)), checkLen(name, "output", len(out),
		len(a))); err != nil {
		return err
	}
	s := &p.Scales
	for i, v := range a {
		x := p.Rounding.Requantize(int32(v)<<uint(s.LeftShift), s.Mult1, s.Shift1)
		y := p.Rounding.Requantize(int32(b[i])<<uint(s.LeftShift), s.Mult2, s.Shift2)
		out[i] = int16(fixp.Clamp(p.Rounding.Requantize(x+sign*y, s.OutMult, s.OutShift), p.ActMin, p.ActMax))
	}
	return nil
}

// Mul16 multiplies two int16 tensors of the same shape element by element.
// Source: arm_elementwise_mul_s16.
func Mul16(p *MulParams, a, b, out []int16) error {
	if err := firstErr(checkLen("Mul16", "second input", len(b), len(a)), checkLen("Mul16", "output", len(out),
		len(a))); err != nil {
		return err
	}
	for i, v := range a {
		out[i] = int16(fixp.Clamp(p.Rounding.Requantize(int32(v)*int32(b[i]), p.Mult, p.Shift), p.ActMin, p.ActMax))
	}
	return nil
}
