// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/bug"
)

// For a given height of the arena most items are harmless: however the items
// that overlap them are placed, some gap is left that holds them. Peeling those
// off, again and again, leaves a core, which falls apart into pieces that share
// no section. The exact search has to look at these pieces only; what was
// peeled off is then put back in reverse. (The same idea colours graphs in
// register allocators.)

// core splits the items, for a plan of at most the given height, into pieces to
// be searched and items to be placed after them, in the order of peeling.
func (p *problem) core(height int64) (pieces [][]int, peeled []int) {
	n := len(p.items)
	gone := make([]bool, n)
	bytes, count := make([]int64, n), make([]int64, n) // of overlapping items left
	var todo []int
	for i := range p.items {
		for _, j := range p.adj[i] {
			bytes[i] += p.items[j].size
		}
		count[i] = int64(len(p.adj[i]))
		todo = append(todo, i)
		p.work += count[i]
	}
	for len(todo) > 0 {
		i := todo[0]
		todo = todo[1:]
		if gone[i] {
			continue
		}
		// k items leave at most k+1 gaps. If none of them held the item, each
		// would be shorter than need, so all of them together at most
		// (k+1)*(need-unit).
		need := p.items[i].size + p.items[i].align - p.unit
		if height-bytes[i] <= mulSat(count[i]+1, need-p.unit) {
			continue
		}
		gone[i] = true
		peeled = append(peeled, i)
		for _, j := range p.adj[i] {
			if !gone[j] {
				bytes[j] -= p.items[i].size
				count[j]--
				todo = append(todo, int(j))
			}
		}
		p.work += int64(len(p.adj[i]))
	}

	// Pieces: runs of items by first section whose ranges touch.
	last := -1
	for _, i := range p.sorted(func(a, b *item) int { return cmp.Compare(a.lo, b.lo) }) {
		if gone[i] {
			continue
		}
		if p.items[i].lo > last {
			pieces = append(pieces, nil)
		}
		k := len(pieces) - 1
		pieces[k] = append(pieces[k], i)
		last = max(last, p.items[i].hi)
	}
	slices.SortStableFunc(pieces, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })
	return pieces, peeled
}

// verdict of a search for a plan of a given height.
type verdict int

const (
	unknown verdict = iota // the budget ran out
	found
	impossible
)

// reach looks for a plan of at most the given height, until the work count
// stop, and records it.
func (p *problem) reach(height, stop int64) verdict {
	pieces, peeled := p.core(height)
	f := p.newFitter()
	for i := range f.off {
		f.off[i] = -1
	}
	for _, piece := range pieces {
		e := p.newExact(piece, height, stop)
		v := e.run()
		p.work = e.p.work
		if v != found {
			return v
		}
		for k, i := range piece {
			f.off[i] = e.off[k]
		}
	}
	top := int64(0)
	for _, i := range slices.Backward(peeled) {
		f.neighbours(i)
		f.off[i] = gap(f.spans, p.items[i].size, p.items[i].align, true)
	}
	for i := range f.off {
		top = max(top, f.off[i]+p.items[i].size)
	}
	if top > height {
		panic(bug.Errorf("plan: an item that was peeled off does not fit back"))
	}
	p.candidate("exact search", top, f.off)
	return found
}

// exact looks for a plan at the bound and, where there is none, narrows the
// distance between what is impossible and the best plan down to nothing, or
// until its share of the budget is spent.
func (p *problem) exact() {
	if p.adj == nil || p.spent() {
		return
	}
	low := p.bound - p.unit // no plan of this height
	for height := p.bound; low < p.best-p.unit && !p.spent(); height = low + roundUp((p.best-low)/2, p.unit) {
		switch p.reach(height, p.share(1, 4)) {
		case impossible:
			low = height
		case unknown:
			return
		}
	}
	if low == p.best-p.unit {
		p.optimal = true
	}
}
