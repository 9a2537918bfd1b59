// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// item is a storage with bytes as the searches see it. Time is counted in
// sections: runs of steps at whose busiest step the same set of items is live.
type item struct {
	storage int // index in problem.storages
	size    int64
	lo, hi  int // first and last section, inclusive
}

func (a *item) steps() int64 { return int64(a.hi - a.lo + 1) }

func (a *item) overlaps(b *item) bool { return a.lo <= b.hi && b.lo <= a.hi }

// problem is one instance and the best plan found for it so far.
type problem struct {
	storages []*Storage
	items    []item
	sections int
	busiest  []int     // per section: the step at which all of its items are live
	load     []int64   // per section: bytes live
	adj      [][]int32 // per item: the items it overlaps; nil when there are too many pairs
	apart    int64     // the largest load
	bound    int64

	// How an item and those it overlaps have to lie, in the order of adj; nil: apart from all.
	seps [][]separation

	best    int64
	bestOff []int64
	optimal bool

	enough       int64 // a plan that is no larger ends the search
	below        int64 // plans that are no smaller are of no use
	work, budget int64
}

// maxPairs limits the memory that overlap lists take (4 bytes a pair).
const maxPairs = 1 << 24

// separation of an item from another one: so many bytes at least from the start of the lower one
// to that of the higher one, where it is the lower one and where it is the higher.
type separation struct{ below, above int64 }

func newProblem(storages []*Storage, budget int64) *problem {
	p := &problem{budget: budget, storages: storages, below: never}
	for k, s := range storages {
		if s.Bytes > 0 {
			p.items = append(p.items, item{storage: k, size: roundUp(s.Bytes), lo: s.First, hi: s.Last})
		}
	}
	p.measure()
	p.overlaps()
	p.separate()

	// Every storage in its own place: the plan to improve on.
	p.bestOff = make([]int64, len(p.items))
	for i := range p.items {
		p.bestOff[i] = p.best
		p.best += p.items[i].size
	}
	p.optimal = p.best == p.bound
	return p
}

// measure compresses time and computes the loads and the bound.
func (p *problem) measure() {
	p.compress()
	p.load = make([]int64, p.sections)
	for i := range p.items {
		p.load[p.items[i].lo] += p.items[i].size
		if hi := p.items[i].hi + 1; hi < p.sections {
			p.load[hi] -= p.items[i].size
		}
	}
	for s := range p.load {
		if s > 0 {
			p.load[s] += p.load[s-1]
		}
		p.apart = max(p.apart, p.load[s])
	}
	p.bound = lists.Max(loads(p.storages), func(l load) int64 { return l.bytes })
}

// compress replaces steps by sections: a new section begins at a start that
// follows an end. The sets live in between are subsets and say nothing new.
func (p *problem) compress() {
	type event struct{ step, end, item int }
	ev := make([]event, 0, 2*len(p.items))
	for i := range p.items {
		ev = append(ev, event{p.items[i].lo, 0, i}, event{p.items[i].hi, 1, i})
	}
	// At one step starts come before ends: ranges are inclusive.
	slices.SortFunc(ev, func(a, b event) int {
		return cmp.Or(cmp.Compare(a.step, b.step), cmp.Compare(a.end, b.end), cmp.Compare(a.item, b.item))
	})
	section, ended := 0, false
	for _, e := range ev {
		if e.end == 0 {
			if ended || len(p.busiest) == 0 {
				section = len(p.busiest)
				p.busiest = append(p.busiest, e.step)
				ended = false
			}
			p.busiest[section] = e.step
			p.items[e.item].lo = section
		} else {
			p.items[e.item].hi = section
			ended = true
		}
	}
	p.sections = len(p.busiest)
}

// overlaps fills adj, unless the pairs are too many to keep.
func (p *problem) overlaps() {
	n := len(p.items)
	byLo := p.sorted(func(a, b *item) int { return cmp.Compare(a.lo, b.lo) })
	active := []int32{}
	pairs := 0
	for pass := range 2 {
		active = active[:0]
		for _, i := range byLo {
			it := &p.items[i]
			active = slices.DeleteFunc(active, func(j int32) bool { return p.items[j].hi < it.lo })
			if pass == 0 {
				if pairs += 2 * len(active); pairs > maxPairs {
					return
				}
			} else {
				for _, j := range active {
					p.adj[i] = append(p.adj[i], j)
					p.adj[j] = append(p.adj[j], int32(i))
				}
			}
			active = append(active, int32(i))
		}
		if pass == 0 {
			p.adj = make([][]int32, n)
		}
	}
	for i := range p.adj {
		slices.Sort(p.adj[i])
	}
}

// separate fills seps.
func (p *problem) separate() {
	p.seps = make([][]separation, len(p.adj))
	storage := func(i int) *Storage { return p.storages[p.items[i].storage] }
	for i := range p.adj {
		s := storage(i)
		if s.simple() && !slices.ContainsFunc(p.adj[i], func(j int32) bool { return !storage(int(j)).simple() }) {
			continue
		}
		p.seps[i] = make([]separation, len(p.adj[i]))
		for n, j := range p.adj[i] {
			x := separation{p.items[i].size, p.items[j].size}
			if t := storage(int(j)); !s.simple() || !t.simple() {
				x = separation{s.below(t), t.below(s)}
				p.work += int64(len(s.pieces) * len(t.pieces))
			}
			p.seps[i][n] = x
		}
	}
}

// taken is the run of bytes, maybe of a length below 0, beside which item i may lie where the nth
// item that it overlaps is at an offset.
func (p *problem) taken(i, n int, at int64) span {
	if s := p.seps[i]; s != nil {
		return span{at - s[n].below + p.items[i].size, at + s[n].above}
	}
	return span{at, at + p.items[p.adj[i][n]].size}
}

// sorted returns the item indices in the order of compare, ties by index.
func (p *problem) sorted(compare func(a, b *item) int) []int {
	order := identity(len(p.items))
	slices.SortStableFunc(order, func(a, b int) int { return compare(&p.items[a], &p.items[b]) })
	return order
}

// top is the height of a plan.
func (p *problem) top(off []int64) (top int64) {
	for i := range off {
		top = max(top, off[i]+p.items[i].size)
	}
	return top
}

// candidate records a complete plan if it is the best so far.
func (p *problem) candidate(total int64, off []int64) {
	if total >= p.best {
		return
	}
	p.best = total
	copy(p.bestOff, off)
	p.optimal = total == p.bound
}

func (p *problem) spent() bool { return p.work >= p.budget }

// share returns the work count at which a method must stop that may use the
// given part of what is left of the budget.
func (p *problem) share(part, of int64) int64 {
	if left := p.budget - p.work; left > 0 {
		return p.work + left/of*part
	}
	return p.work
}

// solve runs the methods from cheap to dear until no plan can be smaller, one is small enough,
// or the budget is spent.
func (p *problem) solve() {
	for _, method := range []func(*problem){
		(*problem).fitAll,
		(*problem).branch,
		(*problem).sweepAll,
	} {
		if p.optimal || p.best <= p.enough {
			return
		}
		method(p)
	}
}
