// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"bytes"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule/plan"
)

// Gap is the first place in the arena where step k can have so many bytes more of
// memory of its own, whatever its size now is.
func Gap(p *program.Program, k, bytes int) int {
	at := 0
	for _, x := range p.Needed()[k] {
		if at+bytes <= x.At {
			break
		}
		at = max(at, aligned(x.End))
	}
	return at
}

// buffersOf are the buffers of a program as they were planned.
func buffersOf(p *program.Program) []plan.Buffer {
	list := make([]plan.Buffer, len(p.Buffers))
	for i := range p.Buffers {
		b := &p.Buffers[i]
		list[i] = plan.Buffer{First: b.First, Last: b.Last, AliasOf: b.AliasOf}
		if !b.Kept && b.Bytes > 0 {
			list[i].Bytes = int64(max(b.Bytes, b.Span()))
		}
		if b.AliasOf >= 0 {
			list[i].Delta = int64(b.Offset - p.Buffers[b.AliasOf].Offset)
		}
	}
	for _, x := range p.Pieces() {
		root := x.Buffer
		for list[root].AliasOf >= 0 {
			root = list[root].AliasOf
		}
		at := p.Buffers[root].Offset
		list[root].Pieces = append(list[root].Pieces,
			plan.Piece{Off: int64((x.At - at) / program.Align * program.Align),
				End: int64(aligned(x.End - at)), First: x.First, Last: x.Last})
	}
	for _, s := range p.Steps {
		for _, o := range s.Overlap {
			if in := s.In[o.I]; !o.Exact && in.Buffer >= 0 && !in.Unread {
				b := &list[s.Out[o.Out]]
				if o.Scratch {
					b = &list[s.Scratch]
				}
				b.Over = append(b.Over, plan.Over{In: in.Buffer, Ahead: int64(o.Ahead), Behind: int64(o.Behind)})
			}
		}
	}
	return list
}

// bound sets the bounds of a program.
func bound(p *program.Program) {
	r := plan.Place(buffersOf(p), 0)
	p.LowerBound, p.OverlapBound = int(r.LowerBound), int(r.OverlapBound)
}

func aligned(n int) int { return (n + program.Align - 1) / program.Align * program.Align }

// Stage gives constants of a program copies in faster memory: those that are staged in
// memory of their own, before the first run; those that are fetched in the arena, which
// grows where it has no gap, before each step that reads them. What is fetched already
// stays so unless it is staged. Steps, orders and places of all else stay as they are.
func Stage(p *program.Program, staged, fetched []int) error {
	unfetch(p, staged)
	for _, i := range staged {
		c := &p.Consts[i]
		c.Staged, c.At = true, p.StagedBytes
		p.StagedBytes += aligned(c.Bytes())
	}
	for k, s := range p.Steps {
		for _, i := range s.Constants() {
			if !slices.Contains(fetched, i) || s.Fetched(i) >= 0 {
				continue
			}
			fetch(p, k, Gap(p, k, p.Consts[i].Bytes()), i)
		}
	}
	bound(p)
	return p.Verify()
}

// fetch has step k copy constants to a place in the arena, one after the other.
func fetch(p *program.Program, k, at int, constants ...int) {
	s := p.Steps[k]
	b := program.Buffer{Name: p.Consts[constants[0]].Hint + " of " + s.Name, Offset: at, First: k, Last: k, AliasOf: -1}
	for _, i := range constants {
		s.Fetches = append(s.Fetches, program.Fetch{Const: i, Buffer: len(p.Buffers)})
		b.Bytes = max(b.Bytes, p.Consts[i].Bytes())
	}
	p.Buffers = append(p.Buffers, b)
	p.ArenaBytes = max(p.ArenaBytes, aligned(at+b.Bytes))
}

// unfetch has no step copy the constants any more.
func unfetch(p *program.Program, constants []int) {
	first := len(p.Buffers)
	for _, s := range p.Steps {
		for _, f := range s.Fetches {
			first = min(first, f.Buffer)
		}
	}
	if first == len(p.Buffers) {
		return
	}
	places := slices.Clone(p.Buffers[first:]) // nothing else stands behind them
	p.Buffers = p.Buffers[:first]
	now := map[int]int{}
	for _, s := range p.Steps {
		s.Fetches = slices.DeleteFunc(s.Fetches, func(f program.Fetch) bool {
			return slices.Contains(constants, f.Const)
		})
		for i, f := range s.Fetches {
			if _, ok := now[f.Buffer]; !ok {
				now[f.Buffer] = len(p.Buffers)
				p.Buffers = append(p.Buffers, places[f.Buffer-first])
			}
			s.Fetches[i].Buffer = now[f.Buffer]
		}
	}
}

