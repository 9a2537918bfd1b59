// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math/bits"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// Functions of one integer in TensorFlow Lite Micro's audio front end.

var uint32Types = typeSet{"uint32", func(d tensor.DType) bool { return d == tensor.U32 }}
var uint64Types = typeSet{"uint64", func(d tensor.DType) bool { return d == tensor.U64 }}

// SignalRoot is the square root of a uint64, rounded; one of 32 bits is at most 65535.
// Source: Sqrt64.
var SignalRoot = unary(unarySpec{name: "SignalRoot", domain: "nncc", doc: "square root of uint64, rounded",
	types: uint64Types, quant: ir.QNone, finite: true, c: ir.CForm{U64: "nncc_root_u64(x)"},
	integer: fixedInt(func(v int64) int64 { return int64(signalRoot(uint64(v))) })})

func signalRoot(v uint64) uint64 {
	most := uint64(0xFFFF)
	if v>>32 != 0 {
		most = 0xFFFFFFFF
	}
	r := uint64(0)
	for bit := uint64(1) << 62; bit != 0; bit >>= 2 {
		switch {
		case bit > v && r == 0: // above the number
		case v >= r+bit:
			v -= r + bit
			r = r>>1 + bit
		default:
			r >>= 1
		}
	}
	if v > r && r != most {
		r++
	}
	return r
}

// SignalLogAttrs are the factor of the logarithm, and how far numbers are shifted to the
// left before.
type SignalLogAttrs struct {
	Scale int `attr:",required"`
	Bits  int `default:"0"`
}

// SignalLog is the natural logarithm of a uint32 by a table, 0 of 0 and 1, at most 32767.
// Source: FilterbankLog.
var SignalLog = unary(unarySpec{name: "SignalLog", domain: "nncc", doc: "logarithm of uint32 by a table",
	types: uint32Types, attrs: ir.Declare[SignalLogAttrs](), quant: ir.QNone, finite: true,
	check: func(n *ir.Node) {
		a := ir.AttrsOf[SignalLogAttrs](n)
		refuse(n, a.Bits < 0 || a.Bits > 31, "attribute", "a shift by %d bits, want 0 to 31", a.Bits)
	},
	cBy: func(n *ir.Node) ir.CForm {
		a := ir.AttrsOf[SignalLogAttrs](n)
		f := fmt.Sprintf("nncc_log_u32((uint32_t)x, %du, %d)", uint32(a.Scale), a.Bits)
		return ir.CForm{I64: f, U64: f}
	},
	integer: func(n *ir.Node) func(int64) int64 {
		a := ir.AttrsOf[SignalLogAttrs](n)
		return func(v int64) int64 { return int64(signalLog(uint32(v)<<uint(a.Bits), uint32(a.Scale))) }
	}})

// logCurve is 65536*(log2(1+i/128) - i/128).
var logCurve = [130]uint16{
	0, 224, 442, 654, 861, 1063, 1259, 1450, 1636, 1817, 1992, 2163, 2329, 2490, 2646, 2797, 2944, 3087, 3224, 3358,
	3487, 3611, 3732, 3848, 3960, 4068, 4172, 4272, 4368, 4460, 4549, 4633, 4714, 4791, 4864, 4934, 5001, 5063, 5123,
	5178, 5231, 5280, 5326, 5368, 5408, 5444, 5477, 5507, 5533, 5557, 5578, 5595, 5610, 5622, 5631, 5637, 5640, 5641,
	5638, 5633, 5626, 5615, 5602, 5586, 5568, 5547, 5524, 5498, 5470, 5439, 5406, 5370, 5332, 5291, 5249, 5203, 5156,
	5106, 5054, 5000, 4944, 4885, 4825, 4762, 4697, 4630, 4561, 4490, 4416, 4341, 4264, 4184, 4103, 4020, 3935, 3848,
	3759, 3668, 3575, 3481, 3384, 3286, 3186, 3084, 2981, 2875, 2768, 2659, 2549, 2437, 2323, 2207, 2090, 1971, 1851,
	1729, 1605, 1480, 1353, 1224, 1094, 963, 830, 695, 559, 421, 282, 142, 0, 0}

func signalLog(v, scale uint32) uint32 {
	if v <= 1 {
		return 0
	}
	whole := uint32(bits.Len32(v)) - 1
	part := int32(v - 1<<whole)
	if whole < 16 {
		part <<= 16 - whole
	} else {
		part >>= whole - 16
	}
	at := part >> 9
	lo, hi := int32(logCurve[at]), int32(logCurve[at+1])
	log2 := whole<<16 + uint32(part+lo+(hi-lo)*(part-at<<9)>>16)
	log := uint32((uint64(45426)*uint64(log2) + 1<<15) >> 16) // ln 2 in 1/65536
	return min((scale*log+1<<15)>>16, 32767)
}

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

func rescaling(n *ir.Node) (mult int64, shift int32) {
	a := ir.AttrsOf[RescaleAttrs](n)
	refuse(n, a.Mult < 0 || a.Mult > 1<<31 || a.Shift < -62 || a.Shift > 30, "attribute",
		"mult %d and shift %d, want 0 to 2^31 and -62 to 30", a.Mult, a.Shift)
	return int64(a.Mult), int32(a.Shift)
}

// fixedUnary is an element-wise function of integers that the attributes of Rescale make.
func fixedUnary(name, doc string, types typeSet, c string, f func(v, mult int64, shift int32) int64) *ir.OpDef {
	return unary(unarySpec{name: name, domain: "nncc", doc: doc, types: types, quant: ir.QNone, finite: true,
		attrs: ir.Declare[RescaleAttrs](), check: func(n *ir.Node) { rescaling(n) },
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
	types: int64Types, quant: ir.QNone, finite: true, c: ir.CForm{I64: "nncc_inverse_root_i64(x)"},
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
	ir.Declare[RescaleByAttrs](), func(n *ir.Node) ir.CForm {
		shift := ir.AttrsOf[RescaleByAttrs](n).Shift
		return ir.CForm{I64: fmt.Sprintf("nncc_rescale_i64(a, (int64_t)(uint32_t)b, (int32_t)(b >> 32) + %d)", shift)}
	},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		shift := int32(ir.AttrsOf[RescaleByAttrs](n).Shift)
		refuse(n, shift < -30 || shift > 20, "attribute", "shift %d, want -30 to 20", shift)
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
				s := d.Int(i) >> 32
				refuse(n, s < -40 || s > 14, "scale", "shift %d, want -40 to 14", s)
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
	doc: "1/x of Q12.19 as a multiplier and a shift", types: int64Types, quant: ir.QNone, finite: true,
	c: ir.CForm{I64: "nncc_reciprocal_q12(x)"}, integer: fixedInt(func(v int64) int64 {
		mult, shift := fixp.ReciprocalQ12(int32(v))
		return int64(shift)<<32 + int64(mult)
	})})

// Quotient is a/b of int32 by the multiplier and shift, 0 where b is 0.
var Quotient = fixedBinary("Quotient", "quotient of int32 by a multiplier in Q31 and a shift", int32Types,
	ir.Declare[RescaleAttrs](), func(n *ir.Node) ir.CForm {
		a := ir.AttrsOf[RescaleAttrs](n)
		return ir.CForm{I64: fmt.Sprintf("nncc_quotient_i64(a, b, %d, %d)", a.Mult, a.Shift)}
	},
	func(n *ir.Node) (func(a, b int64) int64, error) {
		mult, shift := rescaling(n)
		return func(a, b int64) int64 { return int64(fixp.Quotient(int32(a), int32(b), int32(mult), shift)) }, nil
	})
