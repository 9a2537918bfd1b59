// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"math"
	"math/bits"
)

// Line is Mult*q + Bias, to be shifted to the right, rounded down, and clamped. It
// stays below 2^31 for every int8 q. Above is what sums from 0 on get besides (Scales).
type Line struct{ Mult, Bias, Above int32 }

// reach is more than any sum.
func (l *Line) reach() int64 {
	mult, bias := int64(l.Mult), int64(l.Bias)
	return 128*max(mult, -mult) + max(bias, -bias) + int64(l.Above)
}

// Target is a function of int8 values to be computed: what lies between From and
// To, Slope steps of the result for a step of q.
type Target struct {
	Slope    float64
	From, To int32
	Of       func(q int32) int32
}

// Lines finds lines with one shift that give all targets, clamped at lo and hi.
func Lines(targets []Target, lo, hi int32) (lines []Line, shift int32, ok bool) {
	return withOneShift(targets, func(t *Target, shift int32) (Line, bool) { return t.line(0, shift, lo, hi) })
}

// Scales finds lines as Lines does where results are rounded twice: to a fraction
// of a step first, then with ties away from zero. Both sides of zero begin half such
// a fraction too far out, which no single line does: sums from 0 on get Above more.
// The lines count from the result zero, which is added behind the shift.
func Scales(targets []Target, zero, lo, hi int32) (lines []Line, shift int32, ok bool) {
	from := make([]Target, len(targets))
	for i, t := range targets {
		of := t.Of
		t.Of = func(q int32) int32 { return of(q) - zero }
		from[i] = t
	}
	return withOneShift(from, func(t *Target, shift int32) (Line, bool) {
		line, ok := t.scale(shift, lo-zero, hi-zero)
		return line, ok && line.reach()+int64(max(zero, -zero))<<uint(shift) < 1<<31
	})
}

// withOneShift finds a line for every target, the largest shift first with which sums
// may stay in 32 bits.
func withOneShift(targets []Target, find func(t *Target, shift int32) (Line, bool)) ([]Line, int32, bool) {
	peak := 1.0
	for _, t := range targets {
		peak = max(peak, math.Abs(t.Slope))
	}
	if !(peak < 1<<12) {
		return nil, 0, false
	}
	top := int32(30 - bits.Len64(uint64(peak*256+256)))
search:
	for shift := top; shift >= max(top-3, 1); shift-- {
		lines := make([]Line, len(targets))
		for i := range targets {
			var ok bool
			if lines[i], ok = find(&targets[i], shift); !ok {
				continue search
			}
		}
		return lines, shift, true
	}
	return nil, 0, false
}

// scale finds the target's line for a shift: what is missing at zero is one fraction
// of a step, 2^-4 for the coarsest first rounding.
func (t *Target) scale(shift, lo, hi int32) (Line, bool) {
	line, ok := t.line(0, shift, lo, hi)
	for k := int32(12); !ok && k >= 4; k-- {
		if k < shift {
			line, ok = t.line(1<<uint(shift-k), shift, lo, hi)
		}
	}
	return line, ok
}

// line finds the target's line for a shift, sums from 0 on above more. What room a
// factor leaves for the summand is concave in the factor, so that the best one is
// found by ternary search around the slope.
func (t *Target) line(above int64, shift, lo, hi int32) (Line, bool) {
	unit := int64(1) << uint(shift)
	mid := int64(math.Round(t.Slope * float64(unit)))
	best := t.room(mid, above, shift, lo, hi)
	for a, b := mid-unit/64-1, mid+unit/64+1; best.size < 0 && b-a > 2; {
		l, r := t.room(a+(b-a)/3, above, shift, lo, hi), t.room(b-(b-a)/3, above, shift, lo, hi)
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
	line := Line{int32(best.mult), int32(best.bias), int32(above)}
	return line, best.size >= 0 && best.bias == int64(line.Bias) && line.reach() < 1<<31
}

// room is a factor with the summand in the middle of those that work; below 0,
// size is by how much none does.
type room struct{ mult, bias, size int64 }

// A sum is negative exactly where the result is.
func (t *Target) room(mult, above int64, shift, lo, hi int32) room {
	unit := int64(1) << uint(shift)
	const none = 1 << 60
	low, high := int64(-none), int64(none)
	for q := t.From; q <= t.To; q++ {
		w, at := t.Of(q), int64(q)*mult
		if w > lo {
			low = max(low, int64(w)*unit-at-when(w > 0, above))
		}
		if w < hi {
			high = min(high, (int64(w)+1)*unit-1-at-when(w >= 0, above))
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

func when(yes bool, v int64) int64 {
	if yes {
		return v
	}
	return 0
}
