// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"github.com/nncc/nncc/ir/lists"
	"slices"
)

// Part is a piece of an arena that lies in a memory of its own.
type Part struct {
	Name  string // of the memory
	Bytes int    // a multiple of Align
}

// Part is where a buffer of an arena in parts lies: the number of the part, and the
// bytes from its start. A buffer lies in one part, whole.
func (p *Program) Part(buffer int) (part, offset int) {
	b := &p.Buffers[buffer]
	return p.part(p.storage(b), b.Offset)
}

// part is where so many bytes behind the beginning of the arena are, for a value in a storage.
func (p *Program) part(storage *Buffer, offset int) (part, within int) {
	at, start := storage.Offset, 0
	for i, x := range p.Parts {
		if at < start+x.Bytes {
			return i, offset - start
		}
		start += x.Bytes
	}
	return max(len(p.Parts)-1, 0), offset // beyond the arena: Verify has found it
}

// verifyParts: parts add up to the arena, and no storage lies in two of them.
func (p *Program) verifyParts() {
	if len(p.Parts) == 0 {
		return
	}
	sum, names := 0, map[string]bool{}
	for _, x := range p.Parts {
		refuse(x.Bytes <= 0 || x.Bytes%Align != 0 || x.Name == "" || names[x.Name], "part %q of the arena has %d bytes",
			x.Name, x.Bytes)
		names[x.Name] = true
		sum += x.Bytes
	}
	refuse(sum != p.ArenaBytes, "the parts of the arena have %d bytes, it has %d", sum, p.ArenaBytes)
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if b.Kept || b.AliasOf >= 0 {
			continue
		}
		k, at := p.Part(i)
		end := at + b.Bytes
		refuse(at < 0 || end > p.Parts[k].Bytes, "%s, %d bytes at %d, leaves part %s of the arena", b, b.Bytes,
			b.Offset, p.Parts[k].Name)
	}
}

// Traffic are the bytes of each buffer that a run reads and writes: operands and results
// of every step, each counted where it lies, and scratch memory twice.
func (p *Program) Traffic() []int {
	n := make([]int, len(p.Buffers))
	for _, s := range p.Steps {
		for _, x := range s.In {
			if x.Buffer >= 0 {
				n[x.Buffer] += p.Buffers[x.Buffer].Type.Bytes()
			}
		}
		for _, b := range s.Out {
			n[b] += p.Buffers[b].Type.Bytes()
		}
		if s.Scratch >= 0 {
			n[s.Scratch] += 2 * p.Buffers[s.Scratch].Bytes
		}
	}
	return n
}

// PartTraffic are the bytes of each part that a run reads and writes; of the whole arena
// where it is in one piece.
func (p *Program) PartTraffic() []int {
	out := make([]int, max(len(p.Parts), 1))
	for i, n := range p.Traffic() {
		if b := &p.Buffers[i]; !b.Kept {
			k, _ := p.Part(i)
			out[k] += n
		}
	}
	return out
}

// verifyShared: values that steps or the caller write share no byte while both
// are needed. A value written over one that its step reads last is the
// business of VerifyWrites.
func (p *Program) verifyShared(begin []*stay) {
	slices.SortFunc(begin, func(a, b *stay) int { return cmp.Or(a.first-b.first, a.buffer-b.buffer, a.at-b.at) })
	end := slices.Clone(begin)
	slices.SortFunc(end, func(a, b *stay) int { return cmp.Or(a.last-b.last, a.first-b.first) })
	var now places
	for _, v := range begin {
		// At the same step w is read and v written: no conflict beyond what
		// VerifyWrites finds, unless the step writes both.
		for len(end) > 0 && (end[0].last < v.first || end[0].last == v.first && end[0].first < v.first) {
			now.remove(end[0])
			end = end[1:]
		}
		if w := now.meets(v); w != nil {
			fault("%s at %d (steps %d to %d) and %s at %d (steps %d to %d) share bytes",
				p.name(w.buffer), w.at, w.first, w.last, p.name(v.buffer), v.at, v.first, v.last)
		}
		now.add(v)
	}
}

// places are values that share no byte: those without gaps by address, and
// those in rows, which can lie between each other's.
type places struct{ solid, rows []*stay }

func byAddress(a, b *stay) int { return cmp.Or(a.at-b.at, a.buffer-b.buffer) }

func (p *places) list(v *stay) *[]*stay {
	if v.pitch > 0 {
		return &p.rows
	}
	return &p.solid
}

func (p *places) add(v *stay) {
	l := p.list(v)
	i, _ := slices.BinarySearchFunc(*l, v, byAddress)
	*l = slices.Insert(*l, i, v)
}

func (p *places) remove(v *stay) {
	l := p.list(v)
	if i, ok := slices.BinarySearchFunc(*l, v, byAddress); ok {
		*l = slices.Delete(*l, i, i+1)
	}
}

// meets is a value that has a byte in common with v, or nil.
func (p *places) meets(v *stay) *stay {
	i, _ := slices.BinarySearchFunc(p.solid, v, byAddress)
	if i > 0 && p.solid[i-1].meets(v.extent) { // those before it end before it begins
		return p.solid[i-1]
	}
	for ; i < len(p.solid) && p.solid[i].at < v.end(); i++ {
		if p.solid[i].meets(v.extent) {
			return p.solid[i]
		}
	}
	return lists.Find(p.rows, func(w *stay) bool { return w.meets(v.extent) })
}
