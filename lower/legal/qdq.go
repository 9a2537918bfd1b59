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
	s, ok := scalarConst(q.In[1])
	if !ok || q.Input(2) != nil && (q.In[2].Const == nil || q.In[2].Const.Len() != 1) {
		return
	}
	zero := 0.0
	if z := q.Input(2); z != nil {
		zero = z.Const.Float(0)
	}
	least, most := n.Out[0].Type.DType.IntRange()
	in := []*ir.Value{q.In[0]}
	for i, natural := range []int64{least, most} {
		v := n.Input(i + 1)
		switch {
		case v == nil || v.Const != nil && v.Const.Int(0) == natural:
			in = append(in, nil)
		case v.Const == nil:
			return
		default:
			k := tensor.FromFloats(q.In[0].Type.DType, nil, []float64{(v.Const.Float(0) - zero) * s})
			in = append(in, g.AddConst(v.Name, k))
		}
	}
	if in[1] != nil && in[2] != nil && n.In[1].Const.Int(0) > n.In[2].Const.Int(0) {
		return
	}
	if in[1] != nil || in[2] != nil {
		g.SetInput(q, 0, insert(g, q, op.Clip, n.Name, nil, in...))
	}
	q.Out[0].Holds = nil // the tensor of the model before the cut; what comes of the Clip it holds now
	swap(c, g, n, q.Out[0], "in front of QuantizeLinear")
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
