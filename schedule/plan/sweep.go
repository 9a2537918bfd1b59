// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"slices"
)

// The sweep fixes the height of the arena first and then goes along the steps,
// placing each item at one of the two ends of a free gap: next to the floor,
// the ceiling or a live item. Items which alternate between floor and ceiling
// are what makes a chain reach its lower bound, and no order of first fit finds
// that. Where an item finds no gap the sweep goes back, last choice first, as
// long as its share of the budget lasts.

// sweepKind is one way to rank the places for an item.
type sweepKind struct {
	backward bool // from the last step to the first
	rank     int  // how ends of gaps compare, see sweep.rank
	bySize   bool // among items that begin together: large first, not long-lived first
}

var sweepKinds = func() (kinds []sweepKind) {
	for rank := range 3 {
		for _, bySize := range []bool{false, true} {
			for _, back := range []bool{false, true} {
				kinds = append(kinds, sweepKind{back, rank, bySize})
			}
		}
	}
	return kinds
}()

// sweep is the state of one kind of sweep over one problem.
type sweep struct {
	p      *problem
	kind   sweepKind
	height int64
	lo, hi []int     // per item, in the direction of the sweep
	order  []int     // position -> item
	before [][]int32 // per item: places in adj of overlapping items that come earlier in order
	off    []int64
	live   []liveSpan
	stack  []choice
	// failed holds hashes of what was met before: a position with the live items
	// where they are. What comes after depends on nothing else.
	failed map[uint64]struct{}
}

// liveSpan is an occupied run of bytes and the section in which it ends to be.
type liveSpan struct {
	span
	hi int
	id int32 // of an item that is not apart from all others; any of the others can stand for its like
}

// choice is the list of places for the item at one position, best first, and
// how many of them were tried.
type choice struct {
	places []place
	next   int
}

type place struct {
	off    int64
	wall   int   // 0: at the floor or ceiling, 1: not
	misfit int   // sections between the end of the item and that of its neighbour
	gap    int64 // bytes of the gap
}

// sweepAll tries every kind at the lower bound, then halves the distance
// between the bound and the best plan.
func (p *problem) sweepAll() {
	if p.adj == nil || p.spent() {
		return
	}
	sweeps := make([]*sweep, len(sweepKinds))
	try := func(height int64, part, of int64) bool {
		for k := range sweeps {
			if p.spent() {
				return false
			}
			if sweeps[k] == nil {
				sweeps[k] = p.newSweep(sweepKinds[k])
			}
			if sweeps[k].run(height, p.share(part, of)) {
				p.candidate(p.top(sweeps[k].off), sweeps[k].off)
				return true
			}
		}
		return false
	}
	// A first round that hardly goes back, then one that does.
	if try(p.bound, 1, 200) || try(p.bound, 1, 30) {
		return
	}
	low := p.bound
	for range 8 {
		mid := roundDown(low + (p.best-low)/2)
		if mid <= low || p.spent() {
			return
		}
		if !try(mid, 1, 200) {
			low = mid
		}
	}
}

func (p *problem) newSweep(kind sweepKind) *sweep {
	n := len(p.items)
	s := &sweep{p: p, kind: kind, lo: make([]int, n), hi: make([]int, n), before: make([][]int32, n),
		off: make([]int64, n)}
	for i := range p.items {
		s.lo[i], s.hi[i] = p.items[i].lo, p.items[i].hi
		if kind.backward {
			s.lo[i], s.hi[i] = p.sections-1-p.items[i].hi, p.sections-1-p.items[i].lo
		}
	}
	s.order = identity(n)
	slices.SortFunc(s.order, func(a, b int) int {
		long, large := cmp.Compare(s.hi[b], s.hi[a]), cmp.Compare(p.items[b].size, p.items[a].size)
		if kind.bySize {
			long, large = large, long
		}
		return cmp.Or(cmp.Compare(s.lo[a], s.lo[b]), long, large, cmp.Compare(a, b))
	})
	at := make([]int, n)
	for k, i := range s.order {
		at[i] = k
	}
	for i := range p.items {
		for n, j := range p.adj[i] {
			if at[j] < at[i] {
				s.before[i] = append(s.before[i], int32(n))
			}
		}
		p.work += int64(len(p.adj[i]))
	}
	s.stack = make([]choice, n)
	return s
}

