package onnx

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// contrib are the operators that compute on quantised tensors (QOperator
// form): QLinearConv and QLinearMatMul of the standard, and the com.microsoft
// family as ONNX Runtime's quantiser writes it; and the float operators that
// its optimiser puts together. The quantised ones become the float operator
// between DequantizeLinear and QuantizeLinear nodes, the one form in which
// quantised models are compiled (lower/quant).
var contrib = map[opKey]upgrader{
	{"", "QLinearConv"}:                           qLinearConv,
	{"", "QLinearMatMul"}:                         qLinearMatMul,
	{"com.microsoft", "QLinearConv"}:              qLinearConv,
	{"com.microsoft", "QLinearAdd"}:               qLinearBinary("Add"),
	{"com.microsoft", "QLinearMul"}:               qLinearBinary("Mul"),
	{"com.microsoft", "QLinearAveragePool"}:       qLinearUnary("AveragePool"),
	{"com.microsoft", "QLinearGlobalAveragePool"}: qLinearUnary("GlobalAveragePool"),
	{"com.microsoft", "QLinearSigmoid"}:           qLinearUnary("Sigmoid"),
	{"com.microsoft", "QLinearLeakyRelu"}:         qLinearUnary("LeakyRelu"),
	{"com.microsoft", "QLinearSoftmax"}:           qLinearUnary("Softmax"),
	{"com.microsoft", "QLinearReduceMean"}:        qLinearUnary("ReduceMean"),
	{"com.microsoft", "QLinearConcat"}:            qLinearConcat,
	{"com.microsoft", "QLinearWhere"}:             qLinearWhere,
	{"com.microsoft", "QGemm"}:                    qGemm,
	{"com.microsoft", "QuantizeLinear"}:           quantizeLinear,
	{"com.microsoft", "DequantizeLinear"}:         quantizeLinear,
	{"com.microsoft", "DynamicQuantizeMatMul"}:    dynamicQuantizeMatMul,
	{"com.microsoft", "MatMulIntegerToFloat"}:     matMulIntegerToFloat,
	{"com.microsoft", "MulInteger"}:               mulInteger,
	{"com.microsoft", "ReduceSumInteger"}:         reduceSumInteger,

	{"com.microsoft", "FusedConv"}:                        fused("Conv", false),
	{"com.microsoft", "NhwcConv"}:                         fused("Conv", true),
	{"com.microsoft", "NhwcFusedConv"}:                    fused("Conv", true),
	{"com.microsoft", "NhwcMaxPool"}:                      fused("MaxPool", true),
	{"com.microsoft", "FusedGemm"}:                        fused("Gemm", false),
	{"com.microsoft", "FusedMatMul"}:                      fusedMatMul,
	{"com.microsoft", "TransposeMatMul"}:                  fusedMatMul,
	{"com.microsoft", "FusedMatMulActivation"}:            fusedMatMul,
	{"com.microsoft", "Gelu"}:                             renamed("Gelu"),
	{"com.microsoft", "BiasGelu"}:                         biasGelu("none"),
	{"com.microsoft", "FastGelu"}:                         biasGelu("tanh"),
	{"com.microsoft", "QuickGelu"}:                        quickGelu,
	{"com.microsoft", "BiasAdd"}:                          biasAdd,
	{"com.microsoft", "SkipLayerNormalization"}:           skipNorm,
	{"com.microsoft", "SkipSimplifiedLayerNormalization"}: skipNorm,
}

// arity checks the number of inputs, pads the list to most, and requires the
// inputs below need except those that optional lists.
func (c *nodeCtx) arity(need, most int, optional ...int) error {
	if len(c.in) < need || len(c.in) > most {
		return c.errf("arity", "has %d inputs, want %d to %d", len(c.in), need, most)
	}
	for i, v := range c.in[:need] {
		if v == nil && !slices.Contains(optional, i) {
			return c.errf("arity", "input %d is missing", i)
		}
	}
	for len(c.in) < most {
		c.in = append(c.in, nil)
	}
	return nil
}

// swapped is a transposed view: the last two dimensions exchanged.
func (c *nodeCtx) swapped(suffix string, x *ir.Value) (*ir.Value, error) {
	r := x.Type.Rank()
	perm := ir.Identity(r)
	if r >= 2 {
		perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
	}
	return c.sub(op.Transpose, suffix, ir.Attrs{"perm": ir.Ints(perm...)}, x)
}

