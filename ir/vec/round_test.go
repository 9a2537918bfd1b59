// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
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

// numbers are n of all sizes, odd ones among them.
func numbers(r *rand.Rand, n int) []float64 {
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.5, -0.5, 1.5, -2.5, 127.5,
		-128.5, 1e300, -1e300, 1e-300, -1e-300, 6, 1e-45, -1e-45, math.MaxFloat32, 3e9, -3e9}
	x := make([]float64, n)
	for i := range x {
		x[i] = math.Ldexp(r.NormFloat64(), r.IntN(16)-4)
		if r.IntN(3) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

// sameSingle wants the same bits; numbers that are none are all alike.
func sameSingle(t *testing.T, what string, got, want float32) {
	t.Helper()
	testenv.Require(t, math.Float32bits(got) == math.Float32bits(want) || got != got && want != want,
		"width %d: %s gives %v, want %v", width, what, got, want)
}

// TestQuantise: int8 of every length, with odd scales and zero points, and the reals of
// any int8, are those of the definitions.
func TestQuantise(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for n := range 150 {
			y, q := narrowed(numbers(r, n)), make([]int8, n)
			scale := []float32{1, 0, float32(r.ExpFloat64()), float32(r.ExpFloat64() / 16)}[n%4]
			zero := []int64{int64(r.IntN(256) - 128), -128, 127, 1000}[r.IntN(4)]
			Quantise(y, scale, zero, q)
			for i, v := range y {
				if want := quantised(v, scale, zero); q[i] != want {
					t.Fatalf("width %d: %v by %v and %d is %d, want %d", width, v, scale, zero, q[i], want)
				}
				q[i] = int8(r.IntN(256) - 128)
			}
			Dequantise(q, scale, zero, y)
			for i, v := range q {
				sameSingle(t, "Dequantise", y[i], float32(int64(v)-zero)*scale)
			}
		}
	})
}

func quantised(v, scale float32, zero int64) int8 {
	f := math.RoundToEven(float64(v / scale))
	if f != f {
		f = 0
	}
	return int8(max(min(f+float64(zero), 127), -128))
}
