// SPDX-License-Identifier: Apache-2.0

package legal4d

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// narrowChannels is the number of channels up to which pieces that lie on C are
// joined before element-wise work on the way to the outputs: an accelerator
// pads channels, so that many thin tensors cost more than one.
const narrowChannels = 16

// elementwise applies the operator to each part. Operands in pieces are cut to
// common pieces, operands in another layout are moved to that of the largest,
// constants are laid out at compile time.
func elementwise(b *builder, n *ir.Node) []*rep {
	shape := n.Out[0].Type.Shape
	refuseIf(tensor.Count(shape) == 0, "the tensor %v has no elements", shape)
	data := lists.Make(len(n.In), func(i int) []*part { return b.operand(n, i) }) // nil: a constant, or absent
	refuseIf(!slices.ContainsFunc(data, func(ps []*part) bool { return ps != nil }), "all operands are constant")
	tuples := [][]*part{make([]*part, len(n.In))}
	for i := range n.In {
		if data[i] == nil {
			continue
		}
		var next [][]*part
		for _, t := range tuples {
			for _, p := range data[i] {
				next = append(next, b.meet(t, i, p)...)
			}
		}
		tuples = next
	}
	out := lists.Map(tuples, func(t []*part) *part { return b.apply(n, t) })
	return result(n, out)
}

// operand gives the parts of a run-time operand in the rank of the result; nil for
// constants and what is absent.
func (b *builder) operand(n *ir.Node, i int) []*part {
	v := n.In[i]
	switch {
	case v == nil:
		return nil
	case v.Const != nil:
		refuseIf(v.Type.Quant.PerAxis() || v.Const.Len() > 1 && (n.Op == op.QuantizeLinear ||
			n.Op == op.DequantizeLinear), "the constant %s holds a value per channel", v.Name)
		return nil
	case asWhole(n, i):
		refuse("input %d (%s) is not constant", i, v.Name)
	}
	ps := lists.Map(b.parts(v), func(p *part) *part { return p.lifted(n.Out[0].Type.Rank()) })
	if !b.mixing[n.Out[0]] {
		ps = b.joinNarrow(ps)
	}
	return ps
}

// asWhole reports inputs of element-wise operators that are parameters: they
// stay as they are.
func asWhole(n *ir.Node, i int) bool {
	return n.Op.Pattern == ir.Elementwise && i > 0
}

// joinNarrow joins pieces along dimensions that lie on C.
func (b *builder) joinNarrow(ps []*part) []*part {
	if len(ps) == 1 {
		return ps
	}
	for d := range ps[0].shape {
		wide := func(p *part) bool { return count(p.axes[axC]) >= narrowChannels || !p.lies(d, axC) }
		if !slices.ContainsFunc(ps, wide) {
			ps = b.tryMerge(ps, d, axC)
		}
	}
	return ps
}

// meet restricts the operands of t and p, operand i, to what they have in
// common.
func (b *builder) meet(t []*part, i int, p *part) [][]*part {
	for k, q := range t {
		if q == nil {
			continue
		}
		q, p = q.clone(), p.clone()
		for d := range p.shape {
			if q.shape[d] == 1 || p.shape[d] == 1 {
				continue // broadcast
			}
			cuts, ok := alignDigits([]*part{q, p}, d)
			refuseIf(!ok, "operands are cut into pieces that do not fit")
			ps, qs := p.digits(d, cuts), q.digits(d, cuts)
			for j := range slices.Backward(cuts) {
				lo, hi := max(ps[j].start, qs[j].start), min(ps[j].end(), qs[j].end())
				if lo >= hi {
					return nil
				}
				if lo > ps[j].start || hi < ps[j].end() {
					return b.meetAll([][]*part{t}, i, b.narrow(p, ps[j].atoms, lo-ps[j].start, hi-ps[j].start))
				}
				if lo > qs[j].start || hi < qs[j].end() {
					ts := lists.Map(b.narrow(q, qs[j].atoms, lo-qs[j].start, hi-qs[j].start), func(q *part) []*part {
						return replaced(t, k, q)
					})
					return b.meetAll(ts, i, []*part{p})
				}
			}
		}
	}
	return [][]*part{replaced(t, i, p)}
}

// replaced has p in the place of operand i.
func replaced(t []*part, i int, p *part) []*part {
	t = slices.Clone(t)
	t[i] = p
	return t
}

func (b *builder) meetAll(ts [][]*part, i int, ps []*part) [][]*part {
	var out [][]*part
	for _, t := range ts {
		for _, p := range ps {
			out = append(out, b.meet(t, i, p.normal())...)
			refuseIf(len(out) > maxUnroll, "more than %d pieces", maxUnroll)
		}
	}
	return out
}

// widen adds the dimensions of shape that o broadcasts: as the operand of t that has them, whole
// where constants alone have them.
func (o *part) widen(t []*part, shape []int) {
	for d, size := range shape {
		if o.shape[d] == size {
			continue
		}
		o.shape[d] = size
		as := []atom{{d, 1, size}}
		if k := slices.IndexFunc(t, func(p *part) bool { return p != nil && p.shape[d] > 1 }); k >= 0 {
			o.start[d], as = t[k].start[d], t[k].atomsOf(d)
		}
		for _, a := range as { // on the first of W, H, C that is free, on W where none is
			x := o.freeAxis(axW, axH, axC)
			if x < 0 {
				x = axW
			}
			o.axes[x] = append(o.axes[x], a)
		}
	}
}

// apply emits the operator for operands that cover the same box.
func (b *builder) apply(n *ir.Node, t []*part) *part {
	var base *part
	for _, p := range t {
		if p != nil && (base == nil || p.val.Type.Elems() > base.val.Type.Elems()) {
			base = p
		}
	}
	o := base.clone()
	t = lists.Map(t, func(p *part) *part { // cloned: common changes them
		if p == nil {
			return nil
		}
		return p.clone()
	})
	rank := len(o.shape)
	o.widen(t, n.Out[0].Type.Shape)
	for range 2 { // refining one operand may split atoms of another
		for _, p := range t {
			if p != nil {
				o.common(p)
			}
		}
	}
	in := make([]*ir.Value, len(n.In))
	for i, v := range n.In {
		switch {
		case v == nil:
		case t[i] != nil:
			in[i] = b.relayout(t[i], o.layoutFor(t[i])).val
		case asWhole(n, i):
			in[i] = b.of(v).whole
		default:
			in[i] = b.g.AddQuantConst(b.name("const"), arranged(v.Const, rank, o), v.Type.Quant)
		}
	}
	o.val = b.emitAs(n.Out[0].Type, n.Op, "", n.Attrs.Clone(), in...)
	refuseIf(!slices.Equal(o.val.Type.Shape, o.axes.shape()), "a constant operand is larger than the others")
	return o
}

// common cuts the atoms of o and p, an operand that covers the same box, until those
// of p's dimensions are the same.
func (o *part) common(p *part) {
	for d := range o.shape {
		if p.shape[d] > 1 {
			refuseIf(!refine(o, p, o.atomsOf(d), p.atomsOf(d)), "the dimensions of operands factor differently")
		}
	}
}

// layoutFor are the axes of o without the atoms that p broadcasts.
func (o *part) layoutFor(p *part) (want axes) {
	for x, as := range o.axes {
		want[x] = lists.Filter(as, func(a atom) bool { return p.shape[a.dim] > 1 })
		refuseIf(len(want[x]) > 0 && len(want[x]) < len(as), "an operand is broadcast along a part of an axis")
	}
	return want
}
