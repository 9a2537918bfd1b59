// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
)

// fusedOps are the float operators that ONNX Runtime's optimiser puts together, beside
// those of functions/operators.
var fusedOps = map[string]build.Rule{
	"FusedConv":                        fused("Conv", false),
	"NhwcConv":                         fused("Conv", true),
	"NhwcFusedConv":                    fused("Conv", true),
	"NhwcMaxPool":                      fused("MaxPool", true),
	"FusedGemm":                        fused("Gemm", false),
	"FusedMatMul":                      fusedMatMul,
	"TransposeMatMul":                  fusedMatMul,
	"FusedMatMulActivation":            fusedMatMul,
	"FastGelu":                         fastGelu,
	"SkipLayerNormalization":           skipNorm,
	"SkipSimplifiedLayerNormalization": skipNorm,
}

// channelsFirst and channelsLast move the channels of an image.
func channelsFirst(e *build.Node, x *ir.Value) *ir.Value {
	r := x.Type.Rank()
	e.Want(r >= 3, "rank", "an operand has shape %v, want [N, spatial..., C]", x.Type.Shape)
	perm := append([]int{0, r - 1}, ir.Identity(r - 1)[1:]...)
	return e.Sub("Transpose", ".nchw", ir.Attrs{"perm": ir.Ints(perm...)}, x)
}

func channelsLast(e *build.Node, x *ir.Value) *ir.Value {
	return e.Sub("Transpose", ".nhwc", ir.Attrs{"perm": ir.Ints(ir.NHWC(x.Type.Rank())...)}, x)
}

// fused is Conv, Gemm or MaxPool with an activation and, for Conv, a tensor to
// add; with the channels last on request.
func fused(name string, nhwc bool) build.Rule {
	return func(e *build.Node) []*ir.Value {
		act := takeActivation(e)
		x := e.Need(0, -1)
		in := append([]*ir.Value{x}, e.In[1:]...)
		var sum *ir.Value
		if name == "Conv" && len(in) == 4 {
			in, sum = in[:3], in[3]
		}
		if nhwc {
			in[0] = channelsFirst(e, x)
		}
		y := e.Sub(name, ".base", e.Attrs, in...)
		if nhwc {
			y = channelsLast(e, y)
		}
		if sum != nil {
			y = e.Sub("Add", ".sum", nil, y, sum)
		}
		return act(y)
	}
}

// takeActivation reads the attributes of a fused activation and gives what ends
// the expansion: the activation under the node's own name.
func takeActivation(e *build.Node) func(y *ir.Value) []*ir.Value {
	act, params := e.Str("activation", ""), e.FloatList("activation_params") // alpha, beta, gamma; NaN where not given
	for i, k := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if a, ok := e.Take(k); ok {
			for len(params) <= i {
				params = append(params, float32(math.NaN()))
			}
			params[i] = a.Float
		}
	}
	axis, hasAxis := e.Take("activation_axis")
	at := func(i int, def float32) float32 {
		if i < len(params) && params[i] == params[i] {
			return params[i]
		}
		return def
	}
	return func(y *ir.Value) []*ir.Value {
		attrs := ir.Attrs{}
		switch act {
		case "":
			act = "Identity"
		case "Relu", "Tanh", "Sigmoid":
		case "LeakyRelu":
			attrs["alpha"] = ir.Float(at(0, 0.01))
		case "HardSigmoid":
			attrs["alpha"], attrs["beta"] = ir.Float(at(0, 0.2)), ir.Float(at(1, 0.5))
		case "Softmax":
			if hasAxis {
				attrs["axis"] = axis
			}
		case "Clip":
			bound := func(suffix string, v float32) *ir.Value {
				return e.Constant(suffix, build.FloatLike(y, float64(v)))
			}
			return e.Result(act, nil, y, bound(".min", at(0, -math.MaxFloat32)), bound(".max", at(1, math.MaxFloat32)))
		default:
			e.Want(false, "activation", "activation %s is not supported; "+
				"want Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid, Softmax or Clip", model.Quote(act))
		}
		return e.Result(act, attrs, y)
	}
}

// fusedMatMul is MatMul with transposed operands, a factor and an activation.
func fusedMatMul(e *build.Node) []*ir.Value {
	e.Arity(2, 2)
	act := takeActivation(e)
	for i, k := range []string{"A", "B"} {
		e.Want(!e.Bool("transBatch"+k, false), "trans-batch", "transBatch%s = 1 is not supported; want 0", k)
		if e.Bool("trans"+k, false) {
			r := e.In[i].Type.Rank()
			perm := ir.Identity(r)
			if r >= 2 {
				perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
			}
			e.In[i] = e.Sub("Transpose", ".trans"+k, ir.Attrs{"perm": ir.Ints(perm...)}, e.In[i])
		}
	}
	y := e.Sub("MatMul", ".matmul", nil, e.In...)
	if alpha := e.Float("alpha", 1); alpha != 1 {
		y = e.Sub("Mul", ".scaled", nil, y, e.Constant(".alpha", build.FloatLike(y, alpha)))
	}
	return act(y)
}

// fastGelu is Gelu(A + B) by its approximation with tanh; the bias B is optional.
func fastGelu(e *build.Node) []*ir.Value {
	e.Arity(1, 2)
	x := e.In[0]
	if e.In[1] != nil {
		x = e.Sub("Add", ".biased", nil, x, e.In[1])
	}
	return e.Result("Gelu", ir.Attrs{"approximate": ir.Str("tanh")}, x)
}

// skipNorm is LayerNormalization(input + skip [+ bias]), or RMSNormalization
// in the simplified form; output 3 is the sum.
func skipNorm(e *build.Node) []*ir.Value {
	e.Arity(3, 5)
	gamma, beta, bias, norm := e.In[2], e.In[3], e.In[4], "LayerNormalization"
	if e.Op == "SkipSimplifiedLayerNormalization" {
		beta, bias, norm = nil, e.In[3], "RMSNormalization"
	}
	sum := e.Sub("Add", ".skip", nil, e.In[0], e.In[1])
	if bias != nil {
		sum = e.Sub("Add", ".biased", nil, sum, bias)
	}
	attrs := ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(float32(e.Float("epsilon", 1e-12)))}
	return []*ir.Value{e.Result(norm, attrs, sum, gamma, beta)[0], nil, nil, sum}
}
