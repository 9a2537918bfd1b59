// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
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
	own, on := p.atomsOf(dims...), p.axes[axC]
	if slices.Equal(on, own) {
		return []*part{p}
	}
	k := len(on) - len(own)
	if k <= 0 || len(own) == 0 || !slices.Equal(on[k:], own) {
		return []*part{b.moveToChannels(p, own)}
	}
	if !p.covers(on[:k]) || count(on[:k]) > maxHeads {
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

// moveToChannels is toChannels of atoms without slices: what lies on C moves to H, or to W where nothing else lies.
func (b *builder) moveToChannels(p *part, own []atom) *part {
	want := p.axes.without(own)
	switch c := want[axC]; {
	case len(want[axW]) > 0:
		want[axH] = slices.Concat(c, want[axH])
	case len(want[axH]) > 0 && len(c) > 0:
		want[axW] = c
	default: // rows of matrices lie on W everywhere
		want[axH], want[axW] = nil, slices.Concat(c, want[axH])
	}
	want[axC] = own
	return b.relayout(p, want)
}

// onEach is the result of n from parts of which each covers all of some dimensions; f computes
// in place.
func onEach(n *ir.Node, ps []*part, to func(p *part) []*part, f func(p *part)) []*rep {
	var out []*part
	for _, p := range ps {
		for _, q := range to(p) {
			q = q.clone()
			f(q)
			out = append(out, q)
		}
	}
	return result(n, out)
}

// alongChannels computes n with dimensions on C, alone.
func (b *builder) alongChannels(n *ir.Node, dims []int, f func(p *part)) []*rep {
	b.math = true
	return onEach(n, b.wholeParts(n.In[0], dims...), func(p *part) []*part { return b.toChannels(p, dims...) }, f)
}

// lanes computes an operator along one dimension, on C.
func lanes(b *builder, n *ir.Node) []*rep {
	arg := n.Op.Name == "ArgMax" || n.Op.Name == "ArgMin"
	d := op.AxisOf(n, n.In[0].Type.Rank())
	return b.alongChannels(n, []int{d}, func(p *part) {
		attrs := n.Attrs.Clone()
		attrs["axis"] = ir.Int(1)
		if arg {
			attrs["keepdims"] = ir.Int(1)
		}
		p.val = b.emitAs(n.Out[0].Type, n.Op, "", attrs, p.val)
		if arg {
			p.axes[axC] = nil
			p.reduced(n, d)
		}
	})
}

// reduced has one index of dimensions, and none where n does not keep them.
func (p *part) reduced(n *ir.Node, dims ...int) {
	for _, d := range dims {
		p.shape[d], p.start[d] = 1, 0
	}
	q, _ := p.reshaped(n.Out[0].Type.Shape)
	*p = *q
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
			params = append(params, b.g.AddQuantConst(v.Name, d.Reshaped([]int{1}), q))
			continue
		}
		refuseIf(d.Len() != tensor.Count(x[axis:]), "a parameter is broadcast")
		params = append(params, b.g.AddQuantConst(v.Name, d.Reshaped([]int{d.Len()}), q))
	}
	return b.alongChannels(n, dims, func(p *part) {
		v := b.transpose(p.val, []int{0, 2, 3, 1})
		attrs := n.Attrs.Clone()
		attrs["axis"] = ir.Int(-1)
		v = b.emitAs(n.Out[0].Type, n.Op, "", attrs, append([]*ir.Value{v}, params...)...)
		p.val = b.transpose(v, []int{0, 3, 1, 2})
	})
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
	to := func(p *part) []*part {
		if rank > 1 && !p.lies(1, axC) {
			return b.toChannels(p, 1)
		}
		return []*part{p}
	}
	return onEach(n, b.parts(n.In[0]), to, func(p *part) {
		in := []*ir.Value{p.val}
		for _, v := range n.In[1:] {
			in = append(in, b.g.AddConst(b.name("const"), perChannel(v.Const, rank, p)))
		}
		p.val = b.emitAs(n.Out[0].Type, n.Op, "", n.Attrs.Clone(), in...)
	})
}

// perChannel are numbers for the indices of dimension 1 of a tensor, laid out for
// the channels of a part of it that has the dimension on C.
func perChannel(d *tensor.Dense, rank int, p *part) *tensor.Dense {
	k := count(p.axes[axC])
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
	return onEach(n, b.wholeParts(n.In[0], axes...), func(p *part) []*part {
		return []*part{b.reduce(n, p.clone(), p.atomsOf(axes...))}
	}, func(p *part) { p.reduced(n, axes...) })
}

// reduce folds the atoms own of a part.
func (b *builder) reduce(n *ir.Node, p *part, own []atom) *part {
	b.math = true
	t := n.Out[0].Type
	p = b.forReduction(p, own, t.Quant != nil)
	q := p.clone()
	q.axes = p.axes.without(own)
	var space []int
	all := true
	for x := range q.axes {
		switch on := len(q.axes[x]) < len(p.axes[x]); {
		case x == axC && on:
			q.val = b.reduceChannels(n, q.val)
		case x >= axH && on:
			space = append(space, x)
		case x >= axH:
			all = all && q.val.Type.Shape[x] == 1
		}
	}
	if len(space) > 0 {
		q.val = b.reduceSpace(n, q.val, space, all)
	}
	if t.Quant != nil && q.val == p.val && !(t.DType == p.val.Type.DType && t.Quant.Equal(p.val.Type.Quant)) {
		// One element of each: the operator only gives it another scale.
		x := p.freeAxis(axW, axH, axC, axN)
		refuseIf(x < 0, "no axis of size 1 is left to reduce")
		q.val = b.emitAs(t, n.Op, "", ir.Attrs{"keepdims": ir.Int(1)}, q.val, b.ints([]int{x}))
	}
	return q
}

// forReduction lays a part out so that what is reduced, own, has its axes for itself, and
// none on N. Other operators round integers at another place: of quantised values all
// goes to space, where the operator itself reduces.
func (b *builder) forReduction(p *part, own []atom, quantised bool) *part {
	for x, as := range p.axes.without(own) {
		if len(as) < len(p.axes[x]) && (len(as) > 0 || x == axN || x == axC && quantised) {
			return b.alone(p, own)
		}
	}
	return p
}

// alone lays atoms on W, and what else lies there on H.
func (b *builder) alone(p *part, own []atom) *part {
	want := p.axes.without(own)
	want[axH], want[axW] = slices.Concat(want[axH], want[axW]), own
	return b.relayout(p, want)
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
