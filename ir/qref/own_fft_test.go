// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestFFT compares transforms with the sums that define them, in float64: the error is
// at most fftError of the largest magnitude that a bin can have.
func TestFFT(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for n := 2; n <= 2048; n++ {
		if !FFTLength(n) || n > 320 && n%32 != 0 {
			continue
		}
		half, norm := make([]float32, n), 0.0
		for i := range half {
			half[i] = float32(rng.NormFloat64())
			norm += 4 * float64(half[i]) * float64(half[i])
		}
		bins := 1 + rng.IntN(n)
		y, worst := NewFFT(n).Real(half, bins), 0.0
		for range 16 {
			k := rng.IntN(bins)
			var re, im float64
			for j, h := range half {
				s, c := math.Sincos(2 * math.Pi * float64(j*k%n) / float64(n))
				re, im = re+2*float64(h)*c, im-2*float64(h)*s
			}
			worst = max(worst, math.Hypot(re-float64(y[2*k]), im-float64(y[2*k+1])))
		}
		bound := fftError(n) * math.Sqrt(float64(n)*norm)
		testenv.Check(t, worst <= bound, "length %d: off by %g, want at most %g", n, worst, bound)
	}
}

// TestFixedFFT is TestFFT for transforms in fixed point, of full and of small signals;
// no number in between leaves its 32 bits (the error would be far larger).
func TestFixedFFT(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for n := 2; n <= MaxFixedFFT; n++ {
		if !FFTLength(n) || n > 320 && n%256 != 0 {
			continue
		}
		peak := []int{1 << 16, 1 << 15, 255}[rng.IntN(3)]
		size := 1 + rng.IntN(n)
		lead, window := rng.IntN(n-size+1), make([]float64, size)
		for i := range window {
			window[i] = rng.Float64()
		}
		f := NewFixedFFT(n, peak, 0.25, window)
		x, norm := make([]int, size), 0.0
		tone := rng.IntN(n)
		for i := range x {
			switch {
			case n%3 == 0: // the largest that a bin can be
				x[i] = (peak - 1) * (1 - 2*int(2*float64(i*tone%n)/float64(n)))
			default:
				x[i] = rng.IntN(2*peak) - peak
			}
			norm += 0.0625 * float64(x[i]*x[i]) * window[i] * window[i]
		}
		bins := 1 + rng.IntN(n)
		y, worst := f.Numbers(f.Real(func(j int) int { return x[j] }, lead, bins)), 0.0
		for range 16 {
			k := rng.IntN(bins)
			var re, im float64
			for j, v := range x {
				s, c := math.Sincos(2 * math.Pi * float64((lead+j)*k%n) / float64(n))
				re, im = re+0.25*float64(v)*window[j]*c, im-0.25*float64(v)*window[j]*s
			}
			worst = max(worst, math.Hypot(re-float64(y[2*k]), im-float64(y[2*k+1])))
		}
		part, units := fixedError(n)
		bound := part*math.Sqrt(float64(n)*norm) + units*float64(f.Unit)
		testenv.Check(t, worst <= bound, "length %d: off by %g, want at most %g", n, worst, bound)
	}
}

// fftError bounds the error of a bin of the transform of n real numbers, as a part of
// sqrt(n) times the root of the sum of their squares, which no bin exceeds: each pass
// rounds a number at most eight times, the split four times and the window once.
func fftError(n int) float64 {
	return float64(8*len(planFFT(n).Radix)+5) * 0x1p-24
}

// fixedError bounds the error of a bin of a transform in fixed point: the first as a
// part of sqrt(n) times the root of the sum of the squares of its samples (factors are
// rounded to 2^-15 of 1, once in each pass, in butterflies, the split and the window),
// the second in units of the result (every pass rounds by half a unit, which grows with
// the passes behind it).
func fixedError(n int) (part, units float64) {
	return float64(3*len(planFFT(n).Radix)+4) * 0x1p-15, 4 * float64(n)
}
