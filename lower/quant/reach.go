// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"slices"

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
	return reach(n, func(i int) *ir.Type {
		if f, ok := c.have[n.In[i]]; ok {
			return &f.t
		}
		return nil
	}) <= maxReach*float64(t.Quant.Scale[0])
}

// whyReach says by how much a result quantised with q is out of reach, "" where it is not.
func whyReach(n *ir.Node, x *ir.Value, q *ir.Quant) string {
	r := reach(n, func(i int) *ir.Type {
		d := n.In[i].Def
		if d == nil || d.Op != op.DequantizeLinear {
			return nil
		}
		t, q, _ := params(d)
		return &ir.Type{DType: t, Quant: q}
	})
	if r <= maxReach*float64(q.Scale[0]) {
		return ""
	}
	return fmt.Sprintf("the scale of %s is %g, and its operands allow results to %.3g (want a scale of at least %.3g: "+
		"integer kernels would overflow)", x, q.Scale[0], r, r/maxReach)
}

// reach bounds the results of n by the types of its inputs: of sums of products
// by constants by the constants of a channel, of others by their number, of
// operators of two operands by their value at the ends of both. Others are
// computed by tables or in 64 bits: 0.
func reach(n *ir.Node, typeOf func(i int) *ir.Type) float64 {
	peak := func(i int) float64 {
		if t := typeOf(i); t != nil && t.Quant != nil {
			return peakOf(*t)
		}
		if n.In[i].Const == nil {
			return 0
		}
		return peakOfConst(constData(n.In[i]))
	}
	switch {
	case n.Op.MACs != nil && len(n.In) > 1:
		most := 0.0
		if w := constData(n.In[1]); w != nil && weightAxis(n) >= 0 {
			most = peak(0) * slices.Max(channelSums(w, weightAxis(n)))
		} else {
			most = float64(n.Op.MACs(n)) / float64(max(n.Out[0].Type.Elems(), 1)) * peak(0) * peak(1)
		}
		if b := n.Input(2); b != nil {
			most += peakOfConst(constData(b))
		}
		return most
	case n.Op.Pattern == ir.Broadcast && n.Op.Monotone && len(n.In) == 2:
		a, b := peak(0), peak(1)
		return max(math.Abs(at(n, a, b)), math.Abs(at(n, a, -b)))
	}
	return 0
}

// channelSums are the sums of magnitudes of every channel along axis.
func channelSums(d *constant, axis int) []float64 {
	inner, sums := tensor.Strides(d.Shape)[axis], make([]float64, d.Shape[axis])
	for i := range d.Len() {
		sums[i/inner%len(sums)] += math.Abs(d.Float(i))
	}
	return sums
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

func peakOfConst(d *constant) float64 {
	most := 0.0
	if d != nil {
		for i := range d.Len() {
			most = max(most, math.Abs(d.Float(i)))
		}
	}
	return most
}
