// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// unarySpec is an element-wise operator of one input.
type unarySpec struct {
	name, doc, domain string
	attrs             []ir.AttrSpec
	types             typeSet
	quant             ir.QuantKind
	// real makes the operator's float64 function for one node, with the
	// attributes read once. Floats of any width are computed by it and rounded.
	real func(n *ir.Node) func(float64) float64
	// check, where set, refuses attributes.
	check func(n *ir.Node)
	// c, or cBy where attributes choose, is OpDef.C.
	c   ir.CForm
	cBy func(n *ir.Node) ir.CForm
	// straight, ... are the traits of OpDef.
	straight, finite, nonNegative, activation, homogeneous, compresses bool
	outQuant                                                           map[tensor.DType]*ir.Quant
	// integer, where set, is the exact function on plain integers.
	integer func(n *ir.Node) func(int64) int64
}

// unary defines an element-wise operator of one input.
func unary(s unarySpec) *ir.OpDef { return def(s.opDef()) }

// opDef is the definition, for operators that add something to it.
func (s unarySpec) opDef() ir.OpDef {
	if s.cBy == nil {
		s.cBy = s.c.Fixed()
	}
	d := ir.OpDef{
		Name: s.name, Domain: s.domain, Doc: s.doc, Attrs: s.attrs, MinIn: 1, Pattern: ir.Elementwise,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			if s.check != nil {
				s.check(n)
			}
			wantType(n, 0, s.types)
			return one(like(n))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			return outs(s.eval(n, in[0]))
		},
		C: s.cBy, Quant: s.quant,
		Straight: s.straight, Finite: s.finite, NonNegative: s.nonNegative, Activation: s.activation,
		Homogeneous: s.homogeneous, Compresses: s.compresses, OutQuant: s.outQuant,
	}
	if s.real != nil {
		d.Scalar = func(n *ir.Node, x float64) float64 { return s.real(n)(x) }
	}
	return d
}

func (s *unarySpec) eval(n *ir.Node, x *tensor.Dense) *tensor.Dense {
	y := tensor.New(x.DType, x.Shape)
	if s.integer != nil && x.DType.IsInt() {
		f := s.integer(n)
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetInt(i, f(x.Int(i)))
		}
		return y
	}
	switch xs := x.Data.(type) {
	case []float32:
		ys, f := y.Data.([]float32), s.real(n)
		for i, v := range xs {
			ys[i] = float32(f(float64(v)))
		}
	case []float64:
		ys, f := y.Data.([]float64), s.real(n)
		for i, v := range xs {
			ys[i] = f(v)
		}
	default:
		f := s.real(n)
		for i, k := 0, x.Len(); i < k; i++ {
			y.SetFloat(i, f(x.Float(i)))
		}
	}
	return y
}

// fixed is the `real` of an operator without attributes.
func fixed(f func(float64) float64) func(*ir.Node) func(float64) float64 {
	return func(*ir.Node) func(float64) float64 { return f }
}

// fixedInt is the `integer` of an operator without attributes.
func fixedInt(f func(int64) int64) func(*ir.Node) func(int64) int64 {
	return func(*ir.Node) func(int64) int64 { return f }
}

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

// Not is logical negation.
var Not = unary(unarySpec{
	name: "Not", doc: "logical not", types: boolTypes, quant: ir.QNone, finite: true,
	c: ir.CForm{I64: "x == 0 ? 1 : 0"},
	real: fixed(func(x float64) float64 {
		if x == 0 {
			return 1
		}
		return 0
	}),
})

// BitwiseNot inverts every bit of an integer.
var BitwiseNot = unary(unarySpec{name: "BitwiseNot", doc: "inverts every bit", types: intTypes, quant: ir.QNone,
	c: ir.CForm{I64: "~x", U64: "~x"}, integer: fixedInt(func(v int64) int64 { return ^v })})