// Within lets f place more in the arena, which may grow to so many bytes by it.
func Within(p *program.Program, most int, f func() error) error {
	used := p.ArenaBytes
	p.ArenaBytes = max(used, aligned(most))
	err := f()
	for i := range p.Buffers {
		if b := &p.Buffers[i]; !b.Kept {
			used = max(used, aligned(b.Offset+max(b.Bytes, b.Span())))
		}
	}
	p.ArenaBytes = min(p.ArenaBytes, used)
	return err
}

// Fetch has steps fetch constants, the first ones of the list rather than later ones,
// where the arena has room: what is in it may move, but it does not grow.
func Fetch(p *program.Program, constants []int) error {
	for _, i := range constants {
		var steps []int
		fits, needed := true, p.Needed()
		for k, s := range p.Steps {
			if slices.Contains(s.Constants(), i) {
				steps = append(steps, k)
				fits = fits && needed[k].Bytes()+aligned(p.Consts[i].Bytes()) <= p.ArenaBytes
			}
		}
		if n := p.Consts[i].Bytes(); fits && room(p, n, steps) {
			for _, k := range steps {
				fetch(p, k, Gap(p, k, n), i)
			}
		}
	}
	bound(p)
	return p.Verify()
}

// room reports that each of the steps can have so many bytes more in the arena, for which
// what is in it may have moved.
func room(p *program.Program, bytes int, steps []int) bool {
	full := func(k int) bool { return Gap(p, k, bytes)+bytes > p.ArenaBytes }
	return !slices.ContainsFunc(steps, full) || makeRoom(p, bytes, steps)
}

// FetchParts has step k, node n, make other calls, which read a part each of what was a
// constant (call.Lowered.Cut), and fetch these parts one after the other to the same place,
// where the arena has room and no part equals another or a constant of the program (equal
// constants are one: a step fetches each once); else it reports false, and nothing has changed.
func FetchParts(p *program.Program, n *ir.Node, k, constant int, cut []call.CutCall) (bool, error) {
	calls := lists.Map(cut, func(x call.CutCall) call.Call { return x.Call })
	s, parts := p.Steps[k], partsOf(calls, &p.Consts[constant])
	most := lists.Max(parts, func(b *call.Blob) int { return len(b.Data) + b.Pad })
	over := s.Overlap // the calls read what others of them have written before
	s.Overlap = slices.DeleteFunc(slices.Clone(over), func(o call.Overlap) bool { return o.I == 0 || o.Ahead > 0 })
	for i := range s.Overlap {
		s.Overlap[i].Exact = true
	}
	place := room
	if p.VerifyWrites(s) != nil { // results lie over what later calls read
		if place = makeRoom; p.Buffers[s.Out[0]].AliasOf >= 0 {
			place = func(*program.Program, int, []int) bool { return false }
		}
	}
	if len(parts) != len(calls) || !allNew(p, parts) || p.Needed()[k].Bytes()+aligned(most) > p.ArenaBytes ||
		!place(p, most, []int{k}) {
		s.Overlap = over
		return false, nil
	}
	p.Consts[constant].Data = parts[0].Data // nobody else reads it
	c := newConstants(p)
	s.Calls = nil
	c.calls(s, n, &call.Lowered{Calls: calls})
	list := lists.Map(parts, func(b *call.Blob) int { return c.add(constantOf(b)) })
	fetch(p, k, Gap(p, k, most), list...)
	bound(p)
	return true, p.Verify()
}

// partsOf are the arrays that a constant was cut into: one in each call.
func partsOf(calls []call.Call, whole *program.Const) []*call.Blob {
	var list []*call.Blob
	for _, c := range calls {
		for _, a := range c.Args {
			if b, ok := a.(*call.Blob); ok && b.Hint == whole.Hint && b.CType == whole.CType {
				list = append(list, b)
			}
		}
	}
	return list
}

// allNew reports that no part equals another one or a constant of the program.
func allNew(p *program.Program, parts []*call.Blob) bool {
	for i, b := range parts {
		same := func(x []byte) bool { return bytes.Equal(x, b.Data) }
		if slices.ContainsFunc(parts[:i], func(x *call.Blob) bool { return same(x.Data) }) ||
			slices.ContainsFunc(p.Consts, func(x program.Const) bool { return same(x.Data) }) {
			return false
		}
	}
	return true
}

// makeRoom moves storages so that each of the steps has so many bytes more; false, and
// nothing has moved, where no way is found.
func makeRoom(p *program.Program, bytes int, steps []int) bool {
	list := buffersOf(p)
	for _, k := range steps {
		list = append(list, plan.Buffer{Bytes: int64(bytes), First: k, Last: k, AliasOf: -1})
	}
	r := plan.Place(list, int64(Short))
	if r.Total > int64(p.ArenaBytes) {
		return false
	}
	for i := range p.Buffers {
		if b := &p.Buffers[i]; !b.Kept && b.Bytes > 0 {
			b.Offset = int(r.Offsets[i])
		}
	}
	return true
}
