// SPDX-License-Identifier: Apache-2.0

package program

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
)

// Fetch copies a constant into memory of the arena before the first call of a step that
// reads it; all calls then read the copy. Buffer is scratch memory that is needed in this
// step alone. Constants that no call reads both of can have copies in the same memory, one
// after the other.
type Fetch struct{ Const, Buffer int }

// Before are the constants that a step fetches right before a call of it.
func (s *Step) Before(at int) []Fetch {
	var list []Fetch
	for _, f := range s.Fetches {
		if first, _ := s.readBy(f.Const); first == at {
			list = append(list, f)
		}
	}
	return list
}

// readBy are the first and the last call of a step that read a constant, -1 and -1 for none.
func (s *Step) readBy(constant int) (first, last int) {
	first, last = -1, -1
	for i := range s.Calls {
		if slices.Contains(constantsOf(s.Calls[i:i+1]), constant) {
			if last = i; first < 0 {
				first = i
			}
		}
	}
	return first, last
}

// Bytes of a constant, those readable behind its end included.
func (c *Const) Bytes() int { return len(c.Data) + c.Pad }

// Staged are the constants that have a copy in the staged memory, in order of their
// places there.
func (p *Program) Staged() []int {
	list := lists.Where(len(p.Consts), func(i int) bool { return p.Consts[i].Staged })
	slices.SortFunc(list, func(i, j int) int { return p.Consts[i].At - p.Consts[j].At })
	return list
}

// HasCopies reports constants that are staged or fetched.
func (p *Program) HasCopies() bool {
	return p.StagedBytes > 0 || slices.ContainsFunc(p.Steps, func(s *Step) bool { return len(s.Fetches) > 0 })
}

// Fetched is the memory into which a step copies a constant, -1 where it does not.
func (s *Step) Fetched(constant int) int {
	for _, f := range s.Fetches {
		if f.Const == constant {
			return f.Buffer
		}
	}
	return -1
}

// Own is the memory of a step alone: scratch, and what it fetches constants to.
func (s *Step) Own() []int {
	var list []int
	if s.Scratch >= 0 {
		list = append(list, s.Scratch)
	}
	for _, f := range s.Fetches {
		if !slices.Contains(list, f.Buffer) {
			list = append(list, f.Buffer)
		}
	}
	return list
}

// Constants are those that the calls of a step point to, each once.
func (s *Step) Constants() []int { return constantsOf(s.Calls) }

func constantsOf(calls []call.Call) []int {
	var list []int
	var walk func(a call.Arg)
	walk = func(a call.Arg) {
		if c, ok := a.(call.Const); ok && !slices.Contains(list, c.I) {
			list = append(list, c.I)
		}
		for _, x := range call.Inner(a) {
			walk(x)
		}
	}
	for _, c := range calls {
		for _, a := range c.Args {
			walk(a)
		}
	}
	return list
}

// verifyStaged: copies of constants lie in the staged memory, apart and aligned; no
// byte of it is nobody's but for alignment.
func (p *Program) verifyStaged() {
	end := 0
	for _, i := range p.Staged() {
		c := &p.Consts[i]
		refuse(c.Ext != "", "constant %d, which is a file, is staged", i)
		refuse(c.At%Align != 0 || c.At < end, "constant %d is staged at %d, those before it end at %d", i, c.At, end)
		end = c.At + c.Bytes()
	}
	want := (end + Align - 1) / Align * Align
	refuse(p.StagedBytes != want, "%d bytes of staged memory, want %d", p.StagedBytes, want)
}

// verifyFetches: a step copies constants that it reads, each once and as they are in
// flash, to memory of its own; what the same memory held before is not read any more.
func (p *Program) verifyFetches(s *Step) {
	reads := s.Constants()
	for n, f := range s.Fetches {
		refuse(f.Const < 0 || f.Const >= len(p.Consts) || f.Buffer < 0 || f.Buffer >= len(p.Buffers),
			"%s fetches constant %d to buffer %d", s, f.Const, f.Buffer)
		c, b := &p.Consts[f.Const], &p.Buffers[f.Buffer]
		refuse(c.Staged || c.Ext != "" || !slices.Contains(reads, f.Const),
			"%s fetches constant %d, which it does not read from flash", s, f.Const)
		refuse(slices.ContainsFunc(s.Fetches[:n], func(x Fetch) bool { return x.Const == f.Const }),
			"%s fetches constant %d twice", s, f.Const)
		refuse(!b.IsScratch() || b.Kept || b.AliasOf >= 0 || b.Bytes < c.Bytes(),
			"%s fetches constant %d, %d bytes, to %s of %d", s, f.Const, c.Bytes(), b, b.Bytes)
		x := s.stillRead(n)
		refuse(x >= 0, "%s fetches constant %d over constant %d, which is still read", s, f.Const, x)
	}
}

// stillRead is a constant that was fetched to where fetch n of a step goes and that a call
// behind it reads, -1 for none.
func (s *Step) stillRead(n int) int {
	first, _ := s.readBy(s.Fetches[n].Const)
	for _, x := range s.Fetches[:n] {
		if _, last := s.readBy(x.Const); x.Buffer == s.Fetches[n].Buffer && last >= first {
			return x.Const
		}
	}
	return -1
}
