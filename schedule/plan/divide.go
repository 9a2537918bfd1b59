// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// Ways to divide items over pools that are quickly found: the search improves on the
// best of them.

// divideOrders are the orders in which items are dealt out: by the most weight a byte
// and step, the most weight a byte, the most weight, the largest, the longest needed, the
// first needed; the largest key first.
var divideOrders = []func(weight float64, it *item) float64{
	func(weight float64, it *item) float64 { return weight / float64(it.size) / float64(it.hi-it.lo+1) },
	func(weight float64, it *item) float64 { return weight / float64(it.size) },
	func(float64, *item) float64 { return 0 }, // as they are
	func(_ float64, it *item) float64 { return float64(it.size) },
	func(_ float64, it *item) float64 { return float64(it.hi - it.lo) },
	func(_ float64, it *item) float64 { return -float64(it.lo) },
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
		order, key := identity(len(d.items)), func(i int) float64 { return o(d.weight[i], &d.items[i]) }
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(key(b), key(a)) })
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
	at, off := slices.Repeat([]int{-1}, len(d.items)), make([]int64, len(d.items))
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
			if o := gap(spans, it.size, false); o+it.size <= d.pools[q].Bytes {
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
