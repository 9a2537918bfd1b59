// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Rules of element-wise operators, normalisations and Softmax.

// mathRules: their order is that of the reasons.
var mathRules = []Rule{
	{Code: "MLA-BROADCAST", Doc: "operands of Add, Sub, Mul and Div are not broadcast along the batch",
		Ops: []*ir.OpDef{op.Add, op.Sub, op.Mul, op.Div},
		Check: func(n *ir.Node, _ *Limits) []string {
			out := n.Out[0].Type.Shape
			if len(out) != 4 {
				return nil
			}
			for i, v := range n.In {
				if v.Const == nil && v.Type.Rank() == 4 && v.Type.Shape[0] != out[0] {
					return say("Input %d (%s) is broadcast to a batch of %d", i, shapeText(v.Type.Shape), out[0])
				}
			}
			return nil
		}},
	{Code: "MLA-CLIP", Doc: "Clip has single numbers as bounds", Ops: []*ir.OpDef{op.Clip},
		Check: func(n *ir.Node, _ *Limits) []string {
			for i := 1; i < len(n.In); i++ {
				if c := n.ConstIn(i); c != nil && c.Len() != 1 {
					return say("Bound %s has %d elements, want 1", n.In[i].Name, c.Len())
				}
			}
			return nil
		}},
	{Code: "MLA-GELU", Doc: "Gelu has approximate none", Ops: []*ir.OpDef{op.Gelu},
		Check: func(n *ir.Node, _ *Limits) []string {
			a := ir.AttrsOf[op.GeluAttrs](n).Approximate
			return when(a != "none", "Gelu approximation is %s, want none", a)
		}},
	{Code: "MLA-POW", Doc: "the exponent of Pow is 0.5, -0.5, 2 or 3", Ops: []*ir.OpDef{op.Pow},
		Check: func(n *ir.Node, _ *Limits) []string {
			if n.In[1].Const == nil {
				return nil
			}
			x, ok := realValue(n.In[1])
			for _, e := range []float64{0.5, -0.5, 2, 3} {
				if ok && math.Abs(x-e) < 1e-5 {
					return nil
				}
			}
			if !ok {
				return say("Pow has exponents that differ from element to element, want 0.5, -0.5, 2 or 3 for all")
			}
			return say("Pow exponent is %v, want 0.5, -0.5, 2 or 3", x)
		}},
	{Code: "MLA-PRELU", Doc: "the slope of PRelu is one number, or one a channel", Ops: []*ir.OpDef{op.PRelu},
		Check: func(n *ir.Node, _ *Limits) []string {
			s := n.In[1].Type.Shape
			out := n.Out[0].Type.Shape
			if len(out) != 4 {
				return nil
			}
			for d, size := range s {
				if k := d + 4 - len(s); size != 1 && k != 1 {
					return say("Slope %s (%s) varies along dimension %d, want the channels (dimension 1) only",
						n.In[1].Name, shapeText(s), k)
				}
			}
			return nil
		}},
	{Code: "MLA-SOFTMAX", Doc: "Softmax is along the channels: axis 1, or the last one",
		Ops:   []*ir.OpDef{op.Softmax},
		Check: alongChannels("Softmax")},
	{Code: "MLA-SOFTMAX-LEN", Doc: "Softmax is over at most softmax_len elements", Ops: []*ir.OpDef{op.Softmax},
		Check: func(n *ir.Node, l *Limits) []string {
			k := n.In[0].Type.Shape[op.AxisOf(n, n.In[0].Type.Rank())]
			return when(k > l.SoftmaxLen, "Softmax is over %d elements, at most %d (the board's softmax_len)", k,
				l.SoftmaxLen)
		}},
	{Code: "MLA-ARGMAX", Doc: "ArgMax is along the channels: axis 1, or the last one", Ops: []*ir.OpDef{op.ArgMax},
		Check: alongChannels("ArgMax")},
	{Code: "MLA-LAYERNORM", Doc: "LayerNormalization is over the channels: the last dimension",
		Ops: []*ir.OpDef{op.LayerNormalization},
		Check: func(n *ir.Node, _ *Limits) []string {
			r := n.In[0].Type.Rank()
			a := op.AxisOf(n, r)
			return when(r == 4 && a != 3,
				"LayerNormalization is from axis %d on, want the last dimension only (channels last)", a)
		}},
	{Code: "MLA-NORM-CONST", Doc: "scale and bias of a normalisation have one value a channel",
		Ops: []*ir.OpDef{op.LayerNormalization, op.InstanceNormalization},
		Check: func(n *ir.Node, _ *Limits) []string {
			s := n.In[0].Type.Shape
			if len(s) != 4 {
				return nil
			}
			size := s[3]
			if n.Op == op.InstanceNormalization {
				size = s[1]
			}
			for i := 1; i < len(n.In); i++ {
				if c := n.ConstIn(i); c != nil && c.Len() != 1 && c.Len() != size {
					return say("Input %d (%s) has shape %v, want %d values", i, n.In[i].Name, c.Shape, size)
				}
			}
			return nil
		}},
}

func alongChannels(what string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, _ *Limits) []string {
		r := n.In[0].Type.Rank()
		return when(r == 4 && !channelAxis(op.AxisOf(n, r)),
			"%s axis is %d, want the channels: 1, or 3 in channels-last order", what, ir.AttrsOf[op.AxisAttr](n).Axis)
	}
}
