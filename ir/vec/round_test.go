// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundingErrors: what rounding takes off, alone and summed up, is that of the
// definition, for every length, beyond the ends and on ties, too.
func TestRoundingErrors(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for n := range 100 {
			x, w, got, want := random(r, n), random(r, n), make([]float64, n), make([]float64, n)
			scale := []float64{0.25, r.ExpFloat64() / 100}[n%2]
			lo, hi := -float64(r.IntN(20)), float64(r.IntN(20))
			for i := range x {
				if r.IntN(3) == 0 {
					x[i] = float64(r.IntN(50)-25) * scale / 2
				}
				if r.IntN(20) == 0 {
					x[i] *= 1e9
				}
				want[i] = float64((min(max(math.RoundToEven(x[i]/scale), lo), hi)+0)*scale) - x[i]
			}
			RoundingErrors(x, scale, lo, hi, got)
			same(t, "RoundingErrors", got, want)
			var s [8]float64
			for i, v := range x {
				v *= 1 / scale
				e := v - min(max(math.RoundToEven(v), lo), hi)
				s[i%8] += float64(w[i] * float64(e*e))
			}
			sum := ((s[0] + s[4]) + (s[1] + s[5])) + ((s[2] + s[6]) + (s[3] + s[7]))
			same(t, "RoundingError", []float64{RoundingError(x, w, 1/scale, lo, hi)}, []float64{sum})
		}
	})
}

// TestClampErrors: what stands for a number is brought between the ends, for every length,
// also where one of them is infinite.
func TestClampErrors(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for n := range 100 {
			x, got, want := random(r, n), random(r, n), make([]float64, n)
			lo, hi := -r.Float64(), r.Float64()
			if n%3 == 1 {
				lo = math.Inf(-1)
			}
			if n%3 == 2 {
				hi = math.Inf(1)
			}
			for i := range x {
				x[i] = min(max(x[i], lo), hi)
				switch d := got[i]; {
				case d < lo-x[i]:
					want[i] = lo - x[i]
				case d > hi-x[i]:
					want[i] = hi - x[i]
				default:
					want[i] = d
				}
			}
			ClampErrors(x, lo, hi, got)
			same(t, "ClampErrors", got, want)
		}
	})
}
