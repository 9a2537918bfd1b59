// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// integerMAC writes ConvInteger and MatMulInteger (models quantised at run
// time) as the float operators, where that is exact:
//
//	%y = ConvInteger(%x, %w, %xz, %wz)
//
// becomes, with constant w and zero points,
//
//	%f = Cast(%x) {to=float}
//	%c = Add(%f, -xz)
//	%r = Conv(%c, w - wz)
//	%y = Cast(%r) {to=int32}
//
// Every partial sum is an integer below 2^24 in magnitude, so float32 holds it
// exactly in any order; where it might not be, the node stays. Padding of
// ConvInteger stands for the zero point, which is the 0 of the Conv.
func integerMAC(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "ConvInteger", "MatMulInteger") {
		return
	}
	w := n.ConstIn(1)
	xz, ok1 := zeroPoint(n, 2)
	if w == nil || !ok1 || xz.Len() != 1 {
		return
	}
	wz, ok2 := zeroPoint(n, 3)
	if !ok2 {
		return
	}
	lo, hi := n.In[0].Type.DType.IntRange()
	span := max(hi-xz.Int(0), xz.Int(0)-lo)
	centred, sum := centredWeights(n, w, wz)
	if centred == nil || sum*float64(span) > 1<<24 {
		return
	}
	f := insert(g, n, op.Cast, n.Name+"/real", ir.Attrs{"to": ir.Int(tensor.F32.ONNXCode())}, n.In[0])
	if z := xz.Int(0); z != 0 {
		f = insert(g, n, op.Add, n.Name+"/centred", nil, f, g.AddConst(n.Name+".zero", tensor.Scalar(float32(-z))))
	}
	r := insert(g, n, floatMAC(n), n.Name+"/sum", n.Attrs.Clone(), f, g.AddConst(n.Name+".weight", centred))
	y := insert(g, n, op.Cast, n.Name, ir.Attrs{"to": ir.Int(n.Out[0].Type.DType.ONNXCode())}, r)
	swap(c, g, n, y, "exact in float")
}

// floatMAC is what n computes, in float.
func floatMAC(n *ir.Node) *ir.OpDef {
	if is(n, "MatMulInteger") {
		return op.MatMul
	}
	return op.Conv
}

// zeroPoint is the constant zero point in input i: 0 where it is absent.
func zeroPoint(n *ir.Node, i int) (*tensor.Dense, bool) {
	v := n.Input(i)
	if v == nil {
		return tensor.Scalar(int64(0)), true
	}
	return v.Const, v.Const != nil
}

// centredWeights are w - wz in float32, and the largest sum of magnitudes over
// the terms of one output.
func centredWeights(n *ir.Node, w, wz *tensor.Dense) (*tensor.Dense, float64) {
	out := tensor.New(tensor.F32, w.Shape)
	conv := is(n, "ConvInteger")
	rank := len(w.Shape)
	channels, inner := 0, 0
	switch {
	case conv && rank > 2:
		channels, inner = w.Shape[0], w.Len()/max(w.Shape[0], 1)
	case !conv && rank == 2:
		channels, inner = w.Shape[1], 1
	default:
		return nil, 0
	}
	if channels == 0 || wz.Len() != 1 && wz.Len() != channels {
		return nil, 0
	}
	sums := make([]float64, channels)
	for i, k := 0, w.Len(); i < k; i++ {
		ch := i / inner % channels
		v := float64(w.Int(i) - wz.Int(ch%wz.Len()))
		out.SetFloat(i, v)
		sums[ch] += math.Abs(v)
	}
	most := 0.0
	for _, s := range sums {
		most = max(most, s)
	}
	return out, most
}
