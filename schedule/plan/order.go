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
	p, order := newProgram(nodes, values), identity(len(nodes))
	st := Stats{Bound: p.bound(), GivenPeak: p.peak(order)}
	st.Peak = st.GivenPeak
	b := beam{p: p, bound: st.Bound, budget: budget}
	for width := 1; st.Peak > st.Bound && width <= maxBeam && b.work < b.budget; width *= 8 {
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
// aliases. Place's lower bound for these buffers is the peak of the order.
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
		for _, t := range p.takeovers(done, int32(i)) {
			bufs[p.roots[t.out]].AliasOf = p.roots[t.in]
		}
		done.add(int32(i))
		if n := nodes[i]; n.Scratch > 0 {
			bufs = append(bufs, Buffer{Name: n.Name + " scratch", Bytes: n.Scratch, First: s, Last: s, AliasOf: -1})
		}
	}
	p.lifetimes(values, bufs, step)
	return bufs
}

// lifetimes sets those that nodes alone do not say; step is that of a node.
func (p *program) lifetimes(values []Value, bufs []Buffer, step []int) {
	for i, v := range values {
		b, k := &bufs[i], p.of[i]
		if v.Output || p.input[k] && len(p.users[k]) == 0 {
			b.Last = max(len(step)-1, 0)
		}
		if b.First < 0 { // no node names it: it lives with its storage
			b.First = 0
			if u := p.users[k]; len(u) > 0 {
				b.First = step[u[0]]
			} else if !p.input[k] && !p.keep[k] {
				b.Bytes, b.Delta = 0, 0 // nobody needs the storage
			}
			b.Last = max(b.Last, b.First)
		}
	}
}
