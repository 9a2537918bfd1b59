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

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

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
// stays above its bound, other orders are placed as well, that without overlaps and the one
// given, and the smallest arena wins. Arenas of below bytes and more, where not 0, are of no use.
// Stats are those of Order; its Peak is that of the order returned.
func Schedule(nodes []Node, values []Value, budget, below int64) (order []int, bufs []Buffer, res Result, st Stats) {
	below = cmp.Or(below, never)
	order, st = newProgram(nodes, values).order(budget, below)
	bufs = Buffers(nodes, values, order)
	res = placed(bufs, budget, 0, below)
	best := st.Peak
	try := func(other []int, peak int64) {
		if res.Total <= res.OverlapBound || res.Total <= peak || slices.Equal(order, other) {
			return
		}
		bufs2 := Buffers(nodes, values, other)
		if res2 := placed(bufs2, budget, 0, min(below, res.Total)); res2.Total < res.Total {
			order, bufs, res, st.Peak = other, bufs2, res2, peak
			st.Optimal = st.Optimal && peak == best
		}
	}
	if apart, some := withoutOverlaps(nodes); some && st.Bound < below && res.Total > res.OverlapBound {
		other, _ := Order(apart, values, budget)
		try(other, newProgram(nodes, values).peak(other))
	}
	try(identity(len(nodes)), st.GivenPeak)
	return order, bufs, res, st
}

// Faster places buffers further from what their nodes take longer to write over, where the arena
// does not grow by that: apart, or a few times as far, as many as it can find by halves.
func Faster(bufs []Buffer, r Result, budget int64) ([]Buffer, Result) {
	var list []int
	for i, b := range bufs {
		if slices.ContainsFunc(b.Over, func(o Over) bool { return o.Slower > 0 }) {
			list = append(list, i)
		}
	}
	var move func(list []int, times int64)
	move = func(list []int, times int64) {
		other := slices.Clone(bufs)
		for _, i := range list {
			other[i].Over = slices.Clone(bufs[i].Over)
			for k := range other[i].Over {
				other[i].Over[k].further(times)
			}
		}
		if x := placed(other, budget, r.Total, never); x.Total <= r.Total {
			x.OverlapBound, bufs, r = r.OverlapBound, other, x
		} else if n := len(list) / 2; n > 0 {
			move(list[:n], times)
			move(list[n:], times)
		}
	}
	for _, times := range []int64{1 << 20, 6, 2, 1} {
		if list != nil {
			move(list, times)
		}
	}
	return bufs, r
}

// further is so many times as many bytes further as make a node faster.
func (o *Over) further(times int64) {
	if o.Ahead += times * o.Slower; o.Behind > 0 {
		o.Behind += times * o.Slower
	}
}

// withoutOverlaps are nodes that take the whole place of an input or nothing of it.
func withoutOverlaps(nodes []Node) (apart []Node, some bool) {
	apart = slices.Clone(nodes)
	for i := range apart {
		apart[i].Overlap = slices.Clone(nodes[i].Overlap)
		for k := range apart[i].Overlap {
			o := &apart[i].Overlap[k]
			some = some || !o.Exact
			o.Exact = true
		}
	}
	return apart, some
}

// identity is the order 0, 1, 2, ...
func identity(n int) []int {
	return lists.Make(n, func(i int) int { return i })
}