// predicate defines an operator from reals to bool.
func predicate(name, doc string, attrs []ir.AttrSpec, mk func(n *ir.Node) func(float64) bool,
	c func(n *ir.Node) ir.CForm) *ir.OpDef {
	return def(ir.OpDef{
		Name: name, Doc: doc, Attrs: attrs, MinIn: 1, Pattern: ir.Elementwise, C: c,
		Infer: func(n *ir.Node) ([]ir.Type, error) {
			wantType(n, 0, floatTypes)
			return one(ir.T(tensor.Bool, n.In[0].Type.Shape...))
		},
		Eval: func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
			y := make([]bool, in[0].Len())
			f := mk(n)
			for i := range y {
				y[i] = f(in[0].Float(i))
			}
			return outs(tensor.Of(in[0].Shape, y))
		},
	})
}

// IsNaN tells which elements are NaN.
var IsNaN = predicate("IsNaN", "whether x is NaN", nil, func(*ir.Node) func(float64) bool { return math.IsNaN },
	ir.CForm{F64: "isnan(x) ? 1 : 0"}.Fixed())

// AsksForNaN reports a value of which the graph asks which elements are NaN: these are missing.
func AsksForNaN(v *ir.Value) bool {
	return v != nil && slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return u.Node.Op == IsNaN })
}

// IsInfAttrs are the attributes of IsInf.
type IsInfAttrs struct {
	DetectNegative int `default:"1"`
	DetectPositive int `default:"1"`
}

// IsInf tells which elements are infinite.
var IsInf = predicate("IsInf", "whether x is infinite, of the signs asked for", ir.Declare[IsInfAttrs](),
	func(n *ir.Node) func(float64) bool {
		neg, pos := ir.AttrsOf[IsInfAttrs](n).DetectNegative != 0, ir.AttrsOf[IsInfAttrs](n).DetectPositive != 0
		return func(x float64) bool { return neg && x == negInf || pos && x == posInf }
	}, func(n *ir.Node) ir.CForm {
		c := "0"
		switch neg, pos := ir.AttrsOf[IsInfAttrs](n).DetectNegative != 0,
			ir.AttrsOf[IsInfAttrs](n).DetectPositive != 0; {
		case neg && pos:
			c = "(isinf(x) && (x < 0.0 || x > 0.0)) ? 1 : 0"
		case neg:
			c = "(isinf(x) && (x < 0.0)) ? 1 : 0"
		case pos:
			c = "(isinf(x) && (x > 0.0)) ? 1 : 0"
		}
		return ir.CForm{F64: c}
	})

// Relu is max(x, 0).
var Relu = unary(unarySpec{
	name: "Relu", straight: true, homogeneous: true, finite: true, nonNegative: true, activation: true,
	doc: "max(x, 0)", types: signedTypes,
	c:       ir.CForm{F64: "nncc_max_f64(x, 0.0)", F32: "x < 0.0f ? 0.0f : x", I64: "x > 0 ? x : 0"},
	real:    fixed(func(x float64) float64 { return max(x, 0) }),
	integer: fixedInt(func(x int64) int64 { return max(x, 0) }),
})

// LeakyReluAttrs are the attributes of LeakyRelu.
type LeakyReluAttrs struct {
	Alpha float32 `default:"0.01"`
}

// LeakyRelu is x, or alpha*x where x is negative.
var LeakyRelu = unary(unarySpec{
	name: "LeakyRelu", straight: true, homogeneous: true, finite: true, activation: true,
	doc: "x where x >= 0, alpha*x elsewhere", types: floatTypes,
	c:     ir.CForm{F64: "x < 0.0 ? {alpha} * x : x"},
	attrs: ir.Declare[LeakyReluAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a := float64(ir.AttrsOf[LeakyReluAttrs](n).Alpha)
		return func(x float64) float64 {
			if x < 0 {
				return a * x
			}
			return x
		}
	},
})

