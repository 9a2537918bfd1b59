// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"iter"
	"slices"

	"github.com/nncc/nncc/ir/lists"
)

// Until is the step before which the bytes of a buffer are as they were at the
// start: the first step that writes over any of them, len(Steps) where none does.
func (p *Program) Until(buffer int) int {
	e := p.extent(buffer)
	for k, s := range p.Steps {
		for _, b := range slices.Concat(s.Own(), s.Out) {
			if p.extent(b).meets(e) {
				return k
			}
		}
	}
	return len(p.Steps)
}

// From is for each buffer the step that completes it, through views, too: -1 where
// the caller writes it.
func (p *Program) From() []int {
	live := p.liveness()
	return lists.Map(live, func(l lifetime) int {
		last := before
		for _, w := range l.own {
			last = max(last, live[w].first)
		}
		return last
	})
}

// StepOf gives for a step the caller's step that it is, or is a call of: calls of one chain in a row are one. Of
// len(Steps) it gives how many there are; what is before the first one stays.
func (p *Program) StepOf() func(k int) int {
	of := make([]int, len(p.Steps)+1)
	for k := 1; k < len(of); k++ {
		if of[k] = of[k-1]; !p.GoesOn(k) {
			of[k]++
		}
	}
	return func(k int) int { return of[max(k, 0)] + min(k, 0) }
}

// GoesOn reports that step k is another call of the chain of the one before.
func (p *Program) GoesOn(k int) bool {
	return k > 0 && k < len(p.Steps) && p.Steps[k].Chain != "" && p.Steps[k].Chain == p.Steps[k-1].Chain
}

// Waiting is the most bytes of values that no step but those from from on, up to to, needs.
func (p *Program) Waiting(from, to int) (most int) {
	for k := from; k < to; k++ {
		n := 0
		for i := range p.Buffers {
			b := &p.Buffers[i]
			if b.AliasOf < 0 && !b.IsScratch() && from <= b.First && b.First <= k && k <= b.Last && b.Last < to {
				n += b.Bytes
			}
		}
		most = max(most, n)
	}
	return most
}

// Steps before the first one.
const before = -1

// lifetime of a buffer: from the first step that writes bytes of it (before,
// for inputs) to the last one that reads them, through views, too. len(Steps)
// stands for the caller, who reads outputs.
type lifetime struct {
	first, last int
	// own are the buffers written by a step or by the caller whose bytes these
	// are: the buffer itself, or what it is a view of. None: no step writes it.
	own []int
}

// liveness is computed from steps and views alone, not from what the buffers
// say: Verify and Replay rely on it. It has an entry for each buffer.
func (p *Program) liveness() []lifetime {
	live := make([]lifetime, len(p.Buffers))
	for _, x := range p.Inputs {
		live[x.Buffer] = lifetime{before, before, []int{x.Buffer}}
	}
	for k, s := range p.Steps {
		for _, b := range s.Out {
			live[b] = lifetime{k, k, []int{b}}
		}
	}
	for _, s := range p.Views {
		l := lifetime{len(p.Steps), before, nil}
		for _, b := range s.operands() {
			l.first = min(l.first, live[b].first)
			l.own = append(l.own, live[b].own...)
		}
		slices.Sort(l.own)
		l.own, l.last = slices.Compact(l.own), l.first
		for _, b := range s.Out {
			live[b] = l
		}
	}
	for b, k := range p.reads() {
		l := &live[b]
		l.last = max(l.last, k)
		for _, w := range l.own {
			live[w].last = max(live[w].last, k)
		}
	}
	return live
}

// reads are the buffers that steps read, len(Steps) for what the caller reads or is copied at the end.
func (p *Program) reads() iter.Seq2[int, int] {
	return func(yield func(b, k int) bool) {
		for k, s := range p.Steps {
			for _, b := range s.operands() {
				if !yield(b, k) {
					return
				}
			}
		}
		for _, x := range p.Outputs {
			if !yield(x.Buffer, len(p.Steps)) {
				return
			}
		}
		for _, x := range p.States {
			if !p.InPlace(x) && !yield(p.Inputs[x.In].Buffer, len(p.Steps)) {
				return
			}
		}
	}
}

// stay is bytes of a value, in their place while they are needed.
type stay struct {
	lifetime
	extent
	buffer int
}

// stays are the pieces of all values that steps or the caller write. What is read of a value by a
// view of it alone is a piece of its own, needed until that is read last.
func (p *Program) stays(live []lifetime) []*stay {
	cuts, of := map[int][]int{}, map[int][]*stay{} // by value
	for b, l := range live {
		for _, w := range l.own {
			cuts[w] = append(cuts[w], p.extent(b).at, p.extent(b).end())
		}
	}
	var list []*stay
	for b, l := range live {
		if !l.written(b) {
			continue
		}
		slices.Sort(cuts[b])
		for _, e := range p.extent(b).cut(slices.Compact(cuts[b])) {
			of[b] = append(of[b], &stay{lifetime{l.first, l.first, l.own}, e, b})
		}
		list = append(list, of[b]...)
	}
	for b, k := range p.reads() {
		e := p.extent(b)
		for _, w := range live[b].own {
			for _, x := range of[w] {
				if x.meets(e) {
					x.last = max(x.last, k)
				}
			}
		}
	}
	return list
}

// Piece is bytes in the arena that steps from First to Last need: those of a value, as far as a step or
// the caller writes it, or memory that a step has for itself. The caller writes inputs at step -1, and
// reads outputs at step len(Steps).
type Piece struct{ Buffer, At, End, First, Last int }

