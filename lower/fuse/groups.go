// SPDX-License-Identifier: Apache-2.0

// Package fuse finds what can be computed together and makes it so where a
// kernel exists: parts of the graph that compute one 8-bit value from one
// other become a table, convolutions and the like take what follows them into
// their store loop, and element-wise nodes that remain become one loop.
package fuse

import (
	"slices"

	"github.com/nncc/nncc/ir"
)

// Group is a set of nodes that could be computed together: all paths between
// any two of them stay inside.
type Group struct {
	Nodes  []*ir.Node // in graph order
	Anchor *ir.Node   // the convolution-like node or reduction among them, or nil
	Kind   ir.Pattern // the most restrictive pattern in the group
}

// Groups partitions the nodes of g by operator pattern kinds and
// post-dominators, in the three phases of TVM's FuseOps: convolution-like
// nodes take the element-wise operators that follow them, residual diamonds
// included; then element-wise and injective chains join; concatenations, the
// tuples of TVM's third phase, are injective nodes with several inputs here.
// Rules: src/relax/analysis/graph_partitioner.cc.
func Groups(g *ir.Graph) []Group {
	p := &partitioner{tree: postDominators(g), index: make(map[*ir.Node]int, len(g.Nodes)), nodes: g.Nodes}
	for i, n := range g.Nodes {
		p.index[n] = i
		r := &set{pattern: n.Op.Pattern, size: 1}
		if r.pattern == ir.OutFusable {
			r.anchor = n
		}
		p.sets = append(p.sets, r)
	}
	for phase := range 2 {
		for i := range g.Nodes {
			p.step(i, phase)
		}
	}
	return p.groups()
}

// maxDepth bounds the nodes of a group, as relax.FuseOps.max_depth does.
const maxDepth = 256

// set is an element of the union-find forest of groups.
type set struct {
	parent  *set
	pattern ir.Pattern
	anchor  *ir.Node
	size    int
}

func (s *set) root() *set {
	for s.parent != nil {
		s = s.parent
	}
	return s
}

type partitioner struct {
	nodes []*ir.Node
	index map[*ir.Node]int
	sets  []*set
	tree  []dominator
}

// step tries to fuse node i with its post-dominator, everything between
// included.
func (p *partitioner) step(i, phase int) {
	dom := p.tree[i]
	kind := p.sets[i].root().pattern
	if kind == ir.Opaque || dom.node < 0 || p.sets[i].root() == p.sets[dom.node].root() {
		return
	}
	list := p.between(i, dom.node)
	if p.size(list, dom.node) > maxDepth {
		return
	}
	// the patterns of the groups that the nodes are in by now
	pattern := func(k int) ir.Pattern { return p.sets[k].root().pattern }
	inner, sink, ok := takes(kind, dom.pattern, phase)
	if ok && pattern(dom.node) <= sink &&
		!slices.ContainsFunc(list, func(k int) bool { return k != i && pattern(k) > inner }) {
		p.commit(list, dom.node)
	}
}

// takes is how restrictive what lies between a node of a kind and its post-dominator may
// be, and that itself, where the worst of the paths is way.
func takes(kind, way ir.Pattern, phase int) (inner, sink ir.Pattern, ok bool) {
	switch {
	case kind == ir.OutFusable: // what follows is element-wise on the same shape, or broadcasts into it
		return ir.Broadcast, ir.Broadcast, phase == 0 && way == ir.Elementwise
	case kind <= ir.Broadcast:
		return ir.Injective, ir.OutFusable, way <= ir.Injective || way == ir.Reduce
	case kind == ir.Injective:
		return ir.Injective, ir.Injective, phase == 1
	}
	return 0, 0, false
}

// between are the nodes on all paths from i to its post-dominator, i included,
// the dominator not; some of them where there are more than maxDepth.
func (p *partitioner) between(i, dom int) (list []int) {
	seen := map[int]bool{dom: true}
	var visit func(k int)
	visit = func(k int) {
		if seen[k] || len(list) > maxDepth {
			return
		}
		seen[k] = true
		list = append(list, k)
		for _, v := range p.nodes[k].Out {
			for _, u := range v.Uses() {
				visit(p.index[u.Node])
			}
		}
	}
	visit(i)
	slices.Sort(list)
	return list
}

// size is the number of nodes of the group of the dominator with those of the list.
func (p *partitioner) size(list []int, dom int) int {
	roots := map[*set]bool{p.sets[dom].root(): true}
	for _, k := range list {
		roots[p.sets[k].root()] = true
	}
	n := 0
	for r := range roots {
		n += r.size
	}
	return n
}

// commit merges into the dominator's group. Two anchors never meet: the rules
// of step let none pass.
func (p *partitioner) commit(list []int, dom int) {
	into := p.sets[dom].root()
	for _, k := range list {
		r := p.sets[k].root()
		if r == into {
			continue
		}
		r.parent = into
		into.size += r.size
		if r.anchor != nil {
			into.anchor = r.anchor
		}
		into.pattern = max(into.pattern, r.pattern)
	}
}

func (p *partitioner) groups() []Group {
	at := map[*set]int{}
	var out []Group
	for i, n := range p.nodes {
		r := p.sets[i].root()
		k, ok := at[r]
		if !ok {
			k = len(out)
			at[r] = k
			out = append(out, Group{Anchor: r.anchor, Kind: r.pattern})
		}
		out[k].Nodes = append(out[k].Nodes, n)
	}
	return out
}

// Fusion is nodes that became one, or that could have and did not.
type Fusion struct {
	Kind   string   // table, curve, kernel, loop; none: they stay as they are
	Anchor string   // the node that stands for all
	Nodes  []string // all of them, in order
	Kernel string   // what computes them, where a kernel does
	Why    string   // why they stay, where Kind is none
	// Error is how far an interpolation (curve) is from the exact function at most, in steps of
	// the result, and Apart how far the separate nodes are.
	Error, Apart float64
}
