// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// ToFloat undoes Integer for one node that no kernel computes on integers: the
// same operator on reals, between DequantizeLinear of its inputs and
// QuantizeLinear of its outputs. It returns the float node.
func ToFloat(g *ir.Graph, n *ir.Node) (*ir.Node, error) {
	in := append([]*ir.Value(nil), n.In...)
	for i, v := range n.In {
		if v == nil || v.Type.Quant == nil {
			continue
		}
		if v.Const != nil {
			in[i] = g.AddConst(v.Name+".real", ir.Dequantise(v.Const, v.Type.Quant).Cast(tensor.F32))
			continue
		}
		d, err := sharedDequantize(g, n, v)
		if err != nil {
			return nil, err
		}
		in[i] = d
	}
	if n.Op == op.Requantize { // between the two, nothing
		y := n.Out[0]
		w, err := Linear(g, n, op.QuantizeLinear, in[0], y.Type)
		if err != nil {
			return nil, err
		}
		w.Type = w.Type.WithQuant(y.Type.DType, y.Type.Quant)
		w.Def.Origin = n.Origin
		g.ReplaceUses(y, w)
		g.Remove(n)
		return w.Def, nil
	}
	m, err := g.InsertBefore(n, n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...)
	if err != nil {
		return nil, err
	}
	m.Origin, m.Body = n.Origin, n.Body
	for i, v := range n.Out {
		w := m.Out[i]
		if v.Type.Quant != nil {
			if w, err = Linear(g, n, op.QuantizeLinear, w, v.Type); err != nil {
				return nil, err
			}
			w.Type = w.Type.WithQuant(v.Type.DType, v.Type.Quant)
		}
		g.ReplaceUses(v, w)
	}
	g.Remove(n)
	return m, nil
}

// sharedDequantize is the DequantizeLinear of v, the one that is there already
// where an earlier node has it.
func sharedDequantize(g *ir.Graph, at *ir.Node, v *ir.Value) (*ir.Value, error) {
	for _, u := range v.Uses() {
		if u.Node.Op == op.DequantizeLinear && u.Index == 0 && before(g, u.Node, at) {
			if _, q, ok := params(u.Node); ok && q.Equal(v.Type.Quant) {
				return u.Node.Out[0], nil
			}
		}
	}
	return Linear(g, at, op.DequantizeLinear, v, v.Type)
}

func before(g *ir.Graph, a, b *ir.Node) bool {
	return g.Index(a) < g.Index(b)
}
