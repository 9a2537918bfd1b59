// SPDX-License-Identifier: Apache-2.0

package interp

import (
	"math"

	"github.com/nncc/nncc/ir/tensor"
)

// Diff is max|a-b| / max|b|, or max|a-b| when b is zero everywhere, of tensors
// with as many elements. Equal bits (two NaNs, the same infinity) do not differ;
// any other NaN or infinity is +Inf.
func Diff(a, b *tensor.Dense) float64 {
	num, den := 0.0, 0.0
	for i, n := 0, b.Len(); i < n; i++ {
		x, y := a.Float(i), b.Float(i)
		if x == y || x != x && y != y {
			if !math.IsInf(y, 0) && y == y {
				den = max(den, math.Abs(y))
			}
			continue
		}
		d := math.Abs(x - y)
		if d != d || math.IsInf(d, 0) {
			return math.Inf(1)
		}
		num, den = max(num, d), max(den, math.Abs(y))
	}
	if den == 0 {
		return num
	}
	return num / den
}

// SQNR is the signal-to-noise ratio of got in dB, where want is the signal: +Inf
// where they are equal, or where there is no finite signal.
func SQNR(got, want *tensor.Dense) float64 {
	signal, noise := 0.0, 0.0
	for i, n := 0, want.Len(); i < n; i++ {
		x, y := got.Float(i), want.Float(i)
		if math.IsNaN(y) || math.IsInf(y, 0) || x == y {
			if x == y && !math.IsInf(y, 0) {
				signal += y * y
			}
			continue
		}
		signal, noise = signal+y*y, noise+(x-y)*(x-y)
	}
	switch {
	case noise == 0 || signal == 0:
		return math.Inf(1)
	case math.IsNaN(noise) || math.IsInf(noise, 0):
		return math.Inf(-1)
	}
	return 10 * math.Log10(signal/noise)
}
