package qref

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFFT compares transforms with the sums that define them, in float64: the error is
// at most FFTError of the largest magnitude that a bin can have.
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
		if bound := FFTError(n) * math.Sqrt(float64(n)*norm); !(worst <= bound) {
			t.Errorf("length %d: off by %g, want at most %g", n, worst, bound)
		}
	}
}
