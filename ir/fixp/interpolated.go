// SPDX-License-Identifier: Apache-2.0

package fixp

import "math"

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
