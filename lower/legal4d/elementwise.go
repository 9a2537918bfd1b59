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
	ps := clones(b.parts(v))
	for _, p := range ps {
		p.dims = slices.Concat(make([][]digit, n.Out[0].Type.Rank()-len(p.dims)), p.dims)
	}
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
	for d := range ps[0].dims {
		thin := true
		for _, p := range ps {
			thin = thin && p.count(p.axes[axC]) < narrowChannels && p.lies(d, axC)
		}
		if thin {
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
		for d := range p.dims {
			if len(q.dims[d]) == 0 || len(p.dims[d]) == 0 {
				continue // broadcast
			}
			refuseIf(!alignDigits([]*part{q, p}, d), "operands are cut into pieces that do not fit")
			for j := range p.dims[d] {
				pd, qd := p.dims[d][j], q.dims[d][j]
				lo, hi := max(pd.start, qd.start), min(pd.start+p.len(pd), qd.start+q.len(qd))
				if lo >= hi {
					return nil
				}
				if lo > pd.start || hi < pd.start+p.len(pd) {
					return b.meetAll([][]*part{t}, i, b.narrow(p, d, j, lo-pd.start, hi-pd.start))
				}
				if lo > qd.start || hi < qd.start+q.len(qd) {
					qs := b.narrow(q, d, j, lo-qd.start, hi-qd.start)
					var ts [][]*part
					for _, q := range qs {
						u := slices.Clone(t)
						u[k] = q
						ts = append(ts, u)
					}
					return b.meetAll(ts, i, []*part{p})
				}
			}
		}
	}
	u := slices.Clone(t)
	u[i] = p
	return [][]*part{u}
}

func (b *builder) meetAll(ts [][]*part, i int, ps []*part) [][]*part {
	var out [][]*part
	for _, t := range ts {
		for _, p := range ps {
			q := p.clone()
			q.normalise()
			out = append(out, b.meet(t, i, q)...)
			refuseIf(len(out) > maxUnroll, "more than %d pieces", maxUnroll)
		}
	}
	return out
}

// widen adds the dimensions of shape that o broadcasts: in the digits of the operand of t that has them, whole
// where constants alone have them.
func (o *part) widen(t []*part, shape []int) {
	for d := range o.dims {
		if len(o.dims[d]) > 0 {
			continue
		}
		for _, p := range t {
			if p != nil && len(p.dims[d]) > 0 {
				for _, dg := range p.dims[d] {
					nd := digit{dg.n, dg.start, nil}
					for _, a := range dg.atoms {
						nd.atoms = append(nd.atoms, o.spread(p.size[a]))
					}
					o.dims[d] = append(o.dims[d], nd)
				}
				break
			}
		}
		if len(o.dims[d]) == 0 && shape[d] > 1 {
			o.dims[d] = []digit{{shape[d], 0, []int{o.spread(shape[d])}}}
		}
	}
}

// spread adds an atom on the first of W, H, C that is free, on W where none is.
func (o *part) spread(size int) int {
	a, x := o.newAtom(size), axW
	for _, y := range []int{axW, axH, axC} {
		if len(o.axes[y]) == 0 {
			x = y
			break
		}
	}
	o.axes[x] = append(o.axes[x], a)
	return a
}

// apply emits the operator for operands that cover the same box.
func (b *builder) apply(n *ir.Node, t []*part) *part {
	var base *part
	for _, p := range t {
		if p != nil && (base == nil || len(p.size) > 0 && p.val.Type.Elems() > base.val.Type.Elems()) {
			base = p
		}
	}
	o := base.clone()
	for i := range t { // cloned: refine changes them
		if t[i] != nil {
			if t[i] == base {
				t[i] = o.clone()
			} else {
				t[i] = t[i].clone()
			}
		}
	}
	rank := len(o.dims)
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
			in[i] = b.constant(b.name("const"), arranged(v.Const, rank, o), v.Type.Quant)
		}
	}
	o.val = b.emitAs(n.Out[0].Type, n.Op, "", n.Attrs.Clone(), in...)
	refuseIf(!slices.Equal(o.val.Type.Shape, o.shape()), "a constant operand is larger than the others")
	return o
}

// common splits the atoms of o and p, an operand that covers the same box, until those
// of p's dimensions correspond one to one.
func (o *part) common(p *part) {
	for d := range o.dims {
		if len(p.dims[d]) == 0 {
			continue
		}
		refuseIf(!alignDigits([]*part{o, p}, d) || len(o.dims[d]) != len(p.dims[d]),
			"operands are cut into pieces that do not fit")
		for j := range p.dims[d] {
			refuseIf(!refine(o, &o.dims[d][j], p, &p.dims[d][j]), "the dimensions of operands factor differently")
		}
	}
}

// layoutFor are the axes of o in the atoms of p, without those that p broadcasts.
func (o *part) layoutFor(p *part) (want [4][]int) {
	to := map[int]int{}
	for d := range p.dims {
		for j := range p.dims[d] {
			for k, a := range p.dims[d][j].atoms {
				to[o.dims[d][j].atoms[k]] = a
			}
		}
	}
	for x, as := range o.axes {
		for _, a := range as {
			if w, ok := to[a]; ok {
				want[x] = append(want[x], w)
			}
		}
		refuseIf(len(want[x]) > 0 && len(want[x]) < len(as), "an operand is broadcast along a part of an axis")
	}
	return want
}
