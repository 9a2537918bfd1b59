// SPDX-License-Identifier: Apache-2.0

package plan

import "fmt"

// Buffer is a run of bytes that must keep its contents from step First to step
// Last, both inclusive.
type Buffer struct {
	ID   int    // the caller's; only errors show it
	Name string // only errors show it
	// Bytes is the size, not negative. A buffer without bytes overlaps nothing.
	Bytes int64
	// First and Last are steps. Any numbers do, also negative ones.
	First, Last int
	// Align in bytes, a power of two. 0 means Options.Align for a buffer with
	// storage of its own and 1 for an alias.
	Align int64
	// AliasOf is -1, or the index of the buffer in whose storage this one lies,
	// Delta bytes after the start of that buffer: the views that concat, split,
	// reshape and in-place operators make. Chains are followed.
	AliasOf int
	Delta   int64
}

func (b Buffer) String() string {
	if b.Name != "" {
		return fmt.Sprintf("buffer %q", b.Name)
	}
	return fmt.Sprintf("buffer #%d", b.ID)
}

// Result of Place.
type Result struct {
	// Offsets has an entry per buffer: bytes from the start of the arena.
	Offsets []int64
	// Total is the size of the arena in bytes, a multiple of Options.Align.
	Total int64
	// LowerBound is the largest sum, over the steps, of the storages live at
	// that step, each rounded up to Options.Align, aliases counted once. No plan
	// is smaller.
	LowerBound int64
	// NoReuse is what the arena would be if every storage had its own place.
	NoReuse int64
	// Storages are the placed blocks in the order of their root buffers.
	Storages []Storage
	// StorageOf has an entry per buffer: its index in Storages.
	StorageOf []int
	// Optimal tells that the bound is reached.
	Optimal bool
	// Work spent, in the units of Options.Budget.
	Work int64
}

// Storage is a block of the arena shared by a buffer and all its aliases. Its
// live range is the smallest that covers those of all members.
type Storage struct {
	Root        int   // index of the buffer that is no alias
	Offset      int64 // bytes from the start of the arena
	Bytes       int64 // covers all members; not rounded
	Align       int64
	First, Last int
}

// Place gives every buffer an offset in one arena so that storages that are
// live at the same step share no byte.
//
// It tries, from cheap to dear, first fit and best fit in several orders, a
// two-ended sweep along the steps and a seeded local search;
// it stops when the lower bound is reached or the budget is spent, and returns
// the best plan seen. A plan is never larger than Result.NoReuse.
func Place(bufs []Buffer, opt Options) (Result, error) {
	opt, err := opt.resolved()
	if err != nil {
		return Result{}, err
	}
	g, err := makeGroups(bufs, opt.Align)
	if err != nil {
		return Result{}, err
	}
	p := newProblem(g.storages, opt)
	p.solve()

	res := Result{
		Offsets:    make([]int64, len(bufs)),
		Total:      p.best,
		LowerBound: p.bound,
		NoReuse:    p.noReuse,
		Storages:   g.storages,
		StorageOf:  g.of,
		Optimal:    p.optimal,
		Work:       p.work,
	}
	for k := range p.items {
		g.storages[p.items[k].storage].Offset = p.bestOff[k]
	}
	for i := range bufs {
		res.Offsets[i] = g.storages[g.of[i]].Offset + g.rel[i]
	}
	return res, nil
}
