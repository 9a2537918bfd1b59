package op

import (
	"math"

	"github.com/nncc/nncc/ir"
)

// mathOp defines a float operator without attributes by its float64 function.
func mathOp(name, doc string, f func(float64) float64) *ir.OpDef {
	return unary(unarySpec{name: name, doc: doc, types: floatTypes, real: fixed(f)})
}

// The functions of real numbers. Where the argument is outside the domain the
// result is NaN, as IEEE 754 has it.
var (
	Erf        = mathOp("Erf", "error function", math.Erf)
	Exp        = mathOp("Exp", "e to the power x", math.Exp)
	Log        = mathOp("Log", "natural logarithm", math.Log)
	Sqrt       = mathOp("Sqrt", "square root", math.Sqrt)
	Reciprocal = mathOp("Reciprocal", "1 / x", func(x float64) float64 { return 1 / x })
	Floor      = mathOp("Floor", "largest integer not above x", math.Floor)
	Ceil       = mathOp("Ceil", "smallest integer not below x", math.Ceil)
	Round      = mathOp("Round", "nearest integer, ties to even", math.RoundToEven)
	Sin        = mathOp("Sin", "sine of x radians", math.Sin)
	Cos        = mathOp("Cos", "cosine of x radians", math.Cos)
	Tan        = mathOp("Tan", "tangent of x radians", math.Tan)
	Asin       = mathOp("Asin", "inverse sine in radians", math.Asin)
	Acos       = mathOp("Acos", "inverse cosine in radians", math.Acos)
	Atan       = mathOp("Atan", "inverse tangent in radians", math.Atan)
	Sinh       = mathOp("Sinh", "hyperbolic sine", math.Sinh)
	Cosh       = mathOp("Cosh", "hyperbolic cosine", math.Cosh)
	Asinh      = mathOp("Asinh", "inverse hyperbolic sine", math.Asinh)
	Acosh      = mathOp("Acosh", "inverse hyperbolic cosine", math.Acosh)
	Atanh      = mathOp("Atanh", "inverse hyperbolic tangent", math.Atanh)
)

// Neg is -x; integers wrap.
var Neg = unary(unarySpec{
	name: "Neg", straight: true, doc: "-x", types: signedTypes,
	real:    fixed(func(x float64) float64 { return -x }),
	integer: fixedInt(func(x int64) int64 { return -x }),
})

// Abs is |x|.
var Abs = unary(unarySpec{
	name: "Abs", straight: true, doc: "|x|", types: numTypes,
	real: fixed(math.Abs),
	integer: fixedInt(func(x int64) int64 {
		return max(x, -x)
	}),
})

// Sign is -1, 0 or 1.
var Sign = unary(unarySpec{
	name: "Sign", doc: "-1, 0 or 1", types: numTypes,
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
