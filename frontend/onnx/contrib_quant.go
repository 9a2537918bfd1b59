package onnx

import (
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// dqAt is DequantizeLinear of the operand whose data, scale and zero point are
// the inputs from i on; along axis where the scale is a vector.
func (c *nodeCtx) dqAt(suffix string, i, axis int) (*ir.Value, error) {
	if i+1 >= len(c.in) || c.in[i] == nil || c.in[i+1] == nil {
		return nil, c.errf("arity", "input %d or %d, a quantised operand or its scale, is missing", i, i+1)
	}
	if err := c.checkScale(i+1, c.in[i]); err != nil {
		return nil, err
	}
	var z *ir.Value
	if i+2 < len(c.in) {
		z = c.in[i+2]
	}
	return c.dq(suffix, c.in[i], c.in[i+1], z, axis)
}

func (c *nodeCtx) dq(suffix string, x, s, z *ir.Value, axis int) (*ir.Value, error) {
	attrs := ir.Attrs{}
	if n := s.Type.Elems(); n > 1 {
		attrs["axis"] = ir.Int(axis)
		if z != nil && z.Const != nil && z.Const.Len() == 1 {
			// One zero point for all channels, which DequantizeLinear wants n times.
			all := tensor.New(z.Const.DType, []int{n})
			for i := range n {
				all.SetInt(i, z.Const.Int(0))
			}
			z = c.constant(suffix+"_zero", all)
		}
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
	return c.im.addConst(v.Name, v.Const.Reshaped(nil))
}

// qAt ends an expansion: QuantizeLinear under the node's own output name, with
// the scale in input i and the zero point behind it.
func (c *nodeCtx) qAt(y *ir.Value, i int) ([]*ir.Value, error) {
	if i >= len(c.in) || c.in[i] == nil {
		return nil, c.errf("arity", "input %d, the scale of the output, is missing", i)
	}
	if err := c.checkScale(i, nil); err != nil {
		return nil, err
	}
	var z *ir.Value
	if i+1 < len(c.in) {
		z = c.in[i+1]
	}
	return c.build(op.QuantizeLinear, nil, 1, y, c.scalar(c.in[i]), c.scalar(z))
}

// bias is an int32 bias behind a DequantizeLinear of scale factor*x*w, each
// product rounded to float32.
func (c *nodeCtx) bias(b, xs, ws *ir.Value, factor float32) (*ir.Value, error) {
	if xs.Const == nil || ws.Const == nil || xs.Const.Len() != 1 {
		return nil, c.errf("scale-dynamic", "the scales of the operands must be constant (known at compile time) where there is a bias, that of the first a single number")
	}
	s := make([]float32, ws.Const.Len())
	for i := range s {
		s[i] = factor * float32(xs.Const.Float(0)) * float32(ws.Const.Float(i))
	}
	shape := []int{len(s)}
	if len(s) == 1 {
		shape = nil
	}
	return c.dq(".b", b, c.constant(".bias_scale", tensor.Of(shape, s)), nil, max(0, b.Type.Rank()-1))
}

// qLinearConv: x, w and y each with scale and zero point, then an int32 bias.
func qLinearConv(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(8, 9, 2, 5, 7); err != nil {
		return nil, err
	}
	x, err := c.dqAt(".x", 0, 1)
	if err != nil {
		return nil, err
	}
	w, err := c.dqAt(".w", 3, 0)
	if err != nil {
		return nil, err
	}
	return c.imageOp(op.Conv, x, 6, func(x *ir.Value) ([]*ir.Value, error) {
		if c.in[8] == nil {
			return []*ir.Value{x, w}, nil
		}
		b, err := c.bias(c.in[8], c.in[1], c.in[4], 1)
		return []*ir.Value{x, w, b}, err
	})
}

// imageOp applies an operator on images to x (the other operands come from
// args), with the channels last where the attribute channels_last says so, and
// quantises the result with the scale in input scale.
func (c *nodeCtx) imageOp(o *ir.OpDef, x *ir.Value, scale int, args func(x *ir.Value) ([]*ir.Value, error)) ([]*ir.Value, error) {
	last, err := c.takeInt("channels_last", 0)
	if err != nil {
		return nil, err
	}
	if last != 0 {
		if x, err = c.channelsFirst(".nchw", x); err != nil {
			return nil, err
		}
	}
	in, err := args(x)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(o, "."+o.Name, c.attrs, in...)
	if err != nil {
		return nil, err
	}
	if last != 0 {
		if y, err = c.channelsLast(".nhwc", y); err != nil {
			return nil, err
		}
	}
	return c.qAt(y, scale)
}

func qLinearMatMul(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(7, 8, 2, 5); err != nil {
		return nil, err
	}
	a, b, err := c.matrices(0, 3)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.MatMul, ".matmul", nil, a, b)
	if err != nil {
		return nil, err
	}
	return c.qAt(y, 6)
}

// matrices are the two operands of a matrix product: scales may come per row of
// the first and per column of the second.
func (c *nodeCtx) matrices(i, j int) (a, b *ir.Value, err error) {
	if a, err = c.dqAt(".a", i, c.in[i].Type.Rank()-2); err != nil {
		return nil, nil, err
	}
	b, err = c.dqAt(".b", j, c.in[j].Type.Rank()-1)
	return a, b, err
}

func qLinearBinary(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if err := c.arity(7, 8, 2, 5); err != nil {
			return nil, err
		}
		a, err := c.dqAt(".a", 0, 0)
		if err != nil {
			return nil, err
		}
		b, err := c.dqAt(".b", 3, 0)
		if err != nil {
			return nil, err
		}
		y, err := c.sub(op.Get("", name), "."+name, nil, a, b)
		if err != nil {
			return nil, err
		}
		return c.qAt(y, 6)
	}
}

