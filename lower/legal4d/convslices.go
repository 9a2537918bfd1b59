// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
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
		if n.Op != op.Conv || n.In[1].Const == nil || ir.AttrsOf[op.GroupAttr](n).Group != 1 || g.IsOutput(n.Out[0]) ||
			len(n.Out[0].Uses()) == 0 || n.Out[0].Type.Rank() != 4 {
			return nil
		}
		if n.Input(2) != nil && n.In[2].Const == nil {
			return nil
		}
		type cut struct {
			n      *ir.Node
			lo, hi int
		}
		var cuts []cut
		for _, u := range n.Out[0].Uses() {
			m := u.Node
			if m.Op != op.Slice || u.Index != 0 {
				return nil
			}
			s, err := op.SliceGeometry(m)
			if err != nil {
				return nil
			}
			for d, k := range s.Shape {
				if s.Step[d] != 1 && k > 1 || d != 1 && k != n.Out[0].Type.Shape[d] {
					return nil
				}
			}
			cuts = append(cuts, cut{m, s.Start[1], s.Start[1] + s.Shape[1]})
		}
		slices.SortFunc(cuts, func(x, y cut) int { return x.lo - y.lo })
		for i := 1; i < len(cuts); i++ {
			if cuts[i].lo < cuts[i-1].hi {
				return nil
			}
		}
		rows := func(d *tensor.Dense, lo, hi int) *tensor.Dense {
			s := slices.Clone(d.Shape)
			s[0] = hi - lo
			st := tensor.Strides(d.Shape)
			out := tensor.New(d.DType, s)
			tensor.Gather(out, d, s, st, lo*st[0])
			return out
		}
		part := func(v *ir.Value, lo, hi int) *ir.Value {
			w := g.AddConst(v.Name, rows(v.Const, lo, hi))
			if w.Type.Quant = v.Type.Quant; w.Type.Quant != nil && w.Type.Quant.PerAxis() {
				w.Type.Quant = &ir.Quant{Axis: 0, Scale: v.Type.Quant.Scale[lo:hi], Zero: v.Type.Quant.Zero[lo:hi]}
			}
			return w
		}
		for _, k := range cuts {
			in := []*ir.Value{n.In[0], part(n.In[1], k.lo, k.hi)}
			if n.Input(2) != nil {
				in = append(in, part(n.In[2], k.lo, k.hi))
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
		g.Remove(n)
		return nil
	})
}
