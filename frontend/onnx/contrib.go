package onnx

import (
	"math"
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// contrib are the operators that compute on quantised tensors (QOperator
// form): QLinearConv and QLinearMatMul of the standard, and the com.microsoft
// family as ONNX Runtime's quantiser writes it. Each becomes the float
// operator between DequantizeLinear and QuantizeLinear nodes, the one form in
// which quantised models are compiled (lower/quant).
var contrib = map[opKey]upgrader{
	{"", "QLinearConv"}:                           qLinearConv,
	{"", "QLinearMatMul"}:                         qLinearMatMul,
	{"com.microsoft", "QLinearAdd"}:               qLinearBinary("Add"),
	{"com.microsoft", "QLinearMul"}:               qLinearBinary("Mul"),
	{"com.microsoft", "QLinearAveragePool"}:       qLinearUnary("AveragePool"),
	{"com.microsoft", "QLinearGlobalAveragePool"}: qLinearUnary("GlobalAveragePool"),
	{"com.microsoft", "QLinearSigmoid"}:           qLinearUnary("Sigmoid"),
	{"com.microsoft", "QLinearLeakyRelu"}:         qLinearUnary("LeakyRelu"),
	{"com.microsoft", "QLinearSoftmax"}:           qLinearUnary("Softmax"),
	{"com.microsoft", "QLinearReduceMean"}:        qLinearReduce,
	{"com.microsoft", "QLinearConcat"}:            qLinearConcat,
	{"com.microsoft", "QLinearWhere"}:             qLinearWhere,
	{"com.microsoft", "QGemm"}:                    qGemm,
	{"com.microsoft", "QuantizeLinear"}:           standard("QuantizeLinear"),
	{"com.microsoft", "DequantizeLinear"}:         standard("DequantizeLinear"),
	{"com.microsoft", "FusedConv"}:                fusedConv,
	{"com.microsoft", "FusedGemm"}:                fusedConv,
	{"com.microsoft", "FusedMatMul"}:              fusedMatMul,
}

func standard(name string) upgrader { return renamed(name) }

// arity checks the number of inputs and that the first need are there.
func (c *nodeCtx) arity(need, most int) error {
	if len(c.in) < need || len(c.in) > most {
		return c.errf("arity", "has %d inputs, want %d to %d", len(c.in), need, most)
	}
	for i := 0; i < need; i++ {
		if c.in[i] == nil && i != need-1 {
			if i%3 != 2 { // zero points may be left out
				return c.errf("arity", "input %d is missing", i)
			}
		}
	}
	for len(c.in) < most {
		c.in = append(c.in, nil)
	}
	return nil
}

// dq is DequantizeLinear(x, scale, zero point), along axis where the scale is a vector.
func (c *nodeCtx) dq(suffix string, x, s, z *ir.Value, axis int) (*ir.Value, error) {
	if x == nil || s == nil {
		return nil, c.errf("arity", "a quantised operand or its scale is missing")
	}
	attrs := ir.Attrs{}
	if s.Type.Elems() > 1 {
		attrs["axis"] = ir.Int(axis)
	} else {
		s, z = c.scalar(s), c.scalar(z)
	}
	return c.sub(op.DequantizeLinear, suffix, attrs, x, s, z)
}

// scalar views a one-element constant of shape [1] as rank 0.
func (c *nodeCtx) scalar(v *ir.Value) *ir.Value {
	if v == nil || v.Const == nil || v.Type.Rank() == 0 || v.Const.Len() != 1 {
		return v
	}
	return c.im.g.AddConst(v.Name, v.Const.Reshaped(nil))
}

// q ends an expansion: QuantizeLinear under the node's own output name.
func (c *nodeCtx) q(y, s, z *ir.Value) ([]*ir.Value, error) {
	if s == nil {
		return nil, c.errf("arity", "the scale of the output is missing")
	}
	return c.build(op.QuantizeLinear, ir.Attrs{}, 1, y, c.scalar(s), c.scalar(z))
}

func qLinearConv(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(8, 9); err != nil {
		return nil, err
	}
	x, err := c.dq(".x", c.in[0], c.in[1], c.in[2], 1)
	if err != nil {
		return nil, err
	}
	w, err := c.dq(".w", c.in[3], c.in[4], c.in[5], 0)
	if err != nil {
		return nil, err
	}
	args := []*ir.Value{x, w}
	if c.in[8] != nil {
		b, err := c.bias(c.in[8], c.in[1], c.in[4])
		if err != nil {
			return nil, err
		}
		args = append(args, b)
	}
	y, err := c.sub(op.Conv, ".conv", c.attrs, args...)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[6], c.in[7])
}

