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
	var r Ratio
	r.Add(want, got)
	switch {
	case r.noise == 0 || r.signal == 0:
		return math.Inf(1)
	case !(r.noise <= math.MaxFloat64):
		return math.Inf(-1)
	}
	return 10 * math.Log10(r.signal/r.noise)
}

// Ratio is a signal-to-noise ratio over cases. Elements that are not finite in
// the signal have none.
type Ratio struct{ signal, noise float64 }

// Add takes one case: the signal, and what stands for it.
func (r *Ratio) Add(want, got *tensor.Dense) {
	for i, n := 0, want.Len(); i < n; i++ {
		v := want.Float(i)
		if v-v != 0 {
			continue
		}
		e := v - got.Float(i)
		r.signal += v * v
		r.noise += e * e
	}
}

// maxDB stands for no error at all.
const maxDB = 120

// DB is the ratio in dB, at most 120; false where there is no signal.
func (r *Ratio) DB() (float64, bool) {
	switch {
	case r.noise == 0:
		return maxDB, r.signal > 0
	case r.signal == 0:
		return 0, false
	case !(r.noise <= math.MaxFloat64):
		return -maxDB, true
	}
	return min(max(10*math.Log10(r.signal/r.noise), -maxDB), maxDB), true
}