// ThresholdedReluAttrs are the attributes of ThresholdedRelu.
type ThresholdedReluAttrs struct {
	Alpha float32 `default:"1"`
}

// ThresholdedRelu is x where x is above alpha, else 0.
var ThresholdedRelu = unary(unarySpec{
	name: "ThresholdedRelu", finite: true, activation: true, doc: "x where x > alpha, 0 elsewhere", types: floatTypes,
	c:     ir.CForm{F64: "(x > {alpha} || isnan(x)) ? x : 0.0", F32: "x > {alpha} ? x : 0.0f"},
	attrs: ir.Declare[ThresholdedReluAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a := float64(ir.AttrsOf[ThresholdedReluAttrs](n).Alpha)
		return func(x float64) float64 {
			if x > a || x != x {
				return x
			}
			return 0
		}
	},
})

// expm1Scaled is a*(exp(x/b)-1) where x is negative and x elsewhere, times g:
// the common form of Elu, Selu and Celu.
func expm1Scaled(a, b, g float64) func(float64) float64 {
	return func(x float64) float64 {
		if x < 0 {
			x = a * math.Expm1(x/b)
		}
		return g * x
	}
}

// EluAttrs are the attributes of Elu.
type EluAttrs struct {
	Alpha float32 `default:"1"`
}

// Elu is x, or alpha*(exp(x)-1) where x is negative.
var Elu = unary(unarySpec{
	name: "Elu", finite: true, activation: true, doc: "x where x >= 0, alpha*(exp(x)-1) elsewhere", types: floatTypes,
	c:     ir.CForm{F64: "x < 0.0 ? {alpha} * expm1(x) : x"},
	attrs: ir.Declare[EluAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		return expm1Scaled(float64(ir.AttrsOf[EluAttrs](n).Alpha), 1, 1)
	},
})

// SeluAttrs are the attributes of Selu.
type SeluAttrs struct {
	Alpha float32 `default:"1.67326319217681884765625"`
	Gamma float32 `default:"1.05070102214813232421875"`
}

// Selu is gamma times Elu.
var Selu = unary(unarySpec{
	name: "Selu", finite: true, activation: true, doc: "gamma * Elu(x)", types: floatTypes,
	c:     ir.CForm{F64: "{gamma} * (x < 0.0 ? {alpha} * expm1(x) : x)"},
	attrs: ir.Declare[SeluAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		return expm1Scaled(float64(ir.AttrsOf[SeluAttrs](n).Alpha), 1, float64(ir.AttrsOf[SeluAttrs](n).Gamma))
	},
})

// CeluAttrs are the attributes of Celu.
type CeluAttrs struct {
	Alpha float32 `default:"1"`
}

// Celu is x, or alpha*(exp(x/alpha)-1) where x is negative.
var Celu = unary(unarySpec{
	name: "Celu", finite: true, activation: true, doc: "x where x >= 0, alpha*(exp(x/alpha)-1) elsewhere",
	types: floatTypes,
	c:     ir.CForm{F64: "x < 0.0 ? {alpha} * expm1(x / {alpha}) : x"},
	attrs: ir.Declare[CeluAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a := float64(ir.AttrsOf[CeluAttrs](n).Alpha)
		return expm1Scaled(a, a, 1)
	},
	check: func(n *ir.Node) {
		refuse(n, ir.AttrsOf[CeluAttrs](n).Alpha == 0, "attr-value",
			"alpha is 0, by which it divides; want another number, or Relu, which is the limit")
	},
})

// sigmoid is 1/(1+exp(-x)) without overflow for large |x|.
func sigmoid(x float64) float64 {
	if x < 0 {
		e := math.Exp(x)
		return e / (1 + e)
	}
	return 1 / (1 + math.Exp(-x))
}

