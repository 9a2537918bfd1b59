// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxReach bounds results in steps of their quantisation: a requantisation
// shifts the accumulator to the left where a step is small, and int32 has to
// hold what comes out, before the clamp to the 8 or 16 bits of the result.
const maxReach = 1 << 30

// inReach reports that integer kernels clamp every result of n that type t
// does not hold: none wraps around.
func (c *converter) inReach(n *ir.Node, t ir.Type) bool {
	return reach(n, func(v *ir.Value) (ir.Type, bool) {
		f, ok := c.have[v]
		return f.t, ok
	}) <= maxReach*float64(t.Quant.Scale[0])
}

// whyReach says by how much a result quantised with q is out of reach, "" where it is not.
func whyReach(n *ir.Node, x *ir.Value, q *ir.Quant) string {
	r := reach(n, func(v *ir.Value) (ir.Type, bool) {
		if v.Def == nil || v.Def.Op != op.DequantizeLinear {
			return ir.Type{}, false
		}
		t, q, ok := params(v.Def)
		return ir.Type{DType: t, Quant: q}, ok
	})
	if r <= maxReach*float64(q.Scale[0]) {
		return ""
	}
	return fmt.Sprintf("the scale of %s is %g, and its operands allow results to %.3g (want a scale of at least %.3g: "+
		"integer kernels would overflow)", x, q.Scale[0], r, r/maxReach)
}

// reach bounds the results of n by the types of its operands: of sums of
// products by their number, of operators of two operands by their value at the
// ends of both. Others are computed by tables or in 64 bits: 0.
func reach(n *ir.Node, typeOf func(*ir.Value) (ir.Type, bool)) float64 {
	peak := func(v *ir.Value) float64 {
		if t, ok := typeOf(v); ok && t.Quant != nil {
			return peakOf(t)
		}
		return peakOfConst(v.Const)
	}
	switch {
	case n.Op.MACs != nil && len(n.In) > 1:
		products := float64(n.Op.MACs(n)) / float64(max(n.Out[0].Type.Elems(), 1))
		most := products * peak(n.In[0]) * peak(n.In[1])
		if b := n.Input(2); b != nil {
			reals, _ := constData(b)
			most += peakOfConst(reals)
		}
		return most
	case n.Op.Pattern == ir.Broadcast && n.Op.Monotone && len(n.In) == 2:
		a, b := peak(n.In[0]), peak(n.In[1])
		return max(math.Abs(at(n, a, b)), math.Abs(at(n, a, -b)))
	}
	return 0
}

// at is the result of an operator of two operands for one element of each, without the
// bounds of an activation; 0 where it has none.
func at(n *ir.Node, a, b float64) float64 {
	out, err := n.Op.Eval(&ir.Node{Name: n.Name, Op: n.Op,
		In:  []*ir.Value{{Type: ir.T(tensor.F32)}, {Type: ir.T(tensor.F32)}},
		Out: []*ir.Value{{Type: ir.T(tensor.F32)}}},
		[]*tensor.Dense{tensor.Scalar(float32(a)), tensor.Scalar(float32(b))})
	if err != nil || math.IsNaN(out[0].Float(0)) {
		return 0
	}
	return out[0].Float(0)
}

// peakOf is the largest real that a quantised type holds.
func peakOf(t ir.Type) float64 {
	lo, hi := t.DType.IntRange()
	most := 0.0
	for i, s := range t.Quant.Scale {
		z := int64(t.Quant.Zero[i])
		most = max(most, float64(s)*float64(max(hi-z, z-lo)))
	}
	return most
}

func peakOfConst(d *tensor.Dense) float64 {
	most := 0.0
	if d != nil {
		for i := range d.Len() {
			most = max(most, math.Abs(d.Float(i)))
		}
	}
	return most
}
