// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"slices"
	"sync"
)

// span is an occupied run of bytes, end exclusive.
type span struct{ off, end int64 }

func bySpan(a, b span) int {
	return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.end, b.end))
}

// fitter places items one after another, each in a gap between those already
// placed that it overlaps in time. Its buffers are reused between runs.
type fitter struct {
	p      *problem
	off    []int64 // -1: not placed
	spans  []span
	placed []int // by offset; only used without overlap lists
}

func (p *problem) newFitter() *fitter {
	return &fitter{p: p, off: make([]int64, len(p.items))}
}

// run places the items in the given order, each at the lowest offset that is
// free or, with tight, in the smallest gap that holds it. It returns the height
// of the plan, or gives up and returns limit when it would not stay below that.
func (f *fitter) run(order []int, tight bool, limit int64) int64 {
	for i := range f.off {
		f.off[i] = -1
	}
	f.placed = f.placed[:0]
	top := int64(0)
	for _, i := range order {
		it := &f.p.items[i]
		f.neighbours(i)
		off := gap(f.spans, it.size, tight)
		if top = max(top, off+it.size); top >= limit {
			return limit
		}
		f.off[i] = off
		if f.p.adj == nil {
			at, _ := slices.BinarySearchFunc(f.placed, off,
				func(j int, o int64) int { return cmp.Compare(f.off[j], o) })
			f.placed = slices.Insert(f.placed, at, i)
		}
	}
	return top
}

// neighbours collects in f.spans, by offset, what is placed and overlaps item i.
func (f *fitter) neighbours(i int) {
	f.spans = f.spans[:0]
	p := f.p
	if p.adj != nil {
		p.work += int64(len(p.adj[i])) + 1
		for n, j := range p.adj[i] {
			if o := f.off[j]; o >= 0 {
				if s := p.taken(i, n, o); s.off-p.items[i].size < s.end {
					f.spans = append(f.spans, s)
				}
			}
		}
		slices.SortFunc(f.spans, bySpan)
		return
	}
	p.work += int64(len(f.placed)) + 1
	for _, j := range f.placed {
		if p.items[i].overlaps(&p.items[j]) {
			f.spans = append(f.spans, span{f.off[j], f.off[j] + p.items[j].size})
		}
	}
}

// gap returns the offset for size bytes among the occupied spans: the lowest
// or, with tight, the one in the smallest gap (the space above all spans counts
// as the largest).
func gap(spans []span, size int64, tight bool) int64 {
	end := int64(0)
	best, bestGap := int64(-1), int64(0)
	for _, s := range spans {
		if s.off > end && end+size <= s.off {
			if !tight {
				return end
			}
			if best < 0 || s.off-end < bestGap {
				best, bestGap = end, s.off-end
			}
		}
		end = max(end, s.end)
	}
	if best >= 0 {
		return best
	}
	return end
}

// fitOrders are the orders that fitAll tries, by the keys of items, the least first; peaks are
// those of the problem. All of them put what is hard to place first, and mean something else
// by hard.
var fitOrders = []func(a *item, peaks func() map[int]int64) [3]int64{
	func(a *item, _ func() map[int]int64) [3]int64 { return [3]int64{-a.size, -a.steps()} },
	func(a *item, _ func() map[int]int64) [3]int64 { return [3]int64{-a.steps(), -a.size} },
	func(a *item, _ func() map[int]int64) [3]int64 { return [3]int64{-a.size * a.steps()} }, // by area
	func(a *item, _ func() map[int]int64) [3]int64 { return [3]int64{int64(a.lo), -int64(a.hi), -a.size} },
	func(a *item, _ func() map[int]int64) [3]int64 { return [3]int64{-int64(a.hi), int64(a.lo), -a.size} },
	func(a *item, peaks func() map[int]int64) [3]int64 { return [3]int64{-peaks()[a.storage], -a.size} }, // by breadth
}

// peaks returns, by storage, the largest load of the sections in which it is
// live.
func (p *problem) peaks() map[int]int64 {
	// Sparse table: row k holds the maxima of runs of 2^k sections.
	rows := [][]int64{p.load}
	for w := 1; 2*w <= p.sections; w *= 2 {
		prev := rows[len(rows)-1]
		row := make([]int64, p.sections-2*w+1)
		for i := range row {
			row[i] = max(prev[i], prev[i+w])
		}
		rows = append(rows, row)
	}
	out := make(map[int]int64, len(p.items))
	for i := range p.items {
		it := &p.items[i]
		k, w := 0, 1
		for 2*w <= it.hi-it.lo+1 {
			k, w = k+1, 2*w
		}
		out[it.storage] = max(rows[k][it.lo], rows[k][it.hi-w+1])
	}
	return out
}

// fitAll tries first fit and best fit in every order. The first of them runs
// whatever the budget is; the rest only as long as it lasts.
func (p *problem) fitAll() {
	f, peaks := p.newFitter(), sync.OnceValue(p.peaks)
	for k, o := range fitOrders {
		key := func(a *item) [3]int64 { return o(a, peaks) }
		order := p.sorted(func(a, b *item) int {
			x, y := key(a), key(b)
			return slices.Compare(x[:], y[:])
		})
		for _, tight := range []bool{false, true} {
			if p.optimal || k > 0 && p.spent() {
				return
			}
			p.candidate(f.run(order, tight, p.best), f.off)
		}
	}
}
