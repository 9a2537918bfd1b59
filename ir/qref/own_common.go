// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// The own_*.go files are the references of the int8 kernels of ours, nncc_*,
// for operators that CMSIS-NN lacks. A parameter struct has the fields of the C
// struct of runtime_c/include/nncc/nncc_s8.h in the same order and of the same
// size, so it can be written to C as it is. Every function equals its C
// kernel bit for bit; constants that a kernel takes are built and proven here.

// QP is the quantisation of one tensor: real = (q - Zero) * Scale.
type QP struct {
	Scale float32
	Zero  int32
}

// Real is the real number that q stands for, in float64 (exact).
func (p QP) Real(q int32) float64 { return float64(q-p.Zero) * float64(p.Scale) }

// Quantise is the contract's clamp(round_half_away(v / scale) + zero).
func (p QP) Quantise(v float64, lo, hi int32) int32 {
	return fixp.QuantizeAway(v, float64(p.Scale), p.Zero, lo, hi)
}

// roundAway is nncc_round_away: v rounded half away from zero, plus zero,
// limited to [lo, hi]; NaN counts as 0.
func roundAway(v float64, zero, lo, hi int32) int32 { return fixp.QuantizeAway(v, 1, zero, lo, hi) }

// boolInt is C's truth value.
func boolInt(b bool) int32 {
	if b {
		return 1
	}
	return 0
}

// meanS8 is nncc_mean_s8: clamp(round_half_away(acc/n) + zero).
func meanS8(acc, n, zero, lo, hi int32) int8 {
	half := n / 2
	if acc < 0 {
		half = -half
	}
	return int8(min(max(int64((acc+half)/n)+int64(zero), int64(lo)), int64(hi)))
}

// MeanResult is the result of a sum of n values: nncc_mean_scaled_s8, in float64,
// where the scales differ, else nncc_mean_s8.
func MeanResult(acc int32, rescale bool, inScale float64, n int32, outScale float64, zero, lo, hi int32) int8 {
	if rescale {
		v := float64(acc) * inScale
		return int8(roundAway(v/float64(n)/outScale, zero, lo, hi))
	}
	return meanS8(acc, n, zero, lo, hi)
}

// MaxReduce16 is so many int16 values as have an exact sum of reals in float64.
const MaxReduce16 = 8192

// BinaryOp is a function of nncc_binary_s8.
type BinaryOp int32

// The functions, with the numbers of NNCC_BINARY_*.
const (
	BinaryAdd BinaryOp = iota
	BinarySub
	BinaryMul
	BinaryDiv
	BinaryMin
	BinaryMax
	BinaryPRelu // the second operand is the slope
)

// Eval is the function on real numbers, in float64.
func (op BinaryOp) Eval(u, v float64) float64 {
	switch {
	case op == BinaryAdd:
		return u + v
	case op == BinarySub:
		return u - v
	case op == BinaryDiv:
		return u / v
	case op == BinaryMul, op == BinaryPRelu && u < 0:
		return u * v
	case op == BinaryMin && !(u < v), op == BinaryMax && !(u > v):
		return v
	}
	return u
}
