// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"slices"
)

// maxBeam is the widest beam. What is optimal within it is found without
// dropping anything on nearly all networks: their parallel branches are few.
const maxBeam = 1 << 18

// beam searches the sets of nodes that can have run, by number of nodes.
type beam struct {
	p            *program
	bound        int64
	work, budget int64

	limit   int64 // states with this peak or more are of no use
	history []link
	levels  [][]*state
	seen    []map[uint64]*state // per level, by hash
	keys    []uint64            // per node, for the hash of a set
	costs   []int64             // per node: the work of its effect
	spare   []*state            // to be written again
}

// state is a set of nodes that have run and the best way known to get there.
// live is a function of the set alone.
type state struct {
	done  set
	hash  uint64
	count int
	live  int64
	peak  int64
	ready []int32 // ascending
	trace int32   // last link of the history, -1: none
	seq   int     // order of discovery, the last tie-break
}

// link is a step of an order under construction.
type link struct{ before, node int32 }

// search returns an order with a peak below limit, or nil if it met none, and
// whether it went over everything that could matter.
func (b *beam) search(width int, limit int64) (order []int, whole bool) {
	n := len(b.p.nodes)
	b.limit = limit
	b.history = b.history[:0]
	b.levels = make([][]*state, n+1)
	b.seen = make([]map[uint64]*state, n+1)
	if b.keys == nil {
		r := rng{}
		b.keys, b.costs = make([]uint64, n), make([]int64, n)
		for i := range b.keys {
			b.keys[i], b.costs[i] = r.next(), 4
			for _, k := range b.p.touch[i] {
				b.costs[i] += int64(len(b.p.users[k]))
			}
		}
	}
	first := &state{done: newSet(n), live: b.p.atStart(), trace: -1}
	first.peak = first.live
	for i := range b.p.prev {
		if len(b.p.prev[i]) == 0 {
			first.ready = append(first.ready, int32(i))
		}
	}
	b.push(first)
	whole = true
	seq := 0
	for c := 0; c < n; c++ {
		level := b.levels[c]
		b.levels[c], b.seen[c] = nil, nil
		if len(level) > width {
			whole = false
			slices.SortFunc(level, func(x, y *state) int {
				return cmp.Or(cmp.Compare(max(x.peak, b.bound), max(y.peak, b.bound)), cmp.Compare(x.live, y.live),
					cmp.Compare(x.seq, y.seq))
			})
			level = level[:width]
		}
		for _, s := range level {
			for _, i := range s.ready {
				need, change := b.effect(s, i)
				if s.live+need >= b.limit {
					continue
				}
				if b.work >= b.budget || len(b.history) > math.MaxInt32-n {
					return nil, false
				}
				next := b.copy(s)
				next.seq = seq
				seq++
				b.run(next, i, need, change)
				b.runSure(next)
				b.push(next)
			}
			b.spare = append(b.spare, s)
		}
	}
	if len(b.levels[n]) == 0 {
		return nil, whole
	}
	order = make([]int, n)
	for t, k := b.levels[n][0].trace, n-1; t >= 0; t, k = b.history[t].before, k-1 {
		order[k] = int(b.history[t].node)
	}
	return order, whole
}

// copy is a state as s is.
func (b *beam) copy(s *state) *state {
	x := &state{}
	if n := len(b.spare); n > 0 {
		x, b.spare = b.spare[n-1], b.spare[:n-1]
	}
	done, ready := append(x.done[:0], s.done...), append(x.ready[:0], s.ready...)
	*x = *s
	x.done, x.ready = done, ready
	return x
}

// effect is program.effect, counted as work.
func (b *beam) effect(s *state, i int32) (need, change int64) {
	b.work += b.costs[i]
	return b.p.effect(s.done, i)
}

// run adds node i to the state.
func (b *beam) run(s *state, i int32, need, change int64) {
	s.peak = max(s.peak, s.live+need)
	s.live += change
	s.done.add(i)
	s.hash ^= b.keys[i]
	s.count++
	b.history = append(b.history, link{s.trace, i})
	s.trace = int32(len(b.history) - 1)
	at, _ := slices.BinarySearch(s.ready, i)
	s.ready = slices.Delete(s.ready, at, at+1)
	b.work += 8 + int64(len(s.done)) + int64(len(s.ready))
next:
	for _, j := range b.p.next[i] {
		b.work += int64(len(b.p.prev[j]))
		for _, k := range b.p.prev[j] {
			if !s.done.has(k) {
				continue next
			}
		}
		at, _ := slices.BinarySearch(s.ready, j)
		s.ready = slices.Insert(s.ready, at, j)
	}
}

// runSure runs, as long as there are any, nodes which leave no more bytes live
// than before and need no more than is spent anyway. Doing such a node at once
// is never wrong: put to the front of the best completion it adds to no step
// after it.
func (b *beam) runSure(s *state) {
	for k := 0; k < len(s.ready); {
		i := s.ready[k]
		need, change := b.effect(s, i)
		if change > 0 || s.live+need > max(s.peak, b.bound) {
			k++
			continue
		}
		b.run(s, i, need, change)
		k = 0
	}
}

// push keeps a state unless its set is known with a peak as low.
func (b *beam) push(s *state) {
	if b.seen[s.count] == nil {
		b.seen[s.count] = map[uint64]*state{}
	}
	known := b.seen[s.count]
	for h := s.hash; ; h++ {
		old := known[h]
		if old == nil {
			known[h] = s
			b.levels[s.count] = append(b.levels[s.count], s)
			return
		}
		if slices.Equal(old.done, s.done) {
			if s.peak < old.peak {
				old.peak, old.trace = s.peak, s.trace
			}
			b.spare = append(b.spare, s)
			return
		}
	}
}

// rng is SplitMix64 (Steele, Lea, Flood 2014): the same numbers everywhere and
// in every Go version.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
