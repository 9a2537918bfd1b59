// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
)

// Affine is nncc_affine_s8: clamp((q*Mult + Bias) >> Shift).
type Affine struct {
	Bias  int64
	Mult  int32
	Shift int32
}

// Apply evaluates the function.
func (f *Affine) Apply(q int8, lo, hi int32) int8 {
	v := (int64(q)*int64(f.Mult) + f.Bias) >> uint(f.Shift)
	return int8(min(max(v, int64(lo)), int64(hi)))
}

// affineShift is the largest shift of an Affine: the bias still fits int64.
const affineShift = 46

// BuildAffine finds an Affine that gives target(q) for every q in [from, to],
// or reports that it found none. slope is the real number of output steps per
// input step; lo, hi are the clamp, and target must stay within it.
//
// For a given Mult every q bounds Bias from both sides (from one side only
// where the target is clamped); the width of what remains is concave in Mult,
// so its maximum is found by ternary search around the slope.
func BuildAffine(slope float64, from, to int32, lo, hi int32, target func(q int32) int32) (Affine, bool) {
	var f Affine
	if !(math.Abs(slope) < 1<<20) {
		return f, false
	}
	_, exp := math.Frexp(slope)
	f.Shift = int32(min(max(30-exp, 0), affineShift))
	unit := int64(1) << uint(f.Shift)
	want := make([]int64, to-from+1)
	for i := range want {
		want[i] = int64(target(from + int32(i)))
	}
	// room is the number of biases that work with mult, less one; low the smallest.
	room := func(mult int64) (room, low int64) {
		low, high := int64(math.MinInt64), int64(math.MaxInt64)
		for i, y := range want {
			at := (int64(from) + int64(i)) * mult
			if y > int64(lo) {
				low = max(low, y*unit-at)
			}
			if y < int64(hi) {
				high = min(high, (y+1)*unit-1-at)
			}
		}
		if low == math.MinInt64 && high == math.MaxInt64 {
			return 0, 0 // an empty range
		}
		if low == math.MinInt64 {
			return unit, high - unit
		}
		if high == math.MaxInt64 {
			return unit, low
		}
		return high - low, low
	}
	mid := int64(math.Round(math.Ldexp(slope, int(f.Shift))))
	spread := int64(math.Ldexp(1.0/64, int(f.Shift))) + 1
	a, b := mid-spread, mid+spread
	best, low := room(mid)
	for best < 0 && b-a > 2 {
		m1, m2 := a+(b-a)/3, b-(b-a)/3
		r1, l1 := room(m1)
		r2, l2 := room(m2)
		if r1 < r2 {
			a = m1
		} else {
			b = m2
		}
		if r1 > best {
			best, low, mid = r1, l1, m1
		}
		if r2 > best {
			best, low, mid = r2, l2, m2
		}
	}
	if best < 0 || mid > math.MaxInt32 || mid < math.MinInt32 {
		return f, false
	}
	f.Mult, f.Bias = int32(mid), low+best/2
	for i, y := range want { // the proof
		if got := f.Apply(int8(from+int32(i)), lo, hi); int64(got) != y {
			return f, false
		}
	}
	return f, true
}