// softplus is ln(1+exp(x)) without overflow.
func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// Sigmoid is the logistic function.
var Sigmoid = unary(unarySpec{name: "Sigmoid", finite: true, nonNegative: true, activation: true,
	outQuant: map[tensor.DType]*ir.Quant{tensor.I8: ir.PerTensor(1.0/256, -128),
		tensor.I16: ir.PerTensor(1.0/32768, 0)},
	doc: "1 / (1 + exp(-x))", types: floatTypes, c: ir.CForm{F64: "nncc_sigmoid_f64(x)",
		F32: "nncc_el_sigmoid_f32(x)"}, real: fixed(sigmoid)})

// HardSigmoidAttrs are the attributes of HardSigmoid.
type HardSigmoidAttrs struct {
	Alpha float32 `default:"0.2"`
	Beta  float32 `default:"0.5"`
}

// HardSigmoid is a straight line clamped to [0, 1].
var HardSigmoid = unary(unarySpec{
	name: "HardSigmoid", straight: true, finite: true, nonNegative: true, activation: true,
	doc: "alpha*x + beta clamped to [0, 1]", types: floatTypes,
	c: ir.CForm{F64: "nncc_min_f64(nncc_max_f64({alpha} * x + {beta}, 0.0), 1.0)",
		F32: "nncc_el_clip_f32({alpha} * x + {beta}, 0.0f, 1.0f)"},
	attrs: ir.Declare[HardSigmoidAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a, b := float64(ir.AttrsOf[HardSigmoidAttrs](n).Alpha), float64(ir.AttrsOf[HardSigmoidAttrs](n).Beta)
		return func(x float64) float64 { return min(max(float64(a*x)+b, 0), 1) }
	},
})

// HardSwish is x times a hard sigmoid of slope 1/6.
var HardSwish = unary(unarySpec{
	name: "HardSwish", finite: true, activation: true, doc: "x * clamp(x/6 + 1/2, 0, 1)", types: floatTypes,
	c: ir.CForm{F64: "x * nncc_min_f64(nncc_max_f64((x + 3.0) / 6.0, 0.0), 1.0)",
		F32: "x * nncc_el_clip_f32(x / 6.0f + 0.5f, 0.0f, 1.0f)"},
	real: fixed(func(x float64) float64 { return x * min(max((x+3)/6, 0), 1) }),
})

// SwishAttrs are the attributes of Swish.
type SwishAttrs struct {
	Alpha float32 `default:"1"`
}

// Swish is x * sigmoid(alpha*x), also called SiLU.
var Swish = unary(unarySpec{
	name: "Swish", finite: true, activation: true, doc: "x * sigmoid(alpha*x) (SiLU)", types: floatTypes,
	c:     ir.CForm{F64: "x * nncc_sigmoid_f64({alpha} * x)", F32: "x / (1.0f + nncc_el_exp_f32(-({alpha} * x)))"},
	attrs: ir.Declare[SwishAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		a := float64(ir.AttrsOf[SwishAttrs](n).Alpha)
		return func(x float64) float64 { return x * sigmoid(a*x) }
	},
})

// Mish is x * tanh(softplus(x)).
var Mish = unary(unarySpec{
	name: "Mish", finite: true, activation: true, doc: "x * tanh(softplus(x))", types: floatTypes,
	c:    ir.CForm{F64: "x * tanh(nncc_softplus_f64(x))"},
	real: fixed(func(x float64) float64 { return x * math.Tanh(softplus(x)) }),
})

// Softplus is ln(1 + exp(x)).
var Softplus = unary(unarySpec{name: "Softplus", finite: true, nonNegative: true, activation: true,
	doc: "ln(1 + exp(x))", types: floatTypes, c: ir.CForm{F64: "nncc_softplus_f64(x)"}, real: fixed(softplus)})

// Softsign is x / (1 + |x|).
var Softsign = unary(unarySpec{
	name: "Softsign", finite: true, activation: true, doc: "x / (1 + |x|)", types: floatTypes,
	c:    ir.CForm{F64: "x / (1.0 + fabs(x))"},
	real: fixed(func(x float64) float64 { return x / (1 + math.Abs(x)) }),
})

