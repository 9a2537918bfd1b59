// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"math"
	"math/bits"
)

// local improves the order of first fit by small changes: what stands at the
// top of the arena, or below it, moves forward in the order or changes places
// with an item it overlaps. A change for the worse is kept now and then, more
// rarely as the budget goes. The random numbers are ours and seeded.
func (p *problem) local() {
	n := len(p.items)
	if n < 3 || p.adj == nil || p.spent() {
		return
	}
	begin, stop := p.work, p.share(3, 4)
	rng := rng{}
	f := p.newFitter()

	// Start where the best plan's items stand, from the floor up: first fit in
	// that order is never higher than the plan itself.
	order := p.byOffset()
	cur := f.run(order, false, math.MaxInt64)
	p.candidate(cur, f.off)
	next := make([]int, n)
	curOff := append([]int64(nil), f.off...)
	at := make([]int, n) // item -> position in order
	for !p.optimal && p.work < stop {
		for k, i := range order {
			at[i] = k
		}
		p.work += int64(n)
		copy(next, order)
		i := p.highest(curOff, &rng)
		if adj := p.adj[i]; len(adj) > 0 && rng.below(2) == 0 {
			// First or second neighbour of an item at the top.
			j := int(adj[rng.below(len(adj))])
			if rng.below(2) == 0 {
				j = int(p.adj[j][rng.below(len(p.adj[j]))])
			}
			next[at[i]], next[at[j]] = j, i
		} else if k := at[i]; k > 0 {
			to := rng.below(k)
			copy(next[to+1:k+1], order[to:k])
			next[to] = i
		} else {
			j := rng.below(n)
			next[0], next[j] = next[j], next[0]
		}
		// The height that is still accepted shrinks to that of the current plan.
		slack := scale((cur-p.bound)/4, max(stop-p.work, 0), max(stop-begin, 1))
		limit := cur + Align
		if slack > 0 && rng.below(4) == 0 {
			limit += int64(rng.next() % uint64(slack))
		}
		if h := f.run(next, false, limit); h < limit {
			order, next = next, order
			cur = h
			copy(curOff, f.off)
			p.candidate(h, f.off)
		}
	}
}

// scale returns v*part/whole for non-negative v and 0 <= part <= whole, whole
// positive, without overflow.
func scale(v, part, whole int64) int64 {
	hi, lo := bits.Mul64(uint64(v), uint64(part))
	q, _ := bits.Div64(hi, lo, uint64(whole))
	return int64(q)
}

// byOffset lists the items of the best plan from the floor up.
func (p *problem) byOffset() []int {
	pos := make(map[int]int64, len(p.items))
	for i := range p.items {
		pos[p.items[i].storage] = p.bestOff[i]
	}
	return p.sorted(func(a, b *item) int { return cmp.Compare(pos[a.storage], pos[b.storage]) })
}

// highest picks one of the items that end at the top of a plan.
func (p *problem) highest(off []int64, r *rng) int {
	top, pick, seen := int64(-1), 0, 0
	for i := range off {
		switch end := off[i] + p.items[i].size; {
		case end > top:
			top, pick, seen = end, i, 1
		case end == top:
			if seen++; r.below(seen) == 0 {
				pick = i
			}
		}
	}
	return pick
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

// below returns a number from 0 to n-1; n must be positive.
func (r *rng) below(n int) int { return int(r.next() % uint64(n)) }
