// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestHardSwish: values are those of the definition, to the bit, for every length, at the ends of
// the ramp, of infinities and of what is no number.
func TestHardSwish(t *testing.T) {
	odd := []float32{-3, 3, 0, float32(math.Copysign(0, -1)), -2.9999998, 2.9999998, -3.0000002, 3.0000002, 1e-45,
		math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		for n := range 100 {
			x, y := make([]float32, n), make([]float32, n)
			for i := range x {
				if x[i] = float32(r.NormFloat64() * 3); r.IntN(4) == 0 {
					x[i] = odd[r.IntN(len(odd))]
				}
			}
			HardSwish(x, y)
			for i, v := range x {
				f := float64(v)
				want := float32(f * min(max((f+3)/6, 0), 1))
				if math.Float32bits(y[i]) != math.Float32bits(want) && !(y[i] != y[i] && want != want) {
					t.Fatalf("%g: %g, want %g", v, y[i], want)
				}
			}
		}
	})
}
