// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"fmt"
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
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
	for v := range b.valuesInOrder() {
		b.hand(v)
	}
	b.h.RemoveDead()
}

// valuesInOrder are the values of g.
func (b *builder) valuesInOrder() func(yield func(*ir.Value) bool) {
	return func(yield func(*ir.Value) bool) {
		for _, v := range b.g.In {
			if !yield(v) {
				return
			}
		}
		for _, n := range b.g.Nodes {
			for _, v := range n.Out {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// remembered are the flow of v and the rows of it that the next step finds; nil for none.
func (b *builder) remembered(v *ir.Value) (f *flow, lo, hi int) {
	if b.flows[v] == nil {
		return nil, 0, 0
	}
	if lo, hi = b.kept(v); lo >= hi {
		return nil, 0, 0
	}
	return b.flows[v], lo, hi
}

// remember makes the input that holds the rows of v from the step before.
func (b *builder) remember(v *ir.Value) {
	f, lo, hi := b.remembered(v)
	if f == nil {
		return
	}
	w := b.h.AddInput(fmt.Sprintf("%s.kept", v.Name), shape(v.Type, f.axis, hi-lo))
	b.pieces[v] = append(b.pieces[v], piece{lo, hi, w})
	d := b.zero[v]
	if d == nil {
		fail.Check(bug.Errorf("stream: no value of %s for an empty window", v))
	}
	b.states = append(b.states, State{In: w.Name, Out: w.Name + ".next", Init: d.Slice(f.axis, lo+f.hop, hi+f.hop)})
}

// hand makes the output that the next step finds as its input.
func (b *builder) hand(v *ir.Value) {
	f, lo, hi := b.remembered(v)
	if f == nil {
		return
	}
	w := b.handed(v, lo+f.hop, hi+f.hop)
	for _, p := range b.pieces[v] {
		if p.lo == lo && p.hi == hi {
			b.h.AddOutput(p.v.Name+".next", w)
			return
		}
	}
	fail.Check(bug.Errorf("stream: the rows of %s are not kept", v))
}

// node copies a node: for the rows at both ends, or as it is.
func (b *builder) node(n *ir.Node) {
	var y *flow
	if len(n.Out) == 1 {
		y = b.flows[n.Out[0]]
	}
	if y == nil {
		in := lists.Each(n.In, b.all)
		m := b.add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), n.Origin, in...)
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

// add is a node of the new graph.
func (b *builder) add(o *ir.OpDef, name string, attrs ir.Attrs, outs int, origin []string, in ...*ir.Value) *ir.Node {
	n, err := b.h.Add(o, name, attrs, outs, in...)
	if err != nil {
		fail.Check(bug.Errorf("stream: %w", err))
	}
	n.Origin = origin
	return n
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
	if isReshape(n) {
		o, attrs = op.Reshape, nil
		in = []*ir.Value{in[0], b.h.AddConst(n.Name+".shape", tensor.Ints(shape(t, y.axis, hi-lo).Shape...))}
	}
	name := n.Name
	if len(y.anew()) > 1 && lo == 0 {
		name += ".head"
	}
	m := b.add(o, name, attrs, 1, n.Origin, in...)
	if got := m.Out[0].Type.Shape; got[y.axis] != hi-lo {
		fail.Check(bug.Errorf("stream: %s gives %v, want %d rows", n, got, hi-lo))
	}
	m.Out[0].Type = shape(t, y.axis, hi-lo)
	return m.Out[0]
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
	if at != hi {
		fail.Check(bug.Errorf("stream: rows %d to %d of %s: there are %v", lo, hi, v, list))
	}
	if len(parts) == 1 {
		return parts[0]
	}
	n := b.add(op.Concat, v.Name+".window", ir.Attrs{"axis": ir.Int(axis)}, 1, origin(v), parts...)
	n.Out[0].Type = shape(v.Type, axis, hi-lo)
	b.windows[v] = append(b.windows[v], piece{lo, hi, n.Out[0]})
	return n.Out[0]
}

// cut is rows from to to of a piece of v.
func (b *builder) cut(v *ir.Value, p piece, from, to int) *ir.Value {
	if from == p.lo && to == p.hi {
		return p.v
	}
	axis := b.flows[v].axis
	c := func(k int) *ir.Value { return b.h.AddConst(p.v.Name+".rows", tensor.Ints(k)) }
	n := b.add(op.Slice, p.v.Name+".rows", nil, 1, origin(v), p.v, c(from-p.lo), c(to-p.lo), c(axis))
	n.Out[0].Type = shape(v.Type, axis, to-from)
	return n.Out[0]
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

func origin(v *ir.Value) []string {
	if v.Def == nil {
		return nil
	}
	return v.Def.Origin
}
