// SPDX-License-Identifier: Apache-2.0

package pack_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel/pack"
)

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