// bias is an int32 bias behind a DequantizeLinear of scale x*w.
func (c *nodeCtx) bias(b, xs, ws *ir.Value) (*ir.Value, error) {
	if xs.Const == nil || ws.Const == nil {
		return nil, c.errf("scale-dynamic", "the scales must be constant (known at compile time)")
	}
	s := make([]float32, ws.Const.Len())
	for i := range s {
		s[i] = float32(xs.Const.Float(0)) * float32(ws.Const.Float(i))
	}
	shape := []int{len(s)}
	if len(s) == 1 {
		shape = nil
	}
	return c.dq(".b", b, c.constant(".bias_scale", tensor.Of(shape, s)), nil, 0)
}

func qLinearMatMul(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(8, 8); err != nil {
		return nil, err
	}
	a, err := c.dq(".a", c.in[0], c.in[1], c.in[2], 0)
	if err != nil {
		return nil, err
	}
	b, err := c.dq(".b", c.in[3], c.in[4], c.in[5], c.in[3].Type.Rank()-1)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.MatMul, ".matmul", nil, a, b)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[6], c.in[7])
}

func qLinearBinary(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if err := c.arity(7, 8); err != nil {
			return nil, err
		}
		a, err := c.dq(".a", c.in[0], c.in[1], c.in[2], 0)
		if err != nil {
			return nil, err
		}
		b, err := c.dq(".b", c.in[3], c.in[4], c.in[5], 0)
		if err != nil {
			return nil, err
		}
		y, err := c.sub(op.Get("", name), "."+name, nil, a, b)
		if err != nil {
			return nil, err
		}
		return c.q(y, c.in[6], c.in[7])
	}
}

func qLinearUnary(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if err := c.arity(4, 5); err != nil {
			return nil, err
		}
		x, err := c.dq(".x", c.in[0], c.in[1], c.in[2], 0)
		if err != nil {
			return nil, err
		}
		if a, ok := c.attrs["channels_last"]; ok {
			if a.Int != 0 {
				return nil, c.errf("channels-last", "channels_last = 1 is not supported; want 0")
			}
			delete(c.attrs, "channels_last")
		}
		if name == "Softmax" {
			return c.qSoftmax(x)
		}
		y, err := c.sub(op.Get("", name), "."+name, c.attrs, x)
		if err != nil {
			return nil, err
		}
		return c.q(y, c.in[3], c.in[4])
	}
}

// qSoftmax: attribute opset says whether the old meaning of axis holds.
func (c *nodeCtx) qSoftmax(x *ir.Value) ([]*ir.Value, error) {
	axis, version := -1, 13
	if a, ok := c.attrs["opset"]; ok {
		version = int(a.Int)
	}
	if a, ok := c.attrs["axis"]; ok {
		axis = int(a.Int)
	} else if version < 13 {
		axis = 1
	}
	rank := x.Type.Rank()
	last := axis == -1 || axis == rank-1
	if version < 13 && !last {
		return nil, c.errf("axis", "axis %d with the meaning of opset %d is not supported; want the last axis", axis, version)
	}
	y, err := c.sub(op.Get("", "Softmax"), ".Softmax", ir.Attrs{"axis": ir.Int(axis)}, x)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[3], c.in[4])
}

func qLinearReduce(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(4, 5); err != nil {
		return nil, err
	}
	x, err := c.dq(".x", c.in[0], c.in[1], c.in[2], 0)
	if err != nil {
		return nil, err
	}
	args := []*ir.Value{x}
	if a, ok := c.attrs["axes"]; ok {
		args = append(args, c.constant(".axes", ints64(a.Ints)))
		delete(c.attrs, "axes")
	}
	y, err := c.sub(op.Get("", "ReduceMean"), ".mean", c.attrs, args...)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[3], c.in[4])
}

func qLinearConcat(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 5 || (len(c.in)-2)%3 != 0 {
		return nil, c.errf("arity", "has %d inputs, want output scale and zero point, then three for every operand", len(c.in))
	}
	var args []*ir.Value
	for i := 2; i < len(c.in); i += 3 {
		x, err := c.dq("."+strconv.Itoa(i), c.in[i], c.in[i+1], c.in[i+2], 0)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	y, err := c.sub(op.Get("", "Concat"), ".concat", c.attrs, args...)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[0], c.in[1])
}

func qLinearWhere(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(9, 9); err != nil {
		return nil, err
	}
	a, err := c.dq(".a", c.in[1], c.in[2], c.in[3], 0)
	if err != nil {
		return nil, err
	}
	b, err := c.dq(".b", c.in[4], c.in[5], c.in[6], 0)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.Get("", "Where"), ".where", nil, c.in[0], a, b)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[7], c.in[8])
}

