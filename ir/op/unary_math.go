// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
)

// mathOp defines a float operator without attributes by its float64 function
// and that of C.
func mathOp(name, doc string, f func(float64) float64, c string, traits ...trait) *ir.OpDef {
	s := unarySpec{name: name, doc: doc, types: floatTypes, real: fixed(f), c: ir.CForm{F64: c}}
	for _, t := range traits {
		t(&s)
	}
	return unary(s)
}

// trait sets a trait of a function.
type trait func(*unarySpec)

func finite(s *unarySpec)      { s.finite = true }
func nonNegative(s *unarySpec) { s.nonNegative = true }
func compresses(s *unarySpec)  { s.compresses = true }

// decides is the trait of a step function, which in float has a function of nncc_element_f32.h: vectors that take
// denormals for 0 would choose the other side.
func decides(name string) trait {
	return func(s *unarySpec) { s.c.F32 = "nncc_el_" + name + "_f32(x)" }
}

// The functions of real numbers. Where the argument is outside the domain the
// result is NaN, as IEEE 754 has it.
var (
	Erf = mathOp("Erf", "error function", math.Erf, "erf(x)", finite)
	Exp = unary(unarySpec{name: "Exp", doc: "e to the power x", types: floatTypes, real: fixed(math.Exp),
		c: ir.CForm{F64: "exp(x)", F32: "nncc_el_exp_f32(x)"}, nonNegative: true})
	Log = unary(unarySpec{name: "Log", doc: "natural logarithm", types: floatTypes, real: fixed(math.Log),
		c: ir.CForm{F64: "log(x)", F32: "nncc_el_log_f32(x)"}, compresses: true})
	Sqrt       = mathOp("Sqrt", "square root", math.Sqrt, "sqrt(x)", nonNegative, compresses)
	Reciprocal = mathOp("Reciprocal", "1 / x", func(x float64) float64 { return 1 / x }, "1.0 / x")
	Floor      = mathOp("Floor", "largest integer not above x", math.Floor, "floor(x)", finite, decides("floor"))
	Ceil       = mathOp("Ceil", "smallest integer not below x", math.Ceil, "ceil(x)", finite, decides("ceil"))
	Round      = mathOp("Round", "nearest integer, ties to even", math.RoundToEven, "nncc_nearest_f64(x)", finite)
	Sin        = mathOp("Sin", "sine of x radians", math.Sin, "sin(x)", finite)
	Cos        = mathOp("Cos", "cosine of x radians", math.Cos, "cos(x)", finite)
	Tan        = mathOp("Tan", "tangent of x radians", math.Tan, "tan(x)")
	Asin       = mathOp("Asin", "inverse sine in radians", math.Asin, "asin(x)")
	Acos       = mathOp("Acos", "inverse cosine in radians", math.Acos, "acos(x)", nonNegative)
	Atan       = mathOp("Atan", "inverse tangent in radians", math.Atan, "atan(x)", finite)
	Sinh       = mathOp("Sinh", "hyperbolic sine", math.Sinh, "sinh(x)")
	Cosh       = mathOp("Cosh", "hyperbolic cosine", math.Cosh, "cosh(x)", nonNegative)
	Asinh      = mathOp("Asinh", "inverse hyperbolic sine", math.Asinh, "asinh(x)", finite)
	Acosh      = mathOp("Acosh", "inverse hyperbolic cosine", math.Acosh, "acosh(x)", nonNegative)
	Atanh      = mathOp("Atanh", "inverse hyperbolic tangent", math.Atanh, "atanh(x)")
)

// Neg is -x; integers wrap.
var Neg = unary(unarySpec{
	name: "Neg", straight: true, homogeneous: true, finite: true, doc: "-x", types: signedTypes,
	c:       ir.CForm{F64: "-x", I64: "(int64_t)(0u - (uint64_t)x)"},
	real:    fixed(func(x float64) float64 { return -x }),
	integer: fixedInt(func(x int64) int64 { return -x }),
})

// Abs is |x|.
var Abs = unary(unarySpec{
	name: "Abs", straight: true, homogeneous: true, finite: true, nonNegative: true, doc: "|x|", types: numTypes,
	c:    ir.CForm{F64: "fabs(x)", I64: "x < 0 ? (int64_t)(0u - (uint64_t)x) : x", U64: "x"},
	real: fixed(math.Abs),
	integer: fixedInt(func(x int64) int64 {
		return max(x, -x)
	}),
})

// Sign is -1, 0 or 1.
var Sign = unary(unarySpec{
	name: "Sign", finite: true, doc: "-1, 0 or 1", types: numTypes,
	c: ir.CForm{F64: "x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : x)", F32: "nncc_el_sign_f32(x)",
		I64: "x > 0 ? 1 : (x < 0 ? -1 : 0)", U64: "x > 0 ? 1u : 0u"},
	real: fixed(func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	}),
	integer: fixedInt(func(x int64) int64 { return max(-1, min(1, x)) }),
})
