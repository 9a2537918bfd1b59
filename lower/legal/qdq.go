// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// clipInFront moves a Clip of integers in front of the QuantizeLinear that makes
// them (QCDQ models have fewer than 8 bits in this way):
//
//	%q = QuantizeLinear(%x, 0.1, 0)       %y = Clip(%x, 0, 1.5)
//	%r = Clip(%q, 0, 15)              =>  %r = QuantizeLinear(%y, 0.1, 0)
//
// A bound times the scale, over the scale, rounds to the bound again.
func clipInFront(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	q := n.In[0].Def
	if !is(q, "QuantizeLinear") || g.SoleUse(q.Out[0]) != n || g.IsOutput(q.Out[0]) || q.In[0].IsInput() ||
		q.In[0].Const != nil || n.Out[0].Type.DType.IsFloat() {
		return
	}
	in, ok := realBounds(g, n, q)
	if !ok {
		return
	}
	if in[1] != nil || in[2] != nil {
		g.SetInput(q, 0, insert(g, q, op.Clip, n.Name, nil, in...))
	}
	q.Out[0].Holds = nil // the tensor of the model before the cut; what comes of the Clip it holds now
	swap(c, g, n, q.Out[0], "in front of QuantizeLinear")
}

// roundOnce lets a QuantizeLinear of scale 1 read what a Round reads.
func roundOnce(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	s, ok := scalarConst(n.In[1])
	if r := n.In[0].Def; is(r, "Round") && ok && s == 1 {
		g.SetInput(n, 0, r.In[0])
		c.Did(n, "rounds as %s in front of it", r)
	}
}

// realBounds are the inputs of the Clip of reals that stands for the Clip n of what q
// gives; a bound that every integer keeps is nil. False where that has no such form.
func realBounds(g *ir.Graph, n, q *ir.Node) ([]*ir.Value, bool) {
	s, ok := scalarConst(q.In[1])
	zero, known := scalarInt(q.Input(2))
	if !ok || !known {
		return nil, false
	}
	least, most := n.Out[0].Type.DType.IntRange()
	in := []*ir.Value{q.In[0], nil, nil}
	bounds := [2]int64{least, most}
	for i, v := range []*ir.Value{n.Input(1), n.Input(2)} {
		if v == nil {
			continue
		}
		k, ok := scalarInt(v)
		if !ok {
			return nil, false
		}
		if k != bounds[i] {
			reals := tensor.FromFloats(q.In[0].Type.DType, nil, []float64{float64(k-zero) * s})
			in[i+1] = g.AddConst(v.Name, reals)
			bounds[i] = k
		}
	}
	return in, bounds[0] <= bounds[1]
}

// scalarInt is the one element of a constant, 0 of an input that is left out.
func scalarInt(v *ir.Value) (int64, bool) {
	switch {
	case v == nil:
		return 0, true
	case v.Const == nil || v.Const.Len() != 1:
		return 0, false
	}
	return v.Const.Int(0), true
}

// int16ForUint16 stores what goes from a QuantizeLinear to DequantizeLinear nodes as
// int16, the 16-bit type that kernels have, where it is uint16 with the zero point in
// the middle: the same reals, every integer less 32768.
func int16ForUint16(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	q := n.In[0].Def
	if !is(q, "QuantizeLinear") || q.Out[0].Type.DType != tensor.U16 || g.IsOutput(q.Out[0]) || !middle(q) {
		return
	}
	for _, u := range q.Out[0].Uses() {
		if !is(u.Node, "DequantizeLinear") || u.Index != 0 || !middle(u.Node) {
			return
		}
	}
	zero := func(m *ir.Node) {
		g.SetInput(m, 2, g.AddConst(m.In[2].Name, tensor.New(tensor.I16, m.In[2].Type.Shape)))
	}
	zero(q)
	if _, ok := q.Attrs["output_dtype"]; ok {
		q.DropAttr("output_dtype")
	}
	reinfer(g, q)
	for _, u := range q.Out[0].Uses() {
		zero(u.Node)
	}
	c.Did(q, "int16 instead of uint16")
}

// middle reports a constant zero point of 32768.
func middle(n *ir.Node) bool {
	z := n.Input(2)
	if z == nil || z.Const == nil || z.Const.Len() == 0 {
		return false
	}
	for i := range z.Const.Len() {
		if z.Const.Int(i) != 1<<15 {
			return false
		}
	}
	return true
}
