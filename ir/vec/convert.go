// SPDX-License-Identifier: Apache-2.0

package vec

import "math"

// group is how many numbers the assembly of conversions takes at a time.
const group = 16

// Whole is the least length from n on that conversions take at once, without a rest.
func Whole(n int) int { return (n + group - 1) &^ (group - 1) }

// mostZero bounds the zero points that the assembly takes.
const mostZero = 1 << 8

// Narrow rounds x to y as float32.
func Narrow(x []float64, y []float32) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= group {
		n = len(x) &^ (group - 1)
		narrow(n, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		y[i] = float32(x[i])
	}
}

// NarrowUpTo rounds x to float32 and gives y 0 for what is negative and hi, which is
// above 0, for what is larger.
func NarrowUpTo(hi float32, x []float64, y []float32) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= group {
		n = len(x) &^ (group - 1)
		narrowUpTo(n, hi, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		f := float32(x[i])
		if f == f { // without a branch on the sign
			b := math.Float32bits(f)
			if f = math.Float32frombits(b &^ uint32(int32(b)>>31)); f > hi {
				f = hi
			}
		}
		y[i] = f
	}
}

// Quantise gives y x/scale, rounded to even, plus zero, saturated; not a number counts as 0.
func Quantise(x []float32, scale float32, zero int64, y []int8) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 2*group && -mostZero < zero && zero < mostZero {
		n = len(x) &^ (2*group - 1)
		quantise(n, scale, int32(zero), &x[0], &y[0])
	}
	z := float64(zero)
	for i := n; i < len(x); i++ {
		q := math.RoundToEven(float64(x[i] / scale))
		if q != q {
			q = 0
		}
		y[i] = int8(min(max(q+z, math.MinInt8), math.MaxInt8))
	}
}

// Dequantise gives y the difference of x and zero, as float32, times scale.
func Dequantise(x []int8, scale float32, zero int64, y []float32) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= group && -mostZero < zero && zero < mostZero {
		n = len(x) &^ (group - 1)
		dequantise(n, scale, int32(zero), &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		y[i] = float32(int64(x[i])-zero) * scale
	}
}
