// SPDX-License-Identifier: Apache-2.0

package fixp

import "math"

// Functions of fixed-point numbers that TensorFlow Lite's reference kernels compute, bit
// for bit.

// Quotient is a/b * mult * 2^(shift-31), 0 where b is. Source: DivElementwise.
func Quotient(a, b, mult, shift int32) int32 {
	if b == 0 {
		return 0
	}
	if b < 0 {
		a, b = -a, -b
	}
	zeros := LeadingZeros(b)
	inverse := OneOverOnePlusX(int32(uint32(b)<<uint(zeros) - 1<<31))
	headroom := LeadingZeros(a^a>>31) - 1
	q := DoublingHighMult(a<<uint(headroom), inverse)
	return Requantize(q, mult, shift-(31-zeros)-headroom)
}

// ReciprocalQ12 is 1/v of v in Q12.19 as mult * 2^(shift-31), the largest multiplier where v is not
// above 0. Source: GetReciprocal.
func ReciprocalQ12(v int32) (mult, shift int32) {
	if v <= 0 {
		return math.MaxInt32, 0
	}
	headroom := LeadingZeros(v)
	return OneOverOnePlusX(int32(uint32(v)<<uint(headroom) - 1<<31)), headroom - 12
}

// LogQ12 is the natural logarithm of v >= 1 in Q12.19 as Q5.26.
// Source: log_x_for_x_greater_than_or_equal_to_1.
func LogQ12(v int32) int32 {
	const (
		ln2, rootHalf, rootRootHalf = int32(1488522236), int32(1518500250), int32(1805811301)
		alphaN, alphaD              = int32(117049297), int32(127690142)
		alphaI, alphaF              = int32(1057819769), int32(638450708)
		quarter                     = int32(1 << 23) // in Q6.25
	)
	zeros := LeadingZeros(v)
	ra := DoublingHighMult(MultByPowerOfTwo(v, zeros-1), rootHalf)
	ra = MultByPowerOfTwo(ra, 1)
	powA := satAdd(MultByPowerOfTwo(12-zeros, 25), quarter)
	b := DoublingHighMult(v, rootHalf)
	room := LeadingZeros(b) - 1
	rb := MultByPowerOfTwo(v, room)
	powB := satAdd(MultByPowerOfTwo(12-room, 25), -quarter)
	r, pow := min(ra, rb), max(powA, powB)
	p := halfSum(r, rootRootHalf)
	q := 2 * (r - rootRootHalf)
	square := DoublingHighMult(q, q)
	num := DoublingHighMult(q, r) + DoublingHighMult(DoublingHighMult(q, square), alphaN)
	den := DoublingHighMult(p, alphaI+q+DoublingHighMult(alphaD, square)) + DoublingHighMult(alphaF, q)
	scaled := DoublingHighMult(DivideByPowerOfTwo(num, 6), OneOverOnePlusX(den))
	return MultByPowerOfTwo(DoublingHighMult(pow, ln2)+scaled, 1)
}

func satAdd(a, b int32) int32 {
	return int32(min(max(int64(a)+int64(b), math.MinInt32), math.MaxInt32))
}

// halfSum is (a+b)/2, ties away from zero.
func halfSum(a, b int32) int32 {
	sum := int64(a) + int64(b)
	if sum >= 0 {
		return int32((sum + 1) / 2)
	}
	return int32((sum - 1) / 2)
}
