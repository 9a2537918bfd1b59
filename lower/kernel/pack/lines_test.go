// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestLines: lines give all results of factors that are rounded twice, where a sum
// has no tie near zero in one line, else with more from zero on.
func TestLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	straight, twice := 0, 0
	for range 400 {
		channels := 1 + r.IntN(16)
		inZero, zero := int32(r.IntN(256)-128), int32(r.IntN(256)-128)
		lo, hi := int32(-128), int32(127)
		if r.IntN(3) == 0 {
			lo = zero
		}
		var targets []Target
		for range channels {
			slope := math.Exp(3 * (r.Float64() - 0.7))
			w := int32(127)
			if r.IntN(4) == 0 {
				w = -int32(1 + r.IntN(127))
			}
			mult, shift := fixp.QuantizeMultiplier(slope / math.Abs(float64(w)))
			bias := int32(0)
			if r.IntN(4) == 0 {
				bias = int32(r.IntN(20000) - 10000)
			}
			targets = append(targets, Target{Slope: slope * float64(w) / math.Abs(float64(w)), From: -128, To: 127,
				Of: func(q int32) int32 {
					return min(max(fixp.Requantize((q-inZero)*w+bias, mult, shift)+zero, lo), hi)
				}})
		}
		if lines, shift, ok := Lines(targets, lo, hi); ok {
			straight++
			sameResults(t, targets, lo, hi, lines, 0, shift)
		}
		if lines, shift, ok := Scales(targets, zero, lo, hi); ok {
			twice++
			sameResults(t, targets, lo, hi, lines, zero, shift)
		}
	}
	t.Logf("of 400 layers %d are straight, %d are rounded twice", straight, twice)
	testenv.Check(t, straight <= 300 && twice >= 360, "%d layers are straight, %d rounded twice", straight, twice)
}

func sameResults(t *testing.T, targets []Target, lo, hi int32, lines []Line, zero, shift int32) {
	t.Helper()
	for i, x := range targets {
		l := lines[i]
		for q := x.From; q <= x.To; q++ {
			sum := q*l.Mult + l.Bias
			if sum >= 0 {
				sum += l.Above
			}
			if got := min(max(sum>>uint(shift)+zero, lo), hi); got != x.Of(q) {
				t.Fatalf("%d of a slope of %v: %d, want %d", q, x.Slope, got, x.Of(q))
			}
		}
	}
}
