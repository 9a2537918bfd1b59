// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Steps of TensorFlow Lite's integer arithmetic on plain integers: its operators without
// a kernel of their own are written with them (frontend/tflite).

var int32Types = typeSet{"int32", func(d tensor.DType) bool { return d == tensor.I32 }}
var int64Types = typeSet{"int64", func(d tensor.DType) bool { return d == tensor.I64 }}
var int16Types = typeSet{"int16", func(d tensor.DType) bool { return d == tensor.I16 }}

// RescaleAttrs are a multiplier in Q31, 0 to 2^31, and a shift to the left, -62 to 30.
type RescaleAttrs struct {
	Mult  int `attr:",required"`
	Shift int `attr:",required"`
}

func rescaling(n *ir.Node) (mult int64, shift int32, err error) {
	a := ir.AttrsOf[RescaleAttrs](n)
	if a.Mult < 0 || a.Mult > 1<<31 || a.Shift < -62 || a.Shift > 30 {
		return 0, 0, ir.Errf(n, "attribute", "mult %d and shift %d, want 0 to 2^31 and -62 to 30", a.Mult, a.Shift)
	}
	return int64(a.Mult), int32(a.Shift), nil
}

// fixedUnary is an element-wise function of integers that the attributes of Rescale make.
func fixedUnary(name, doc string, types typeSet, c string, f func(v, mult int64, shift int32) int64) *ir.OpDef {
	return unary(unarySpec{name: name, domain: "nncc", doc: doc, types: types, quant: ir.QNone, finite: true,
		attrs: ir.Declare[RescaleAttrs](),
		check: func(n *ir.Node) error {
			_, _, err := rescaling(n)
			return err
		},
		cBy: func(n *ir.Node) ir.CForm {
			a := ir.AttrsOf[RescaleAttrs](n)
			return ir.CForm{I64: fmt.Sprintf(c, a.Mult, a.Shift)}
		},
		integer: func(n *ir.Node) func(int64) int64 {
			a := ir.AttrsOf[RescaleAttrs](n)
			return func(v int64) int64 { return f(v, int64(a.Mult), int32(a.Shift)) }
		},
	})
}

// Rescale is MultiplyByQuantizedMultiplier: x*mult*2^(shift-31), rounded after the
// product and again, ties away from zero, after a shift to the right; a shift to the left
// wraps. With mult 2^31 it is the shift alone.
var Rescale = fixedUnary("Rescale", "int32 by a multiplier in Q31 and a shift, rounded twice", int32Types,
	"nncc_rescale_i64(x, %dLL, %d)", func(v, mult int64, shift int32) int64 {
		v = int64(int32(v) << uint(max(shift, 0)))
		return int64(fixp.DivideByPowerOfTwo(int32((v*mult+1<<30)>>31), max(-shift, 0)))
	})

// Sigmoid16 and Tanh16 are TensorFlow Lite's functions of int16 by a table: x*mult shifted
// right by -shift is a number in units of 1/12288; the result is in Q0.15.
var (
	Sigmoid16 = fixedUnary("Sigmoid16", "TensorFlow Lite's logistic function of int16", int16Types,
		"nncc_sigmoid_s16(x, %d, %d)", func(v, mult int64, shift int32) int64 {
			return int64(qref.ActivateScaled(int16(v), int32(mult), -shift, qref.Sigmoid))
		})
	Tanh16 = fixedUnary("Tanh16", "TensorFlow Lite's hyperbolic tangent of int16", int16Types,
		"nncc_tanh_s16(x, %d, %d)", func(v, mult int64, shift int32) int64 {
			return int64(qref.ActivateScaled(int16(v), int32(mult), -shift, qref.Tanh))
		})
)

// InverseRoot is 1/sqrt(x) of x >= 0 as RescaleBy reads it: a multiplier in Q31, and a
// shift above its 32 bits.
var InverseRoot = unary(unarySpec{name: "InverseRoot", domain: "nncc", doc: "1/sqrt(x) as a multiplier and a shift",
	types: int64Types,
	quant: ir.QNone, finite: true, c: ir.CForm{I64: "nncc_inverse_root_i64(x)"},
	integer: fixedInt(func(v int64) int64 {
		mult, shift := fixp.InverseSqrt(int32(v))
		return int64(shift)<<32 + int64(mult)
	})})