// run looks for a plan of at most the given height until the work count stop.
func (s *sweep) run(height, stop int64) bool {
	s.height = height
	s.failed = map[uint64]struct{}{}
	pos := 0
	fresh := true
	for pos < len(s.order) {
		c := &s.stack[pos]
		if fresh {
			s.choices(pos, c)
		}
		if c.next < len(c.places) {
			s.off[s.order[pos]] = c.places[c.next].off
			c.next++
			pos++
			fresh = true
			continue
		}
		if pos == 0 || s.p.work >= stop {
			return false
		}
		pos--
		fresh = false
	}
	return true
}

// choices fills c with the places for the item at a position, best first.
func (s *sweep) choices(pos int, c *choice) {
	i := s.order[pos]
	p, it := s.p, &s.p.items[i]
	s.live = s.live[:0]
	for _, n := range s.before[i] {
		j := p.adj[i][n]
		l := liveSpan{span: p.taken(i, int(n), s.off[j]), hi: s.hi[j]}
		if p.seps[j] != nil {
			l.id = j
		}
		s.live = append(s.live, l)
	}
	p.work += int64(len(s.live)) + 1
	slices.SortFunc(s.live, func(a, b liveSpan) int { return cmp.Compare(a.off, b.off) })

	c.places, c.next = c.places[:0], 0
	key := s.key(pos)
	if _, ok := s.failed[key]; ok {
		return
	}
	s.failed[key] = struct{}{}

	const never = math.MaxInt
	end, endHi := int64(0), never
	for k := 0; k <= len(s.live); k++ {
		next := liveSpan{span: span{s.height, s.height}, hi: never}
		if k < len(s.live) {
			if next = s.live[k]; next.off-it.size >= next.end {
				continue
			}
		}
		if high, gap := next.off-it.size, next.off-end; end <= high {
			c.places = append(c.places, s.place(i, end, endHi, gap))
			if high > end {
				c.places = append(c.places, s.place(i, high, next.hi, gap))
			}
		}
		if next.end > end {
			end, endHi = next.end, next.hi
		}
	}
	slices.SortFunc(c.places, s.rank)
}

// key hashes a position and the live items in s.live.
func (s *sweep) key(pos int) uint64 {
	h := rng{uint64(pos)}
	for _, l := range s.live {
		h.state = h.next() ^ uint64(l.off)
		h.state = h.next() ^ uint64(l.end)
		h.state = h.next() ^ uint64(l.hi) ^ uint64(l.id)<<32
	}
	return h.next()
}

// place describes an end of a gap whose neighbour is live until section hi.
func (s *sweep) place(i int, off int64, hi int, gap int64) place {
	if hi == math.MaxInt {
		return place{off: off, gap: gap, misfit: s.p.sections - s.hi[i]}
	}
	return place{off: off, wall: 1, misfit: max(hi-s.hi[i], s.hi[i]-hi), gap: gap}
}

// rank compares places: the better one first.
func (s *sweep) rank(a, b place) int {
	wall, misfit, gap := cmp.Compare(a.wall, b.wall), cmp.Compare(a.misfit, b.misfit), cmp.Compare(a.gap, b.gap)
	off := cmp.Compare(a.off, b.off)
	switch s.kind.rank {
	case 0: // walls, which are never given back, then neighbours that end together
		return cmp.Or(wall, misfit, gap, off)
	case 1: // the tightest gap
		return cmp.Or(gap, misfit, wall, off)
	default: // neighbours that end together
		return cmp.Or(misfit, wall, gap, off)
	}
}
