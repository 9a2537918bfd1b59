// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"math"
)

// Floor is a requantisation for layers of which no negative sum survives the
// clamp:
//
//	((v<<K + B) * M >> 32 + C) >> F
//
// counts results from -128; above and below int8 they saturate. K and F are the
// kernel's: how much larger inputs are, and where in a word results lie.
type Floor struct{ B, M, C int32 }

// Apply is what a kernel computes of v before it saturates.
func (f Floor) Apply(v int64, k, shift uint) int64 {
	return ((v<<k+int64(f.B))*int64(f.M)>>32 + int64(f.C)) >> shift
}

// How far from the exact numbers OneFloor looks for some that give all results.
const (
	floorOffsets     = 1600
	floorMultipliers = 7
	floorReach       = 1 << 13 // in sums
)

// FloorRoom is the K that a shift of s to the right wants of a kernel whose
// results have f bits behind the point: with less the multiplier has more than
// 31 bits.
func FloorRoom(s int32, f uint) int { return max(0, int(f)+1-int(s)) }

// OneFloor gives the Floor that equals fixp.Requantize(v, s.Mult, s.Shift) - 128,
// clamped to int8, for every sum v; words before the last shift fit 32 bits and
// results 16. Where there is none, the reason says why.
//
// Definition and kernel are monotone: each of the 255 results bounds B from both
// sides, and where they leave a number all sums give the definition's results.
// Where F and K leave C and B too few bits for the definition's roundings,
// another C with the B beside it does.
func OneFloor(s Sum, k, f uint) (Floor, string) {
	const zero = math.MinInt8
	lo, hi := s.Lo+s.Start, s.Hi+s.Start
	if s.Mult == 0 {
		return Floor{}, ""
	}
	short := -int64(s.Shift) + int64(k) - 1 - int64(f)
	if s.Shift > -1 || short < 0 || short > 20 {
		return Floor{}, fmt.Sprintf("a shift of %d wants a multiplier of %d bits, at most 31", s.Shift, 31-short)
	}
	l, why := s.limits(int32(k), zero)
	if why != "" {
		return Floor{}, why
	}
	exact := (int64(s.Mult) + int64(1)<<short>>1) >> short
	center := int64(1)<<(f-1) + int64(1)<<(f-1)>>uint(-s.Shift)
	for n := range int32(floorMultipliers) {
		m := exact + int64(nth(n))
		if m <= 0 || m > math.MaxInt32 {
			continue
		}
		for n := range int32(floorOffsets) {
			r := Floor{M: int32(m), C: int32(center + int64(nth(n)))}
			b := l.between(lo, hi, k, func(t int64) int64 {
				return ceil(((t-zero)<<f-int64(r.C))<<32, m)
			})
			at := (b.lo + b.hi) >> 1
			if b.lo > b.hi || min(at, lo<<k+at) < math.MinInt32 || max(at, hi<<k+at) > math.MaxInt32 {
				continue
			}
			r.B = int32(at)
			if r.Apply(lo, k, f) < math.MinInt16 || r.Apply(hi, k, f) > math.MaxInt16 {
				return Floor{}, fmt.Sprintf("results reach from %d to %d before they saturate, want 16 bits",
					r.Apply(lo, k, f), r.Apply(hi, k, f))
			}
			return r, ""
		}
	}
	return Floor{}, "no offset gives all results"
}

// between is what may be added to v<<k so that sums from lo to hi reach need(t),
// the least word that gives the result t, where the definition gives it.
func (l *limits) between(lo, hi int64, k uint, need func(t int64) int64) span {
	b := span{-floorReach << k, floorReach << k}
	for i, v := range l.from {
		least := need(l.first + int64(i))
		if v <= hi {
			b.atLeast(least - max(v, lo)<<k)
		}
		if v > lo {
			b.atMost(least - 1 - min(v-1, hi)<<k)
		}
		if b.lo > b.hi {
			break
		}
	}
	return b
}
