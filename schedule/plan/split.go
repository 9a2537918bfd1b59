// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
)

// Pool is one of several memories that take storages.
type Pool struct {
	Bytes int64   // its size
	Cost  float64 // of a unit of weight in it, not negative
}

// Parts of an arena in several memories.
type Parts struct {
	// Result has the pools behind each other, each with the bytes that are used of it.
	// LowerBound is that of one arena.
	Result
	Pool   []int   // of each storage
	Totals []int64 // bytes used of each pool, multiples of Align
	// Cost is the sum of weight times cost of the pool over all storages. No way to
	// divide them is below Bound: the same where the search was exhausted.
	Cost, Bound float64
	// Fits tells that there is such a plan; if not, the rest is empty but for Bound.
	Fits bool
}

// Split divides buffers over pools so that the cost is the least, each storage whole in
// one pool and storages that are live at the same step apart. weight has an entry per
// buffer. limit bounds the bytes of all pools together; 0: none.
//
// Greedy ways, improved by moves and exchanges, give a first plan; a search over all ways
// with a bound by the busiest steps goes on to the cheapest until the budget is spent.
func Split(bufs []Buffer, weight []float64, pools []Pool, limit, budget int64) Parts {
	r, deltas := newResult(bufs)
	d := newDivision(&r, weight, pools, limit, budget)
	bound := d.bound(0)
	d.first()
	d.unproven = false // the search looks at all ways again
	done := d.search(0)
	p := Parts{Bound: bound}
	if d.best == nil {
		return p
	}
	p.Fits, p.Cost = true, d.least
	if p.Bound = min(bound, d.least); done && !d.unproven {
		p.Bound = d.least
	}
	p.Result = r
	d.place(&p)
	p.offsets(deltas)
	return p
}

// place places what lies in each pool, with all effort.
func (d *division) place(p *Parts) {
	p.Pool, p.Totals = make([]int, len(p.Storages)), make([]int64, len(d.pools))
	for i, it := range d.items {
		p.Pool[it.storage] = d.best[i]
	}
	p.LowerBound, p.OverlapBound = d.whole.apart, d.whole.bound
	for q := range d.pools {
		x := d.packed[q]
		x.budget, x.enough = x.work+d.budget, 0
		x.solve()
		for k := range x.items {
			p.Storages[x.items[k].storage].Offset = p.Total + x.bestOff[k]
		}
		p.Totals[q] = x.best
		p.Total += x.best
	}
}

// division is a search for the pools of items, which are in the order of the search.
type division struct {
	items    []item
	weight   []float64 // of each item
	dense    []int     // items by weight a byte, the largest first
	pools    []Pool
	cheap    []int // pools, the cheapest first
	sections int
	limit    int64
	whole    *problem
	slack    []int64 // of a section: what its items need less than their sizes
	storages []*Storage

	load [][]int64 // of a pool in a section
	at   []int     // pool of each item

	best     []int // at, of the cheapest way that fits so far
	least    float64
	packed   []*problem // its pools
	unproven bool       // a way was left out that may fit

	work, budget int64
}

func newDivision(r *Result, weight []float64, pools []Pool, limit, budget int64) *division {
	p := newProblem(r.refs(), budget)
	sums := make([]float64, len(r.Storages))
	for i, w := range weight {
		sums[r.StorageOf[i]] += w
	}
	d := &division{items: p.items, sections: p.sections, limit: limit, whole: p, storages: p.storages,
		budget: budget}
	need := loads(p.storages)
	for s, step := range p.busiest {
		k, _ := slices.BinarySearchFunc(need, step+1, func(l load, step int) int { return cmp.Compare(l.step, step) })
		d.slack = append(d.slack, p.load[s]-need[k-1].bytes)
	}
	for q, x := range pools {
		d.pools = append(d.pools, Pool{roundDown(max(x.Bytes, 0)), x.Cost})
		d.cheap = append(d.cheap, q)
		d.load = append(d.load, make([]int64, p.sections))
	}
	slices.SortStableFunc(d.cheap, func(a, b int) int { return cmp.Compare(pools[a].Cost, pools[b].Cost) })
	// What costs most when it lies in the wrong place is decided first, and what is large.
	slices.SortStableFunc(d.items, func(a, b item) int {
		return cmp.Or(cmp.Compare(sums[b.storage], sums[a.storage]), cmp.Compare(b.size, a.size),
			cmp.Compare(a.storage, b.storage))
	})
	for i, it := range d.items {
		d.weight = append(d.weight, sums[it.storage])
		d.dense = append(d.dense, i)
	}
	slices.SortStableFunc(d.dense, func(a, b int) int {
		return cmp.Compare(d.weight[b]*float64(d.items[a].size), d.weight[a]*float64(d.items[b].size))
	})
	d.at = make([]int, len(d.items))
	return d
}

func (d *division) add(i, q int, sign int64) {
	it := &d.items[i]
	for s := it.lo; s <= it.hi; s++ {
		d.load[q][s] += sign * it.size
	}
	d.work += int64(it.hi-it.lo)/4 + 1
}

// room reports whether the load of a pool leaves room for item i.
func (d *division) room(i, q int) bool {
	it := &d.items[i]
	for s := it.lo; s <= it.hi; s++ {
		if d.load[q][s]+it.size > d.pools[q].Bytes+d.slack[s] {
			return false
		}
	}
	return true
}

