// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// exact converts an operator whose integer arithmetic is its definition, where a model
// that is quantised has it: every operand is dequantised, every result quantised. Its
// constants keep their element types, int32 ones, too.
func (c *converter) exact(n *ir.Node) (bool, error) {
	in := make([]*ir.Value, len(n.In))
	for i, v := range n.In {
		if v == nil {
			continue
		}
		if f, ok := c.intForm(v); ok {
			in[i] = f.v
			continue
		}
		if in[i] = c.integers(v); in[i] == nil {
			return false, nil
		}
	}
	outs := make([]ir.Type, len(n.Out))
	for i, v := range n.Out {
		t, ok := c.want[v]
		if !ok {
			return false, nil
		}
		outs[i] = t
	}
	return true, c.replace(n, in, outs)
}

// integers are the constants that a value is dequantised from, signed ones.
func (c *converter) integers(v *ir.Value) *ir.Value {
	if v.Def == nil || v.Def.Op != op.DequantizeLinear || v.Def.In[0].Const == nil {
		return nil
	}
	t, q, ok := params(v.Def)
	if !ok || t != tensor.I8 && t != tensor.I16 && t != tensor.I32 {
		return nil
	}
	x := v.Def.In[0]
	w := c.g.AddConst(x.Name, x.Const)
	w.Type = w.Type.WithQuant(t, q)
	return w
}
