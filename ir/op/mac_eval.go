// SPDX-License-Identifier: Apache-2.0

package op

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

func evalConvQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(ConvGeometry(n))
	shape := append([]int{g.N, g.COut}, g.Out...)
	if p, why := MAC16Params(n); why == "" {
		return outs(tensor.Of(shape, convQuantised[int64](g, p, in[0].Data.([]int16), s8(in[1]), opt(in, 2))))
	}
	p, why := MAC8Params(n)
	if why != "" {
		return evalActQ(n, in)
	}
	return outs(eightBitOf(n.Out[0].Type, shape, convQuantised[int32](g, p, s8(in[0]), s8(in[1]), opt(in, 2))))
}

// convQuantised is a convolution of any geometry with sums of type A.
func convQuantised[A int32 | int64, T int8 | int16](g *ConvGeom, p *MACParams, x []T, w []int8,
	bias *tensor.Dense) []T {
	xs, ws := make([]A, len(x)), make([]A, len(w))
	for i, v := range x {
		xs[i] = A(v) + A(p.InOff)
	}
	taps := g.Taps()
	for i, v := range w {
		c := i / (g.CIn / g.Group * taps) // [COut][CIn/group][taps]
		if g.Transposed {                 // [CIn][COut/group][taps]
			co := g.COut / g.Group
			c = i/(co*taps)/(g.CIn/g.Group)*co + i/taps%co
		}
		ws[i] = A(v) + A(p.FilterOffset(c))
	}
	out := product(g.Out)
	acc := make([]A, g.N*g.COut*out)
	if g.Transposed {
		convTransposeSum(g, xs, ws, biasOf[A](bias), acc)
	} else {
		convSum(g, xs, ws, biasOf[A](bias), acc)
	}
	y := make([]T, len(acc))
	for i, a := range acc {
		y[i] = requantised[T](p, a, i/out%g.COut)
	}
	return y
}

// biasOf is the data of a bias, nil where there is none.
func biasOf[A int32 | int64](d *tensor.Dense) []A {
	if d == nil {
		return nil
	}
	return tensor.As[A](d)
}

func evalGemmQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(GemmGeometry(n))
	var bias *tensor.Dense
	if b := opt(in, 2); b != nil {
		bias = expand(b, []int{1, g.N})
	}
	m := &MatGeom{M: g.M, K: g.K, N: g.N, A: []int{0}, B: []int{0}, Shape: []int{g.M, g.N}}
	trans := ir.AttrsOf[GemmAttrs](n).TransB != 0
	if p, why := MAC16Params(n); why == "" {
		return outs(tensor.Of(m.Shape, products[int64](p, m, in[0].Data.([]int16), s8(in[1]), trans, bias)))
	}
	p, why := MAC8Params(n)
	if why != "" {
		return evalActQ(n, in)
	}
	return outs(eightBitOf(n.Out[0].Type, m.Shape, products[int32](p, m, s8(in[0]), s8(in[1]), trans, bias)))
}

func evalMatMulQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	g := fail.Must(MatMulGeometry(n))
	if p, why := MAC16Params(n); why == "" {
		a := in[0].Data.([]int16)
		if b, wide := in[1].Data.([]int16); wide {
			return outs(tensor.Of(g.Shape, products[int64](p, g, a, b, false, nil)))
		}
		return outs(tensor.Of(g.Shape, products[int64](p, g, a, s8(in[1]), false, nil)))
	}
	p, why := MAC8Params(n)
	if why != "" {
		return evalActQ(n, in)
	}
	return outs(eightBitOf(n.Out[0].Type, g.Shape, products[int32](p, g, s8(in[0]), s8(in[1]), false, nil)))
}

// products are the matrix products of g with sums of type A; trans: right sides are [N][K].
func products[A int32 | int64, T, W int8 | int16](p *MACParams, g *MatGeom, a []T, b []W, trans bool,
	bias *tensor.Dense) []T {
	if !trans {
		b = swapInner(len(b)/max(g.K*g.N, 1), g.K, g.N, b)
	}
	from := biasOf[A](bias)
	y := make([]T, len(g.A)*g.M*g.N)
	parallel(len(g.A)*g.M, func(row int) {
		i, r := row/g.M, row%g.M
		x, sum := make([]A, g.K), A(0)
		for k, v := range a[(g.A[i]*g.M+r)*g.K:][:g.K] {
			x[k] = A(v) + A(p.InOff)
			sum += x[k]
		}
		for c := range g.N {
			acc := sum * A(p.FilterOffset(c))
			if from != nil {
				acc += from[c]
			}
			for k, w := range b[(g.B[i]*g.N+c)*g.K:][:g.K] {
				acc += x[k] * A(w)
			}
			y[row*g.N+c] = requantised[T](p, acc, c)
		}
	})
	return y
}

// swapInner turns [batch][a][b] into [batch][b][a]: channels-first data and
// weights into channels-last ones, and back.
func swapInner[T any](batch, a, b int, src []T) []T {
	dst := make([]T, 0, len(src))
	if a == 1 || b == 1 {
		return append(dst, src...)
	}
	for n := range batch {
		dst = append(dst, transposed(b, a, src[n*a*b:][:a*b], b)...)
	}
	return dst
}

