// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"slices"

	"github.com/nncc/nncc/ir"
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
	forms, from := map[*ir.Node]*product{}, map[*ir.Node][][]source{}
	for _, n := range g.Nodes { // what is given up on first: it may tie others
		f := productOf(n)
		forms[n], from[n] = f, sources(n, f)
		if from[n] == nil && (f == nil || f.group > 1) {
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
	for changed := true; changed; {
		changed = false
		for _, n := range slices.Backward(g.Nodes) {
			for c, list := range from[n] { // channels that go or stay together
				for _, s := range list {
					changed = m.tie(s.v, s.c, n.Out[0], c) || changed
				}
			}
			if f := forms[n]; f != nil && from[n] == nil {
				changed = m.product(f, r[n.In[0]]) || changed
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

// product: sums need an input channel that has a weight for a needed output and
// that is not folded.
func (m needs) product(f *product, x []Range) bool {
	in, out := f.n.In[0], f.n.Out[0]
	changed := false
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
