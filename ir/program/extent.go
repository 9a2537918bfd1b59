// SPDX-License-Identifier: Apache-2.0

package program

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

// end is the place behind the last byte.
func (e extent) end() int {
	if e.pitch == 0 || e.bytes == 0 {
		return e.at + e.bytes
	}
	return e.at + (e.bytes/e.row-1)*e.pitch + e.row
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
