// SPDX-License-Identifier: Apache-2.0

package plan

// Stats of Order, in bytes live at the busiest step, every storage rounded up
// to Align.
type Stats struct {
	Peak      int64 // of the order returned
	GivenPeak int64 // of the nodes as they were given
	Bound     int64 // no order is below: the busiest single step
	Optimal   bool  // Peak is proven to be the smallest possible
}

// Order returns the order of the nodes (indices into nodes, step by step) that
// keeps the fewest bytes live at the busiest step. The nodes must be given in
// an order in which they can run; that order is returned where no better one is
// found, so the result is never worse.
//
// The search goes over the sets of nodes that can have run, widest first the
// beam of 1, then wider ones, until nothing has to be dropped (the result is
// then optimal), the bound is reached or the budget is spent.
func Order(nodes []Node, values []Value, budget int64) ([]int, Stats) {
	return newProgram(nodes, values).order(budget, never)
}

// order is Order; where no order is below some bytes, the one given is as good as any.
func (p *program) order(budget, below int64) ([]int, Stats) {
	order := identity(len(p.nodes))
	st := Stats{Bound: p.bound(), GivenPeak: p.peak(order)}
	st.Peak = st.GivenPeak
	b := beam{p: p, bound: st.Bound, budget: budget}
	for width := 1; st.Peak > st.Bound && st.Bound < below && width <= maxBeam && b.work < b.budget; width *= 8 {
		found, whole := b.search(width, st.Peak)
		if found != nil {
			order = found
			st.Peak = p.peak(order)
		}
		if whole {
			st.Optimal = true
			break
		}
	}
	st.Optimal = st.Optimal || st.Peak == st.Bound
	return order, st
}

// Buffers returns what Place needs for the nodes in a given order: a buffer per
// value, with the index of the value, then one per node with scratch, in step
// order. Steps count from 0. Storages that a node overwrites in place become
// aliases. Place's bound for these buffers is the peak of the order.
func Buffers(nodes []Node, values []Value, order []int) []Buffer {
	p := newProgram(nodes, values)
	bufs := make([]Buffer, len(values))
	for i, v := range values {
		bufs[i] = Buffer{Name: v.Name, Bytes: v.Bytes, First: -1, Last: -1, AliasOf: v.AliasOf, Delta: v.Delta}
		if v.Input {
			bufs[i].First, bufs[i].Last = 0, 0
		}
	}
	step := make([]int, len(order))
	done := newSet(len(order))
	for s, i := range order {
		step[i] = s
		for _, list := range [2][]int{nodes[i].In, nodes[i].Out} {
			for _, v := range list {
				if bufs[v].First < 0 {
					bufs[v].First = s
				}
				bufs[v].Last = s
			}
		}
		taken := p.takeovers(done, int32(i))
		for _, t := range taken {
			bufs[p.roots[t.out]].AliasOf = p.roots[t.in]
		}
		for _, o := range nodes[i].Overlap {
			if !o.Exact && len(taken) == 0 {
				bufs[o.Out].Over = append(bufs[o.Out].Over, Over{o.In, o.Ahead, o.Behind, o.Slower})
			}
		}
		done.add(int32(i))
		if n := nodes[i]; n.Scratch > 0 {
			bufs = append(bufs, Buffer{Name: n.Name + " scratch", Bytes: n.Scratch, First: s, Last: s, AliasOf: -1,
				Over: n.Over})
		}
	}
	p.lifetimes(bufs, step)
	return bufs
}

// lifetimes sets those that nodes alone do not say; step is that of a node.
func (p *program) lifetimes(bufs []Buffer, step []int) {
	for k, root := range p.roots {
		for i := p.from[k]; i < p.from[k+1]; i++ {
			if x := (Piece{Off: p.pieces[i].off, End: p.pieces[i].end}); p.lives(i, step, &x) {
				bufs[root].Pieces = append(bufs[root].Pieces, x)
			}
		}
	}
	for i, v := range p.values {
		b, k := &bufs[i], p.of[i]
		if v.Output || v.Input && p.unused(k) {
			b.Last = max(len(step)-1, 0)
		}
		if b.First >= 0 {
			continue
		}
		if len(bufs[p.roots[k]].Pieces) == 0 {
			b.Bytes, b.Delta = 0, 0 // nobody needs the storage
		}
		b.First = len(step) // no node names it: it lives with its bytes
		for j := range p.piecesOf(i) {
			if x := (Piece{}); p.lives(j, step, &x) {
				b.First = min(b.First, max(x.First, 0))
			}
		}
		b.First = min(b.First, max(len(step)-1, 0))
		b.Last = max(b.Last, b.First)
	}
}

// lives sets the steps between which piece i is needed, -1 where the caller writes it; what he
// reads is needed behind the last one. It reports whether it is needed at all.
func (p *program) lives(i int, step []int, x *Piece) bool {
	if !p.input[i] && !p.keep[i] && len(p.users[i]) == 0 {
		return false
	}
	x.First, x.Last = len(step), 0
	for _, u := range p.users[i] {
		x.First, x.Last = min(x.First, step[u]), max(x.Last, step[u])
	}
	if p.input[i] {
		x.First = -1
	}
	if p.keep[i] {
		x.Last = len(step)
	}
	return true
}
