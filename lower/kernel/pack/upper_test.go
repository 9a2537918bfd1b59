// SPDX-License-Identifier: Apache-2.0

package pack_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel/pack"
)

// TestFold compares folded requantisations with the definition, on every sum of
// short ranges and around every change of the result of long ones.
func TestFold(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 14))
	refused := 0
	const layers = 400
	for range layers {
		zero := int32(-128)
		if r.IntN(2) == 0 {
			zero = r.Int32N(256) - 128
		}
		least := 4 + r.Int32N(6)
		sums := make([]pack.Sum, 4)
		for i := range sums {
			reach := int64(1) << (6 + r.IntN(13))
			sums[i] = pack.Sum{Mult: multiplier(r), Shift: -least - r.Int32N(3), Lo: -r.Int64N(reach),
				Hi: r.Int64N(reach), Start: r.Int64N(reach) - reach/2}
		}
		f, why := pack.Fold(sums, zero)
		if why != "" {
			refused++
			continue
		}
		for i, s := range sums {
			testenv.Require(t, zero != -128 || f.Channels[i].D == 0, "%+v: D is %d", s, f.Channels[i].D)
			want := func(v int64) int64 {
				y := int64(fixp.Requantize(int32(v+s.Start), s.Mult, s.Shift)) + int64(zero)
				return min(max(y, -128), 127)
			}
			compare(t, want, func(v int64) int64 { return f.Apply(i, v) }, s.Lo, s.Hi)
		}
	}
	testenv.Check(t, refused <= layers/20, "%d of %d groups are refused", refused, layers)
}

// compare looks at both ends of every interval in which a monotone function changes.
func compare(t *testing.T, want, got func(int64) int64, lo, hi int64) {
	t.Helper()
	for _, v := range []int64{lo, hi} {
		testenv.Require(t, want(v) == got(v), "sum %d: %d, want %d", v, got(v), want(v))
	}
	if want(lo) != want(hi) && hi-lo > 1 {
		mid := lo + (hi-lo)/2
		compare(t, want, got, lo, mid)
		compare(t, want, got, mid, hi)
	}
}

// multiplier draws one of 31 bits, now and then 0, the least or the largest.
func multiplier(r *rand.Rand) int32 {
	switch r.IntN(40) {
	case 0:
		return 0
	case 1:
		return 1 << 30
	case 2:
		return math.MaxInt32
	}
	return 1<<30 + r.Int32N(1<<30)
}

// TestFloor compares requantisations in one multiplication with the definition,
// around every change of the result.
func TestFloor(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 15))
	refused := 0
	const channels = 2000
	for range channels {
		s := pack.Sum{Mult: multiplier(r), Shift: -4 - r.Int32N(10)}
		f := uint(8 << r.IntN(2))
		k := f - 8 + uint(pack.FloorRoom(-s.Shift, 8)+r.IntN(2))
		// Results of 15 bits at most, sums of 32.
		reach := int64(1) << (6 + r.IntN(min(24-int(k), 7-int(s.Shift))))
		mid := r.Int64N(reach) - reach/2
		s.Start, s.Lo, s.Hi = mid, -r.Int64N(reach), r.Int64N(reach)
		floor, why := pack.OneFloor(s, k, f)
		if why != "" {
			refused++
			continue
		}
		want := func(v int64) int64 {
			return min(max(int64(fixp.Requantize(int32(v), s.Mult, s.Shift)), 0), 255)
		}
		compare(t, want, func(v int64) int64 { return min(max(floor.Apply(v, k, f), 0), 255) }, s.Start+s.Lo,
			s.Start+s.Hi)
	}
	testenv.Check(t, refused <= channels/100, "%d of %d channels are refused", refused, channels)
}
