// SPDX-License-Identifier: Apache-2.0

package vec

import "math"

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