// Tanh is the hyperbolic tangent.
var Tanh = unary(unarySpec{name: "Tanh", finite: true, activation: true, doc: "hyperbolic tangent", types: floatTypes,
	c: ir.CForm{F64: "tanh(x)", F32: "nncc_el_tanh_f32(x)"}, real: fixed(math.Tanh),
	outQuant: map[tensor.DType]*ir.Quant{tensor.I8: ir.PerTensor(1.0/128, 0), tensor.I16: ir.PerTensor(1.0/32768, 0)}})

// Constants of Gelu as C has them, with the bits of math.Sqrt2 and math.Sqrt(2/math.Pi).
const (
	sqrt2       = "1.4142135623730951"
	sqrt2OverPi = "0.7978845608028654"
)

// GeluAttrs are the attributes of Gelu.
type GeluAttrs struct {
	Approximate string `default:"none"`
}

// geluOf is the function itself.
func geluOf(approximate string) func(float64) float64 {
	if approximate == "tanh" {
		k := math.Sqrt(2 / math.Pi)
		return func(x float64) float64 {
			return 0.5 * x * (1 + math.Tanh(k*(x+float64(0.044715*x*x*x))))
		}
	}
	return func(x float64) float64 { return 0.5 * x * math.Erfc(-x/math.Sqrt2) }
}

// Gelu is x times the normal distribution function, exact or by tanh.
var Gelu = unary(unarySpec{
	name: "Gelu", finite: true, activation: true, doc: "x * Phi(x), exact (erf) or approximated by tanh",
	types: floatTypes,
	attrs: ir.Declare[GeluAttrs](),
	check: func(n *ir.Node) {
		a := ir.AttrsOf[GeluAttrs](n).Approximate
		refuse(n, a != "none" && a != "tanh", "attr-value", "approximate is %q, want none or tanh", a)
	},
	cBy: func(n *ir.Node) ir.CForm {
		if ir.AttrsOf[GeluAttrs](n).Approximate == "tanh" {
			return ir.CForm{
				F64: "0.5 * x * (1.0 + tanh(" + sqrt2OverPi + " * (x + 0.044715 * x * x * x)))",
				F32: "0.5f * x * (1.0f + nncc_el_tanh_f32(0.79788456f * (x + 0.044715f * x * x * x)))",
			}
		}
		return ir.CForm{F64: "0.5 * x * erfc(-x / " + sqrt2 + ")", F32: "0.5f * x * (1.0f + erff(x * 0.70710678f))"}
	},
	real: func(n *ir.Node) func(float64) float64 { return geluOf(ir.AttrsOf[GeluAttrs](n).Approximate) },
})

// ShrinkAttrs are the attributes of Shrink.
type ShrinkAttrs struct {
	Bias  float32 `default:"0"`
	Lambd float32 `default:"0.5"`
}

// Shrink is x-bias above lambd, x+bias below -lambd and 0 between.
var Shrink = unary(unarySpec{
	name: "Shrink", finite: true, doc: "x-bias above lambd, x+bias below -lambd, 0 between", types: numTypes,
	c: ir.CForm{F64: "x < -{lambd} ? x + {bias} : (x > {lambd} ? x - {bias} : 0.0)", F32: "nncc_el_less_f32(x, " +
		"-{lambd}) != 0 ? x + {bias} : (nncc_el_less_f32({lambd}, x) != 0 ? x - {bias} : 0.0f)"},
	attrs: ir.Declare[ShrinkAttrs](),
	real: func(n *ir.Node) func(float64) float64 {
		b, l := float64(ir.AttrsOf[ShrinkAttrs](n).Bias), float64(ir.AttrsOf[ShrinkAttrs](n).Lambd)
		return func(x float64) float64 {
			switch {
			case x < -l:
				return x + b
			case x > l:
				return x - b
			}
			return 0
		}
	},
})
