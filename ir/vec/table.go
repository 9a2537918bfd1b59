// SPDX-License-Identifier: Apache-2.0

package vec

import "math"

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
