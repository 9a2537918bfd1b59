// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// permutable reports a constant, or a constant behind QuantizeLinear and
// DequantizeLinear, whose elements can be permuted along axis; scales that vary
// along it have to be constants, too.
func permutable(v *ir.Value, axis int) bool {
	if v.Const != nil {
		return !v.Type.Quant.PerAxis() || v.Type.Quant.Axis != axis
	}
	d := v.Def
	if !is(d, "QuantizeLinear", "DequantizeLinear") || ir.AttrsOf[op.ScaleAttrs](d).BlockSize != 0 {
		return false
	}
	for _, p := range d.In[1:] {
		if p != nil && p.Const == nil && scalesAlong(d, axis) {
			return false
		}
	}
	return permutable(d.In[0], axis)
}

// scalesAlong reports a QuantizeLinear or DequantizeLinear whose scales may
// vary along axis.
func scalesAlong(d *ir.Node, axis int) bool {
	if d.In[1].Type.Elems() == 1 {
		return false
	}
	a, err := op.Axis(d, ir.AttrsOf[op.AxisAttr](d).Axis, d.In[0].Type.Rank())
	return err != nil || a == axis
}

// permuted is v with its indices along axis permuted, made in front of at.
func permuted(g *ir.Graph, at *ir.Node, v *ir.Value, axis int, idx []int) *ir.Value {
	if v.Const != nil {
		return constLike(g, v, v.Const.Take(axis, idx))
	}
	d := v.Def
	in := append([]*ir.Value{permuted(g, at, d.In[0], axis, idx)}, d.In[1:]...)
	if scalesAlong(d, axis) {
		for i, p := range d.In[1:] {
			if p != nil {
				in[1+i] = constLike(g, p, p.Const.Take(0, idx))
			}
		}
	}
	n := bug.Must(g.InsertBefore(at, d.Op, d.Name, d.Attrs.Clone(), 1, in...))
	n.Origin = d.Origin
	return n.Out[0]
}
