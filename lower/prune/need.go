// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// needs says of every channel of every analysed value whether it must stay.
// Values that are absent keep all.
type needs map[*ir.Value][]bool

// add marks channel c of v; it reports a change.
func (m needs) add(v *ir.Value, c int) bool {
	if k := m[v]; k != nil && !k[c] {
		k[c] = true
		return true
	}
	return false
}

func (m needs) all(v *ir.Value) bool {
	changed := false
	for c := range m[v] {
		changed = m.add(v, c) || changed
	}
	return changed
}

// tie makes two channels go or stay together.
func (m needs) tie(a *ir.Value, i int, b *ir.Value, j int) bool {
	x, y := m.has(a, i), m.has(b, j)
	switch {
	case x && !y:
		return m.add(b, j)
	case y && !x:
		return m.add(a, i)
	}
	return false
}

// has reports that a channel stays; all channels of values that are not
// analysed do.
func (m needs) has(v *ir.Value, c int) bool { return m[v] == nil || m[v][c] }

// need finds the channels that must stay, going from the outputs up until
// nothing changes.
func need(g *ir.Graph, r map[*ir.Value][]Range) needs {
	m := needs{}
	for v, x := range r {
		if x != nil && v.Def != nil {
			m[v] = make([]bool, len(x))
		}
	}
	for _, n := range g.Nodes { // what is given up on first: it may tie others
		if len(n.Out) != 1 || !shrinks(n) {
			for _, v := range n.In {
				delete(m, v)
			}
			for _, v := range n.Out {
				delete(m, v)
			}
		}
	}
	for _, v := range g.Out {
		m.all(v)
	}
	forms := map[*ir.Node]*product{}
	for _, n := range g.Nodes {
		forms[n] = productOf(n)
	}
	for changed := true; changed; {
		changed = false
		for i := len(g.Nodes) - 1; i >= 0; i-- {
			n := g.Nodes[i]
			if f := forms[n]; f != nil {
				changed = m.product(f, r[n.In[0]]) || changed
			} else {
				changed = m.follow(n) || changed
			}
		}
		for i := 0; i < len(g.Nodes) && !changed; i++ {
			changed = m.atLeastOne(g.Nodes[i])
		}
	}
	return m
}

// atLeastOne keeps the first channel of a value that would lose all of them
// but still has readers.
func (m needs) atLeastOne(n *ir.Node) bool {
	for _, v := range n.Out {
		if m[v] != nil && !slices.Contains(m[v], true) && len(v.Uses()) > 0 {
			return m.add(v, 0)
		}
	}
	return false
}

// shrinks reports nodes that can be rewritten for fewer channels.
func shrinks(n *ir.Node) bool {
	if f := productOf(n); f != nil {
		return f.group == 1 || f.depthwise()
	}
	switch {
	case isReshape(n):
		_, ok := block(n.In[0].Type, n.Out[0].Type)
		return ok && n.Quantised()
	case n.Op == op.Concat:
		return ir.AttrsOf[op.AxisAttr](n).Axis == 1 && n.Quantised()
	}
	return channelwise(n)
}

// product: a depthwise convolution's channels go with its input's; other sums
// need an input channel that has a weight for a needed output and that is not folded.
func (m needs) product(f *product, x []Range) bool {
	in, out := f.n.In[0], f.n.Out[0]
	changed := false
	if f.depthwise() {
		for o := range f.out {
			changed = m.tie(in, o/(f.out/f.in), out, o) || changed
		}
		return changed
	}
	if m[in] == nil {
		return false
	}
	for i := range f.in {
		if m.has(in, i) || x != nil && f.folds(x[i]) {
			continue
		}
		for o := range f.out {
			if m.has(out, o) && f.reads(o, i) {
				changed = m.add(in, i) || changed
				break
			}
		}
	}
	return changed
}

// folds reports that a channel with this interval is a constant addend: a
// border where the channel is missing counts as its zero point.
func (f *product) folds(r Range) bool {
	return r.constant() && (!f.padded || r.Lo == f.n.In[0].Type.Quant.Zero[0])
}

// reads reports that output o has a weight for input i.
func (f *product) reads(o, i int) bool {
	for t := range f.taps {
		if f.weight(o, i, t) != 0 {
			return true
		}
	}
	return false
}

// follow ties the channels of other nodes.
func (m needs) follow(n *ir.Node) bool {
	changed := false
	if len(n.Out) != 1 {
		return false
	}
	y := n.Out[0]
	switch {
	case isReshape(n):
		k, ok := block(n.In[0].Type, y.Type)
		if !ok {
			return false
		}
		for o := range channels(y.Type) {
			changed = m.tie(n.In[0], o/k, y, o) || changed
		}
	case n.Op == op.Concat && ir.AttrsOf[op.AxisAttr](n).Axis == 1:
		at := 0
		for _, v := range n.In {
			for c := range channels(v.Type) {
				changed = m.tie(v, c, y, at+c) || changed
			}
			at += channels(v.Type)
		}
	case channelwise(n):
		for _, v := range n.In {
			if v == nil || v.Const != nil {
				continue
			}
			for c := range channels(y.Type) {
				changed = m.tie(v, c, y, c) || changed
			}
		}
	}
	return changed
}
