// SPDX-License-Identifier: Apache-2.0

package cycles

import "github.com/nncc/nncc/boards"

// Fetch follows the lines that instructions come from: a line that is neither
// the last one nor in the cache has to be read. Time that reads of data take on
// the same memory is not in it.
type Fetch struct {
	w     boards.Wait
	shift uint       // log2 of a line's bytes
	sets  [][]uint32 // lines that are kept, the latest first
	last  uint32     // the line of the last instruction
	began bool
}

// NewFetch is nil for memory that never makes instructions wait.
func NewFetch(w boards.Wait) *Fetch {
	if w.States == 0 {
		return nil
	}
	f := &Fetch{w: w}
	for 1<<f.shift < int(w.Line) {
		f.shift++
	}
	if lines := int(w.Cache >> f.shift); lines > 0 {
		ways := w.Ways
		if ways == 0 {
			ways = lines
		}
		f.sets = make([][]uint32, lines/ways)
		for i := range f.sets {
			f.sets[i] = make([]uint32, 0, ways)
		}
	}
	return f
}

// run is how long a block waits for its instructions.
func (f *Fetch) run(b *Block) int {
	n := 0
	for line := b.PC >> f.shift; line <= (b.End-1)>>f.shift; line++ {
		if f.began && line == f.last {
			continue
		}
		next := f.began && line == f.last+1
		f.last, f.began = line, true
		if f.hit(line) {
			continue
		}
		wait := f.w.States
		if next && f.w.Prefetch {
			// It was asked for when the line before began: a cycle for every four
			// bytes of that went by.
			wait = max(0, wait-int(f.w.Line)/4)
		}
		n += wait
	}
	return n
}

// hit reports whether a line is in the cache, and puts it there.
func (f *Fetch) hit(line uint32) bool {
	if len(f.sets) == 0 {
		return false
	}
	set := f.sets[line%uint32(len(f.sets))]
	for i, l := range set {
		if l == line {
			copy(set[1:i+1], set[:i])
			set[0] = line
			return true
		}
	}
	if len(set) < cap(set) {
		set = append(set, 0)
		f.sets[line%uint32(len(f.sets))] = set
	}
	copy(set[1:], set)
	set[0] = line
	return false
}
