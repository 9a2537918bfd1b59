// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// maxHeads bounds the slices into which a dimension outside of the one wanted
// on C is cut; beyond that it is moved off C.
const maxHeads = 64

// wholeParts joins pieces until each covers all of the dimensions.
func (b *builder) wholeParts(v *ir.Value, dims ...int) []*part {
	ps := b.parts(v)
	for _, d := range dims {
		piece := func(p *part) bool { return !p.whole(d) }
		if !slices.ContainsFunc(ps, piece) {
			continue
		}
		ps = b.mergeAlong(ps, d, axC)
		refuseIf(slices.ContainsFunc(ps, piece), "the pieces of dimension %d cannot be joined", d)
	}
	return ps
}

// toChannels brings dimensions to C, alone and in logical order: what else
// lies on C further out is cut into slices when there are few and the part is
// all of it, or moved away.
func (b *builder) toChannels(p *part, dims ...int) []*part {
	own := p.atomsOf(dims...)
	if slices.Equal(p.axes[axC], own) {
		return []*part{p}
	}
	if k := len(p.axes[axC]) - len(own); k > 0 && len(own) > 0 && slices.Equal(p.axes[axC][k:], own) {
		if !p.covers(p.axes[axC][:k]) || p.count(p.axes[axC][:k]) > maxHeads {
			return []*part{b.apart(p, axC, k)}
		}
		ps := []*part{p}
		for range k {
			var next []*part
			for _, q := range ps {
				next = append(next, b.unroll(q, q.axes[axC][0])...)
			}
			ps = next
		}
		return ps
	}
	return []*part{b.moveToChannels(p, own)}
}

// moveToChannels is toChannels of atoms without slices: what lies on C moves to H, or to W where nothing else lies.
func (b *builder) moveToChannels(p *part, own []int) *part {
	n, c := without(p.axes[axN], own), without(p.axes[axC], own)
	h, w := without(p.axes[axH], own), without(p.axes[axW], own)
	switch {
	case len(w) > 0:
		h = slices.Concat(c, h)
	case len(h) > 0 && len(c) > 0:
		w = c
	default: // rows of matrices lie on W everywhere
		h, w = nil, slices.Concat(c, h)
	}
	return b.relayout(p, [4][]int{axN: n, axC: own, axH: h, axW: w})
}

func without(as, drop []int) []int {
	return lists.Filter(as, func(a int) bool { return !slices.Contains(drop, a) })
}

// lanes computes an operator along one dimension, on C.
func lanes(b *builder, n *ir.Node) []*rep {
	b.math = true
	rank := n.In[0].Type.Rank()
	arg := n.Op.Name == "ArgMax" || n.Op.Name == "ArgMin"
	d := op.AxisOf(n, rank)
	ps := b.wholeParts(n.In[0], d)
	var out []*part
	for _, p := range ps {
		for _, q := range b.toChannels(p, d) {
			q = q.clone()
			attrs := n.Attrs.Clone()
			attrs["axis"] = ir.Int(1)
			if arg {
				attrs["keepdims"] = ir.Int(1)
			}
			q.val = b.emitAs(n.Out[0].Type, n.Op, "", attrs, q.val)
			if arg {
				q.axes[axC] = nil
				q.dims[d] = nil
				if ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0 {
					q.dims = slices.Delete(q.dims, d, d+1)
				}
			}
			out = append(out, q)
		}
	}
	return result(n, out)
}

// layerNorm normalises the trailing dimensions, on C. ONNX's operator works on
// trailing dimensions only: it stands between two transpositions that put C
// last, which in a channels-last memory move nothing.
func layerNorm(b *builder, n *ir.Node) []*rep {
	b.math = true
	for _, v := range n.Out[1:] {
		refuseIf(len(v.Uses()) > 0 || b.old.IsOutput(v), "its mean or deviation is read")
	}
	x := n.In[0].Type.Shape
	axis := op.AxisOf(n, len(x))
	dims := ir.Identity(len(x))[axis:]
	params := make([]*ir.Value, 0, 2)
	for _, v := range n.In[1:] {
		refuseIf(v == nil || v.Const == nil, "a parameter is not constant")
		d, q := v.Const, v.Type.Quant
		refuseIf(q != nil && q.PerAxis(), "a parameter is quantised per channel")
		if d.Len() == 1 {
			params = append(params, b.constant(v.Name, d.Reshaped([]int{1}), q))
			continue
		}
		refuseIf(d.Len() != tensor.Count(x[axis:]), "a parameter is broadcast")
		params = append(params, b.constant(v.Name, d.Reshaped([]int{d.Len()}), q))
	}
	ps := b.wholeParts(n.In[0], dims...)
	var out []*part
	for _, p := range ps {
		for _, q := range b.toChannels(p, dims...) {
			q = q.clone()
			v := b.transpose(q.val, []int{0, 2, 3, 1})
			attrs := n.Attrs.Clone()
			attrs["axis"] = ir.Int(-1)
			v = b.emitAs(n.Out[0].Type, n.Op, "", attrs, append([]*ir.Value{v}, params...)...)
			q.val = b.transpose(v, []int{0, 3, 1, 2})
			out = append(out, q)
		}
	}
	return result(n, out)
}

