// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// StaticScales takes the quantisation at run time away from layers whose inputs
// calibration will give fixed scales:
//
//	%q, %s, %z = DynamicQuantizeLinear(%x)
//	%y = Mul(Cast(MatMulInteger(%q, %w, %z, wz)), Mul(%s, ws))
//
// becomes, with constant w and wz, and so for ConvInteger,
//
//	%y = Mul(MatMul(%x, w - wz), ws)
//
// Where anything else reads q, s or z, the node stays. It gives the names of the
// nodes that went.
func StaticScales(c *pass.Ctx, g *ir.Graph) (names []string) {
	c.Each(g, func(n *ir.Node) {
		if n.Op == op.DynamicQuantizeLinear {
			if macs := staticMACs(g, n); macs != nil {
				names = append(names, n.Name)
				fixScale(c, g, n, macs)
			}
		}
	})
	return names
}

// staticMACs are the layers that read what n quantises; nil where something else
// reads it, or where the scale of n does anything but scale their results.
func staticMACs(g *ir.Graph, n *ir.Node) []*ir.Node {
	scaled := map[*ir.Value]bool{n.Out[1]: true} // the scale, and its products with constants
	for _, u := range n.Out[1].Uses() {
		if is(u.Node, "Mul") && u.Node.In[1-u.Index].Const != nil {
			scaled[u.Node.Out[0]] = true
		}
	}
	var macs []*ir.Node
	results := map[*ir.Value]bool{}
	for _, u := range n.Out[0].Uses() {
		m := u.Node
		if u.Index != 0 || !is(m, "ConvInteger", "MatMulInteger") || m.In[1].Const == nil || m.Input(2) != n.Out[2] {
			return nil
		}
		wz, ok := zeroPoint(m, 3)
		if !ok {
			return nil
		}
		cast := onlyReader(g, m.Out[0])
		if w, _ := centredWeights(m, m.In[1].Const, wz); w == nil || !is(cast, "Cast") ||
			cast.Out[0].Type.DType != tensor.F32 {
			return nil
		}
		macs, results[cast.Out[0]] = append(macs, m), true
	}
	for v := range scaled {
		for _, u := range v.Uses() {
			if !is(u.Node, "Mul") || !scaled[u.Node.Out[0]] && !results[u.Node.In[1-u.Index]] {
				return nil
			}
		}
	}
	for v := range results {
		if m := onlyReader(g, v); !is(m, "Mul") || !scaled[m.In[0]] && !scaled[m.In[1]] {
			return nil
		}
	}
	for _, v := range n.Out {
		if g.IsOutput(v) {
			return nil
		}
	}
	for _, u := range n.Out[2].Uses() {
		if u.Index != 2 || u.Node.Input(0) != n.Out[0] {
			return nil
		}
	}
	return macs
}

// onlyReader is the one node that reads v, which is no output of the graph.
func onlyReader(g *ir.Graph, v *ir.Value) *ir.Node {
	if u := v.Uses(); len(u) == 1 && !g.IsOutput(v) {
		return u[0].Node
	}
	return nil
}

// fixScale lets the layers read what n quantises, and its scale be 1.
func fixScale(c *pass.Ctx, g *ir.Graph, n *ir.Node, macs []*ir.Node) {
	for _, m := range macs {
		wz, _ := zeroPoint(m, 3)
		w, _ := centredWeights(m, m.In[1].Const, wz)
		cast := m.Out[0].Uses()[0].Node
		y := insert(g, m, floatMAC(m), m.Name, m.Attrs.Clone(), n.In[0], g.AddConst(m.Name+".weight", w))
		g.ReplaceUses(cast.Out[0], y)
		c.Did(y.Def, "the scale of its input is fixed")
		g.Remove(cast)
		g.Remove(m)
	}
	for _, u := range slices.Clone(n.Out[1].Uses()) {
		if ws := u.Node.In[1-u.Index]; ws.Const != nil { // 1 times ws
			g.ReplaceUses(u.Node.Out[0], ws)
			g.Remove(u.Node)
		}
	}
	g.ReplaceUses(n.Out[1], g.AddConst(n.Name+".scale", tensor.Scalar(float32(1))))
	g.Remove(n)
}
