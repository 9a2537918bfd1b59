// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"math"
	"math/bits"
)

// Line is Mult*q + Bias, to be shifted to the right, rounded down, and clamped. It
// stays below 2^31 for every int8 q.
type Line struct{ Mult, Bias int32 }

// Target is a function of int8 values to be computed: what lies between From and
// To, Slope steps of the result for a step of q.
type Target struct {
	Slope    float64
	From, To int32
	Of       func(q int32) int32
}

// Lines finds lines with one shift that give all targets, clamped at lo and hi.
func Lines(targets []Target, lo, hi int32) (lines []Line, shift int32, ok bool) {
	peak := 1.0
	for _, t := range targets {
		peak = max(peak, math.Abs(t.Slope))
	}
	if !(peak < 1<<12) {
		return nil, 0, false
	}
	top := int32(30 - bits.Len64(uint64(peak*256+256)))
search:
	for shift = top; shift >= max(top-3, 1); shift-- {
		lines = make([]Line, len(targets))
		for i, t := range targets {
			if lines[i], ok = t.line(shift, lo, hi); !ok {
				continue search
			}
		}
		return lines, shift, true
	}
	return nil, 0, false
}

// line finds the target's line for a shift. What room a factor leaves for the
// summand is concave in the factor, so that the best one is found by ternary
// search around the slope.
func (t *Target) line(shift, lo, hi int32) (Line, bool) {
	unit := int64(1) << uint(shift)
	mid := int64(math.Round(t.Slope * float64(unit)))
	best := t.room(mid, shift, lo, hi)
	for a, b := mid-unit/64-1, mid+unit/64+1; best.size < 0 && b-a > 2; {
		l, r := t.room(a+(b-a)/3, shift, lo, hi), t.room(b-(b-a)/3, shift, lo, hi)
		if l.size < r.size {
			a = l.mult
		} else {
			b = r.mult
		}
		for _, x := range []room{l, r} {
			if x.size > best.size {
				best = x
			}
		}
	}
	if best.size < 0 || 128*max(best.mult, -best.mult)+max(best.bias, -best.bias) >= 1<<31 {
		return Line{}, false
	}
	return Line{int32(best.mult), int32(best.bias)}, true
}

// room is a factor with the summand in the middle of those that work; below 0,
// size is by how much none does.
type room struct{ mult, bias, size int64 }

func (t *Target) room(mult int64, shift, lo, hi int32) room {
	unit := int64(1) << uint(shift)
	const none = 1 << 60
	low, high := int64(-none), int64(none)
	for q := t.From; q <= t.To; q++ {
		w, at := t.Of(q), int64(q)*mult
		if w > lo {
			low = max(low, int64(w)*unit-at)
		}
		if w < hi {
			high = min(high, (int64(w)+1)*unit-1-at)
		}
	}
	switch { // clamped on one side only, or no value at all: no further than needed
	case low == -none && high == none:
		return room{mult, 0, unit}
	case low == -none:
		return room{mult, high - unit/2, unit}
	case high == none:
		return room{mult, low + unit/2, unit}
	}
	return room{mult, low + (high-low)/2, high - low}
}
