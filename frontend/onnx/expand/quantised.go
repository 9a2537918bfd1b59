// SPDX-License-Identifier: Apache-2.0

package expand

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// quantised are the operators on quantised tensors (QOperator form) as ONNX
// Runtime's quantiser writes them. They become the float operator between
// DequantizeLinear and QuantizeLinear nodes, the one form in which quantised models
// are compiled (lower/quant).
var quantised = map[string]build.Rule{
	"QLinearConv":              qLinearConv,
	"QLinearAdd":               qLinearBinary("Add"),
	"QLinearMul":               qLinearBinary("Mul"),
	"QLinearAveragePool":       qLinearUnary("AveragePool"),
	"QLinearGlobalAveragePool": qLinearUnary("GlobalAveragePool"),
	"QLinearSigmoid":           qLinearUnary("Sigmoid"),
	"QLinearLeakyRelu":         qLinearUnary("LeakyRelu"),
	"QLinearSoftmax":           qLinearSoftmax,
	"QLinearReduceMean":        qLinearMean,
	"QLinearConcat":            qLinearConcat,
	"QLinearWhere":             qLinearWhere,
	"QGemm":                    qGemm,
	"QuantizeLinear":           quantizeLinear,
	"DequantizeLinear":         quantizeLinear,
	"DynamicQuantizeMatMul":    dynamicQuantizeMatMul,
	"DynamicQuantizeLSTM":      dynamicQuantizeLSTM,
	"MatMulNBits":              matMulNBits,
	"MatMulIntegerToFloat":     matMulIntegerToFloat,
	"MulInteger":               mulInteger,
}

func quantizeLinear(e *build.Node) []*ir.Value {
	var data *ir.Value
	if e.Op == op.DequantizeLinear.Name {
		data = e.Input(0)
	}
	e.CheckScale(1, data)
	if z := e.Input(2); data != nil && data.Type.DType == tensor.I32 && z != nil && z.Const != nil {
		for k := range z.Const.Len() {
			e.Want(z.Const.Int(k) == 0, "zero-point",
				"the zero point holds %d at index %d, want 0: 32-bit integers have none", z.Const.Int(k), k)
		}
	}
	if s := e.Input(1); s != nil && s.Type.DType == tensor.I32 { // QuantizeLinear permits it
		e.In = append([]*ir.Value{e.In[0], e.Sub("Cast", ".scale", build.To(tensor.F32), s)}, e.In[2:]...)
	}
	return e.Result(e.Op, e.Attrs, e.In...)
}

// dequantised is DequantizeLinear of the operand whose data, scale and zero point are
// the inputs from i on; along axis where the scale is a vector.
func dequantised(e *build.Node, suffix string, i, axis int) *ir.Value {
	e.Want(e.Input(i) != nil && e.Input(i+1) != nil, "arity",
		"input %d or %d, a quantised operand or its scale, is missing", i, i+1)
	e.CheckScale(i+1, e.In[i])
	return dequantize(e, suffix, e.In[i], e.In[i+1], e.Input(i+2), axis)
}

func dequantize(e *build.Node, suffix string, x, s, z *ir.Value, axis int) *ir.Value {
	attrs := ir.Attrs{}
	if n := s.Type.Elems(); n > 1 {
		attrs["axis"] = ir.Int(axis)
		if z != nil && z.Const != nil && z.Const.Len() == 1 {
			// One zero point for all channels, which DequantizeLinear wants n times.
			all := tensor.New(z.Const.DType, []int{n})
			for i := range n {
				all.SetInt(i, z.Const.Int(0))
			}
			z = e.Constant(suffix+"_zero", all)
		}
	} else {
		s, z = scalar(e, s), scalar(e, z)
	}
	return e.Sub("DequantizeLinear", suffix, attrs, x, s, z)
}

// scalar views a one-element constant of shape [1] as rank 0.
func scalar(e *build.Node, v *ir.Value) *ir.Value {
	if v == nil || v.Const == nil || v.Type.Rank() == 0 || v.Const.Len() != 1 {
		return v
	}
	return e.Const(v.Name, v.Const.Reshaped(nil))
}

// quantize ends an expansion: QuantizeLinear under the node's own output name, with
// the scale in input i and the zero point behind it.
func quantize(e *build.Node, y *ir.Value, i int) []*ir.Value {
	e.Want(e.Input(i) != nil, "arity", "input %d, the scale of the output, is missing", i)
	e.CheckScale(i, nil)
	return e.Result("QuantizeLinear", nil, y, scalar(e, e.In[i]), scalar(e, e.Input(i+1)))
}

