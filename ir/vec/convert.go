// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
)

// group is how many numbers the assembly of conversions takes at a time.
const group = 16

// mostZero bounds the zero points that the assembly takes.
const mostZero = 1 << 8

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

// parts is how many interleaved parts a sum of rounding errors has.
const parts = 8

// RoundingError is the sum of w times the square of what rounding takes off x*by: to even,
// within lo and hi. It has eight interleaved parts: element i belongs to part i%8.
func RoundingError(x, w []float64, by, lo, hi float64) float64 {
	w = w[:len(x)]
	var s [parts]float64
	n := 0
	if width > 0 && len(x) >= parts {
		n = len(x) &^ (parts - 1)
		roundingError8(n, by, lo, hi, &x[0], &w[0], &s)
	}
	for i := n; i < len(x); i++ {
		t := x[i] * by
		e := t - min(max(math.RoundToEven(t), lo), hi)
		s[i%parts] += float64(w[i] * float64(e*e))
	}
	return ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
}

// RoundingErrors gives y what the multiples of scale from lo to hi times it that are next
// to x, ties to even, have more than x. Elements of x are numbers.
func RoundingErrors(x []float64, scale, lo, hi float64, y []float64) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 4 {
		n = len(x) &^ 3
		roundingErrors4(n, scale, lo, hi, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		q := min(max(math.RoundToEven(x[i]/scale), lo), hi) + 0 // no -0
		y[i] = float64(q*scale) - x[i]
	}
}

// ClampErrors makes errors y of what stands for x, numbers from lo to hi, those of it brought into lo to hi.
func ClampErrors(x []float64, lo, hi float64, y []float64) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 4 {
		n = len(x) &^ 3
		clampErrors4(n, lo, hi, &x[0], &y[0])
	}
	for i := n; i < len(x); i++ {
		y[i] = min(max(y[i], lo-x[i]), hi-x[i])
	}
}

// leastScale and its inverse bound the scales that the assembly of tables takes: the inverse of
// such a one is a number.
const leastScale = 1e-30

// Table gives y the entries of a function of int8, that of -128 first, for what x is dequantised
// from with scale and zero.
func Table(table *[256]float32, scale float32, zero int64, x, y []float32) {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 && leastScale < scale && scale < 1/leastScale && -mostZero < zero && zero < mostZero {
		// A product with the inverse misses the whole number by some millionths of it.
		n = len(x) &^ 7
		table8(n, 1/scale, int32(zero)-math.MinInt8, table, &x[0], &y[0])
	}
	var at [1]int8
	for i := n; i < len(x); i++ {
		Quantise(x[i:i+1], scale, zero, at[:])
		y[i] = table[int(at[0])-math.MinInt8]
	}
}

// Pieces gives y, which may be x, the values at x of polynomials of degree 3 in pieces: half
// of them below 0, scale of them, a power of two, between two whole numbers. Coefficients are
// those of 0 at a piece's begin and 1 at its end, the constant first. An element of x that lies
// in no piece ends it: as many as the result says have their values.
func Pieces(x, y []float32, parts [][4]float32, scale float32) int {
	y = y[:len(x)]
	n := 0
	if width > 0 && len(x) >= 8 {
		n = pieces8(len(x)&^7, scale, len(parts)/2, &parts[0], &x[0], &y[0])
	}
	half := len(parts) / 2
	for i := n; i < len(x); i++ {
		t := x[i] * scale
		if !(t >= -float32(half) && t < float32(half)) {
			return i
		}
		k := int(int32(t + float32(half)))
		u := t - float32(k-half)
		if u < 0 {
			k, u = k-1, u+1
		}
		p := &parts[k]
		y[i] = float32(float32(float32(float32(float32(p[3]*u)+p[2])*u)+p[1])*u) + p[0]
	}
	return len(x)
}
