// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// plainTransposed writes transposed convolutions that accelerators lack:
//
//	stride 1              a convolution with the kernel turned round
//	dilated               zeros between the taps of the kernel
//	groups of several     a transposed convolution for each group
//	channels
func plainTransposed(s *sub, n *ir.Node) *ir.Value {
	if n.Op != op.ConvTranspose || n.In[0].Type.Rank() != 4 || n.ConstIn(1) == nil || n.Out[0].Type.Elems() == 0 ||
		n.Input(2) != nil && n.In[2].Const == nil {
		return nil
	}
	g := bug.Must(op.ConvGeometry(n))
	w := n.In[1].Const
	if !slices.ContainsFunc(g.Strides, func(k int) bool { return k != 1 }) {
		return s.turned(n, g)
	}
	dilated := slices.Max(g.Dilations) > 1
	grouped := g.Group > 1 && (g.Group != g.CIn || g.Group != g.COut)
	if grouped && g.Group > maxHeads || !dilated && !grouped {
		return nil
	}
	attrs := ir.Attrs{"strides": ir.Ints(g.Strides...), "pads": ir.Ints(slices.Concat(g.PadBegin, g.PadEnd)...),
		"output_padding": ir.Ints(g.OutputPadding...), "group": ir.Int(g.Group)}
	if dilated {
		w = spread(w, g.Dilations)
	}
	if !grouped {
		return s.convolution(op.ConvTranspose, attrs, n.In[0], w, n.ConstIn(2))
	}
	attrs["group"] = ir.Int(1)
	in, out := g.CIn/g.Group, g.COut/g.Group
	var parts []*ir.Value
	for k := range g.Group {
		ints := func(x int) *ir.Value { return s.g.AddConst(n.Name+"/group", tensor.Ints(x)) }
		x := s.op(op.Slice, nil, n.In[0], ints(k*in), ints((k+1)*in), ints(1))
		bias := n.ConstIn(2)
		if bias != nil {
			bias = bias.Slice(0, k*out, (k+1)*out)
		}
		parts = append(parts, s.convolution(op.ConvTranspose, attrs.Clone(), x, w.Slice(0, k*in, (k+1)*in), bias))
	}
	return s.joined(1, parts)
}

// convolution adds a convolution with constants; bias may be nil.
func (s *sub) convolution(d *ir.OpDef, attrs ir.Attrs, x *ir.Value, w, bias *tensor.Dense) *ir.Value {
	in := []*ir.Value{x, s.g.AddConst(s.n.Name+"/weight", w)}
	if bias != nil {
		in = append(in, s.g.AddConst(s.n.Name+"/bias", bias))
	}
	return s.op(d, attrs, in...)
}

// turned is a transposed convolution of stride 1 as a convolution. Where more is
// cut off than the kernel reaches, the data are cut.
func (s *sub) turned(n *ir.Node, g *op.ConvGeom) *ir.Value {
	begin, end := make([]int, 2), make([]int, 2)
	x := n.In[0]
	ints := func(k int) *ir.Value { return s.g.AddConst(n.Name+"/cut", tensor.Ints(k)) }
	for i := range 2 {
		reach := g.Dilations[i] * (g.Kernel[i] - 1)
		begin[i] = reach - g.PadBegin[i]
		end[i] = n.Out[0].Type.Shape[2+i] - g.In[i] + reach - begin[i]
		if lo, hi := max(0, -begin[i]), g.In[i]+min(0, end[i]); lo > 0 || hi < g.In[i] {
			x = s.op(op.Slice, nil, x, ints(lo), ints(hi), ints(2+i))
			begin[i], end[i] = max(0, begin[i]), max(0, end[i])
		}
	}
	attrs := ir.Attrs{"dilations": ir.Ints(g.Dilations...), "pads": ir.Ints(slices.Concat(begin, end)...),
		"group": ir.Int(g.Group)}
	return s.convolution(op.Conv, attrs, x, op.TurnedWeights(g, n.In[1].Const), n.ConstIn(2))
}

// spread puts zeros between the taps of a kernel, so that it is not dilated.
func spread(w *tensor.Dense, dilations []int) *tensor.Dense {
	kh, kw, st := w.Shape[2], w.Shape[3], tensor.Strides(w.Shape)
	shape := []int{w.Shape[0], w.Shape[1], (kh-1)*dilations[0] + 1, (kw-1)*dilations[1] + 1}
	return woven(w, shape, func(i []int) int {
		if i[2]%dilations[0] != 0 || i[3]%dilations[1] != 0 {
			return -1
		}
		return i[0]*st[0] + i[1]*st[1] + i[2]/dilations[0]*st[2] + i[3]/dilations[1]
	})
}