// Pieces are all of them.
func (p *Program) Pieces() []Piece {
	var list []Piece
	for _, x := range p.stays(p.liveness()) {
		if !p.Buffers[x.buffer].Kept {
			list = append(list, Piece{x.buffer, x.at, x.end(), x.first, x.last})
		}
	}
	for k, s := range p.Steps {
		for _, b := range s.Own() {
			list = append(list, Piece{b, p.Buffers[b].Offset, p.Buffers[b].Offset + p.Buffers[b].Bytes, k, k})
		}
	}
	return list
}

// Live are, for each buffer, the first and the last step that need its bytes,
// computed from the steps alone.
func (p *Program) Live() (first, last []int) {
	for _, l := range p.liveness() {
		first = append(first, max(l.first, 0))
		last = append(last, max(min(l.last, len(p.Steps)-1), l.first, 0))
	}
	return first, last
}

// Pieces by place.
type Pieces []Piece

// Needed is what each step needs.
func (p *Program) Needed() []Pieces {
	list := make([]Pieces, len(p.Steps))
	for _, x := range p.Pieces() {
		for k := max(x.First, 0); k <= min(x.Last, len(list)-1); k++ {
			list[k] = append(list[k], x)
		}
	}
	for _, l := range list {
		lists.Sort(l, func(x, y Piece) int { return cmp.Compare(x.At, y.At) })
	}
	return list
}

// Bytes are those that pieces have, in units of Align.
func (l Pieces) Bytes() int {
	n, end := 0, 0
	for _, x := range l {
		at, to := max(x.At/Align, end), (x.End+Align-1)/Align
		n, end = n+max(to-at, 0), max(end, to)
	}
	return n * Align
}

// Sharing are the buffers in other storages that have bytes in common with one while both are needed.
func (p *Program) Sharing(buffer int) []int {
	b := &p.Buffers[buffer]
	var list []int
	for i := range p.Buffers {
		c := &p.Buffers[i]
		if b.First <= c.Last && c.First <= b.Last && p.extent(i).meets(p.extent(buffer)) &&
			p.storage(b) != p.storage(c) {
			list = append(list, i)
		}
	}
	return list
}

// written reports whether a step or the caller writes buffer b itself: it is no
// view.
func (l *lifetime) written(b int) bool { return len(l.own) == 1 && l.own[0] == b }

// extent is the bytes of a value: one run, or rows of row bytes pitch apart.
type extent struct{ at, bytes, row, pitch int }

// extent is where the value of a buffer lies in its memory, its views' bytes
// left out.
func (b *Buffer) extent() extent {
	n := b.Bytes
	if !b.IsScratch() {
		n = b.Type.Bytes()
	}
	return extent{b.Offset, n, b.Row, b.Pitch}
}

// extent of a buffer among all bytes of the program: the state's memory counts
// as lying behind the arena.
func (p *Program) extent(buffer int) extent {
	e := p.Buffers[buffer].extent()
	e.at = p.Address(buffer)
	return e
}

// Address of a buffer among all bytes of the program: the state's memory counts
// as lying behind the arena.
func (p *Program) Address(buffer int) int {
	b := &p.Buffers[buffer]
	if b.Kept {
		return p.ArenaBytes + b.Offset
	}
	return b.Offset
}

// Runs are the bytes of the value of a buffer among those of the program, in one run or in rows.
func (p *Program) Runs(buffer int, f func(at, n int)) { p.extent(buffer).runs(f) }

// end is the place behind the last byte.
func (e extent) end() int {
	if e.pitch == 0 || e.bytes == 0 {
		return e.at + e.bytes
	}
	return e.at + (e.bytes/e.row-1)*e.pitch + e.row
}

// cut divides the bytes at some places, in order; a row with a place inside is a part of its own.
func (e extent) cut(places []int) (parts []extent) {
	row, pitch, from := e.row, e.pitch, 0
	if pitch == 0 {
		row, pitch = 1, 1
	}
	until := func(to int) {
		if to = min(to, e.bytes/row); to > from {
			x := e
			x.at, x.bytes = e.at+from*pitch, (to-from)*row
			parts, from = append(parts, x), to
		}
	}
	for _, at := range places {
		until((at - e.at) / pitch)
		until((at - e.at + pitch - 1) / pitch)
	}
	until(e.bytes / row)
	return parts
}

// runs calls f for every run of bytes, in order.
func (e extent) runs(f func(at, n int)) {
	if e.pitch == 0 {
		f(e.at, e.bytes)
		return
	}
	for i := range e.bytes / e.row {
		f(e.at+i*e.pitch, e.row)
	}
}

// gather copies the bytes out of memory.
func (e extent) gather(memory []byte) []byte {
	b := make([]byte, 0, e.bytes)
	e.runs(func(at, n int) { b = append(b, memory[at:at+n]...) })
	return b
}

// meets reports whether two values share a byte.
func (e extent) meets(o extent) bool {
	switch {
	case e.bytes == 0 || o.bytes == 0 || e.at >= o.end() || o.at >= e.end():
		return false
	case e.pitch == 0 && o.pitch == 0:
		return true
	case e.pitch == o.pitch:
		d := ((o.at-e.at)%e.pitch + e.pitch) % e.pitch
		return d < e.row || d+o.row > e.pitch
	case e.pitch != 0 && o.pitch != 0:
		return true // never at the same time in one storage
	case e.pitch == 0:
		e, o = o, e
	}
	// The last row of e that begins before o ends reaches into o, or none does.
	i := (o.at + o.bytes - 1 - e.at) / e.pitch
	i = min(i, e.bytes/e.row-1)
	return e.at+i*e.pitch+e.row > o.at
}