// batchNorm scales and shifts by one number for each index of dimension 1, which
// has to lie on C: there the operator of four dimensions has its own. What else
// lies on C, and a part that holds some of the indices, get their numbers as
// they come.
func batchNorm(b *builder, n *ir.Node) []*rep {
	rank := n.In[0].Type.Rank()
	for _, v := range n.In[1:] {
		refuseIf(v.Const == nil, "its parameter %s is not constant", v.Name)
	}
	ps := b.parts(n.In[0])
	var out []*part
	for _, p := range ps {
		qs := []*part{p}
		if rank > 1 && !p.lies(1, axC) {
			qs = b.toChannels(p, 1)
		}
		for _, q := range qs {
			q = q.clone()
			in := []*ir.Value{q.val}
			for _, v := range n.In[1:] {
				in = append(in, b.constant(b.name("const"), perChannel(v.Const, rank, q), nil))
			}
			q.val = b.emitAs(n.Out[0].Type, n.Op, "", n.Attrs.Clone(), in...)
			out = append(out, q)
		}
	}
	return result(n, out)
}

// perChannel are numbers for the indices of dimension 1 of a tensor, laid out for
// the channels of a part of it that has the dimension on C.
func perChannel(d *tensor.Dense, rank int, p *part) *tensor.Dense {
	k := p.count(p.axes[axC])
	if d.Len() > 1 {
		shape := slices.Repeat([]int{1}, rank)
		shape[1] = d.Len()
		d = arranged(d.Reshaped(shape), rank, p)
	}
	if d.Len() == 1 {
		return d.Reshaped([]int{1}).Take(0, make([]int, k))
	}
	return d.Reshaped([]int{k})
}

// reduces folds dimensions: those on H and W by the operator itself (the mean
// over all of both is GlobalAveragePool), a sum or mean over C as a 1x1
// convolution with equal weights, since accelerators reduce in space only.
func reduces(b *builder, n *ir.Node) []*rep {
	axes := fail.Must(op.ReduceAxes(n))
	refuseIf(len(axes) == 0 || !standsForReals(n.Out[0]), "it reduces nothing, or integers")
	ps := b.wholeParts(n.In[0], axes...)
	var out []*part
	for _, p := range ps {
		q := b.reduce(n, p.clone(), axes)
		for i := len(axes) - 1; i >= 0; i-- {
			q.dims[axes[i]] = nil
			if ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0 {
				q.dims = slices.Delete(q.dims, axes[i], axes[i]+1)
			}
		}
		out = append(out, q)
	}
	return result(n, out)
}

func (b *builder) reduce(n *ir.Node, p *part, axes []int) *part {
	b.math = true
	own := p.atomsOf(axes...)
	t := n.Out[0].Type
	p = b.forReduction(p, own, t.Quant != nil)
	q := p.clone()
	var space []int
	all := true
	for x := range q.axes {
		switch on := len(p.axes[x]) > 0 && slices.Contains(own, p.axes[x][0]); {
		case x == axC && on:
			q.val = b.reduceChannels(n, q.val)
		case x >= axH && on:
			space = append(space, x)
		case x >= axH:
			all = all && q.val.Type.Shape[x] == 1
		}
		q.axes[x] = without(q.axes[x], own)
	}
	if len(space) > 0 {
		q.val = b.reduceSpace(n, q.val, space, all)
	}
	if t.Quant != nil && q.val == p.val && !(t.DType == p.val.Type.DType && t.Quant.Equal(p.val.Type.Quant)) {
		// One element of each: the operator only gives it another scale.
		x := p.freeAxis()
		refuseIf(x < 0, "no axis of size 1 is left to reduce")
		q.val = b.emitAs(t, n.Op, "", ir.Attrs{"keepdims": ir.Int(1)}, q.val, b.ints([]int{x}))
	}
	return q
}

// forReduction lays a part out so that what is reduced, own, has its axes for itself, and
// none on N. Other operators round integers at another place: of quantised values all
// goes to space, where the operator itself reduces.
func (b *builder) forReduction(p *part, own []int, quantised bool) *part {
	mixed := false
	for x, as := range p.axes {
		rest := len(without(as, own))
		mixed = mixed || rest > 0 && rest < len(as) || rest < len(as) && (x == axN || x == axC && quantised)
	}
	if !mixed {
		return p
	}
	return b.alone(p, own)
}

// alone lays atoms on W, and what else lies there on H.
func (b *builder) alone(p *part, own []int) *part {
	space := slices.Concat(p.axes[axH], p.axes[axW])
	return b.relayout(p, [4][]int{axN: without(p.axes[axN], own), axC: without(p.axes[axC], own),
		axH: without(space, own), axW: own})
}

// reduceChannels folds C: a sum or mean as a convolution.
func (b *builder) reduceChannels(n *ir.Node, v *ir.Value) *ir.Value {
	k, w := v.Type.Shape[1], 1.0
	switch n.Op {
	case op.ReduceMean:
		w = 1 / float64(k)
	case op.ReduceSum:
	default:
		return b.emit(n.Op, "channels", ir.Attrs{"keepdims": ir.Int(1)}, v, b.ints([]int{1}))
	}
	ws := tensor.FromFloats(v.Type.DType, []int{1, k, 1, 1}, slices.Repeat([]float64{w}, k))
	return b.emit(op.Conv, "channels", nil, v, b.g.AddConst(b.name("weight"), ws))
}

// reduceSpace folds axes of space; all says that nothing of space is left then.
func (b *builder) reduceSpace(n *ir.Node, v *ir.Value, space []int, all bool) *ir.Value {
	switch t := n.Out[0].Type; {
	case t.Quant != nil:
		return b.emitAs(t, n.Op, "", ir.Attrs{"keepdims": ir.Int(1)}, v, b.ints(space))
	case all && n.Op == op.ReduceMean:
		return b.emit(op.GlobalAveragePool, "", nil, v)
	case all && n.Op == op.ReduceMax:
		return b.emit(op.GlobalMaxPool, "", nil, v)
	}
	return b.emit(n.Op, "", ir.Attrs{"keepdims": ir.Int(1)}, v, b.ints(space))
}