func qLinearUnary(name string) upgrader {
	return func(c *nodeCtx) ([]*ir.Value, error) {
		if err := c.arity(4, 5, 2); err != nil {
			return nil, err
		}
		x, err := c.dqAt(".x", 0, 0)
		if err != nil {
			return nil, err
		}
		switch name {
		case "Softmax":
			return c.qSoftmax(x)
		case "ReduceMean":
			axes, err := c.takeInts("axes")
			if err != nil {
				return nil, err
			}
			y, err := c.sub(op.Get("", name), ".mean", c.attrs, x, c.constant(".axes", ints64(axes)))
			if err != nil {
				return nil, err
			}
			return c.qAt(y, 3)
		}
		return c.imageOp(op.Get("", name), x, 3, func(x *ir.Value) ([]*ir.Value, error) { return []*ir.Value{x}, nil })
	}
}

// qSoftmax: attribute opset says whether the old meaning of axis holds.
func (c *nodeCtx) qSoftmax(x *ir.Value) ([]*ir.Value, error) {
	version, err := c.takeInt("opset", 13)
	if err != nil {
		return nil, err
	}
	axis, err := c.takeInt("axis", -1)
	if err != nil {
		return nil, err
	}
	rank := x.Type.Rank()
	if version < 13 && axis != -1 && int(axis) != rank-1 {
		return nil, c.errf("axis", "axis %d with the meaning of opset %d is not supported; want the last axis", axis, version)
	}
	y, err := c.sub(op.Get("", "Softmax"), ".Softmax", ir.Attrs{"axis": ir.Int(int(axis))}, x)
	if err != nil {
		return nil, err
	}
	return c.qAt(y, 3)
}

