// SPDX-License-Identifier: Apache-2.0

package qref

import "math"

// SumTables are the constants of nncc_sum_s8: y = clamp((A[a] + B[b]) >> Shift),
// A and B indexed by bit pattern.
type SumTables struct {
	A, B  [256]int32
	Shift int32
}

// sumPasses bounds the search of BuildSum.
const sumPasses = 64

// BuildSum finds tables with which nncc_sum_s8 gives target(a, b) for all
// 65,536 pairs, or reports that it found none. partA and partB say of which
// sum the target is a function: their sum, in output steps and with the zero
// point in one of them, is about the target before rounding. Targets at lo or
// hi are clamped ones.
//
// Every pair bounds A[a] + B[b] from both sides; with v = -B these are
// difference constraints, and relaxing them from the real-valued solution
// (Bellman-Ford) ends with an integer solution if it ends.
func BuildSum(partA, partB func(q int32) float64, lo, hi int32, target func(a, b int32) int32) (*SumTables, bool) {
	t := &SumTables{}
	var u, v [256]int64
	peak := 1.0
	for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
		peak = max(peak, math.Abs(partA(q)), math.Abs(partB(q)))
	}
	if !(peak < 1<<28) {
		return nil, false
	}
	_, exp := math.Frexp(peak)
	t.Shift = int32(29 - exp)
	unit := int64(1) << uint(t.Shift)
	for q := int32(math.MinInt8); q <= math.MaxInt8; q++ {
		u[uint8(q)] = int64(math.Round(partA(q)*float64(unit))) + unit/2
		v[uint8(q)] = -int64(math.Round(partB(q) * float64(unit)))
	}
	var want [256][256]int8
	for a := range want {
		for b := range want[a] {
			want[a][b] = int8(target(int32(int8(a)), int32(int8(b))))
		}
	}
	for pass := 0; ; pass++ {
		changed := false
		for a := range want {
			row, ua := &want[a], u[a]
			for b, y8 := range row {
				y := int64(y8)
				if y < int64(hi) && ua > v[b]+(y+1)*unit-1 {
					ua, changed = v[b]+(y+1)*unit-1, true
				}
			}
			u[a] = ua
			for b, y8 := range row {
				y := int64(y8)
				if y > int64(lo) && v[b] > ua-y*unit {
					v[b], changed = ua-y*unit, true
				}
			}
		}
		if !changed {
			break
		}
		if pass == sumPasses {
			return nil, false
		}
	}
	for i := range t.A {
		if max(u[i], -u[i], v[i], -v[i]) >= 1<<30 {
			return nil, false
		}
		t.A[i], t.B[i] = int32(u[i]), int32(-v[i])
	}
	for a := range want { // the proof
		for b, y := range want[a] {
			if t.at(uint8(a), uint8(b), lo, hi) != y {
				return nil, false
			}
		}
	}
	return t, true
}

func (t *SumTables) at(a, b uint8, lo, hi int32) int8 {
	return int8(min(max((t.A[a]+t.B[b])>>uint(t.Shift), lo), hi))
}
