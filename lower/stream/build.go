// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// piece is some rows of a value of g, as a value of h.
type piece struct {
	lo, hi int
	v      *ir.Value
}

// build writes the streaming graph.
func (b *builder) build() {
	for i, v := range b.g.In {
		t := v.Type
		if i == b.o.Input {
			t = shape(t, b.o.Axis, b.o.Hop)
		}
		w := b.h.AddInput(v.Name, t)
		if i == b.o.Input {
			b.pieces[v] = []piece{{v.Type.Shape[b.o.Axis] - b.o.Hop, v.Type.Shape[b.o.Axis], w}}
		} else {
			b.whole[v] = w
		}
	}
	b.remember(b.g.In[b.o.Input])
	for _, n := range b.g.Nodes {
		b.node(n)
	}
	for i, v := range b.g.Out {
		b.h.AddOutput(b.g.OutNames[i], b.all(v))
	}
	for k, m := range b.kept { // what the next step finds as its input
		f := b.flows[m.v]
		b.h.AddOutput(b.states[k].Out, b.handed(m.v, m.lo+f.hop, m.hi+f.hop))
	}
	b.h.RemoveDead()
}

// remember makes the input that holds the rows of v from the step before.
func (b *builder) remember(v *ir.Value) {
	lo, hi := b.keeps(v)
	if lo >= hi {
		return
	}
	f, d := b.flows[v], b.zero[v]
	bug.If(d == nil, "stream: no value of %s for an empty window", v)
	w := b.h.AddInput(v.Name+".kept", shape(v.Type, f.axis, hi-lo))
	b.pieces[v] = append(b.pieces[v], piece{lo, hi, w})
	b.kept = append(b.kept, piece{lo, hi, v})
	b.states = append(b.states, State{In: w.Name, Out: w.Name + ".next", Init: d.Slice(f.axis, lo+f.hop, hi+f.hop)})
}

// node copies a node: for the rows at both ends, or as it is.
func (b *builder) node(n *ir.Node) {
	var y *flow
	if len(n.Out) == 1 {
		y = b.flows[n.Out[0]]
	}
	if y == nil {
		in := lists.Each(n.In, b.all)
		m := bug.Must(b.h.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...))
		m.Origin = n.Origin
		for i, v := range n.Out {
			m.Out[i].Type = v.Type.WithOrder(nil)
			b.whole[v] = m.Out[i]
		}
		return
	}
	v := n.Out[0]
	for _, r := range y.anew() {
		b.pieces[v] = append(b.pieces[v], piece{r[0], r[1], b.part(n, y, r[0], r[1])})
	}
	b.remember(v)
}

// part computes rows lo to hi of a node's result.
func (b *builder) part(n *ir.Node, y *flow, lo, hi int) *ir.Value {
	in := make([]*ir.Value, len(n.In))
	attrs := maps.Clone(n.Attrs)
	t := n.Out[0].Type
	for i, v := range n.In {
		f := b.flows[v]
		if v == nil || f == nil {
			in[i] = b.all(v)
			continue
		}
		from, to, above, below := rowsOf(n, f, lo, hi)
		in[i] = b.rows(v, from, to)
		if n.Op == op.Spectrum {
			a := ir.AttrsOf[op.SpectrumAttrs](n)
			attrs["frames"], attrs["pad"] = ir.Int(hi-lo), ir.Int(a.Lead+above)
		} else if windowed(n) {
			if attrs == nil {
				attrs = ir.Attrs{}
			}
			attrs["pads"] = ir.Ints(pads(n, f.axis, above, below)...)
			delete(attrs, "auto_pad")
		}
	}
	o := n.Op
	if n.Op.View == ir.Reshaped {
		o, attrs = op.Reshape, nil
		in = []*ir.Value{in[0], b.h.AddConst(n.Name+".shape", tensor.Ints(shape(t, y.axis, hi-lo).Shape...))}
	}
	name := n.Name
	if len(y.anew()) > 1 && lo == 0 {
		name += ".head"
	}
	m := b.h.Insert(nil, n, o, name, attrs, in...)
	bug.If(m.Type.Shape[y.axis] != hi-lo, "stream: %s gives %v, want %d rows", n, m.Type.Shape, hi-lo)
	m.Type = shape(t, y.axis, hi-lo)
	return m
}

// pads are the paddings of a window with those along one dimension replaced.
func pads(n *ir.Node, axis, above, below int) []int {
	g := op.WindowsOf(n)
	begin, end := slices.Clone(g.PadBegin), slices.Clone(g.PadEnd)
	begin[axis-2], end[axis-2] = above, below
	return append(begin, end...)
}

// all is the whole of a value: its rows together, or a constant.
func (b *builder) all(v *ir.Value) *ir.Value {
	switch {
	case v == nil:
		return nil
	case v.Const != nil:
		w := b.fresh[v]
		if w == nil {
			w = b.h.AddConst(v.Name, v.Const)
			w.Type = v.Type
			b.fresh[v] = w
		}
		return w
	case b.whole[v] != nil:
		return b.whole[v]
	}
	b.whole[v] = b.rows(v, 0, b.flows[v].rows)
	return b.whole[v]
}

// rows are rows lo to hi of a value that shifts, from the pieces there are.
func (b *builder) rows(v *ir.Value, lo, hi int) *ir.Value {
	axis := b.flows[v].axis
	list := slices.Clone(b.pieces[v])
	lists.Sort(list, func(a, b piece) int { return a.lo - b.lo })
	var parts []*ir.Value
	at := lo
	for _, p := range list {
		from, to := max(at, p.lo), min(hi, p.hi)
		if from != at || from >= to {
			continue
		}
		parts, at = append(parts, b.cut(v, p, from, to)), to
	}
	bug.If(at != hi, "stream: rows %d to %d of %s: there are %v", lo, hi, v, list)
	if len(parts) == 1 {
		return parts[0]
	}
	w := b.h.Insert(nil, v.Def, op.Concat, v.Name+".window", ir.Attrs{"axis": ir.Int(axis)}, parts...)
	w.Type = shape(v.Type, axis, hi-lo)
	b.windows[v] = append(b.windows[v], piece{lo, hi, w})
	return w
}

// cut is rows from to to of a piece of v.
func (b *builder) cut(v *ir.Value, p piece, from, to int) *ir.Value {
	if from == p.lo && to == p.hi {
		return p.v
	}
	axis := b.flows[v].axis
	c := func(k int) *ir.Value { return b.h.AddConst(p.v.Name+".rows", tensor.Ints(k)) }
	w := b.h.Insert(nil, v.Def, op.Slice, p.v.Name+".rows", nil, p.v, c(from-p.lo), c(to-p.lo), c(axis))
	w.Type = shape(v.Type, axis, to-from)
	return w
}

// handed is rows lo to hi of v for the next step: out of the smallest window that a layer
// reads and that has them all, which is one copy, or from the pieces.
func (b *builder) handed(v *ir.Value, lo, hi int) *ir.Value {
	best := piece{}
	for _, w := range b.windows[v] {
		if w.lo <= lo && hi <= w.hi && (best.v == nil || w.hi-w.lo < best.hi-best.lo) {
			best = w
		}
	}
	if best.v == nil || slices.ContainsFunc(b.pieces[v], func(p piece) bool { return p.lo <= lo && hi <= p.hi }) {
		return b.rows(v, lo, hi)
	}
	return b.cut(v, best, lo, hi)
}
