// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

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
	check: func(n *ir.Node) error {
		if a := ir.AttrsOf[GeluAttrs](n).Approximate; a != "none" && a != "tanh" {
			return ir.Errf(n, "attr-value", "approximate is %q, want none or tanh", a)
		}
		return nil
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