// cheapest is what an item costs in the cheapest pool that is large enough for it; -1:
// there is none.
func (d *division) cheapest(i int) float64 {
	for _, q := range d.cheap {
		if d.items[i].size <= d.pools[q].Bytes {
			return d.weight[i] * d.pools[q].Cost
		}
	}
	return -1
}

// bound is a cost that items from k on cannot be below, behind those before where they
// lie; -1: they have no room. Items that are live in the same section share the pools:
// were they divisible, those with the most weight a byte would lie in the cheapest bytes.
// What that costs more than the cheapest pools is added up over sections that have no
// item in common.
func (d *division) bound(k int) float64 {
	sum := 0.0
	for i := k; i < len(d.items); i++ {
		c := d.cheapest(i)
		if c < 0 {
			return -1
		}
		sum += c
	}
	more := make([]float64, d.sections) // by section, and all of it before
	reach := make([]int, d.sections)    // the first section of an item that is live there
	for s := range d.sections {
		reach[s] = s
	}
	for i := k; i < len(d.items); i++ {
		for s := d.items[i].lo; s <= d.items[i].hi; s++ {
			reach[s] = min(reach[s], d.items[i].lo)
		}
	}
	free := make([]int64, len(d.pools))
	for s := range d.sections {
		x := d.section(k, s, free)
		if x < 0 {
			return -1
		}
		if reach[s] > 0 {
			x += more[reach[s]-1]
		}
		more[s] = x
		if s > 0 {
			more[s] = max(x, more[s-1])
		}
	}
	if d.sections > 0 {
		sum += more[d.sections-1]
	}
	return sum
}

// section is how much more than in the cheapest pools items from k on cost, if those
// live in section s were divisible; -1: they have no room.
func (d *division) section(k, s int, free []int64) float64 {
	for q := range free {
		free[q] = d.pools[q].Bytes + d.slack[s] - d.load[q][s]
	}
	more, at := 0.0, 0
	d.work += int64(len(d.dense))/4 + 1
	for _, i := range d.dense {
		it := &d.items[i]
		if i < k || s < it.lo || s > it.hi {
			continue
		}
		more -= max(d.cheapest(i), 0)
		for left := it.size; left > 0; {
			for at < len(d.cheap) && free[d.cheap[at]] <= 0 {
				at++
			}
			if at == len(d.cheap) {
				return -1
			}
			q := d.cheap[at]
			n := min(left, free[q])
			more += d.weight[i] * float64(n) / float64(it.size) * d.pools[q].Cost
			left, free[q] = left-n, free[q]-n
		}
	}
	return max(more, 0)
}

// search tries all ways for items from k on; false: the budget was spent.
func (d *division) search(k int) bool {
	before := 0.0
	for i := range k {
		before += d.weight[i] * d.pools[d.at[i]].Cost
	}
	if d.work > d.budget {
		return false
	}
	b := d.bound(k)
	if b < 0 || d.best != nil && !less(before+b, d.least) {
		return true
	}
	if k == len(d.items) {
		d.candidate(d.at)
		return true
	}
	for _, q := range d.cheap {
		if !d.room(k, q) {
			continue
		}
		d.at[k] = q
		d.add(k, q, 1)
		done := d.search(k + 1)
		d.add(k, q, -1)
		if !done {
			return false
		}
	}
	return true
}

// less leaves out what is but the rounding of sums.
func less(a, b float64) bool { return a < b-1e-9*max(b, 1) }

// candidate takes a way that is the cheapest so far, if its pools can be packed.
func (d *division) candidate(at []int) bool {
	cost := 0.0
	for i, q := range at {
		cost += d.weight[i] * d.pools[q].Cost
	}
	if d.best != nil && !less(cost, d.least) {
		return false
	}
	packed, sum := make([]*problem, len(d.pools)), int64(0)
	for q := range d.pools {
		x, ok := d.pack(at, q)
		if !ok {
			return false
		}
		packed[q] = x
		sum += x.best
	}
	if d.limit > 0 && sum > d.limit {
		d.unproven = true
		return false
	}
	d.best, d.least, d.packed = slices.Clone(at), cost, packed
	return true
}

// packShare of the budget may be spent to pack one pool.
const packShare = 64

// pack places the items of pool q. Where they do not fit and nothing proves that they
// cannot, the search is not exhausted.
func (d *division) pack(at []int, q int) (*problem, bool) {
	var list []*Storage
	var of []int
	for i, it := range d.items {
		if at[i] == q {
			list = append(list, d.storages[it.storage])
			of = append(of, it.storage)
		}
	}
	p := newProblem(list, max(d.budget/packShare, 1))
	defer func() { d.work += p.work + int64(len(list)) }()
	if p.bound > d.pools[q].Bytes {
		return nil, false
	}
	if d.limit == 0 {
		p.enough = d.pools[q].Bytes
	}
	p.solve()
	if p.best > d.pools[q].Bytes {
		d.unproven = d.unproven || !p.optimal
		return nil, false
	}
	for k := range p.items {
		p.items[k].storage = of[p.items[k].storage]
	}
	return p, true
}