// channelsFirst and channelsLast move the channels of an image.
func (c *nodeCtx) channelsFirst(suffix string, x *ir.Value) (*ir.Value, error) {
	r := x.Type.Rank()
	if r < 3 {
		return nil, c.errf("rank", "an operand has shape %v, want [N, spatial..., C]", x.Type.Shape)
	}
	perm := append([]int{0, r - 1}, ir.Identity(r - 1)[1:]...)
	return c.sub(op.Transpose, suffix, ir.Attrs{"perm": ir.Ints(perm...)}, x)
}

func (c *nodeCtx) channelsLast(suffix string, x *ir.Value) (*ir.Value, error) {
	return c.sub(op.Transpose, suffix, ir.Attrs{"perm": ir.Ints(ir.NHWC(x.Type.Rank())...)}, x)
}

// fused is Conv, Gemm or MaxPool with an activation and, for Conv, a tensor to
// add, as ONNX Runtime's optimiser writes it; with the channels last on request.
func fused(name string, nhwc bool) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		act, err := c.takeActivation()
		if err != nil {
			return nil, err
		}
		in := c.in
		var sum *ir.Value
		if name == "Conv" && len(in) == 4 {
			in, sum = in[:3:3], in[3]
		}
		if len(in) == 0 || in[0] == nil {
			return nil, c.errf("arity", "input 0 is missing")
		}
		if nhwc {
			x, err := c.channelsFirst(".nchw", in[0])
			if err != nil {
				return nil, err
			}
			in = append([]*ir.Value{x}, in[1:]...)
		}
		y, err := c.sub(op.Get("", name), ".base", c.attrs, in...)
		if err != nil {
			return nil, err
		}
		if nhwc {
			if y, err = c.channelsLast(".nhwc", y); err != nil {
				return nil, err
			}
		}
		if sum != nil {
			if y, err = c.sub(op.Add, ".sum", nil, y, sum); err != nil {
				return nil, err
			}
		}
		return act(y)
	}
}

// takeActivation reads the attributes of a fused activation and gives what ends
// the expansion: the activation under the node's own name.
func (c *nodeCtx) takeActivation() (func(y *ir.Value) ([]*ir.Value, error), error) {
	act, err := c.takeStr("activation", "")
	if err != nil {
		return nil, err
	}
	var params []float32 // alpha, beta, gamma; NaN where not given
	if a, ok := c.take("activation_params"); ok {
		params = a.Floats
	}
	for i, k := range []string{"activation_alpha", "activation_beta", "activation_gamma"} {
		if a, ok := c.take(k); ok {
			for len(params) <= i {
				params = append(params, float32(math.NaN()))
			}
			params[i] = a.Float
		}
	}
	axis, hasAxis := c.take("activation_axis")
	at := func(i int, def float32) float32 {
		if i < len(params) && params[i] == params[i] {
			return params[i]
		}
		return def
	}
	return func(y *ir.Value) ([]*ir.Value, error) {
		switch act {
		case "":
			return c.build(op.Identity, nil, 1, y)
		case "Relu", "Tanh", "Sigmoid":
			return c.build(op.Get("", act), nil, 1, y)
		case "LeakyRelu":
			return c.build(op.Get("", act), ir.Attrs{"alpha": ir.Float(at(0, 0.01))}, 1, y)
		case "HardSigmoid":
			return c.build(op.Get("", act), ir.Attrs{"alpha": ir.Float(at(0, 0.2)), "beta": ir.Float(at(1, 0.5))}, 1, y)
		case "Softmax":
			attrs := ir.Attrs{}
			if hasAxis {
				attrs["axis"] = axis
			}
			return c.build(op.Get("", act), attrs, 1, y)
		case "Clip":
			return c.build(op.Clip, nil, 1, y,
				c.constant(".min", floatLike(y, float64(at(0, -math.MaxFloat32)))), c.constant(".max", floatLike(y, float64(at(1, math.MaxFloat32)))))
		}
		return nil, c.errf("activation", "activation %s is not supported; want Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid, Softmax or Clip", quote(act))
	}, nil
}

// fusedMatMul is MatMul with transposed operands, a factor and an activation.
func fusedMatMul(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(2, 2); err != nil {
		return nil, err
	}
	act, err := c.takeActivation()
	if err != nil {
		return nil, err
	}
	for i, k := range []string{"A", "B"} {
		batch, err := c.takeInt("transBatch"+k, 0)
		if err != nil {
			return nil, err
		}
		if batch != 0 {
			return nil, c.errf("trans-batch", "transBatch%s = 1 is not supported; want 0", k)
		}
		trans, err := c.takeInt("trans"+k, 0)
		if err != nil {
			return nil, err
		}
		if trans != 0 {
			if c.in[i], err = c.swapped(".trans"+k, c.in[i]); err != nil {
				return nil, err
			}
		}
	}
	alpha, err := c.takeFloat("alpha", 1)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.MatMul, ".matmul", nil, c.in...)
	if err != nil {
		return nil, err
	}
	if alpha != 1 {
		if y, err = c.sub(op.Mul, ".scaled", nil, y, c.constant(".alpha", floatLike(y, float64(alpha)))); err != nil {
			return nil, err
		}
	}
	return act(y)
}