// qGemm: (A, sA, zA, B, sB, zB, C int32 of scale alpha*sA*sB, sY, zY); without
// an output scale the result is float.
func qGemm(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(6, 9); err != nil {
		return nil, err
	}
	alpha := float32(1)
	if a, ok := c.attrs["alpha"]; ok {
		alpha = a.Float
	}
	if alpha != 1 {
		return nil, c.errf("alpha", "alpha is %v; want 1", alpha)
	}
	delete(c.attrs, "alpha")
	axis := 1
	if a, ok := c.attrs["transB"]; ok && a.Int != 0 {
		axis = 0
	}
	a, err := c.dq(".a", c.in[0], c.in[1], c.in[2], 0)
	if err != nil {
		return nil, err
	}
	b, err := c.dq(".b", c.in[3], c.in[4], c.in[5], axis)
	if err != nil {
		return nil, err
	}
	args := []*ir.Value{a, b}
	if c.in[6] != nil {
		bias, err := c.bias(c.in[6], c.in[1], c.in[4])
		if err != nil {
			return nil, err
		}
		args = append(args, bias)
	}
	if c.in[7] == nil {
		return c.build(op.Gemm, c.attrs, 1, args...)
	}
	y, err := c.sub(op.Gemm, ".gemm", c.attrs, args...)
	if err != nil {
		return nil, err
	}
	return c.q(y, c.in[7], c.in[8])
}

// fusedConv is Conv or Gemm with an activation, as ONNX Runtime's optimiser writes it.
func fusedConv(c *nodeCtx) ([]*ir.Value, error) {
	act, params := "", []float32(nil)
	if a, ok := c.attrs["activation"]; ok {
		act = a.String
	}
	if a, ok := c.attrs["activation_params"]; ok {
		params = a.Floats
	}
	for _, k := range []string{"activation", "activation_params", "activation_alpha", "activation_beta", "activation_gamma"} {
		delete(c.attrs, k)
	}
	base := op.Conv
	if c.p.GetOpType() == "FusedGemm" {
		base = op.Gemm
	}
	in := c.in
	var sum *ir.Value
	if base == op.Conv && len(in) == 4 {
		in, sum = in[:3], in[3]
	}
	y, err := c.sub(base, ".base", c.attrs, in...)
	if err != nil {
		return nil, err
	}
	if sum != nil {
		if y, err = c.sub(op.Get("", "Add"), ".sum", nil, y, sum); err != nil {
			return nil, err
		}
	}
	at := func(i int, def float32) float32 {
		if i < len(params) {
			return params[i]
		}
		return def
	}
	switch act {
	case "":
		return c.build(op.Get("", "Identity"), ir.Attrs{}, 1, y)
	case "Relu", "Tanh", "Sigmoid":
		return c.build(op.Get("", act), ir.Attrs{}, 1, y)
	case "LeakyRelu":
		return c.build(op.Get("", act), ir.Attrs{"alpha": ir.Float(at(0, 0.01))}, 1, y)
	case "HardSigmoid":
		return c.build(op.Get("", act), ir.Attrs{"alpha": ir.Float(at(0, 0.2)), "beta": ir.Float(at(1, 0.5))}, 1, y)
	case "Clip":
		return c.build(op.Get("", "Clip"), ir.Attrs{}, 1, y,
			c.constant(".min", floatLike(y, float64(at(0, -math.MaxFloat32)))), c.constant(".max", floatLike(y, float64(at(1, math.MaxFloat32)))))
	}
	return nil, c.errf("activation", "activation %s is not supported; want Relu, Tanh, Sigmoid, LeakyRelu, HardSigmoid or Clip", quote(act))
}

// fusedMatMul is MatMul with transposed operands and a factor.
func fusedMatMul(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(2, 2); err != nil {
		return nil, err
	}
	for i, k := range []string{"transA", "transB"} {
		if a, ok := c.attrs[k]; ok && a.Int != 0 {
			r := c.in[i].Type.Rank()
			perm := ir.Identity(r)
			if r >= 2 {
				perm[r-1], perm[r-2] = perm[r-2], perm[r-1]
			}
			v, err := c.sub(op.Get("", "Transpose"), "."+k, ir.Attrs{"perm": ir.Ints(perm...)}, c.in[i])
			if err != nil {
				return nil, err
			}
			c.in[i] = v
		}
	}
	alpha := float32(1)
	if a, ok := c.attrs["alpha"]; ok {
		alpha = a.Float
	}
	if alpha == 1 {
		return c.build(op.MatMul, ir.Attrs{}, 1, c.in...)
	}
	y, err := c.sub(op.MatMul, ".matmul", nil, c.in...)
	if err != nil {
		return nil, err
	}
	return c.build(op.Get("", "Mul"), ir.Attrs{}, 1, y, c.constant(".alpha", floatLike(y, float64(alpha))))
}

// stack joins the per-iteration values of a Loop's scan output on a new first
// dimension.
func (c *nodeCtx) stack(vs []*ir.Value, k int) (*ir.Value, error) {
	var parts []*ir.Value
	for i, v := range vs {
		shape := append([]int{1}, v.Type.Shape...)
		s := "." + strconv.Itoa(k) + "." + strconv.Itoa(i)
		w, err := c.sub(op.Get("", "Reshape"), s, nil, v, c.constant(s+".shape", tensor.Ints(shape...)))
		if err != nil {
			return nil, err
		}
		parts = append(parts, w)
	}
	return c.sub(op.Get("", "Concat"), ".scan"+strconv.Itoa(k), ir.Attrs{"axis": ir.Int(0)}, parts...)
}
