// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// Parts makes a Gemm, or another product as named, into one for each part of its channels that
// is read alone:
//
//	%p = Gemm(%x, %w, %b)                  %q = Gemm(%x, %w[:, 0:8], %b[0:8])
//	%q, %k = Split(%p) {axis=1}      =>    %k = Gemm(%x, %w[:, 8:16], %b[8:16])
//
// Between them may stand Reshapes and Transposes that keep the parts whole, as in attention, whose
// queries, keys and values are one product.
//
// Preconditions: constant weights, one group, several rows of a Gemm (parts of one are views), some channels, and
// no readers but Slices of step 1, Splits and Gathers of one index, which do not overlap. The work
// does not grow, the copies go, and each part of a float graph gets quantisation parameters of its
// own. On quantised values it is exact.
func Parts(d *ir.OpDef) func(c *pass.Ctx, g *ir.Graph) {
	return pass.Each(func(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
		if n.Op != d || !separable(n) {
			return
		}
		list := partsOf(g, channels{v: n.Out[0], axis: 1, each: 1})
		lists.Sort(list, func(a, b part) int { return a.lo - b.lo })
		for i, p := range list {
			if i > 0 && p.lo < list[i-1].hi || d == op.Gemm && p.hi-p.lo < fewChannels {
				return
			}
		}
		for _, p := range list {
			v := p.rebuilt(g, n)
			c.Did(v.Def, "channels %d to %d of %s as a product of their own", p.lo, p.hi, n)
			v.Def.Inherit(p.v.Def)
			g.ReplaceUses(p.v, v)
		}
		g.RemoveUnread(lists.Map(list, func(p part) *ir.Value { return p.v })...)
	})
}

// fewChannels of a Gemm are copied for less than a call.
const fewChannels = 8

// separable: there is a weight and a bias for each channel, and what takes channels out of the result copies them.
func separable(n *ir.Node) bool {
	out, b := n.Out[0].Type, n.Input(2)
	switch {
	case n.In[1].Const == nil || b != nil && (b.Const == nil || !slices.Equal(b.Const.Shape, out.Shape[1:2])):
		return false
	case n.Op == op.Gemm && out.Shape[0] == 1 || n.Op == op.Conv && ir.AttrsOf[op.GroupAttr](n).Group != 1:
		return false
	}
	return !out.Quant.PerAxis() && !slices.Contains(out.Shape, 0)
}

// channels is a value in which index i of axis has channels i*each to (i+1)*each of a product.
type channels struct {
	v    *ir.Value
	axis int
	each int
	path []channels // the values between the product and this one, which is the last
}

// part is a value that has channels lo to hi of a product and no others.
type part struct {
	channels
	lo, hi int
}

// partsOf are the parts that x is read in; nil where it is read otherwise, or whole.
func partsOf(g *ir.Graph, x channels) (list []part) {
	if g.IsOutput(x.v) {
		return nil
	}
	for _, u := range x.v.Uses() {
		var more []part
		if u.Index == 0 {
			more = x.read(g, u.Node)
		}
		if more == nil {
			return nil
		}
		list = append(list, more...)
	}
	return list
}

// read are the parts that a reader of x takes, or those that its result is read in.
func (x channels) read(g *ir.Graph, n *ir.Node) (list []part) {
	switch {
	case is(n, "Reshape"):
		if y, ok := x.reshaped(n.Out[0]); ok {
			return partsOf(g, y)
		}
	case is(n, "Transpose"):
		return partsOf(g, x.to(n.Out[0], slices.Index(perm(n), x.axis), x.each))
	}
	for i, c := range cuts(n, x.axis) {
		if v := n.Out[i]; c[0] < c[1] && v != nil && (len(v.Uses()) > 0 || g.IsOutput(v)) {
			list = append(list, part{channels{v, x.axis, x.each, x.path}, c[0] * x.each, c[1] * x.each})
		}
	}
	return list
}

