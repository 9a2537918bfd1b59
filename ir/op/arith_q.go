// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// perTensorS8 reports an int8 type with one scale.
func perTensorS8(t ir.Type) bool {
	return t.DType == tensor.I8 && t.Quant != nil && !t.Quant.PerAxis()
}

// BinaryKernelS8 reports whether a quantised Add or Mul has the types of
// CMSIS-NN's kernel: both inputs and the output int8 with one scale each.
func BinaryKernelS8(n *ir.Node) bool {
	return perTensorS8(n.In[0].Type) && perTensorS8(n.In[1].Type) && perTensorS8(n.Out[0].Type)
}

// AddParamsS8 are the arguments of arm_elementwise_add_s8 for a node that
// BinaryKernelS8 accepts.
func AddParamsS8(n *ir.Node) *qref.AddParams {
	a, b, o := n.In[0].Type.Quant, n.In[1].Type.Quant, n.Out[0].Type.Quant
	p := &qref.AddParams{Offset1: -a.Zero[0], Offset2: -b.Zero[0], OutputOffset: o.Zero[0], Rounding: Rounding(n)}
	p.Scales = fixp.NewAddScales(a.Scale[0], b.Scale[0], o.Scale[0])
	p.ActMin, p.ActMax = ActRange(n, n.Out[0].Type)
	return p
}

// MulParams are the arguments of arm_elementwise_mul_s8 or arm_elementwise_mul_s16
// for a node that BinaryKernelS8 or BinaryKernel16 accepts.
func MulParams(n *ir.Node) *qref.MulParams {
	a, b, o := n.In[0].Type.Quant, n.In[1].Type.Quant, n.Out[0].Type.Quant
	p := &qref.MulParams{Offset1: -a.Zero[0], Offset2: -b.Zero[0], OutputOffset: o.Zero[0], Rounding: Rounding(n)}
	p.Mult, p.Shift = fixp.QuantizeMultiplier(fixp.EffectiveScale(a.Scale[0], b.Scale[0], o.Scale[0]))
	p.ActMin, p.ActMax = ActRange(n, n.Out[0].Type)
	return p
}

// BinaryKernel16 is BinaryKernelS8 for an Add, Sub or Mul of int16: no sum or
// product overflows. CMSIS-NN has a kernel of Add and Mul; Sub is what TensorFlow
// Lite computes, the Add with its second term subtracted.
func BinaryKernel16(n *ir.Node) bool {
	if len(n.In) != 2 || !Sixteen(n) || sixteenBit("", n.In[1]) != "" {
		return false
	}
	switch s := AddParams16(n).Scales; n.Op.Name {
	case "Add":
		return s.OutShift <= 0
	case "Sub":
		return s.OutShift < 0 && min(s.Shift1, s.Shift2, s.OutShift) >= -31
	}
	return MulParams(n).Shift <= 0
}

// AddParams16 are the arguments of arm_elementwise_add_s16, and those of Sub.
func AddParams16(n *ir.Node) *qref.AddParams {
	p := &qref.AddParams{Scales: fixp.NewAddScales16(n.In[0].Type.Quant.Scale[0], n.In[1].Type.Quant.Scale[0],
		n.Out[0].Type.Quant.Scale[0]), Rounding: Rounding(n)}
	p.ActMin, p.ActMax = ActRange(n, n.Out[0].Type)
	return p
}

// zipS8 runs a kernel on two int8 operands brought to the result's shape.
func zipS8(n *ir.Node, in []*tensor.Dense, kernel func(a, b, out []int8) error) ([]*tensor.Dense, error) {
	return zipKernel(n, in, tensor.I8, kernel)
}

func zip16(n *ir.Node, in []*tensor.Dense, kernel func(a, b, out []int16) error) ([]*tensor.Dense, error) {
	return zipKernel(n, in, tensor.I16, kernel)
}

func zipKernel[T int8 | int16](n *ir.Node, in []*tensor.Dense, d tensor.DType, kernel func(a, b, out []T) error) (
	[]*tensor.Dense, error) {
	shape, err := Broadcast(n, in[0].Shape, in[1].Shape)
	if err != nil {
		return nil, err
	}
	y := tensor.New(d, shape)
	a, b := expand(in[0], shape), expand(in[1], shape)
	if err := kernel(a.Data.([]T), b.Data.([]T), y.Data.([]T)); err != nil {
		return nil, ir.Errf(n, "kernel", "%v", err)
	}
	return outs(y)
}

// evalAddQ is arm_elementwise_add_s8 with TFLite's parameters: both operands
// are shifted left by 20 and scaled to twice the larger input scale.
func evalAddQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if BinaryKernel16(n) {
		p := AddParams16(n)
		return zip16(n, in, func(a, b, out []int16) error { return qref.Add16(p, a, b, out) })
	}
	if !BinaryKernelS8(n) {
		return evalActQ(n, in)
	}
	p := AddParamsS8(n)
	return zipS8(n, in, func(a, b, out []int8) error { return qref.Add(p, a, b, out) })
}

// evalSubQ is evalAddQ of int16 with the second term subtracted; other types
// follow the float64 rule.
func evalSubQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if !BinaryKernel16(n) {
		return evalActQ(n, in)
	}
	p := AddParams16(n)
	return zip16(n, in, func(a, b, out []int16) error { return qref.Sub16(p, a, b, out) })
}

// evalMulQ is arm_elementwise_mul_s8 with the multiplier sa*sb/so.
func evalMulQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if BinaryKernel16(n) {
		p := MulParams(n)
		return zip16(n, in, func(a, b, out []int16) error { return qref.Mul16(p, a, b, out) })
	}
	if !BinaryKernelS8(n) {
		return evalActQ(n, in)
	}
	p := MulParams(n)
	return zipS8(n, in, func(a, b, out []int8) error { return qref.Mul(p, a, b, out) })
}

// MinMaxKernel reports whether a quantised Min or Max compares the integers
// (arm_minimum_s8, arm_maximum_s8): one quantisation for inputs and output.
func MinMaxKernel(n *ir.Node) bool {
	o := n.Out[0].Type
	for _, v := range n.In {
		if t := v.Type; t.Quant == nil || t.Quant.PerAxis() || t.DType != o.DType || !t.Quant.Equal(o.Quant) {
			return false
		}
	}
	return true
}

func evalMinMaxQ(k arithKind) func(*ir.Node, []*tensor.Dense) ([]*tensor.Dense, error) {
	return func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		if !MinMaxKernel(n) {
			return ir.EvalDequantised(n, in)
		}
		y, err := foldInputs(n, k, in)
		return []*tensor.Dense{y}, err
	}
}