// biasGelu is Gelu(A + B); FastGelu's bias is optional.
func biasGelu(approximate string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if err := c.arity(1, 2); err != nil {
			return nil, err
		}
		x := c.in[0]
		if c.in[1] != nil {
			var err error
			if x, err = c.sub(op.Add, ".biased", nil, x, c.in[1]); err != nil {
				return nil, err
			}
		}
		return c.build(op.Get("", "Gelu"), ir.Attrs{"approximate": ir.Str(approximate)}, 1, x)
	}
}

// quickGelu is x * sigmoid(alpha * x).
func quickGelu(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(1, 1); err != nil {
		return nil, err
	}
	alpha, err := c.takeFloat("alpha", 1.702)
	if err != nil {
		return nil, err
	}
	return c.build(op.Get("", "Swish"), ir.Attrs{"alpha": ir.Float(alpha)}, 1, c.in[0])
}

// biasAdd is X + bias + skip.
func biasAdd(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(3, 3); err != nil {
		return nil, err
	}
	y, err := c.sub(op.Add, ".biased", nil, c.in[0], c.in[1])
	if err != nil {
		return nil, err
	}
	return c.build(op.Add, nil, 1, y, c.in[2])
}

// skipNorm is LayerNormalization(input + skip [+ bias]), or RMSNormalization
// in the simplified form; output 3 is the sum.
func skipNorm(c *nodeCtx) ([]*ir.Value, error) {
	simple := c.p.GetOpType() == "SkipSimplifiedLayerNormalization"
	if err := c.arity(3, 5); err != nil {
		return nil, err
	}
	gamma, beta, bias := c.in[2], c.in[3], c.in[4]
	if simple {
		beta, bias = nil, c.in[3]
	}
	eps, err := c.takeFloat("epsilon", 1e-12)
	if err != nil {
		return nil, err
	}
	sum, err := c.sub(op.Add, ".skip", nil, c.in[0], c.in[1])
	if err != nil {
		return nil, err
	}
	if bias != nil {
		if sum, err = c.sub(op.Add, ".biased", nil, sum, bias); err != nil {
			return nil, err
		}
	}
	attrs := ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(eps)}
	var y []*ir.Value
	if simple {
		y, err = c.build(op.Get("", "RMSNormalization"), attrs, 1, sum, gamma)
	} else {
		y, err = c.build(op.Get("", "LayerNormalization"), attrs, 1, sum, gamma, beta)
	}
	if err != nil {
		return nil, err
	}
	return []*ir.Value{y[0], nil, nil, sum}, nil
}

// mulInteger is (A - A_zero_point) * (B - B_zero_point) in int32.
func mulInteger(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(3, 4, 1); err != nil {
		return nil, err
	}
	var side [2]*ir.Value
	for i := range side {
		s := []string{".a", ".b"}[i]
		x, err := c.int32(s, c.in[2*i])
		if err != nil {
			return nil, err
		}
		if z := c.in[2*i+1]; z != nil {
			if z, err = c.int32(s+"_zero", z); err != nil {
				return nil, err
			}
			if x, err = c.sub(op.Sub, s+"_centred", nil, x, z); err != nil {
				return nil, err
			}
		}
		side[i] = x
	}
	return c.build(op.Mul, nil, 1, side[0], side[1])
}

// reduceSumInteger sums in int32.
func reduceSumInteger(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(1, 1); err != nil {
		return nil, err
	}
	axes, err := c.takeInts("axes")
	if err != nil {
		return nil, err
	}
	x, err := c.int32(".wide", c.in[0])
	if err != nil {
		return nil, err
	}
	return c.build(op.Get("", "ReduceSum"), c.attrs, 1, x, c.constant(".axes", ints64(axes)))
}

func (c *nodeCtx) int32(suffix string, x *ir.Value) (*ir.Value, error) {
	return c.sub(op.Get("", "Cast"), suffix, ir.Attrs{"to": ir.Int(tensor.I32.ONNXCode())}, x)
}