// cuts are the indices of dimension axis that each output of a Split, Slice or Gather has; nil for other nodes.
func cuts(n *ir.Node, axis int) (list [][2]int) {
	shape := n.In[0].Type.Shape
	switch {
	case is(n, "Split"):
		along, sizes, err := op.SplitSizes(n)
		if err != nil || along != axis {
			return nil
		}
		at := 0
		for _, k := range sizes {
			list = append(list, [2]int{at, at + k})
			at += k
		}
	case is(n, "Slice"):
		s, err := op.SliceGeometry(n)
		if err == nil && onlyAlong(s, shape, axis) {
			return [][2]int{{s.Start[axis], s.Start[axis] + s.Shape[axis]}}
		}
	case is(n, "Gather") && n.In[1].Const != nil && n.In[1].Const.Len() == 1 && op.AxisOf(n, len(shape)) == axis:
		i := int(n.In[1].Const.Int(0))
		if i < 0 {
			i += shape[axis]
		}
		return [][2]int{{i, i + 1}}
	}
	return list
}

// onlyAlong: a Slice of a value of this shape takes neighbours along axis, and all there is along others.
func onlyAlong(s *op.SliceGeom, shape []int, axis int) bool {
	for d, k := range s.Shape {
		if s.Step[d] != 1 && k > 1 || (d == axis) == (k == shape[d]) && shape[d] > 1 {
			return false
		}
	}
	return true
}

// to is the next value, in which the channels lie along axis.
func (x channels) to(v *ir.Value, axis, each int) channels {
	y := channels{v: v, axis: axis, each: each}
	y.path = append(slices.Clip(x.path), y)
	return y
}

// reshaped is the next value, which has the dimension of the channels, or the first of those that it falls into; false
// where others are in one with it.
func (x channels) reshaped(v *ir.Value) (y channels, ok bool) {
	in, out := x.v.Type.Shape, v.Type.Shape
	for d, k := range out {
		if k > 1 && tensor.Count(out[:d]) == tensor.Count(in[:x.axis]) && in[x.axis]%k == 0 {
			return x.to(v, d, x.each*(in[x.axis]/k)), true
		}
	}
	return y, false
}

// rebuilt is the part as the result of a product of its own, in front of n.
func (p part) rebuilt(g *ir.Graph, n *ir.Node) *ir.Value {
	in := []*ir.Value{n.In[0], p.of(g, n.In[1], n.Op.WeightAxis(n))}
	if n.Input(2) != nil {
		in = append(in, p.of(g, n.In[2], 0))
	}
	v := insert(g, n, n.Op, n.Name, n.Attrs.Clone(), in...)
	v.Type = v.Type.WithQuant(n.Out[0].Type.DType, n.Out[0].Type.Quant)
	for _, x := range p.path {
		if d := x.v.Def; is(d, "Transpose") {
			v = transpose(g, n, v, perm(d), d.Name)
		} else {
			shape := slices.Clone(x.v.Type.Shape)
			shape[x.axis] = (p.hi - p.lo) / x.each
			v = reshape(g, n, v, shape, d.Name)
		}
	}
	if !slices.Equal(v.Type.Shape, p.v.Type.Shape) { // a Gather drops the dimension
		v = reshape(g, n, v, p.v.Type.Shape, p.v.Def.Name)
	}
	return v
}

// of are the weights or a bias of the part's channels, which count along axis.
func (p part) of(g *ir.Graph, v *ir.Value, axis int) *ir.Value {
	w := g.AddConst(v.Name, v.Const.Slice(axis, p.lo, p.hi))
	if w.Type.Quant = v.Type.Quant; w.Type.Quant.PerAxis() {
		w.Type.Quant = &ir.Quant{Axis: axis, Scale: v.Type.Quant.Scale[p.lo:p.hi], Zero: v.Type.Quant.Zero[p.lo:p.hi]}
	}
	return w
}