// qLinearConcat: scale and zero point of the output, then three inputs for every
// operand.
func qLinearConcat(c *nodeCtx) ([]*ir.Value, error) {
	if len(c.in) < 5 || (len(c.in)-2)%3 != 0 {
		return nil, c.errf("arity", "has %d inputs, want output scale and zero point, then three for every operand", len(c.in))
	}
	var args []*ir.Value
	for i := 2; i < len(c.in); i += 3 {
		x, err := c.dqAt("."+strconv.Itoa(i), i, 0)
		if err != nil {
			return nil, err
		}
		args = append(args, x)
	}
	y, err := c.sub(op.Get("", "Concat"), ".concat", c.attrs, args...)
	if err != nil {
		return nil, err
	}
	return c.qAt(y, 0)
}

func qLinearWhere(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(8, 9, 3, 6); err != nil {
		return nil, err
	}
	a, err := c.dqAt(".a", 1, 0)
	if err != nil {
		return nil, err
	}
	b, err := c.dqAt(".b", 4, 0)
	if err != nil {
		return nil, err
	}
	y, err := c.sub(op.Get("", "Where"), ".where", nil, c.in[0], a, b)
	if err != nil {
		return nil, err
	}
	return c.qAt(y, 7)
}

// qGemm: A, B with scale and zero point, C int32 of scale alpha*sA*sB, then
// scale and zero point of Y; without them the result is float.
func qGemm(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(6, 9, 2, 5); err != nil {
		return nil, err
	}
	alpha := float32(1)
	if a, ok := c.attrs["alpha"]; ok {
		alpha = a.Float
	}
	axis := 1
	if a, ok := c.attrs["transB"]; ok && a.Int != 0 {
		axis = 0
	}
	a, err := c.dqAt(".a", 0, 0)
	if err != nil {
		return nil, err
	}
	b, err := c.dqAt(".b", 3, axis)
	if err != nil {
		return nil, err
	}
	args := []*ir.Value{a, b}
	if c.in[6] != nil {
		bias, err := c.bias(c.in[6], c.in[1], c.in[4], alpha)
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
	return c.qAt(y, 7)
}

// dynamicQuantizeMatMul: A is quantised by its own range at run time.
// Inputs: A, B, scale and zero point of B, a float bias.
func dynamicQuantizeMatMul(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(3, 5); err != nil {
		return nil, err
	}
	q, err := c.add(op.Get("", "DynamicQuantizeLinear"), c.name+".quantize", []string{c.name + ".q", c.name + ".scale", c.name + ".zero"}, nil, c.in[:1])
	if err != nil {
		return nil, err
	}
	a, err := c.dq(".a", q[0], q[1], q[2], 0)
	if err != nil {
		return nil, err
	}
	if err := c.checkScale(2, c.in[1]); err != nil {
		return nil, err
	}
	b, err := c.dq(".b", c.in[1], c.in[2], c.in[3], c.in[1].Type.Rank()-1)
	if err != nil {
		return nil, err
	}
	return c.biased(a, b, c.in[4])
}

// matMulIntegerToFloat: A, B, their scales, their zero points, a float bias.
func matMulIntegerToFloat(c *nodeCtx) ([]*ir.Value, error) {
	if err := c.arity(4, 7); err != nil {
		return nil, err
	}
	for _, i := range []int{2, 3} {
		if err := c.checkScale(i, c.in[i-2]); err != nil {
			return nil, err
		}
	}
	a, err := c.dq(".a", c.in[0], c.in[2], c.in[4], c.in[0].Type.Rank()-2)
	if err != nil {
		return nil, err
	}
	b, err := c.dq(".b", c.in[1], c.in[3], c.in[5], c.in[1].Type.Rank()-1)
	if err != nil {
		return nil, err
	}
	return c.biased(a, b, c.in[6])
}

// biased ends an expansion with MatMul and, if there is a bias, Add.
func (c *nodeCtx) biased(a, b, bias *ir.Value) ([]*ir.Value, error) {
	if bias == nil {
		return c.build(op.MatMul, nil, 1, a, b)
	}
	y, err := c.sub(op.MatMul, ".matmul", nil, a, b)
	if err != nil {
		return nil, err
	}
	return c.build(op.Add, nil, 1, y, bias)
}
