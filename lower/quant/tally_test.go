// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTallyOrder: tallies of parts add up to that of the whole, in any order,
// whatever their ranges.
func TestTallyOrder(t *testing.T) {
	direct := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		bins := 16 << r.IntN(4)
		shift := r.NormFloat64() * float64(r.IntN(3))
		var all []float32
		var parts [][]float32
		for range 2 + r.IntN(5) {
			part := make([]float32, 1+r.IntN(50))
			size := math.Ldexp(1, r.IntN(30)-15)
			for i := range part {
				part[i] = float32((r.NormFloat64() + shift) * size)
			}
			all, parts = append(all, part...), append(parts, part)
		}
		count := func(x []float32) *tally {
			var h tally
			lo, hi := float64(slices.Min(x)), float64(slices.Max(x))
			h.count(x, lo, hi, bins)
			return &h
		}
		want := count(all)
		if len(want.n) > bins || 4*len(want.n) < bins && slices.Min(all) < 0 && slices.Max(all) > 0 {
			t.Errorf("seed %d: %d bins in use, of %d", seed, len(want.n), bins)
		}
		for range 3 {
			r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			var got tally
			for _, p := range parts {
				if lo, hi := float64(slices.Min(p)), float64(slices.Max(p)); got.holds(lo, hi, bins) {
					got.more(p, lo, hi)
					direct++
					continue
				}
				got.add(count(p), bins)
			}
			testenv.Require(t, got.exp == want.exp && got.first == want.first && slices.Equal(got.n, want.n),
				"seed %d: %+v in parts, %+v together", seed, got, want)
		}
	}
	testenv.Check(t, direct != 0, "no part lay in bins that there were")
}

// TestTallyFull: counts stay at the largest there is, in bins that were counted one by one or added.
func TestTallyFull(t *testing.T) {
	x := []float32{1, 1.5, 1.5, 2.5, 2.5, 2.5, 3}
	var h tally
	h.count(x, 1, 3, 16)
	full := h
	full.n = slices.Clone(h.n)
	most := slices.Index(full.n, 3)
	full.n[most], full.all = math.MaxUint32-1, math.MaxUint32-1
	var sum tally
	sum.add(&full, 16)
	full.more(x, 1, 3)
	sum.add(&h, 16)
	sum.more(x, 1, 3)
	for i, k := range h.n {
		want := [2]uint32{2 * k, 3 * k}
		if i == most {
			want = [2]uint32{math.MaxUint32, math.MaxUint32}
		}
		testenv.Equal(t, [2]uint32{full.n[i], sum.n[i]}, want, "bin %d", i)
	}
}