// PoolQuantClamp reports whether a quantised AveragePool, MaxPool or global
// pool computes on the integers, as CMSIS-NN's pooling does, and gives its
// clamp in the terms of int8, or of int16 where Sixteen holds. That needs input and output with the same
// scale and zero point, and no padding that counts as zero. The average is the
// sum of the int8 values divided by the number of real elements, ties away
// from zero. Any other pooling follows the general rule of
// ir.EvalDequantised; a reason that is not empty says why.
func PoolQuantClamp(n *ir.Node) (lo, hi int32, why string) {
	g, err := PoolGeometry(n)
	if err != nil {
		return 0, 0, err.Error()
	}
	x, y := n.In[0].Type, n.Out[0].Type
	if !Sixteen(n) {
		if why := endsWhy(n, eightBit); why != "" {
			return 0, 0, why
		}
	} else if k := product(g.Kernel); k > math.MaxUint16 {
		return 0, 0, fmt.Sprintf("windows of %d elements, want at most %d of int16", k, math.MaxUint16)
	}
	if x.DType != y.DType || !x.Quant.Equal(y.Quant) {
		return 0, 0, fmt.Sprintf("input and output differ in scale or zero point: %s and %s", x, y)
	}
	if g.CountPad && g.Padded() {
		return 0, 0, "count_include_pad with padding"
	}
	lo, hi = ActRange(n, y)
	return lo - bias8(y), hi - bias8(y), ""
}

func evalAveragePoolQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	lo, hi, why := PoolQuantClamp(n)
	if why != "" {
		return evalActQ(n, in)
	}
	g := fail.Must(PoolGeometry(n))
	shape := append([]int{g.N, g.C}, g.Out...)
	if x, ok := in[0].Data.([]int16); ok {
		return outs(tensor.Of(shape, averages(g, lo, hi, x)))
	}
	return outs(eightBitOf(n.Out[0].Type, shape, averages(g, lo, hi, s8(in[0]))))
}

func averages[T int8 | int16](g *PoolGeom, lo, hi int32, x []T) []T {
	y := make([]T, g.N*g.C*product(g.Out))
	g.windows(func(plane, at int, win []int, _ int) {
		var sum int32
		for _, p := range win {
			sum += int32(x[plane+p])
		}
		count := int32(len(win))
		half := count / 2
		if sum <= 0 {
			half = -half
		}
		y[at] = T(fixp.Clamp((sum+half)/count, lo, hi))
	})
	return y
}

func evalMaxPoolQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	lo, hi, why := PoolQuantClamp(n)
	if why != "" {
		return evalActQ(n, in)
	}
	out := fail.Must(evalMaxPool(n, in))
	shift := int64(bias8(n.Out[0].Type))
	clampInts(out[0], int64(lo)+shift, int64(hi)+shift)
	return out, nil
}

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
	p := &qref.AddParams{Offset1: -a.Zero[0], Offset2: -b.Zero[0], OutputOffset: o.Zero[0], Rounding: Rounding(n),
		Scales: fixp.NewAddScales(a.Scale[0], b.Scale[0], o.Scale[0])}
	p.ActMin, p.ActMax = ActRange(n, n.Out[0].Type)
	return p
}

// AddParams16 are the arguments of arm_elementwise_add_s16, and those of Sub.
func AddParams16(n *ir.Node) *qref.AddParams {
	p := &qref.AddParams{Scales: fixp.NewAddScales16(n.In[0].Type.Quant.Scale[0], n.In[1].Type.Quant.Scale[0],
		n.Out[0].Type.Quant.Scale[0]), Rounding: Rounding(n)}
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

// evalPairQ computes an Add, Sub or Mul by CMSIS-NN's kernel where it has one for the
// types, int8 (not of Sub) or int16; others follow the float64 rule.
func evalPairQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	switch {
	case BinaryKernel16(n):
		return pairQuantised[int16](n, in, AddParams16)
	case n.Op.Name != "Sub" && BinaryKernelS8(n):
		return pairQuantised[int8](n, in, AddParamsS8)
	}
	return evalActQ(n, in)
}

func pairQuantised[T int8 | int16](n *ir.Node, in []*tensor.Dense, sums func(*ir.Node) *qref.AddParams) (
	[]*tensor.Dense, error) {
	shape := fail.Must(Broadcast(n, in[0].Shape, in[1].Shape))
	a, b := tensor.As[T](expand(in[0], shape)), tensor.As[T](expand(in[1], shape))
	y := make([]T, len(a))
	switch n.Op.Name {
	case "Mul":
		qref.Mul(MulParams(n), a, b, y)
	case "Sub":
		qref.Sub(sums(n), a, b, y)
	default:
		qref.Add(sums(n), a, b, y)
	}
	return outs(tensor.Of(shape, y))
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

func evalMinMaxQ(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if !MinMaxKernel(n) {
		return ir.EvalDequantised(n, in)
	}
	return n.Op.Eval(n, in)
}
