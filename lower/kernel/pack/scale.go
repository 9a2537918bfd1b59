// SPDX-License-Identifier: Apache-2.0

package pack

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// Scale are the numbers of a requantisation in one multiplication:
//
//	((2*v*M + 1<<31) >> 32 + C - (1 if v < 0)) >> S
//
// The product with its rounding is the rounding doubling high multiplication
// of TensorFlow Lite; half a step of the following shift stands in C, and the
// correction for negative sums makes its ties go away from zero, as
// fixp.DivideByPowerOfTwo does. Without the correction only negative ties come
// out one higher.
type Scale struct{ M, C, S int32 }

// Apply is what a kernel computes.
func (s Scale) Apply(v int64) int64 {
	r := (2*v*int64(s.M)+1<<31)>>32 + int64(s.C)
	if v < 0 {
		r--
	}
	return r >> uint(s.S)
}

// OneMultiply gives the Scale that equals fixp.Requantize(v, mult, shift) +
// offset for every accumulator v in [lo, hi]. The intermediate values fit 32
// bits and the results 16. Where there is none, the reason says why.
func OneMultiply(mult, shift int32, lo, hi int64, offset int32) (Scale, string) {
	if 2*lo >= math.MinInt32 && 2*hi <= math.MaxInt32 {
		a, b := int64(fixp.Requantize(int32(lo), mult, shift)), int64(fixp.Requantize(int32(hi), mult, shift))
		if a, b = a+int64(offset), b+int64(offset); a < math.MinInt16 || b > math.MaxInt16 {
			return Scale{}, fmt.Sprintf("results reach from %d to %d before they saturate, want 16 bits", a, b)
		}
	}
	return OneMultiply32(mult, shift, lo, hi, offset)
}

// OneMultiply32 is OneMultiply for results of up to 32 bits.
func OneMultiply32(mult, shift int32, lo, hi int64, offset int32) (Scale, string) {
	ref := func(v int64) int64 { return int64(fixp.Requantize(int32(v), mult, shift)) + int64(offset) }
	if 2*lo < math.MinInt32 || 2*hi > math.MaxInt32 {
		return Scale{}, fmt.Sprintf("sums reach from %d to %d, want at most 31 bits", lo, hi)
	}
	if mult == 0 || shift >= 0 && ref(lo) == ref(hi) {
		return Scale{0, 2*int32(ref(lo)) + 1, 1}, ""
	}
	s := -shift
	if s < 1 {
		return Scale{}, fmt.Sprintf("the scale %.3g is not below 0.5", math.Ldexp(float64(mult), int(shift)-31))
	}
	// Large shifts leave no room for the offset: a shorter multiplier does, where
	// it gives the same results.
	for d := int32(0); d < s; d++ {
		t := Scale{int32((int64(mult) + int64(1)<<uint(d)>>1) >> uint(d)), 0, s - d}
		if t.S > 30 {
			continue
		}
		c := int64(1)<<uint(t.S-1) + int64(offset)<<uint(t.S)
		top := (2*max(hi, -lo)*int64(t.M))>>32 + 2 + max(c, -c)
		if top > math.MaxInt32 {
			continue
		}
		t.C = int32(c)
		if d == 0 || same(t.Apply, ref, lo, hi) {
			return t, ""
		}
		return Scale{}, fmt.Sprintf("no multiplier with room for offset %d gives the results of shift %d", offset, s)
	}
	return Scale{}, fmt.Sprintf("no multiplier has room for offset %d beside shift %d", offset, s)
}

// NoShift gives the Scale with S = 0 that equals fixp.Requantize(v, mult, 0) +
// offset for every v in [lo, hi], without the correction for negative sums.
// Where there is none, the reason says why.
func NoShift(mult int32, lo, hi int64, offset int32) (Scale, string) {
	if 2*lo < math.MinInt32 || 2*hi > math.MaxInt32 {
		return Scale{}, fmt.Sprintf("sums reach from %d to %d, want at most 31 bits", lo, hi)
	}
	return Scale{mult, offset, 0}, ""
}

// Upper is a requantisation whose result is the upper half of a word:
//
//	((v<<K)*M >> 32 + C - (D if v < 0)) >> 16
//
// It is Scale with a shift that is the same for all channels, so that the shift
// can be part of the instruction that saturates. The sums come shifted by K,
// which inputs and weights do in advance.
type Upper struct{ K, M, C, D int32 }

// Apply is what a kernel computes.
func (u Upper) Apply(v int64) int64 {
	r := (v<<uint(u.K)*int64(u.M))>>32 + int64(u.C)
	if v < 0 {
		r -= int64(u.D)
	}
	return r >> 16
}

// minUpper is the smallest K: inputs are 256 times as large.
const minUpper = 8

// UpperHalf gives the Upper that equals fixp.Requantize(v, mult, shift) + offset
// for every accumulator v in [lo, hi]. K is 8 to 16. Where there is none, the
// reason says why.
//
// With t = v*mult/2^31 and s = -shift, Requantize is floor((t + 1/2 + 2^(s-1) -
// (1 if v < 0)) / 2^s): both of its roundings add a half and cut off. For K = 17-s
// that is what Apply computes, fractions of C aside, which s <= 15 does not have.
// Where s leaves no room for K, the multiplier is shorter and is tried out.
func UpperHalf(mult, shift int32, lo, hi int64, offset int32) (Upper, string) {
	s := -shift
	if mult == 0 {
		return Upper{minUpper, 0, offset<<16 | 1<<15, 0}, ""
	}
	if s < 1 {
		return Upper{}, fmt.Sprintf("the scale %.3g is not below 0.5", math.Ldexp(float64(mult), int(shift)-31))
	}
	u := Upper{K: max(minUpper, 17-s), M: mult}
	if max(hi, -lo)<<uint(u.K) > math.MaxInt32 {
		return Upper{}, fmt.Sprintf("sums reach from %d to %d, want %d bits", lo, hi, 32-u.K)
	}
	if d := s + u.K - 17; d > 0 {
		u.M = int32((int64(mult) + int64(1)<<uint(d)>>1) >> uint(d))
	}
	u.C = offset<<16 + 1<<15 + 1<<15>>uint(s)
	u.D = 1 << 16 >> uint(s)
	ref := func(v int64) int64 { return int64(fixp.Requantize(int32(v), mult, shift)) + int64(offset) }
	if s+u.K > 17 && !same(u.Apply, ref, lo, hi) {
		return Upper{}, fmt.Sprintf("no multiplier of %d bits gives the results of shift %d", 48-s-u.K, s)
	}
	return u, ""
}

// same compares two monotone functions over every integer of [lo, hi]: where
// both agree at the ends of an interval and do not change, they agree inside.
func same(f, g func(int64) int64, lo, hi int64) bool {
	flo, fhi := f(lo), f(hi)
	if flo != g(lo) || fhi != g(hi) {
		return false
	}
	if flo == fhi || hi-lo <= 1 {
		return true
	}
	mid := lo + (hi-lo)/2
	return same(f, g, lo, mid) && same(f, g, mid, hi)
}
