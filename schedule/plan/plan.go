// SPDX-License-Identifier: Apache-2.0

// Package plan packs buffers with known live ranges into one arena (Place) or
// several (Split), and finds the order of the steps of a program that needs the
// fewest live bytes (Order).
//
// It knows nothing of graphs, operators or types: buffers are byte counts with
// a first and a last step, steps are nodes that read and write values. All
// searches are seeded and limited by counted work, never by a clock, so the
// same call gives the same answer on every machine. What it is given has to be
// well-formed: sizes are not negative, aliases end, nodes can run as they stand.
package plan

// Align is the alignment in bytes of every storage in the arena, and the unit
// that sizes are rounded up to.
const Align = 16

// DefaultBudget is the work that a call of Place or Order may spend once its
// cheap methods have failed to reach the lower bound. A unit is about the
// inspection of one buffer or one word, a few nanoseconds.
const DefaultBudget = 1 << 25

func roundUp(v int64) int64 { return (v + Align - 1) &^ (Align - 1) }

func roundDown(v int64) int64 { return v &^ (Align - 1) }

// Schedule orders the nodes and places their buffers. Orders with the fewest
// live bytes are now and then hard to pack, so where the plan for such an order
// stays above its lower bound the order given is placed as well, and the
// smaller arena wins. Stats are those of Order; its Peak is that of the order
// returned.
func Schedule(nodes []Node, values []Value, budget int64) (order []int, bufs []Buffer, res Result, st Stats) {
	order, st = Order(nodes, values, budget)
	bufs = Buffers(nodes, values, order)
	res = Place(bufs, budget)
	if res.Total <= res.LowerBound || res.Total <= st.GivenPeak {
		return order, bufs, res, st
	}
	given := identity(len(nodes))
	bufs2 := Buffers(nodes, values, given)
	if res2 := Place(bufs2, budget); res2.Total < res.Total {
		st.Optimal = st.Optimal && st.Peak == st.GivenPeak
		st.Peak = st.GivenPeak
		return given, bufs2, res2, st
	}
	return order, bufs, res, st
}

// identity is the order 0, 1, 2, ...
func identity(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}
