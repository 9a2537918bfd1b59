// SPDX-License-Identifier: Apache-2.0

package qref

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
	switch op {
	case BinaryAdd:
		return u + v
	case BinarySub:
		return u - v
	case BinaryMul:
		return u * v
	case BinaryDiv:
		return u / v
	case BinaryMin:
		if u < v {
			return u
		}
		return v
	case BinaryMax:
		if u > v {
			return u
		}
		return v
	}
	if u < 0 {
		return u * v
	}
	return u
}

// BinaryParams is nncc_binary_s8_params; the scales are float32 numbers.
type BinaryParams struct {
	AScale, BScale, OutScale float64
	AZero, BZero, OutZero    int32
	ActMin, ActMax           int32
	Op                       BinaryOp
	Bcast                    Broadcast
}

// Binary is the contract's definition of an operator with two int8 or int16
// inputs, clamp(round_half_away(f(a, b) / scale) + zero) in float64:
// nncc_binary_s8, nncc_binary_s16.
func Binary[T int8 | int16](p *BinaryParams, a, b, y []T) error {
	if err := p.Bcast.check("Binary", len(a), len(b), len(y)); err != nil {
		return err
	}
	if _, ok := any(y).([]int8); ok {
		if err := checkClamp("Binary", p.ActMin, p.ActMax); err != nil {
			return err
		}
	}
	p.Bcast.each(func(i, ia, ib int) {
		v := p.Op.Eval(float64(int32(a[ia])-p.AZero)*p.AScale, float64(int32(b[ib])-p.BZero)*p.BScale)
		y[i] = T(roundAway(v/p.OutScale, p.OutZero, p.ActMin, p.ActMax))
	})
	return nil
}
