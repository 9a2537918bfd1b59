// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// Sum is what a channel adds up and how it is requantised: Start + v for every v
// in [Lo, Hi], times Mult / 2^31, shifted by Shift.
type Sum struct {
	Mult, Shift int32
	Start       int64
	Lo, Hi      int64
}

// FoldBits are the bits behind the point of what folded requantisations cut off:
// more of them are finer, fewer leave sums more room.
const FoldBits = 17

// Folded is the requantisation of some channels whose results, clamped to int8,
// are words less their last FoldBits bits:
//
//	a = v<<K + B; a += D if a < 0; ((2*a*M + C<<32 + 1<<31) >> 32 + 1<<(FoldBits-1)) >> FoldBits
//
// B holds the start of the sum, C the zero point, and both what
// the two roundings of the definition leave.
type Folded struct {
	K, C     int32
	Channels []FoldedChannel
}

// FoldedChannel are the numbers of one channel.
type FoldedChannel struct{ B, M, D int32 }

// Apply is what a kernel computes of v for channel i.
func (f *Folded) Apply(i int, v int64) int64 {
	c := f.Channels[i]
	a := v<<uint(f.K) + int64(c.B)
	if a < 0 {
		a += int64(c.D)
	}
	return min(max((2*a*int64(c.M)+int64(f.C+half)<<32+1<<31)>>(32+FoldBits), math.MinInt8), math.MaxInt8)
}

// half a step of the results.
const half = 1 << (FoldBits - 1)

// How far from the exact numbers Fold looks for some that give all results.
const (
	foldOffsets     = 240
	foldMultipliers = 15
)

// Fold gives the Folded that equals fixp.Requantize(Start + v, Mult, Shift) +
// zero, clamped to int8, for every v of every channel. D is 0 where zero is the
// lower end of the clamp. Where there is none, the reason says why.
//
// With s = -Shift, the first v that gives t or more is known by a division; so is
// the first a. Each of the 255 results bounds what may be added to v<<K, to less
// than one step of v between them. K + s = FoldBits makes M the multiplier itself; where
// s is larger than that of another channel, M is shorter.
func Fold(sums []Sum, zero int32) (*Folded, string) {
	least := int32(FoldBits)
	for i, s := range sums {
		if s.Mult == 0 {
			continue
		}
		if s.Shift > -1 || s.Shift < -20 {
			return nil, fmt.Sprintf("channel %d is shifted by %d, want 1 to 20 to the right", i, s.Shift)
		}
		least = min(least, -s.Shift)
	}
	f := &Folded{K: FoldBits - least, Channels: make([]FoldedChannel, len(sums))}
	limits := make([]limits, len(sums))
	for i, s := range sums {
		var why string
		if limits[i], why = s.limits(f.K, zero); why != "" {
			return nil, fmt.Sprintf("channel %d: %s", i, why)
		}
	}
	for n := range int32(foldOffsets) {
		f.C = zero<<FoldBits + nth(n)
		if f.fold(sums, limits, zero) {
			return f, ""
		}
	}
	return nil, "no offset gives the results of all channels"
}

// nth is 0, 1, -1, 2, -2, ...
func nth(n int32) int32 {
	if n%2 == 1 {
		return n/2 + 1
	}
	return -n / 2
}

// fold looks for the numbers of all channels beside C.
func (f *Folded) fold(sums []Sum, l []limits, zero int32) bool {
	for i, s := range sums {
		found := s.Mult == 0
		f.Channels[i] = FoldedChannel{}
		for n := int32(0); n < foldMultipliers && !found; n++ {
			f.Channels[i], found = s.fold(f, &l[i], nth(n), zero)
		}
		if !found {
			return false
		}
	}
	return true
}

// limits are the results that sums of a channel reach.
type limits struct {
	first int64   // result
	from  []int64 // the least sum that gives first, first + 1, ...; the last one is out of reach
}

// limits of a sum; its words have room for K more bits.
func (s *Sum) limits(k, zero int32) (limits, string) {
	if s.Mult == 0 {
		return limits{}, ""
	}
	lo, hi := s.Lo+s.Start, s.Hi+s.Start
	if lo<<uint(k) < math.MinInt32+1<<20 || (hi+2)<<uint(k) > math.MaxInt32 ||
		max(s.Start, -s.Start)<<uint(k) > math.MaxInt32-1<<20 {
		return limits{}, fmt.Sprintf("sums reach from %d to %d, want %d bits", lo, hi, 32-k)
	}
	result := func(v int64) int64 { return int64(fixp.Requantize(int32(v), s.Mult, s.Shift)) + int64(zero) }
	l := limits{first: max(result(lo), math.MinInt8+1)}
	last := min(result(hi)+1, math.MaxInt8)
	shift := uint(-s.Shift)
	for t := l.first; t <= last; t++ {
		q := t - int64(zero)
		r := q<<shift - 1<<(shift-1)
		if q <= 0 {
			r++
		}
		l.from = append(l.from, ceil(r<<31-1<<30, int64(s.Mult)))
	}
	return l, ""
}

// ceil is a / b towards plus infinity, b above 0.
func ceil(a, b int64) int64 {
	q := a / b
	if a > q*b {
		q++
	}
	return q
}

// span is what may be added.
type span struct{ lo, hi int64 }

func (s *span) atLeast(v int64) { s.lo = max(s.lo, v) }
func (s *span) atMost(v int64)  { s.hi = min(s.hi, v) }

// fold gives the numbers of a channel whose multiplier is so far from the exact
// one, beside f's K and C.
func (s *Sum) fold(f *Folded, l *limits, off, zero int32) (FoldedChannel, bool) {
	k := uint(f.K)
	short := uint(-s.Shift + f.K - FoldBits)
	m := (int64(s.Mult)+int64(1)<<short>>1)>>short + int64(off)
	if m <= 0 || m > math.MaxInt32 {
		return FoldedChannel{}, false
	}
	lo, hi := s.Lo+s.Start, s.Hi+s.Start
	// Sums from 0 on, and those below.
	sides := [2]span{{0, 1<<k - 1}, {-4 << k, 4 << k}}
	relu := zero == math.MinInt8
	side := func(v int64) *span {
		if v < 0 && !relu {
			return &sides[1]
		}
		return &sides[0]
	}
	for i, v := range l.from {
		need := ceil((l.first+int64(i))<<(32+FoldBits)-int64(f.C+half)<<32-1<<31, 2*m) // the least a
		if v <= hi {
			at := max(v, lo)
			side(at).atLeast(need - at<<k)
		}
		if v > lo {
			at := min(v-1, hi)
			side(at).atMost(need - 1 - at<<k)
		}
	}
	if sides[0].lo > sides[0].hi || sides[1].lo > sides[1].hi {
		return FoldedChannel{}, false
	}
	b := (sides[0].lo + sides[0].hi) >> 1
	c := FoldedChannel{B: int32(s.Start<<k + b), M: int32(m)}
	if !relu {
		c.D = int32((sides[1].lo+sides[1].hi)>>1 - b)
	}
	return c, true
}
