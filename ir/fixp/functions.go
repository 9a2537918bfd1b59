// SPDX-License-Identifier: Apache-2.0

package fixp

import (
	"math"
)

// Functions of fixed-point numbers that TensorFlow Lite's reference kernels compute, bit
// for bit.

// Quotient is a/b * mult * 2^(shift-31), 0 where b is. Source: DivElementwise.
func Quotient(a, b, mult, shift int32) int32 {
	if b == 0 {
		return 0
	}
	if b < 0 {
		a, b = -a, -b
	}
	zeros := LeadingZeros(b)
	inverse := OneOverOnePlusX(int32(uint32(b)<<uint(zeros) - 1<<31))
	headroom := LeadingZeros(a^a>>31) - 1
	q := DoublingHighMult(a<<uint(headroom), inverse)
	return Requantize(q, mult, shift-(31-zeros)-headroom)
}

// ReciprocalQ12 is 1/v of v in Q12.19 as mult * 2^(shift-31), the largest multiplier where v is not
// above 0. Source: GetReciprocal.
func ReciprocalQ12(v int32) (mult, shift int32) {
	if v <= 0 {
		return math.MaxInt32, 0
	}
	headroom := LeadingZeros(v)
	return OneOverOnePlusX(int32(uint32(v)<<uint(headroom) - 1<<31)), headroom - 12
}

// LogQ12 is the natural logarithm of v >= 1 in Q12.19 as Q5.26.
// Source: log_x_for_x_greater_than_or_equal_to_1.
func LogQ12(v int32) int32 {
	const (
		ln2, rootHalf, rootRootHalf = int32(1488522236), int32(1518500250), int32(1805811301)
		alphaN, alphaD              = int32(117049297), int32(127690142)
		alphaI, alphaF              = int32(1057819769), int32(638450708)
		quarter                     = int32(1 << 23) // in Q6.25
	)
	zeros := LeadingZeros(v)
	ra := DoublingHighMult(MultByPowerOfTwo(v, zeros-1), rootHalf)
	ra = MultByPowerOfTwo(ra, 1)
	powA := satAdd(MultByPowerOfTwo(12-zeros, 25), quarter)
	b := DoublingHighMult(v, rootHalf)
	room := LeadingZeros(b) - 1
	rb := MultByPowerOfTwo(v, room)
	powB := satAdd(MultByPowerOfTwo(12-room, 25), -quarter)
	r, pow := min(ra, rb), max(powA, powB)
	p := halfSum(r, rootRootHalf)
	q := 2 * (r - rootRootHalf)
	square := DoublingHighMult(q, q)
	num := DoublingHighMult(q, r) + DoublingHighMult(DoublingHighMult(q, square), alphaN)
	den := DoublingHighMult(p, alphaI+q+DoublingHighMult(alphaD, square)) + DoublingHighMult(alphaF, q)
	scaled := DoublingHighMult(DivideByPowerOfTwo(num, 6), OneOverOnePlusX(den))
	return MultByPowerOfTwo(DoublingHighMult(pow, ln2)+scaled, 1)
}

func satAdd(a, b int32) int32 {
	return int32(min(max(int64(a)+int64(b), math.MinInt32), math.MaxInt32))
}

// halfSum is (a+b)/2, ties away from zero.
func halfSum(a, b int32) int32 {
	sum := int64(a) + int64(b)
	if sum >= 0 {
		return int32((sum + 1) / 2)
	}
	return int32((sum - 1) / 2)
}

// LUT16Len is the number of points of an interpolated int16 function: one
// for every 128 inputs, and one after the last.
const LUT16Len = 513

// InterpolatedLUT16 is a function of an int16 value as straight lines between points.
type InterpolatedLUT16 [LUT16Len]int16

// At is the function's value, the fraction rounded to the nearest, halves up.
func (c *InterpolatedLUT16) At(v int16) int16 {
	i := 256 + int(v>>7)
	base := int32(c[i])
	slope := int32(int16(int32(c[i+1]) - base)) // as the kernels have it
	return int16(base + int32(int16((slope*int32(v&0x7f)+64)>>7)))
}

// NewInterpolatedLUT16 samples y = f(v) for the int16 values v = -32768, -32640, ...,
// 32768, in steps of the output. A point is moved by half the error that the
// line would have in the middle of its interval, so that curvature errs to
// both sides; beside a value that is infinite or none it stays. Source: tflite
// LUTPopulate for int16.
func NewInterpolatedLUT16(f func(v float64) float64) *InterpolatedLUT16 {
	var c InterpolatedLUT16
	at := func(i, half int) float64 { return f(float64(-32768 + i*128 + half*64)) }
	clamp := func(x float64) int16 {
		if x != x {
			x = 0
		}
		return int16(min(max(x, math.MinInt16), math.MaxInt16))
	}
	for i := range LUT16Len - 1 {
		here, next := math.Round(at(i, 0)), at(i+1, 0)
		line := math.Round((next + here) / 2)
		bias := math.Round((line - math.Round(at(i, 1))) / 2)
		if math.IsInf(bias, 0) || bias != bias { // beside a pole
			bias = 0
		}
		c[i] = clamp(here - bias)
	}
	c[LUT16Len-1] = clamp(math.Round(at(LUT16Len-1, 0)))
	return &c
}

// InterpolatedLUT16Of is a table as TensorFlow Lite fills it, in float32: scales and zero
// points are those of the function's argument and of its result, and the last point is at
// 32767. Source: tflite LUTPopulateInt16<float>.
func InterpolatedLUT16Of(in float32, inZero int32, out float32, outZero int32,
	f func(x float32) float32) *InterpolatedLUT16 {
	const steps = LUT16Len - 1
	at := func(scale float32, v, zero int32) float32 { return scale * float32(v-zero) }
	least, most := at(in, math.MinInt16, inZero), at(in, math.MaxInt16, inZero)
	step := (most - least) / steps
	to := float32(1<<16) / (at(out, math.MaxInt16, outZero) - at(out, math.MinInt16, outZero))
	round := func(x float32) float32 { return float32(math.Round(float64(x))) }
	clamp := func(x float32) int16 { return int16(min(max(x, math.MinInt16), math.MaxInt16)) }
	var c InterpolatedLUT16
	for i := range steps {
		x := least + float32(float32(i)*step)
		here := round(f(x) * to)
		line := round((float32(f(least+float32(float32(i+1)*step))*to) + here) / 2)
		bias := round((line - round(f(x+step/2)*to)) / 2)
		c[i] = clamp(here - bias)
	}
	c[steps] = clamp(round(f(most) * to))
	return &c
}
