// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"math"
	mathbits "math/bits"

	"github.com/nncc/nncc/ir/qref"
)

// scaleBy is v times scale over two to the shift, rounded.
func scaleBy(v int64, scale uint32, shift, rounding int) int64 {
	m := uint64(v)
	if v < 0 {
		m = -m
	}
	hi, lo := mathbits.Mul64(m, uint64(scale))
	switch {
	case rounding == Truncate:
		return withSign(v < 0, shifted(hi, lo, 0, shift))
	case rounding == RoundTwice && shift > 31:
		return away(halfUp(v < 0, hi, lo, 31), shift-31)
	}
	return halfUp(v < 0, hi, lo, shift)
}

// shifted is a number of 128 bits plus another one, to the right; at most what int64 has.
func shifted(hi, lo, plus uint64, by int) uint64 {
	lo, carry := mathbits.Add64(lo, plus, 0)
	hi += carry
	if hi>>by != 0 {
		return math.MaxInt64
	}
	return min(lo>>by|hi<<(64-by), math.MaxInt64)
}

func withSign(minus bool, m uint64) int64 {
	if minus {
		return -int64(m)
	}
	return int64(m)
}

// halfUp rounds halves towards the greater number.
func halfUp(minus bool, hi, lo uint64, by int) int64 {
	half := uint64(0)
	if by > 0 {
		if half = 1 << (by - 1); minus {
			half--
		}
	}
	return withSign(minus, shifted(hi, lo, half, by))
}

// away divides by a power of two; halves are rounded away from zero.
func away(v int64, by int) int64 {
	m := uint64(v)
	if v < 0 {
		m = -m
	}
	half := uint64(0)
	if by > 0 {
		half = 1 << (by - 1)
	}
	return withSign(v < 0, shifted(0, m, half, by))
}

func clamp(v, low, high int64) int64 { return max(low, min(high, v)) }

func saturated(v int64) int64 { return clamp(v, math.MinInt32, math.MaxInt32) }

// curve is tanh or sigmoid of v in units of 1/12288.
func curve(v int64, function int) int64 {
	kind := qref.Tanh
	if function == sigmoid {
		kind = qref.Sigmoid
	}
	return int64(qref.ActivateAt(int32(saturated(v)), kind))
}

// Curve makes results a function of numbers in units of 1/12288, which are three times those of int16.
func (o *Op) Curve(kind qref.Activation) {
	if o.Function = sigmoid; kind == qref.Tanh {
		o.Function = tanh
	}
	o.Low, o.High = curve(3*math.MinInt16, o.Function), curve(3*math.MaxInt16, o.Function)
}

// Scaled is v by the operation's one scale.
func (o *Op) Scaled(v int64) int64 { return scaleBy(v, o.Scale, o.Shift, o.Rounding) }

// Operands are the two terms of a sum.
func (o *Op) Operands(x, y int64) (int64, int64) { return o.operands(x, y) }

// Pair is the result of two elements.
func (o *Op) Pair(x, y int64) int64 {
	return clamp(o.element(x-o.IFM.Zero, y-o.IFM2.Zero)+o.OFM.Zero, o.Low, o.High)
}
