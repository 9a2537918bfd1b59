// SPDX-License-Identifier: Apache-2.0

package fixp

import "math"

// QuantizeMultiplier writes a real scale as mult * 2^(shift-31) with mult in
// [2^30, 2^31). Zero gives (0, 0); a scale below 2^-32 is flushed to (0, 0) as
// TFLite does, because the shift would leave the 32-bit word.
// Source: tflite::QuantizeMultiplier (frexp, round half away to Q31).
func QuantizeMultiplier(scale float64) (mult, shift int32) {
	if scale == 0 {
		return 0, 0
	}
	frac, exp := math.Frexp(scale)
	q := int64(math.Round(frac * (1 << 31)))
	if q == 1<<31 { // rounding reached one: renormalise
		q /= 2
		exp++
	}
	if exp < -31 {
		return 0, 0
	}
	return int32(q), int32(exp)
}

// QuantizeMultiplier in a rounding mode: single rounding cannot shift left by
// more than 30, so TFLite saturates there.
func (r Rounding) QuantizeMultiplier(scale float64) (mult, shift int32) {
	mult, shift = QuantizeMultiplier(scale)
	if r == SingleRounding && shift > 30 {
		return math.MaxInt32, 30
	}
	return mult, shift
}

// EffectiveScale is in*weight/out in float64 from the float32 scales of the
// model: the scale of a convolution (per channel), of Mul and of BatchMatMul.
// Source: tflite PopulateConvolutionQuantizationParams, TFLM mul.
func EffectiveScale(in, weight, out float32) float64 {
	return float64(in) * float64(weight) / float64(out)
}

// EffectiveScaleFC is the per-tensor fully connected scale: there TFLite
// multiplies the two input scales in float32 before it widens.
// Source: tflite GetQuantizedConvolutionMultipler.
func EffectiveScaleFC(in, weight, out float32) float64 {
	return float64(in*weight) / float64(out)
}

// AddLeftShift is the headroom that TFLite gives int8 additions.
const AddLeftShift = 20

// AddScales are the multipliers and shifts of arm_elementwise_add_s8.
type AddScales struct {
	Mult1, Shift1     int32 // first input
	Mult2, Shift2     int32 // second input
	OutMult, OutShift int32
	LeftShift         int32 // AddLeftShift, or Add16LeftShift
}

// Add16LeftShift is the same for int16.
const Add16LeftShift = 15

// NewAddScales derives the parameters of an int8 addition from the three
// scales. Source: tflite add, PrepareInt8 (twice the larger input scale).
func NewAddScales(in1, in2, out float32) AddScales { return addScales(in1, in2, out, AddLeftShift) }

// NewAddScales16 derives the parameters of an int16 addition: those of int8
// with a smaller left shift. Source: tflite add, PrepareGeneric.
func NewAddScales16(in1, in2, out float32) AddScales { return addScales(in1, in2, out, Add16LeftShift) }

func addScales(in1, in2, out float32, left int32) AddScales {
	twice := 2 * float64(max(in1, in2))
	var a AddScales
	a.LeftShift = left
	a.Mult1, a.Shift1 = QuantizeMultiplier(float64(in1) / twice)
	a.Mult2, a.Shift2 = QuantizeMultiplier(float64(in2) / twice)
	a.OutMult, a.OutShift = QuantizeMultiplier(twice / (float64(int64(1)<<left) * float64(out)))
	return a
}

// softmaxIntegerBits is the number of integer bits of the scaled differences
// that softmax exponentiates (Q5.26).
const softmaxIntegerBits = 5

// SoftmaxScale derives the parameters of arm_softmax_s8 from beta and the
// input scale: differences below diffMin contribute nothing.
// Source: tflite PreprocessSoftmaxScaling and CalculateInputRadius.
func SoftmaxScale(beta, inScale float32) (mult, shift, diffMin int32) {
	exact := min(float64(beta)*float64(inScale)*(1<<(31-softmaxIntegerBits)), 1<<31-1)
	mult, shift = QuantizeMultiplier(exact)
	radius := float64(1<<softmaxIntegerBits-1) * float64(int64(1)<<(31-softmaxIntegerBits)) / math.Ldexp(1, int(shift))
	return mult, shift, -int32(math.Floor(radius))
}

// Softmax16Scale derives the parameters of arm_softmax_s16 from beta and the
// input scale: differences in steps of 10/65535, the resolution of its table.
// Source: tflite SoftmaxPrepare for int16.
func Softmax16Scale(beta, inScale float32) (mult, shift int32) {
	return QuantizeMultiplier(float64(beta) * float64(inScale) / (10.0 / 65535.0))
}

// QuantizeAway quantises x with ties away from zero in float64:
// clamp(round_half_away(x/scale) + zero), the contract's definition for
// operators that CMSIS-NN does not have. It never converts a float out of
// range to an integer.
func QuantizeAway(x, scale float64, zero, lo, hi int32) int32 {
	rounded := math.Round(x / scale)
	if rounded != rounded {
		rounded = 0
	}
	v := rounded + float64(zero)
	switch {
	case v <= float64(lo):
		return lo
	case v >= float64(hi):
		return hi
	}
	return int32(v)
}
