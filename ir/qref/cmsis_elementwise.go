// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// AddParams describes an int8 addition, as arm_elementwise_add_s8 takes it.
type AddParams struct {
	Offset1, Offset2 int32 // minus the input zero points
	OutputOffset     int32
	Scales           fixp.AddScales // see fixp.NewAddScales
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Add adds two tensors of the same shape element by element: both inputs are
// shifted left by 20, brought to a common scale, added and scaled down.
// Source: arm_elementwise_add_s8.
func Add(p *AddParams, a, b, out []int8) error {
	if err := firstErr(checkLen("Add", "second input", len(b), len(a)), checkLen("Add", "output", len(out),
		len(a))); err != nil {
		return err
	}
	s := &p.Scales
	// Each input takes one of 256 values.
	var ta, tb [256]int32
	for i := range ta {
		v := int32(int8(i))
		ta[i] = p.Rounding.Requantize((v+p.Offset1)<<uint(s.LeftShift), s.Mult1, s.Shift1)
		tb[i] = p.Rounding.Requantize((v+p.Offset2)<<uint(s.LeftShift), s.Mult2, s.Shift2)
	}
	for i, v := range a {
		out[i] = quantOut(p.Rounding, ta[uint8(v)]+tb[uint8(b[i])], s.OutMult, s.OutShift, p.OutputOffset, p.ActMin,
			p.ActMax)
	}
	return nil
}

// MulParams describes an int8 multiplication, as arm_elementwise_mul_s8 takes it.
type MulParams struct {
	Offset1, Offset2 int32
	OutputOffset     int32
	Mult, Shift      int32 // of scale1*scale2/outputScale
	ActMin, ActMax   int32
	Rounding         fixp.Rounding // of the library: twice unless it was built otherwise
}

// Mul multiplies two tensors of the same shape element by element.
// Source: arm_elementwise_mul_s8.
func Mul(p *MulParams, a, b, out []int8) error {
	if err := firstErr(checkLen("Mul", "second input", len(b), len(a)), checkLen("Mul", "output", len(out),
		len(a))); err != nil {
		return err
	}
	for i, v := range a {
		prod := (int32(v) + p.Offset1) * (int32(b[i]) + p.Offset2)
		out[i] = quantOut(p.Rounding, prod, p.Mult, p.Shift, p.OutputOffset, p.ActMin, p.ActMax)
	}
	return nil
}
