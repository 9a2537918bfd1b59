// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir/fixp"
)

// softmaxAccumBits makes room for the sum of exponentials.
const softmaxAccumBits = 12

// Softmax computes an int8 softmax of a row, by SoftmaxTerms, with output scale 1/256
// and zero point -128. Source: arm_softmax_s8 (gemmlowp's fixed-point exponential and
// reciprocal).
func Softmax(terms *[256]int32, row, out []int8) {
	top := int32(slices.Max(row))
	var sum int32
	for _, v := range row {
		sum += fixp.DivideByPowerOfTwo(terms[255+int32(v)-top], softmaxAccumBits)
	}
	headroom := fixp.LeadingZeros(sum)
	var norm int32
	if sum > 0 {
		norm = sum << uint(headroom)
	}
	scale := fixp.OneOverOnePlusX(norm + math.MinInt32)
	shift := softmaxAccumBits - headroom + 23
	for i, v := range row {
		r := fixp.DivideByPowerOfTwo(fixp.DoublingHighMult(scale, terms[255+int32(v)-top]), shift)
		out[i] = int8(fixp.Clamp(r+math.MinInt8, math.MinInt8, math.MaxInt8))
	}
}

// SoftmaxTerms are the exponentials (Q0.31) of all values that may lie below
// the largest one of their row, the largest difference first; 0 beyond diffMin.
// The parameters are those of fixp.SoftmaxScale.
func SoftmaxTerms(mult, shift, diffMin int32) (terms [256]int32) {
	for d := range int32(256) {
		if -d >= diffMin {
			terms[255-d] = fixp.ExpOnNegativeValues(fixp.DoublingHighMult(-d<<uint(shift), mult))
		}
	}
	return terms
}

// The tables of arm_softmax_s16, as TensorFlow Lite fills them: exp(x) for x in [-10, 0],
// and 1/(1+x) for x in [0, 1], both with results in Q0.15.
var (
	SoftmaxExp16 = fixp.InterpolatedLUT16Of(10./65535, math.MaxInt16, 2./65535, 0,
		func(x float32) float32 { return float32(math.Exp(float64(x))) })
	SoftmaxReciprocal16 = fixp.InterpolatedLUT16Of(1./65535, math.MinInt16, 2./65535, 0,
		func(x float32) float32 { return 1 / (1 + x) })
)

// Softmax16Params describes an int16 softmax of a row. Mult and Shift bring
// differences to steps of 10/65535, see fixp.Softmax16Scale.
type Softmax16Params struct {
	Mult, Shift int32
	Rounding    fixp.Rounding // of the library: twice unless it was built otherwise
}

// Softmax computes an int16 softmax with output scale 1/32768 and zero point
// 0. Source: arm_softmax_s16, with the two tables above.
func (p *Softmax16Params) Softmax(row, out []int16) {
	top := int32(slices.Max(row))
	var sum int32
	for i, v := range row {
		d := p.Rounding.Requantize(int32(v)-top, p.Mult, p.Shift) + math.MaxInt16
		out[i] = SoftmaxExp16.At(fixp.SatS16(d))
		sum += int32(out[i])
	}
	headroom := fixp.LeadingZeros(sum)
	// sum scaled to [1, 2) in Q16, less 1.5: the table's argument
	x := (sum<<uint(headroom-1)+1<<13)>>14 - 98304
	scale := int32(SoftmaxReciprocal16.At(int16(x)))
	for i, v := range out {
		out[i] = int16((int32(v)*scale>>uint(30-headroom) + 1) >> 1)
	}
}
