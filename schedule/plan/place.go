// SPDX-License-Identifier: Apache-2.0

package plan

// Buffer is a run of bytes that must keep its contents from step First to step
// Last, both inclusive. One without bytes overlaps nothing.
type Buffer struct {
	Name        string
	Bytes       int64
	First, Last int // any numbers do, also negative ones
	// AliasOf is -1, or the index of the buffer in whose storage this one lies,
	// Delta bytes after the start of that buffer: the views that concat, split,
	// reshape and in-place operators make. Chains are followed; none leads to
	// before the start of its storage.
	AliasOf int
	Delta   int64
	// Pieces of the storage, for one that is not needed all the time: bytes outside of them are
	// free. None in any buffer of a storage: all of it is needed from the first to the last step.
	Pieces []Piece
	// Over lists other buffers whose last step is First, and over which this one may lie then.
	Over []Over
}

// Piece is bytes from Off to End behind the start of a buffer, multiples of Align, and the steps
// between which they are needed, both inclusive.
type Piece struct {
	Off, End    int64
	First, Last int
}

// Over is a buffer over which another one may lie that begins at least Ahead bytes before it or,
// unless Behind is 0, at least Behind bytes after it.
type Over struct {
	In            int
	Ahead, Behind int64
	Slower        int64 // bytes further from where on its node takes less time; 0: it does not
}

// Result of Place.
type Result struct {
	// Offsets has an entry per buffer: bytes from the start of the arena.
	Offsets []int64
	// Total is the size of the arena in bytes, a multiple of Align.
	Total int64
	// LowerBound is the largest sum, over the steps, of the storages live at
	// that step, each rounded up to Align, aliases counted once. No plan in which
	// they lie apart is smaller.
	LowerBound int64
	// OverlapBound is the largest sum of the bytes that are needed at a step, without those
	// in which buffers can lie over others. No plan is smaller.
	OverlapBound int64
	// Storages are the placed blocks in the order of their root buffers.
	Storages []Storage
	// StorageOf has an entry per buffer: its index in Storages.
	StorageOf []int
}

// Storage is a block of the arena shared by a buffer and all its aliases. Its
// live range is the smallest that covers those of all members.
type Storage struct {
	Root        int   // index of the buffer that is no alias
	Offset      int64 // bytes from the start of the arena
	Bytes       int64 // covers all members; not rounded
	First, Last int

	pieces []Piece // in none of which others have bytes and steps
	laps   []lap
}

// newResult unites buffers with their aliases: all but the offsets of storages. deltas
// are how far buffers lie from the start of their storage.
func newResult(bufs []Buffer) (r Result, deltas []int64) {
	r.StorageOf, r.Offsets, deltas = make([]int, len(bufs)), make([]int64, len(bufs)), make([]int64, len(bufs))
	for i, b := range bufs {
		if b.AliasOf < 0 {
			r.StorageOf[i] = len(r.Storages)
			r.Storages = append(r.Storages, Storage{Root: i, Bytes: b.Bytes, First: b.First, Last: b.Last})
		}
	}
	for i, b := range bufs {
		root := i
		for bufs[root].AliasOf >= 0 {
			deltas[i] += bufs[root].Delta
			root = bufs[root].AliasOf
		}
		r.StorageOf[i] = r.StorageOf[root]
		s := &r.Storages[r.StorageOf[i]]
		s.First, s.Last = min(s.First, b.First), max(s.Last, b.Last)
		s.Bytes = max(s.Bytes, deltas[i]+b.Bytes)
		for _, x := range b.Pieces {
			s.pieces = append(s.pieces, Piece{x.Off + deltas[i], x.End + deltas[i], x.First, x.Last})
		}
	}
	for k := range r.Storages {
		r.Storages[k].tidy()
	}
	r.overlaps(bufs, deltas)
	return r, deltas
}

// refs are the storages.
func (r *Result) refs() []*Storage {
	list := make([]*Storage, len(r.Storages))
	for i := range list {
		list[i] = &r.Storages[i]
	}
	return list
}

// offsets follow from those of the storages.
func (r *Result) offsets(deltas []int64) {
	for i, k := range r.StorageOf {
		r.Offsets[i] = r.Storages[k].Offset + deltas[i]
	}
}

// Place gives every buffer an offset in one arena so that no byte is needed by two
// storages at the same step, but where one may lie over the other.
//
// It tries first fit and best fit in several orders, then branch and bound; it stops when
// the lower bound is reached or the budget is spent, and returns the best plan seen.
func Place(bufs []Buffer, budget int64) Result { return placed(bufs, budget, 0, never) }

// placed is Place that looks for no fewer bytes than are enough, and for fewer than below: other plans are of no use.
func placed(bufs []Buffer, budget, enough, below int64) Result {
	r, deltas := newResult(bufs)
	p := newProblem(r.refs(), budget)
	if p.enough, p.below = enough, below; p.bound < below && (enough == 0 || p.bound <= enough) {
		p.solve()
	}
	r.Total, r.LowerBound, r.OverlapBound = p.best, p.apart, p.bound
	for k := range p.items {
		r.Storages[p.items[k].storage].Offset = p.bestOff[k]
	}
	r.offsets(deltas)
	return r
}
