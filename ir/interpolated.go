// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// InterpolatedLUT gives the function of a quantised node from int16 to int16, both
// of zero point 0, as straight lines between 513 points. That is the definition of
// such nodes (TFLite's int16 look-up tables); operators marked Straight are exact.
// ok is false for all other nodes.
func InterpolatedLUT(n *Node) (c *fixp.InterpolatedLUT16, ok bool) {
	if n.Op.Straight || !scalarNode(n) || !Int16Zero(n.In[0].Type) || !Int16Zero(n.Out[0].Type) {
		return nil, false
	}
	x, y := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	return fixp.NewInterpolatedLUT16(func(v float64) float64 { return n.Op.Scalar(n, v*x) / y }), true
}

// InterpolationError is the largest difference, in steps of the output, between the
// interpolated function of a node that InterpolatedLUT accepts and the exact one.
func InterpolationError(n *Node) float64 {
	c, ok := InterpolatedLUT(n)
	if !ok {
		return 0
	}
	x, y := float64(n.In[0].Type.Quant.Scale[0]), float64(n.Out[0].Type.Quant.Scale[0])
	worst := 0.0
	for v := math.MinInt16; v <= math.MaxInt16; v++ {
		exact := n.Op.Scalar(n, float64(v)*x) / y
		exact = min(max(exact, math.MinInt16), math.MaxInt16)
		if exact != exact {
			exact = 0
		}
		worst = max(worst, math.Abs(exact-float64(c.At(int16(v)))))
	}
	return worst
}

// QuantError is how far the result of a quantised node may be from the exact
// one by definition, in steps of the output: that of its interpolation, or of its kernel.
func QuantError(n *Node) float64 {
	if !n.Quantised() {
		return 0
	}
	if n.Op.QError != nil {
		return n.Op.QError(n)
	}
	return InterpolationError(n)
}

// Int16Zero reports int16 with one scale and zero point 0.
func Int16Zero(t Type) bool {
	return t.DType == tensor.I16 && t.Quant != nil && !t.Quant.PerAxis() && t.Quant.Zero[0] == 0
}

// scalarNode reports a quantised node that is a function of its first input.
func scalarNode(n *Node) bool {
	if n.Op.Scalar == nil || n.Op.Quant != QFloat || n.Op.EvalQ != nil || len(n.Out) != 1 {
		return false
	}
	for _, v := range n.In[1:] {
		if v != nil && v.Const == nil {
			return false
		}
	}
	return true
}

// evalInterpolated is c of every element.
func evalInterpolated(x *tensor.Dense, c *fixp.InterpolatedLUT16) *tensor.Dense {
	y := tensor.New(tensor.I16, x.Shape)
	ys := y.Data.([]int16)
	for i, v := range x.Data.([]int16) {
		ys[i] = c.At(v)
	}
	return y
}
