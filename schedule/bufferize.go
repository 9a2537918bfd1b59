// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule/plan"
)

// builder collects values and steps in the planner's terms.
type builder struct {
	g      *ir.Graph
	low    map[*ir.Node]*call.Lowered
	parts  func(*ir.Node) bool // whether a node may vanish by its Parts
	values []plan.Value
	of     []*ir.Value
	index  map[*ir.Value]int
	place  []place    // per value: the storage it lies in
	within [][]int    // per storage (number of its root value): the values in it
	nodes  []*ir.Node // those that become steps
	silent map[*ir.Node]bool
	// Storages of the state, by the number of the input that holds it: their
	// offsets in the state's memory.
	kept       map[int]int
	stateBytes int
	inPlace    map[*ir.Value]bool // inputs over which their new state is written
}

// place of a value: the value whose storage it shares (itself, where it has
// its own), the distance from its start in bytes, and where it lies there in
// rows, their size and distance.
type place struct{ root, delta, row, pitch int }

func newBuilder(g *ir.Graph, low map[*ir.Node]*call.Lowered, parts func(*ir.Node) bool) *builder {
	b := &builder{g: g, low: low, parts: parts, index: map[*ir.Value]int{}, silent: map[*ir.Node]bool{},
		kept: map[int]int{}, inPlace: map[*ir.Value]bool{}}
	add := func(v *ir.Value, input bool) {
		i := len(b.values)
		b.index[v] = i
		b.of = append(b.of, v)
		b.values = append(b.values, plan.Value{Name: v.Name, Bytes: int64(v.Type.Bytes()), AliasOf: -1, Input: input})
		b.place = append(b.place, place{root: i})
		b.within = append(b.within, []int{i})
	}
	for _, v := range g.In {
		add(v, true)
	}
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			add(v, false)
		}
	}
	for _, v := range g.Out {
		if i, ok := b.index[v]; ok {
			b.values[i].Output = true
		}
	}
	return b
}

// alias places views inside other storages and marks the steps that vanish.
// Splits into rows come last: where their pieces were put decides where their
// operand can be.
func (b *builder) alias() {
	var splits []*ir.Node
	for _, n := range b.g.Nodes {
		l := b.low[n]
		switch {
		case l.View:
			b.move(b.index[n.Out[0]], b.index[n.In[0]], 0)
			b.silent[n] = true
		case len(l.Parts) == 0 || !b.parts(n) || b.showsState(n) || empty(n):
		case l.Parts[0].Row > 0:
			if l.Parts[0].Input {
				b.silent[n] = b.joinRows(n, l.Parts)
			} else {
				splits = append(splits, n)
			}
		case b.fits(n):
			for _, p := range l.Parts {
				if p.Input {
					v, to := b.index[n.In[p.I]], b.index[n.Out[0]]
					if r := b.place[v].root; r != b.place[to].root { // the storage of v moves as a whole
						b.move(r, to, p.Off-b.place[v].delta)
					}
				} else {
					b.move(b.index[n.Out[p.I]], b.index[n.In[0]], p.Off)
				}
			}
			b.silent[n] = true
		}
	}
	for _, n := range splits {
		b.silent[n] = b.splitRows(n, b.low[n].Parts)
	}
}

// empty reports a node with a value of no elements, which would keep a storage without a byte of it.
func empty(n *ir.Node) bool {
	return slices.ContainsFunc(slices.Concat(n.In, n.Out), func(v *ir.Value) bool {
		return v != nil && v.Type.Elems() == 0
	})
}

// move puts the storage of value v, its root, into that of value to, delta
// bytes after the start of to.
func (b *builder) move(v, to, delta int) {
	b.values[v].AliasOf, b.values[v].Delta = to, int64(delta)
	at := b.place[to]
	for _, w := range b.within[v] {
		x := b.place[w]
		x.root, x.delta = at.root, at.delta+delta+x.delta
		b.place[w] = x
	}
	b.within[at.root] = append(b.within[at.root], b.within[v]...)
	b.within[v] = nil
}

// fits reports whether a node's operands can lie inside each other as its
// Parts say, so that it needs no code.
//
// Pieces of a split can. An input of a concat takes its whole storage along:
// everything in it must fall inside the result, without overlap with the
// storages of other inputs. (Two pieces of one split that are
// joined again in their order move together.) Storages that the caller writes
// stay: inputs are aligned for DMA. Those that he reads move by multiples of
// program.Align only.
func (b *builder) fits(n *ir.Node) bool {
	taken := map[int]span{} // by root, in bytes of the result
	for _, p := range b.low[n].Parts {
		if !p.Input {
			if b.place[b.index[n.In[0]]].pitch > 0 {
				return false
			}
			continue
		}
		v := n.In[p.I]
		if v.Const != nil {
			return false
		}
		i := b.index[v]
		if b.place[i].pitch > 0 {
			return false
		}
		r := b.place[i].root
		at := p.Off - b.place[i].delta // where the storage begins in the result
		s, ok := b.moved(r, at)
		if !ok || s.lo < 0 || s.hi > n.Out[0].Type.Bytes() {
			return false
		}
		if have, ok := taken[r]; ok {
			if have != s {
				return false
			}
			continue
		}
		for _, o := range taken {
			if s.lo < o.hi && o.lo < s.hi {
				return false
			}
		}
		taken[r] = s
	}
	return true
}