// bias is an int32 bias behind a DequantizeLinear of scale factor*x*w, each
// product rounded to float32.
func bias(e *build.Node, b, xs, ws *ir.Value, factor float32) *ir.Value {
	e.Want(xs.Const != nil && ws.Const != nil && xs.Const.Len() == 1, "scale-dynamic", "the scales of the operands "+
		"must be constant (known at compile time) where there is a bias, that of the first a single number")
	s := make([]float32, ws.Const.Len())
	for i := range s {
		s[i] = factor * float32(xs.Const.Float(0)) * float32(ws.Const.Float(i))
	}
	shape := []int{len(s)}
	if len(s) == 1 {
		shape = nil
	}
	return dequantize(e, ".b", b, e.Constant(".bias_scale", tensor.Of(shape, s)), nil, max(0, b.Type.Rank()-1))
}

// qLinearConv: x, w and y each with scale and zero point, then an int32 bias.
func qLinearConv(e *build.Node) []*ir.Value {
	e.Arity(8, 9, 2, 5, 7)
	x, w := dequantised(e, ".x", 0, 1), dequantised(e, ".w", 3, 0)
	args := func() []*ir.Value {
		if e.In[8] == nil {
			return []*ir.Value{w}
		}
		return []*ir.Value{w, bias(e, e.In[8], e.In[1], e.In[4], 1)}
	}
	return imageOp(e, "Conv", x, 6, args)
}

// imageOp applies an operator on images to x and what args gives, with the channels
// last where the attribute channels_last says so, and quantises the result with the
// scale in input scale.
func imageOp(e *build.Node, name string, x *ir.Value, scale int, args func() []*ir.Value) []*ir.Value {
	last := e.Bool("channels_last", false)
	if last {
		x = channelsFirst(e, x)
	}
	y := e.Sub(name, "."+name, e.Attrs, append([]*ir.Value{x}, args()...)...)
	if last {
		y = channelsLast(e, y)
	}
	return quantize(e, y, scale)
}

func qLinearMatMul(e *build.Node) []*ir.Value {
	e.Arity(7, 8, 2, 5)
	// Scales may come per row of the first and per column of the second.
	a := dequantised(e, ".a", 0, e.In[0].Type.Rank()-2)
	b := dequantised(e, ".b", 3, e.In[3].Type.Rank()-1)
	return quantize(e, e.Sub("MatMul", ".matmul", nil, a, b), 6)
}

func qLinearBinary(name string) build.Rule {
	return func(e *build.Node) []*ir.Value {
		e.Arity(7, 8, 2, 5)
		a, b := dequantised(e, ".a", 0, 0), dequantised(e, ".b", 3, 0)
		return quantize(e, e.Sub(name, "."+name, nil, a, b), 6)
	}
}

func qLinearUnary(name string) build.Rule {
	return func(e *build.Node) []*ir.Value {
		e.Arity(4, 5, 2)
		return imageOp(e, name, dequantised(e, ".x", 0, 0), 3, func() []*ir.Value { return nil })
	}
}

func qLinearMean(e *build.Node) []*ir.Value {
	e.Arity(4, 5, 2)
	x, axes := dequantised(e, ".x", 0, 0), e.IntList("axes")
	return quantize(e, e.Sub("ReduceMean", ".mean", e.Attrs, x, e.Constant(".axes", build.Ints64(axes))), 3)
}

// qLinearSoftmax: attribute opset says whether the old meaning of axis holds.
func qLinearSoftmax(e *build.Node) []*ir.Value {
	e.Arity(4, 5, 2)
	x := dequantised(e, ".x", 0, 0)
	version, axis := e.Int("opset", 13), e.Int("axis", -1)
	e.Want(version >= 13 || axis == -1 || axis == x.Type.Rank()-1, "axis",
		"axis %d with the meaning of opset %d is not supported; want the last axis", axis, version)
	return quantize(e, e.Sub("Softmax", ".Softmax", ir.Attrs{"axis": ir.Int(axis)}, x), 3)
}

