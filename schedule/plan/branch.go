// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// Branch and bound over which of two items lies below the other. Each item has a lowest and a
// highest offset; what is decided moves them, and what they leave no choice of is decided by that. It
// branches only on pairs that are too near each other with all items as low as they can be.

// fewPairs can all be looked at in every node of the search.
const fewPairs = 1 << 11

// disjunct is two items that share steps: far[0] is from the start of item 0 to that of item 1 at least,
// where item 0 is the lower one, far[1] the other way.
type disjunct struct {
	item  [2]int32
	far   [2]int64
	lower int8 // which one is the lower one, open: not decided
}

const open = -1

// change is what a decision changed.
type change struct {
	what *int64
	was  int64
	pair *disjunct // decided, where not nil
}

// branching is the state of a search.
type branching struct {
	p         *problem
	pairs     []disjunct
	of        [][]int32 // per item: its pairs
	low, high []int64   // offsets
	changes   []change
	all       []int32 // pairs
	queue     []int32 // those to look at
	queued    []bool
	stop      int64 // work count
}

// maxBranch is the most work that goes into branches: what takes more is packing without gaps.
const maxBranch = 1 << 21

// branch halves the distance between the bound and the best plan, as long as half of the budget lasts.
func (p *problem) branch() {
	if p.adj == nil {
		return
	}
	b := &branching{p: p, of: make([][]int32, len(p.items)), low: make([]int64, len(p.items)),
		high: make([]int64, len(p.items))}
	for i := range p.adj {
		for n, j := range p.adj[i] {
			x := disjunct{item: [2]int32{int32(i), j}, far: [2]int64{p.items[i].size, p.items[j].size}}
			if s := p.seps[i]; s != nil {
				x.far = [2]int64{s[n].below, s[n].above}
			}
			if int(j) < i || x.far[0]+x.far[1] <= 0 {
				continue
			}
			b.of[i], b.of[j] = append(b.of[i], int32(len(b.pairs))), append(b.of[j], int32(len(b.pairs)))
			b.pairs = append(b.pairs, x)
		}
	}
	b.queued = make([]bool, len(b.pairs))
	sure := true
	stop := min(p.share(1, 2), p.work+maxBranch)
	for least := max(p.bound, p.enough); least < min(p.best, p.below); {
		height := least
		if p.enough == 0 {
			height = roundDown(least + (min(p.best, p.below)-least-1)/2)
		}
		b.stop = min(p.share(1, 8), stop)
		switch {
		case b.fits(height):
			p.candidate(p.top(b.low), b.low)
		default:
			least, sure = height+Align, sure && p.work < b.stop
		}
		if p.enough > 0 {
			break
		}
	}
	p.optimal = p.optimal || sure
}

// fits looks for a plan of at most the given height.
func (b *branching) fits(height int64) bool {
	b.changes, b.queue = b.changes[:0], b.queue[:0]
	for i := range b.p.items {
		if b.low[i], b.high[i] = 0, height-b.p.items[i].size; b.high[i] < 0 {
			return false
		}
	}
	for k := range b.pairs {
		b.pairs[k].lower, b.queued[k] = open, true
		b.queue = append(b.queue, int32(k))
	}
	b.all = slices.Clone(b.queue)
	return b.settle() && b.decide(0)
}

// next is the open pair that has the least room; where there are many, that of those that have just
// been looked at, else the next one behind pair from. None: -1.
func (b *branching) next(from int) int {
	k, list, more := -1, b.queue, len(b.pairs)
	if len(b.pairs) <= fewPairs {
		list, more = b.all, 0
	}
	b.p.work += int64(len(list)) / 4
	for _, n := range list {
		if b.near(n) && (k < 0 || b.least(n) < b.least(int32(k))) {
			k = int(n)
		}
	}
	for n := from + 1; n <= from+more && k < 0; n++ {
		b.p.work++
		if i := n % len(b.pairs); b.near(int32(i)) {
			k = i
		}
	}
	return k
}

// decide goes on with an open pair, both ways.
func (b *branching) decide(from int) bool {
	k := b.next(from)
	if k < 0 || b.p.work >= b.stop {
		return k < 0
	}
	x, first := &b.pairs[k], int8(0)
	if b.room(x, 1) > b.room(x, 0) {
		first = 1
	}
	for _, way := range []int8{first, 1 - first} {
		was := len(b.changes)
		if b.order(x, way); b.settle() && b.decide(k) {
			return true
		}
		b.undo(was)
	}
	return false
}

// near reports an open pair that is too near with all items as low as they can be.
func (b *branching) near(k int32) bool {
	x := &b.pairs[k]
	d := b.low[x.item[1]] - b.low[x.item[0]]
	return x.lower == open && d < x.far[0] && -d < x.far[1]
}

// least is small for a pair with little room one way or the other.
func (b *branching) least(k int32) int64 {
	one, other := b.room(&b.pairs[k], 0), b.room(&b.pairs[k], 1)
	return 3*min(one, other) + one + other
}

// room is how far two items can move, where the given one is the lower one.
func (b *branching) room(x *disjunct, lower int8) int64 {
	return b.high[x.item[1-lower]] - b.low[x.item[lower]] - x.far[lower]
}

// order decides a pair.
func (b *branching) order(x *disjunct, lower int8) {
	b.queue = b.queue[:0]
	b.changes = append(b.changes, change{pair: x})
	x.lower = lower
	b.look(x.item[lower])
}

// look has the pairs of an item looked at again.
func (b *branching) look(i int32) {
	for _, k := range b.of[i] {
		if !b.queued[k] {
			b.queued[k] = true
			b.queue = append(b.queue, k)
		}
	}
}

func (b *branching) undo(from int) {
	for _, c := range slices.Backward(b.changes[from:]) {
		if c.pair != nil {
			c.pair.lower = open
		} else {
			*c.what = c.was
		}
	}
	b.changes = b.changes[:from]
}

// settle draws the consequences of all that has changed; false: there is no plan.
func (b *branching) settle() bool {
	ok := true
	for n := 0; n < len(b.queue); n++ {
		k := b.queue[n]
		b.queued[k] = false
		ok = ok && b.settlePair(&b.pairs[k])
		b.p.work++
	}
	return ok
}

func (b *branching) settlePair(x *disjunct) bool {
	if x.lower == open {
		first := b.room(x, 0) >= 0
		if first && b.room(x, 1) >= 0 {
			return true
		}
		b.changes = append(b.changes, change{pair: x})
		if x.lower = 0; !first {
			x.lower = 1
		}
	}
	lower, upper := x.item[x.lower], x.item[1-x.lower]
	if b.room(x, x.lower) < 0 {
		return false
	}
	b.move(&b.low[upper], max(b.low[upper], b.low[lower]+x.far[x.lower]), upper)
	b.move(&b.high[lower], min(b.high[lower], b.high[upper]-x.far[x.lower]), lower)
	return true
}

// move sets an end of the offsets of an item.
func (b *branching) move(what *int64, to int64, item int32) {
	if *what != to {
		b.changes = append(b.changes, change{what: what, was: *what})
		*what = to
		b.look(item)
	}
}
