// SPDX-License-Identifier: Apache-2.0

// Package fixp holds the scalar fixed-point primitives that every integer
// kernel shares: requantisation by a Q31 multiplier and a shift, the gemmlowp
// exponential and reciprocal used by softmax, saturation, and the roundings of
// ONNX QuantizeLinear. All of them are bit-exact to CMSIS-NN (revision
// 99f736a6, arm_nnsupportfunctions.h) and to the TensorFlow Lite int8
// specification that CMSIS-NN follows.
//
// Arithmetic wraps modulo 2^32 where the C code would: Go defines that, and
// the portable C kernels compute through unsigned types to get the same.
package fixp

import (
	"math"
	"math/bits"
)

// Rounding selects how Requantize combines its two scaling steps.
type Rounding uint8

const (
	// DoubleRounding rounds after the Q31 multiplication and again after the
	// right shift: the TensorFlow Lite definition and CMSIS-NN's default.
	DoubleRounding Rounding = iota
	// SingleRounding rounds once, as CMSIS-NN does when it is built with
	// CMSIS_NN_USE_SINGLE_ROUNDING. Results may differ by one step.
	SingleRounding
)

// String is single or double.
func (r Rounding) String() string {
	if r == SingleRounding {
		return "single"
	}
	return "double"
}

// Requantize scales v by mult * 2^(shift-31) in the given rounding mode.
// mult is a Q31 value in [0, 2^31); shift is in [-31, 30], positive for a left
// shift. Source: arm_nn_requantize.
func (r Rounding) Requantize(v, mult, shift int32) int32 {
	if r == SingleRounding {
		return requantizeSingle(v, mult, shift)
	}
	return Requantize(v, mult, shift)
}

// Requantize scales v by mult * 2^(shift-31) with double rounding: left shift
// (wrapping), rounding doubling high multiplication without saturation, then
// rounding right shift. Source: arm_nn_requantize.
func Requantize(v, mult, shift int32) int32 {
	if shift >= 0 {
		return DoublingHighMultNoSat(v<<uint(shift), mult)
	}
	return DivideByPowerOfTwo(DoublingHighMultNoSat(v, mult), -shift)
}

func requantizeSingle(v, mult, shift int32) int32 {
	p := int64(v) * int64(mult)
	p >>= uint(30 - shift)
	return int32((p + 1) >> 1)
}

// RequantizeS64 is the int16-activation requantisation of a 64-bit
// accumulator with a 16-bit multiplier (see ReduceMultiplier): one rounding.
// Source: arm_nn_requantize_s64.
func RequantizeS64(v int64, reducedMult, shift int32) int32 {
	p := v * int64(reducedMult)
	r := int32(p >> uint(14-shift))
	return (r + 1) >> 1
}

// ReduceMultiplier turns a Q31 multiplier into the Q15 one that RequantizeS64
// takes. Source: macro REDUCE_MULTIPLIER.
func ReduceMultiplier(mult int32) int32 {
	if mult < 0x7FFF0000 {
		return (mult + (1 << 15)) >> 16
	}
	return 0x7FFF
}

// DoublingHighMult returns the upper 32 bits of 2*a*b, rounded, saturating the
// one overflow MinInt32*MinInt32. Source: arm_nn_doubling_high_mult; equal to
// gemmlowp SaturatingRoundingDoublingHighMul and to the VQRDMULH instruction.
func DoublingHighMult(a, b int32) int32 {
	if a == math.MinInt32 && b == math.MinInt32 {
		return math.MaxInt32
	}
	return DoublingHighMultNoSat(a, b)
}

// DoublingHighMultNoSat is DoublingHighMult without the saturation.
// Source: arm_nn_doubling_high_mult_no_sat.
func DoublingHighMultNoSat(a, b int32) int32 {
	return int32((int64(a)*int64(b) + 1<<30) >> 31)
}

// DivideByPowerOfTwo divides by 2^exponent, ties away from zero; exponent is
// in [0, 31] for the C code, larger values are computed exactly here.
// Source: arm_nn_divide_by_power_of_two.
func DivideByPowerOfTwo(v, exponent int32) int32 {
	if exponent == 0 {
		return v
	}
	if exponent > 62 {
		return 0
	}
	x := int64(v)
	half := int64(1) << uint(exponent-1)
	if x < 0 {
		half-- // an exact negative tie is rounded down, away from zero
	}
	return int32((x + half) >> uint(exponent))
}

// MultByPowerOfTwo shifts left by exponent with saturation.
// Source: arm_nn_mult_by_power_of_two.
func MultByPowerOfTwo(v, exponent int32) int32 {
	limit := int32(1)<<uint(31-exponent) - 1
	switch {
	case v > limit:
		return math.MaxInt32
	case v < -limit:
		return math.MinInt32
	}
	return v << uint(exponent)
}

// expSteps are round(2^31 * exp(-2^k)) for k = -2..4: the factors of exp(-x)
// selected by the bits of x from 1/4 upwards (gemmlowp, 5 integer bits).
var expSteps = [7]int32{1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242}

// ExpOnNegativeValues returns exp(v) as Q0.31 for v <= 0 given as Q5.26.
// Source: arm_nn_exp_on_negative_values.
func ExpOnNegativeValues(v int32) int32 { return expOnNegative(v, 5) }