// qLinearConcat: scale and zero point of the output, then three inputs for every
// operand.
func qLinearConcat(e *build.Node) []*ir.Value {
	e.Want(len(e.In) >= 5 && (len(e.In)-2)%3 == 0, "arity",
		"has %d inputs, want output scale and zero point, then three for every operand", len(e.In))
	var args []*ir.Value
	for i := 2; i < len(e.In); i += 3 {
		args = append(args, dequantised(e, "."+strconv.Itoa(i), i, 0))
	}
	return quantize(e, e.Sub("Concat", ".concat", e.Attrs, args...), 0)
}

func qLinearWhere(e *build.Node) []*ir.Value {
	e.Arity(8, 9, 3, 6)
	a, b := dequantised(e, ".a", 1, 0), dequantised(e, ".b", 4, 0)
	return quantize(e, e.Sub("Where", ".where", nil, e.In[0], a, b), 7)
}

// qGemm: A, B with scale and zero point, C int32 of scale alpha*sA*sB, then
// scale and zero point of Y; without them the result is float.
func qGemm(e *build.Node) []*ir.Value {
	e.Arity(6, 9, 2, 5)
	alpha, axis := float32(1), 1
	if a, ok := e.Attrs["alpha"]; ok {
		alpha = a.Float
	}
	if a, ok := e.Attrs["transB"]; ok && a.Int != 0 {
		axis = 0
	}
	args := []*ir.Value{dequantised(e, ".a", 0, 0), dequantised(e, ".b", 3, axis)}
	if e.In[6] != nil {
		args = append(args, bias(e, e.In[6], e.In[1], e.In[4], alpha))
	}
	if e.In[7] == nil {
		return e.Result("Gemm", e.Attrs, args...)
	}
	return quantize(e, e.Sub("Gemm", ".gemm", e.Attrs, args...), 7)
}

// dynamicQuantizeMatMul: A is quantised by its own range at run time.
// Inputs: A, B, scale and zero point of B, a float bias.
func dynamicQuantizeMatMul(e *build.Node) []*ir.Value {
	e.Arity(3, 5)
	names := []string{e.Name + ".q", e.Name + ".scale", e.Name + ".zero"}
	q := e.Add(op.Get("", "DynamicQuantizeLinear"), e.Name+".quantize", names, nil, e.In[0])
	e.CheckScale(2, e.In[1])
	sum := e.Cast(e.Do("MatMulInteger", nil, q[0], e.In[1], q[2], e.In[3]), tensor.F32)
	scale := e.Do("Mul", nil, q[1], e.In[2])
	if e.In[4] == nil {
		return e.Result("Mul", nil, sum, scale)
	}
	return e.Result("Add", nil, e.Do("Mul", nil, sum, scale), e.In[4])
}

// dynamicQuantizeLSTM is the LSTM of the reals that its weights stand for: W and R are [directions, size, gates], with
// scale and zero point for each direction, or each of its gates.
func dynamicQuantizeLSTM(e *build.Node) []*ir.Value {
	e.Arity(12, 12, 3, 4, 5, 6, 7)
	in := slices.Clone(e.In[:8])
	for i, s := range []int{8, 10} {
		w := e.Need(1+i, 3)
		e.CheckScale(s, w)
		e.Want(w.Const != nil && e.In[s].Const != nil && e.In[s+1].Const != nil, "scale-dynamic",
			"weights, scales and zero points must be constant (known at compile time)")
		floats := func(v *ir.Value) *ir.Value {
			v = e.Cast(v, tensor.F32)
			if v == w || v.Type.Rank() == 3 {
				return v
			}
			return e.Reshape(v, w.Type.Shape[0], 1, v.Type.Elems()/w.Type.Shape[0])
		}
		w = e.Do("Mul", nil, e.Do("Sub", nil, floats(w), floats(e.In[s+1])), floats(e.In[s]))
		in[1+i] = e.Transpose(w, 0, 2, 1)
	}
	return e.Results(op.Get("", "LSTM"), e.Attrs, len(e.Out), in...)
}

// constantOf wants input i to be a constant of so many elements.
func constantOf(e *build.Node, i, want int) {
	v := e.In[i]
	e.WantKnown(v.Const != nil, "dynamic", v, "input %d (%s) is computed at run time, want constant weights", i, v)
	e.Want(v.Type.Elems() == want, "shape", "input %d (%s) is %s, want a constant of %d elements", i, v, v.Type, want)
}

