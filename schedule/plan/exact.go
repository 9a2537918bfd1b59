// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// The exact search places items by growing offset. In a plan where no item can
// be moved down, every item stands on the floor or on an item it overlaps in
// time, so only those offsets are tried. A branch is left when some section
// cannot hold what remains above its current height, or when an item was passed
// over that would have fitted below.

type exactSearch struct {
	p      *problem // the piece of the core that is searched
	height int64    // that a plan may have
	floor  []int64  // per section: height below which nothing more is placed
	remain []int64  // per section: bytes of items not placed
	rest   []int    // items not placed, the most promising first
	off    []int64  // per item of the piece
	stop   int64    // work count
}

// newExact prepares the search for the given items of p.
func (p *problem) newExact(piece []int, height, stop int64) *exactSearch {
	sub := &problem{unit: p.unit, work: p.work}
	for k, i := range piece {
		it := p.items[i]
		it.storage = k
		sub.items = append(sub.items, it)
	}
	sub.measure()
	e := &exactSearch{p: sub, height: height, stop: stop, off: make([]int64, len(piece))}
	e.floor = make([]int64, sub.sections)
	e.remain = slices.Clone(sub.load)
	area := func(a *item) int64 { return mulSat(a.size, int64(a.hi-a.lo+1)) }
	e.rest = sub.sorted(func(a, b *item) int {
		return cmp.Or(cmp.Compare(area(b), area(a)),
			cmp.Compare(b.size, a.size))
	})
	return e
}

func (e *exactSearch) run() verdict { return e.search(0, -1) }

// search places the items of e.rest at offsets >= cursor; an item placed at the
// cursor must have a larger index than last, so that items which stand side by
// side are tried in one order only.
func (e *exactSearch) search(cursor int64, last int) verdict {
	p := e.p
	if len(e.rest) == 0 {
		return found
	}
	p.work += int64(len(e.rest) + p.sections)
	if p.work >= e.stop {
		return unknown
	}
	for s, r := range e.remain {
		if r > 0 && max(e.floor[s], cursor)+r > e.height {
			return impossible
		}
	}

	type option struct {
		pos int // in e.rest
		off int64
	}
	options := make([]option, 0, len(e.rest))
	ceiling := e.height // the lowest end of any item not placed: nothing may start above
	for pos, i := range e.rest {
		it := &p.items[i]
		low := int64(0)
		for s := it.lo; s <= it.hi; s++ {
			low = max(low, e.floor[s])
		}
		p.work += int64(it.hi-it.lo) / 4
		low = roundUp(low, it.align)
		ceiling = min(ceiling, max(low, roundUp(cursor, it.align))+it.size)
		if low > cursor || (low == cursor && i > last) {
			options = append(options, option{pos, low})
		}
	}
	slices.SortStableFunc(options, func(a, b option) int { return cmp.Compare(a.off, b.off) })

	saved := make([]int64, 0, 16)
	for _, o := range options {
		i := e.rest[o.pos]
		it := &p.items[i]
		if o.off >= ceiling || o.off+it.size > e.height {
			continue
		}
		e.rest = slices.Delete(e.rest, o.pos, o.pos+1)
		saved = append(saved[:0], e.floor[it.lo:it.hi+1]...)
		for s := it.lo; s <= it.hi; s++ {
			e.floor[s] = o.off + it.size
			e.remain[s] -= it.size
		}
		e.off[i] = o.off
		v := e.search(o.off, i)
		copy(e.floor[it.lo:it.hi+1], saved)
		for s := it.lo; s <= it.hi; s++ {
			e.remain[s] += it.size
		}
		e.rest = slices.Insert(e.rest, o.pos, i)
		if v != impossible {
			return v
		}
	}
	return impossible
}