// expOnNegative is exp(v) of v <= 0 with 4 or 5 bits in front of the point.
func expOnNegative(v int32, integer uint) int32 {
	if v == 0 {
		return math.MaxInt32
	}
	quarter := int32(1) << (29 - integer)
	modQuarter := (v & (quarter - 1)) - quarter // in [-1/4, 0)
	rest := modQuarter - v
	// exp around -1/8 by a polynomial of degree 4; expMinusEighth is 2^31*exp(-1/8).
	const expMinusEighth, third = int32(1895147668), int32(715827883)
	x := modQuarter<<integer + 1<<28
	x2 := DoublingHighMult(x, x)
	x4over4 := DivideByPowerOfTwo(DoublingHighMult(x2, x2), 2)
	x3 := DoublingHighMult(x2, x)
	poly := x + DivideByPowerOfTwo(DoublingHighMult(x4over4+x3, third)+x2, 1)
	r := expMinusEighth + DoublingHighMult(expMinusEighth, poly)
	for i, f := range expSteps[:integer+2] {
		if rest&(quarter<<uint(i)) != 0 {
			r = DoublingHighMult(r, f)
		}
	}
	return r
}

// OneOverOnePlusX returns 1/(1+v) as Q0.31 for v in [0, 1) given as Q0.31, by
// three Newton steps. Source: arm_nn_one_over_one_plus_x_for_x_in_0_1.
func OneOverOnePlusX(v int32) int32 { return MultByPowerOfTwo(reciprocalHalf(v), 1) }

// reciprocalHalf is 1 / ((1+v)/2) as Q2.29 for v in [0, 1).
func reciprocalHalf(v int32) int32 {
	sum := int64(v) + math.MaxInt32
	round := int64(1)
	if sum < 0 {
		round = -1
	}
	halfDen := int32((sum + round) / 2)
	x := int32(1515870810) + DoublingHighMult(halfDen, -1010580540) // 48/17 - 32/17 * d, Q2.29
	for range 3 {
		e := int32(1<<29) - DoublingHighMult(halfDen, x)
		x += MultByPowerOfTwo(DoublingHighMult(x, e), 2)
	}
	return x
}

// Logistic is the logistic function of Q4.27 as Q0.31, as TensorFlow Lite computes it
// (gemmlowp's logistic).
func Logistic(v int32) int32 {
	switch {
	case v == 0:
		return 1 << 30
	case v > 0:
		return OneOverOnePlusX(expOnNegative(-v, 4))
	}
	return math.MaxInt32 - OneOverOnePlusX(expOnNegative(v, 4))
}

// Tanh is the hyperbolic tangent of Q4.27 as Q0.31, as TensorFlow Lite computes it
// (gemmlowp's tanh).
func Tanh(v int32) int32 {
	if v == 0 {
		return 0
	}
	t := MultByPowerOfTwo(reciprocalHalf(expOnNegative(-max(v, -v), 5))-1<<29, 2)
	if v < 0 {
		return -t
	}
	return t
}

// LeadingZeros counts the leading zero bits of v taken as 32 unsigned bits (32 for 0).
func LeadingZeros(v int32) int32 { return int32(bits.LeadingZeros32(uint32(v))) }

// Clamp limits v to [lo, hi]; where lo > hi the answer is hi, as in CMSIS-NN,
// which takes the maximum first and the minimum second.
func Clamp(v, lo, hi int32) int32 { return min(max(v, lo), hi) }

// SatS16 limits v to the range of int16.
func SatS16(v int32) int16 { return int16(Clamp(v, math.MinInt16, math.MaxInt16)) }

// DoublingHighMult16 is DoublingHighMult of 16 bits. Source: gemmlowp
// SaturatingRoundingDoublingHighMul, which rounds half up.
func DoublingHighMult16(a, b int16) int16 {
	return SatS16((int32(a)*int32(b) + 1<<14) >> 15)
}

// High16 is the upper half of a multiplier, rounded. Source: tflite
// DownScaleInt32ToInt16Multiplier.
func High16(mult int32) int16 {
	return int16(min((int64(mult)+1<<15)>>16, math.MaxInt16))
}

// InverseSqrt writes 1/sqrt(v), v at least 1, as mult * 2^(shift-31): five steps of
// Newton's method in Q3.28, whose errors are part of the result.
// Source: tflite GetInvSqrtQuantizedMultiplierExp with reverse shift.
func InverseSqrt(v int32) (mult, shift int32) {
	if v <= 1 {
		return math.MaxInt32, 0
	}
	right := int32(11)
	for v >= 1<<29 {
		v /= 4
		right++
	}
	pairs := (LeadingZeros(v)-1)/2 - 1
	right -= pairs
	v <<= uint(2 * pairs) // [2^27, 2^29)
	half, x := DivideByPowerOfTwo(v>>1, 1), int32(1<<28)
	for range 5 {
		cube := MultByPowerOfTwo(DoublingHighMult(DoublingHighMult(x, x), x), 6)
		x = MultByPowerOfTwo(DoublingHighMult(x, 3<<27)-DoublingHighMult(half, cube), 3)
	}
	mult = DoublingHighMult(x, 1518500250)
	if right < 0 {
		mult <<= uint(-right)
		right = 0
	}
	return mult, -right
}