// matMulNBits: A, B as [N, blocks, bytes] of numbers of few bits, the low ones first, a scale for each block, its zero
// point (in the middle where there is none), group indices, a bias. It is MatMul by the reals.
func matMulNBits(e *build.Node) []*ir.Value {
	e.Arity(3, 6)
	k, n, bits, block := e.Int("K", 0), e.Int("N", 0), e.Int("bits", 4), e.Int("block_size", 0)
	e.Int("accuracy_level", 0)
	e.Want(bits == 2 || bits == 4 || bits == 8, "attr-value", "attribute bits is %d, want 2, 4 or 8", bits)
	e.Want(k > 0 && n > 0 && block > 0 && block%8 == 0 && k <= 1<<24 && n <= 1<<24, "attr-value",
		"K is %d, N %d and block_size %d, want positive numbers, block_size a multiple of 8", k, n, block)
	e.Want(e.In[4] == nil, "attr-value", "input 4, group indices, is not supported; want weights in their order")
	blocks := (k + block - 1) / block
	constantOf(e, 1, n*blocks*(block*bits/8))
	constantOf(e, 2, n*blocks)
	if zero := e.In[3]; zero != nil && zero.Type.DType.IsFloat() {
		constantOf(e, 3, n*blocks)
	} else if zero != nil {
		constantOf(e, 3, n*((blocks*bits+7)/8))
	}
	e.Spend("its weights", int64(n)*int64(k), 4*int64(n)*int64(k))
	w := unpacked(e, k, n, bits, block)
	return biased(e, e.In[0], e.Cast(e.Data(w), e.In[0].Type.DType), e.In[5])
}

// unpacked are the real weights [k, n] of a MatMulNBits: numbers of so many bits, in blocks along k with a
// scale and a zero point each.
func unpacked(e *build.Node, k, n, bits, block int) *tensor.Dense {
	blocks, zero := (k+block-1)/block, e.In[3]
	row := (blocks*bits + 7) / 8                        // bytes of zero points
	few := func(d *tensor.Dense, from, i int) float64 { // number i of those that begin at a byte
		return float64(uint8(d.Int(from+i*bits/8)) >> (i * bits % 8) & (1<<bits - 1))
	}
	w := tensor.New(tensor.F32, []int{k, n})
	for j := range n {
		for i := range k {
			b := j*blocks + i/block
			z := float64(int(1) << (bits - 1))
			switch {
			case zero == nil:
			case zero.Type.DType.IsFloat():
				z = zero.Const.Float(b)
			default:
				z = few(zero.Const, j*row, i/block)
			}
			w.SetFloat(i*n+j, (few(e.In[1].Const, b*(block*bits/8), i%block)-z)*e.In[2].Const.Float(b))
		}
	}
	return w
}

// matMulIntegerToFloat: A, B, their scales, their zero points, a float bias.
func matMulIntegerToFloat(e *build.Node) []*ir.Value {
	e.Arity(4, 7)
	e.CheckScale(2, e.In[0])
	e.CheckScale(3, e.In[1])
	a := dequantize(e, ".a", e.In[0], e.In[2], e.In[4], e.In[0].Type.Rank()-2)
	b := dequantize(e, ".b", e.In[1], e.In[3], e.In[5], e.In[1].Type.Rank()-1)
	return biased(e, a, b, e.In[6])
}

// biased ends an expansion with MatMul and, if there is a bias, Add.
func biased(e *build.Node, a, b, bias *ir.Value) []*ir.Value {
	if bias == nil {
		return e.Result("MatMul", nil, a, b)
	}
	return e.Result("Add", nil, e.Sub("MatMul", ".matmul", nil, a, b), bias)
}

// mulInteger is (A - A_zero_point) * (B - B_zero_point) in int32.
func mulInteger(e *build.Node) []*ir.Value {
	e.Arity(3, 4, 1)
	side := func(s string, x, zero *ir.Value) *ir.Value {
		x = int32s(e, s, x)
		if zero != nil {
			x = e.Sub("Sub", s+"_centred", nil, x, int32s(e, s+"_zero", zero))
		}
		return x
	}
	return e.Result("Mul", nil, side(".a", e.In[0], e.In[1]), side(".b", e.In[2], e.In[3]))
}

func int32s(e *build.Node, suffix string, x *ir.Value) *ir.Value {
	return e.Sub("Cast", suffix, build.To(tensor.I32), x)
}
