// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

// convSlices makes one convolution of each slice of a convolution's channels:
//
//	%c = Conv(%x, %w, %b)              %p = Conv(%x, %w[0:4], %b[0:4])
//	%p = Slice(%c) 0:4 of axis 1   =>  %q = Conv(%x, %w[4:6], %b[4:6])
//	%q = Slice(%c) 4:6 of axis 1
//
// Preconditions: constant weights, group 1, nothing reads the convolution but
// slices of step 1 along C that do not overlap. The work does not grow, the
// copies go, and each piece of a float graph gets quantisation parameters of its
// own. On quantised values it is exact.
func convSlices(c *pass.Ctx, g *ir.Graph) error {
	return c.Each(g, func(n *ir.Node) error {
		cuts := channelCuts(g, n)
		for _, k := range cuts {
			in := []*ir.Value{n.In[0], k.of(g, n.In[1])}
			if n.Input(2) != nil {
				in = append(in, k.of(g, n.In[2]))
			}
			// in the place of the convolution, where its input is defined
			m, err := g.InsertBefore(n, op.Conv, n.Name, n.Attrs.Clone(), 1, in...)
			if err != nil {
				return err
			}
			m.Origin = slices.Clone(n.Origin)
			m.Out[0].Type = m.Out[0].Type.WithQuant(n.Out[0].Type.DType, n.Out[0].Type.Quant)
			g.ReplaceUses(k.n.Out[0], m.Out[0])
			c.Did(m, "channels %d to %d of %s as a convolution of their own", k.lo, k.hi, n)
			g.Remove(k.n)
		}
		if cuts != nil {
			g.Remove(n)
		}
		return nil
	})
}

// cut is a Slice of channels lo to hi.
type cut struct {
	n      *ir.Node
	lo, hi int
}

// of are the rows of weights or a bias that belong to the channels.
func (k cut) of(g *ir.Graph, v *ir.Value) *ir.Value {
	w := g.AddConst(v.Name, v.Const.Slice(0, k.lo, k.hi))
	if w.Type.Quant = v.Type.Quant; w.Type.Quant.PerAxis() {
		w.Type.Quant = &ir.Quant{Axis: 0, Scale: v.Type.Quant.Scale[k.lo:k.hi], Zero: v.Type.Quant.Zero[k.lo:k.hi]}
	}
	return w
}

// channelCuts are the slices that alone read a convolution, in order; nil where
// it is read otherwise.
func channelCuts(g *ir.Graph, n *ir.Node) []cut {
	if n.Op != op.Conv || n.In[1].Const == nil || ir.AttrsOf[op.GroupAttr](n).Group != 1 || g.IsOutput(n.Out[0]) ||
		n.Out[0].Type.Rank() != 4 || n.Input(2) != nil && n.In[2].Const == nil {
		return nil
	}
	var cuts []cut
	for _, u := range n.Out[0].Uses() {
		if u.Node.Op != op.Slice || u.Index != 0 {
			return nil
		}
		s, err := op.SliceGeometry(u.Node)
		if err != nil {
			return nil
		}
		for d, k := range s.Shape {
			if s.Step[d] != 1 && k > 1 || d != 1 && k != n.Out[0].Type.Shape[d] {
				return nil
			}
		}
		cuts = append(cuts, cut{u.Node, s.Start[1], s.Start[1] + s.Shape[1]})
	}
	lists.Sort(cuts, func(x, y cut) int { return x.lo - y.lo })
	for i := 1; i < len(cuts); i++ {
		if cuts[i].lo < cuts[i-1].hi {
			return nil
		}
	}
	return cuts
}