// span is a range of bytes.
type span struct{ lo, hi int }

// moved is where the storage of a root lies that is put at a byte; false where it has to stay.
func (b *builder) moved(root, at int) (s span, ok bool) {
	s = span{at, at}
	for _, w := range b.within[root] {
		d := at + b.place[w].delta
		if b.values[w].Input || b.values[w].Output && d%program.Align != 0 {
			return s, false
		}
		s.hi = max(s.hi, d+int(b.values[w].Bytes))
	}
	return s, true
}

// steps are the nodes with code. They name what they read: whoever reads the output of a concat that
// vanished comes after the writers of its parts.
func (b *builder) steps() []plan.Node {
	writers := map[*ir.Value][]int{} // value -> steps whose results it holds
	var out []plan.Node
	for _, n := range b.g.Nodes {
		l := b.low[n]
		x := plan.Node{Name: n.Label(), Scratch: int64(l.Scratch), Overlap: b.overlaps(n), Over: b.below(n)}
		for i := range n.In {
			if v, ok := b.reads(n, i); ok {
				x.In, x.After = append(x.In, b.index[v]), append(x.After, writers[v]...)
			}
		}
		for _, v := range n.Out {
			if writers[v] = x.After; !b.silent[n] {
				x.Out, writers[v] = append(x.Out, b.index[v]), []int{len(out)}
			}
		}
		if !b.silent[n] {
			out, b.nodes = append(out, x), append(b.nodes, n)
		}
	}
	return out
}

// reads is the value that the calls of a node read as input i.
func (b *builder) reads(n *ir.Node, i int) (*ir.Value, bool) {
	v := n.In[i]
	return v, v != nil && v.Const == nil && !slices.Contains(b.low[n].Unused, i)
}

// overlaps are the inputs over which outputs of a node may lie.
func (b *builder) overlaps(n *ir.Node) []plan.Overlap {
	var out []plan.Overlap
	for _, o := range b.low[n].Overlap {
		v, ok := b.reads(n, o.I)
		y := n.Out[o.Out]
		if o.Scratch || b.silent[n] || !ok || o.Exact && v.Type.Bytes() != y.Type.Bytes() ||
			b.place[b.index[v]].pitch > 0 || b.place[b.index[y]].pitch > 0 {
			continue
		}
		if ahead, behind, ok := b.ahead(n, o); ok {
			out = append(out, plan.Overlap{Out: b.index[y], In: b.index[v], Ahead: ahead, Behind: behind,
				Exact: o.Exact, Slower: int64(o.Slower)})
		}
	}
	return out
}

// below are the inputs over which the scratch memory of a node may lie.
func (b *builder) below(n *ir.Node) []plan.Over {
	var out []plan.Over
	for _, o := range b.low[n].Overlap {
		if v, ok := b.reads(n, o.I); ok && o.Scratch && b.place[b.index[v]].pitch == 0 {
			out = append(out, plan.Over{In: b.index[v], Ahead: int64(o.Ahead), Behind: int64(o.Behind)})
		}
	}
	return out
}

// ahead is how far an output has to begin before an input over which it may lie, or behind it, for the
// sake of operands, a slice of the input for example, in the same bytes; false where one of them forbids it.
func (b *builder) ahead(n *ir.Node, o call.Overlap) (ahead, behind int64, ok bool) {
	v := b.index[n.In[o.I]]
	at, far, after := b.place[v], o.Ahead, o.Behind
	for j := range n.In {
		w, ok := b.reads(n, j)
		if !ok || j == o.I {
			continue
		}
		x := b.place[b.index[w]]
		if x.root != at.root || !overlap(at.delta, b.bytes(v), x.delta, b.bytes(b.index[w])) {
			continue
		}
		k := slices.IndexFunc(b.low[n].Overlap, func(x call.Overlap) bool { return x.I == j && x.Out == o.Out })
		if k < 0 {
			return 0, 0, false
		}
		other := b.low[n].Overlap[k]
		after = 0
		if far = max(far, other.Ahead-(x.delta-at.delta)); other.Exact && (!o.Exact || x != at) || o.Exact && far > 0 {
			return 0, 0, false
		}
	}
	return int64(far), int64(after), true
}

// bytes are those from the first to the last one of a value.
func (b *builder) bytes(v int) int {
	x, n := b.place[v], int(b.values[v].Bytes)
	if x.pitch > 0 && n > 0 {
		return (n/x.row-1)*x.pitch + x.row
	}
	return n
}