// LogQ12 is the natural logarithm of a number in Q12.19 that is at least 1, in Q5.26.
var LogQ12 = unary(unarySpec{name: "LogQ12", domain: "nncc", doc: "logarithm of Q12.19 as Q5.26", types: int32Types,
	quant: ir.QNone, finite: true, c: ir.CForm{I64: "nncc_log_q12(x)"},
	integer: fixedInt(func(v int64) int64 { return int64(fixp.LogQ12(int32(v))) })})

// RescaleByAttrs are the shift to the left beside that of the second operand.
type RescaleByAttrs struct {
	Shift int `attr:",required"`
}

// RescaleBy is Rescale of int32 in int64 by what InverseRoot gives.
var RescaleBy = fixedBinary("RescaleBy", "int32 by a computed multiplier and shift", int64Types,
	ir.Declare[RescaleByAttrs](),
	func(n *ir.Node) ir.CForm {
		shift := ir.AttrsOf[RescaleByAttrs](n).Shift
		return ir.CForm{I64: fmt.Sprintf("nncc_rescale_i64(a, (int64_t)(uint32_t)b, (int32_t)(b >> 32) + %d)", shift)}
	},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		shift := int32(ir.AttrsOf[RescaleByAttrs](n).Shift)
		if shift < -30 || shift > 20 {
			return nil, ir.Errf(n, "attribute", "shift %d, want -30 to 20", shift)
		}
		return func(a, b int64) int64 {
			return int64(fixp.Requantize(int32(a), int32(b), int32(b>>32)+shift))
		}, nil
	})

// RescaleWide is RescaleBy of int64 with a multiplier in Q15 and one rounding, half up: what
// TensorFlow Lite makes of sums of 64 bits.
var RescaleWide = fixedBinary("RescaleWide", "int64 by a multiplier in Q15 and a shift", int64Types, nil,
	func(*ir.Node) ir.CForm {
		return ir.CForm{I64: "(a * (int64_t)(uint32_t)b + ((int64_t)1 << (14 - (int32_t)(b >> 32)))) >> " +
			"(15 - (int32_t)(b >> 32))"}
	},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		if d := n.ConstIn(1); d != nil {
			for i := range d.Len() {
				if s := d.Int(i) >> 32; s < -40 || s > 14 {
					return nil, ir.Errf(n, "scale", "shift %d, want -40 to 14", s)
				}
			}
		}
		return func(a, b int64) int64 {
			shift := uint(15 - int32(b>>32))
			return (a*int64(uint32(b)) + 1<<(shift-1)) >> shift
		}, nil
	})

// ReciprocalQ12 is 1/x of a number in Q12.19 that is at least 1, as RescaleBy reads it: a multiplier
// in Q31 and a shift.
var ReciprocalQ12 = unary(unarySpec{name: "ReciprocalQ12", domain: "nncc",
	doc:   "1/x of Q12.19 as a multiplier and a shift",
	types: int64Types, quant: ir.QNone, finite: true, c: ir.CForm{I64: "nncc_reciprocal_q12(x)"},
	integer: fixedInt(func(v int64) int64 {
		mult, shift := fixp.ReciprocalQ12(int32(v))
		return int64(shift)<<32 + int64(mult)
	})})

// Quotient is a/b of int32 by the multiplier and shift, 0 where b is 0.
var Quotient = fixedBinary("Quotient", "quotient of int32 by a multiplier in Q31 and a shift", int32Types,
	ir.Declare[RescaleAttrs](),
	func(n *ir.Node) ir.CForm {
		a := ir.AttrsOf[RescaleAttrs](n)
		return ir.CForm{I64: fmt.Sprintf("nncc_quotient_i64(a, b, %d, %d)", a.Mult, a.Shift)}
	},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		mult, shift, err := rescaling(n)
		return func(a, b int64) int64 { return int64(fixp.Quotient(int32(a), int32(b), int32(mult), shift)) }, err
	})
