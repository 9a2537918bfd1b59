// SPDX-License-Identifier: Apache-2.0

// Package pack does the compile-time arithmetic of kernels whose weights nncc
// prepares: input offsets folded into biases, the accumulators that are
// reachable, and requantisation in one multiplication, proven per channel. It
// knows no instruction set.
package pack

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sort"
)

// Bias is the start value of an accumulator that sums x*w instead of
// (x+inOff)*w: bias plus inOff times the sum of the channel's weights.
func Bias(w []int8, inOff, bias int32) int64 {
	sum := int64(0)
	for _, v := range w {
		sum += int64(v)
	}
	return int64(bias) + int64(inOff)*sum
}

// Reach is the smallest and the largest sum of x*w over all int8 inputs x.
func Reach(w []int8) (lo, hi int64) {
	for _, v := range w {
		a, b := -128*int64(v), 127*int64(v)
		lo += min(a, b)
		hi += max(a, b)
	}
	return lo, hi
}

// Words is the little-endian image of 32-bit words.
func Words(w []int32) []byte {
	b := make([]byte, 0, 4*len(w))
	for _, x := range w {
		b = binary.LittleEndian.AppendUint32(b, uint32(x))
	}
	return b
}

// Mean is clamp((acc*Mult + Bias) >> Shift), the shift rounded down: a sum as a
// quantised sum or mean. Where Up is not 0 it is of words: clamp((((acc<<Up)*Mult >>
// 32) + Bias) >> Shift).
type Mean struct {
	Mult, Shift, Up int32
	Bias            int64
}

func (m *Mean) product(acc int64) int64 {
	if m.Up > 0 {
		return (acc << m.Up) * int64(m.Mult) >> 32
	}
	return acc * int64(m.Mult)
}

// Means finds the form that equals f, which never falls and stays within lo and
// hi, for every sum from `from` to `to`; slope is about what a step of the sum
// is in steps of the result, above 0. That of words, where it is wanted, comes first.
func Means(f func(acc int32) int8, from, to int32, lo, hi int8, slope float64, words bool) (Mean, bool) {
	if !(slope > 0) || slope >= 1<<20 {
		return Mean{}, false
	}
	_, exp := math.Frexp(slope)
	size := bits.Len32(uint32(max(to, -from))) // of a sum
	forms := []Mean{{Shift: int32(min(30-exp, 61-size-max(0, exp), 52))}}
	if up := 30 - size; words && up > 0 && up <= exp+30 {
		forms = append([]Mean{{Up: int32(up), Shift: int32(up - 1 - exp)}}, forms...)
	}
	for _, m := range forms {
		if m.Shift < 0 {
			continue
		}
		mult := math.Round(math.Ldexp(slope, int(m.Shift)))
		if m.Up > 0 {
			mult = math.Round(math.Ldexp(slope, int(m.Shift)+32-int(m.Up)))
		}
		// Halves are rounded away from zero, which one more does on both sides of it.
		for _, one := range []float64{0, 1} {
			m.Mult = int32(mult + one)
			if mult >= 1 && mult < math.MaxInt32 && m.bias(f, from, to, lo, hi) {
				return m, true
			}
		}
	}
	return Mean{}, false
}

// bias sets the bias with which m equals f. Between two sums at which f changes it is
// one number, so that each of these bounds it from both sides.
func (m *Mean) bias(f func(acc int32) int8, from, to int32, lo, hi int8) bool {
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	for w := int64(lo) + 1; w <= int64(hi); w++ {
		// the least sum of which the result is w or more
		k := int64(sort.Search(int(to)-int(from)+1, func(i int) bool { return int64(f(from+int32(i))) >= w }))
		acc := int64(from) + k
		if acc <= int64(to) {
			low = max(low, w<<m.Shift-m.product(acc))
		}
		if k > 0 {
			high = min(high, w<<m.Shift-m.product(acc-1)-1)
		}
	}
	m.Bias = low + (high-low)/2
	return low <= high && low != math.MinInt64 && high != math.MaxInt64 && (m.Up == 0 || m.Bias>>30 == m.Bias>>63)
}

// Doubtful is the form of slope times a sum of at most size, with zero added, for all
// sums but those for which what is shifted out is less than doubt away from 0 or 1 <<
// Shift: half a unit of the multiplier for each unit of the sum, and the roundings of
// double. Results have 32 bits. doubt 0: there is none.
func Doubtful(slope float64, size, zero int64) (m Mean, doubt int32) {
	if !(slope > 0) || size > math.MaxInt32 || slope*float64(size) >= 1<<30 {
		return m, 0
	}
	_, exp := math.Frexp(slope)
	shift := min(30-exp, 31, 61-bits.Len64(uint64(size))-max(0, exp))
	if shift < 1 {
		return m, 0
	}
	unit := int64(1) << shift
	mult := math.Round(slope * float64(unit))
	near := 2 + size/2 + int64(math.Ldexp(float64(size)*slope, shift-48))
	if mult < 1 || mult > math.MaxInt32 || 2*near >= unit {
		return m, 0
	}
	return Mean{Mult: int32(mult), Shift: int32(shift), Bias: zero*unit + unit/2}, int32(near)
}
