// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// Ways to divide items over pools that are quickly found: the search improves on the
// best of them.

// divideOrders are the orders in which items are dealt out.
var divideOrders = []func(d *division) func(a, b int) int{
	func(d *division) func(a, b int) int { // most weight a byte and step
		value := func(i int) float64 {
			return d.weight[i] / float64(d.items[i].size) / float64(d.items[i].hi-d.items[i].lo+1)
		}
		return func(a, b int) int { return cmp.Compare(value(b), value(a)) }
	},
	func(d *division) func(a, b int) int { // most weight a byte
		return func(a, b int) int {
			return cmp.Compare(d.weight[b]/float64(d.items[b].size), d.weight[a]/float64(d.items[a].size))
		}
	},
	func(*division) func(a, b int) int { return cmp.Compare[int] }, // most weight
	func(d *division) func(a, b int) int { // largest
		return func(a, b int) int { return cmp.Compare(d.items[b].size, d.items[a].size) }
	},
	func(d *division) func(a, b int) int { // longest needed
		return func(a, b int) int {
			return cmp.Compare(d.items[b].hi-d.items[b].lo, d.items[a].hi-d.items[a].lo)
		}
	},
	func(d *division) func(a, b int) int { // first needed
		return func(a, b int) int { return cmp.Compare(d.items[a].lo, d.items[b].lo) }
	},
}

// first finds ways that fit. Items that only few pools are large enough for are dealt
// out first in a second round.
func (d *division) first() {
	choices := func(i int) int {
		n := 0
		for _, p := range d.pools {
			if p.Bytes >= d.items[i].size {
				n++
			}
		}
		return n
	}
	for _, o := range divideOrders {
		order := make([]int, len(d.items))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, o(d))
		scarce := slices.Clone(order)
		slices.SortStableFunc(scarce, func(a, b int) int { return cmp.Compare(choices(a), choices(b)) })
		for _, list := range [][]int{order, scarce} {
			if at := d.deal(list); at != nil {
				d.candidate(at)
			}
		}
	}
	if d.best != nil {
		d.improve()
	}
}

// deal gives each item the cheapest pool with a gap for it, in the order given; nil:
// some item finds none.
func (d *division) deal(order []int) []int {
	at, off := make([]int, len(d.items)), make([]int64, len(d.items))
	for i := range at {
		at[i] = -1
	}
	var spans []span
next:
	for _, i := range order {
		it := &d.items[i]
		for _, q := range d.cheap {
			spans = spans[:0]
			for j := range d.items {
				if at[j] == q && d.items[j].overlaps(it) {
					spans = append(spans, span{off[j], off[j] + d.items[j].size})
				}
			}
			d.work += int64(len(d.items)) / 4
			slices.SortFunc(spans, bySpan)
			if o := gap(spans, it.size, it.align, false); o+it.size <= d.pools[q].Bytes {
				at[i], off[i] = q, o
				continue next
			}
		}
		return nil
	}
	return at
}

// improve moves items of the best way to cheaper pools, and exchanges two, until
// nothing is gained or half of the budget is spent.
func (d *division) improve() {
	for again := true; again; {
		again = false
		for i := range d.items {
			if d.work > d.budget/2 {
				break
			}
			again = d.move(i) || again
		}
	}
}

// move tries item i in other pools, alone or for an item that lies there.
func (d *division) move(i int) bool {
	for _, q := range d.cheap {
		was := d.best[i]
		if q == was {
			continue
		}
		at := slices.Clone(d.best)
		at[i] = q
		if d.candidate(at) {
			return true
		}
		for j := range d.items {
			if d.best[j] != q || d.work > d.budget/2 {
				continue
			}
			at[j] = was
			if d.candidate(at) {
				return true
			}
			at[j] = q
		}
	}
	return false
}
