// SPDX-License-Identifier: Apache-2.0

// Package paths bounds the instructions of a stretch of a program from its machine code:
// whatever branches do, if loops turn as often as they were seen to. See README.md.
package paths

import (
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Block is a run of instructions from an address on, of so many bytes.
type Block struct{ Start, Bytes uint32 }

// Ran is how often blocks were executed.
type Ran map[Block]uint64

// Stretch is a part of an execution: from an instruction of a function to the next call of
// another one, everything called on the way included.
type Stretch struct {
	From uint32
	Ran  Ran
}

// Program is a linked program.
type Program struct {
	functions []*function
	stop      uint32 // the function that ends a stretch
	library   func(addr uint32) bool
	whole     map[*function]*call
}

// call is the most that a call of a function can take.
type call struct {
	most uint64
	err  error
}

// Read reads a linked program for a 32-bit Arm core. Stretches end where stop is called.
// library tells the functions of the C library, whose loops turn as often as data says.
func Read(program string, stop uint32, library func(addr uint32) bool) (*Program, error) {
	codes, err := stack.Codes(program)
	if err != nil {
		return nil, err
	}
	p := &Program{stop: stop, library: library, whole: map[*function]*call{}}
	named := func(addr uint32) string {
		i := sort.Search(len(codes), func(i int) bool { return codes[i].Start > addr }) - 1
		if i < 0 || addr >= codes[i].End {
			return ""
		}
		return codes[i].Name
	}
	p.functions = lists.Map(codes, func(c stack.Code) *function { return decode(c, named) })
	return p, nil
}

func (p *Program) at(addr uint32) *function {
	i := sort.Search(len(p.functions), func(i int) bool { return p.functions[i].Start > addr }) - 1
	if i < 0 || addr >= p.functions[i].End {
		return nil
	}
	return p.functions[i]
}

// Seen is the number of instructions that were executed.
func (p *Program) Seen(s Stretch) (uint64, error) {
	counts, err := p.counts(s.Ran)
	if err != nil {
		return 0, err
	}
	sum := uint64(0)
	for _, list := range counts {
		for _, n := range list {
			sum += n
		}
	}
	return sum, nil
}

// counts are the executions of each instruction of functions that ran.
func (p *Program) counts(r Ran) (map[*function][]uint64, error) {
	out := map[*function][]uint64{}
	for b, n := range r {
		f := p.at(b.Start)
		for a := b.Start; a < b.Start+b.Bytes; {
			if f == nil || a >= f.End {
				if f = p.at(a); f == nil {
					return nil, fmt.Errorf("no function has the instruction at %#x", a)
				}
			}
			k, ok := f.index[a]
			if !ok {
				return nil, fmt.Errorf("%s has no instruction at %#x", f.Name, a)
			}
			if out[f] == nil {
				out[f] = make([]uint64, len(f.insns))
			}
			out[f][k] += n
			a += f.insns[k].Size
		}
	}
	return out, nil
}

// ErrUnknownWays is of a bound below what was executed: something jumps where nothing known leads.
var ErrUnknownWays = errors.New("the ways through the machine code account for")

// Most is the most instructions that a stretch can take whatever its branches do, if
// loops outside of the C library turn as often, in all, as they did. The error says why
// there is no bound.
func (p *Program) Most(s Stretch) (_ uint64, err error) {
	defer fail.Catch(&err)
	counts := fail.Must(p.counts(s.Ran))
	first := p.at(s.From)
	fail.If(first == nil || counts[first] == nil, "no function has the instruction at %#x", s.From)
	w := &walk{p: p, ran: s.Ran, counts: counts, apart: map[*function]bool{}}
	w.separate(first)
	sum := uint64(0)
	var list []*function
	for f := range w.apart {
		list = append(list, f)
	}
	slices.SortFunc(list, func(a, b *function) int { return int(int64(a.Start) - int64(b.Start)) })
	for _, f := range list {
		from := f.Start
		if f == first {
			from = s.From
		}
		n := fail.Must(w.function(f, from))
		sum += n
	}
	switch seen, err := p.Seen(s); {
	case err != nil:
		return 0, err
	case sum < seen:
		return 0, fmt.Errorf("%w %d instructions, %d were executed", ErrUnknownWays, sum, seen)
	}
	return sum, nil
}

// walk is a stretch being bounded. Functions apart are counted as often as they were
// called; all others with each call.
type walk struct {
	p      *Program
	ran    Ran
	counts map[*function][]uint64
	apart  map[*function]bool
}

// separate finds the functions that are apart: that with the stretch itself, those with
// loops, and those that were called through pointers.
func (w *walk) separate(first *function) {
	direct := map[*function]uint64{}
	for f, list := range w.counts {
		for i, n := range list {
			if x := &f.insns[i]; x.Calls && n > 0 {
				direct[w.p.at(x.To[0])] += n // of conditional jumps, too many
			}
		}
	}
	for f, list := range w.counts {
		k := w.p.call(f)
		if f == first || k.err != nil || direct[f] < list[0] {
			w.apart[f] = true
		}
	}
}

// copies are functions of the C library that loop as often as sizes say.
var copies = []string{"memcpy", "memmove", "memset", "__aeabi_memcpy", "__aeabi_memmove", "__aeabi_memset"}

// byData tells functions whose loops turn as often as data says.
func (p *Program) byData(f *function) bool {
	return p.library(f.Start) && !slices.Contains(copies, f.Name)
}

// quotients are functions of libgcc for cores without division. They find the 32 bits of a
// quotient eight a turn.
var quotients = []string{"__aeabi_idiv", "__aeabi_uidiv", "__divsi3", "__udivsi3"}

const quotientTurns = 32 / 8

// call is what a call of a function without loops takes.
func (p *Program) call(f *function) *call {
	if k := p.whole[f]; k != nil {
		return k
	}
	k := &call{err: fmt.Errorf("%s calls itself", f.Name)}
	p.whole[f] = k
	g := &graph{f: f, weight: func(i int) (uint64, error) {
		x := &f.insns[i]
		if x.Register {
			return 0, fmt.Errorf("%s jumps to what a register holds", f.Name)
		}
		if !x.Calls {
			return 1, nil
		}
		to := p.at(x.To[0])
		if to == nil {
			return 0, fmt.Errorf("%s calls what is no function", f.Name)
		}
		c := p.call(to)
		return 1 + c.most, c.err
	}, turns: func(entry int) (uint64, error) {
		switch {
		case entry == 0:
			return 1, nil
		case p.library(f.Start) && slices.Contains(quotients, f.Name):
			return quotientTurns, nil
		}
		return 0, fmt.Errorf("%s loops", f.Name)
	}}
	inside := map[int]bool{}
	again := g.reached(0, inside)
	if k.err = fmt.Errorf("%s loops", f.Name); !again {
		k.most, _, k.err = g.most(&region{inside: inside, entries: []int{0}, cuts: []int{0}})
	}
	return k
}

// jumps are where jumps through registers of a function went, nothing where what was
// executed can be reached without. Blocks begin there that are no target of a branch and
// behind no other block; and at all others, where these were executed less often than the
// jumps.
func (w *walk) jumps(g *graph, at int) []int {
	inside := map[int]bool{}
	g.reached(at, inside)
	missing, jumped := false, uint64(0)
	for i, n := range w.counts[g.f] {
		missing = missing || n > 0 && !inside[i]
		if x := &g.f.insns[i]; x.Jumps {
			jumped += n
		}
	}
	known := w.known(g.f)
	known[at] = true
	var all, only []int
	found := uint64(0)
	for b, n := range w.ran {
		k, ok := g.f.index[b.Start]
		if !ok || k == 0 {
			continue
		}
		all = append(all, k)
		if !known[k] {
			only, found = append(only, k), found+n
		}
	}
	slices.Sort(all)
	slices.Sort(only)
	switch {
	case len(only) == 0 && !missing:
		return nil
	case found >= jumped:
		return slices.Compact(only)
	}
	return slices.Compact(all)
}

// known are the instructions of a function to which an executed branch can go, and those
// behind executed blocks.
func (w *walk) known(f *function) map[int]bool {
	known := map[int]bool{}
	for i, n := range w.counts[f] {
		if x := &f.insns[i]; n > 0 && !x.Calls {
			for _, to := range x.To {
				if k, ok := f.index[to]; ok {
					known[k] = true
				}
			}
		}
	}
	for b := range w.ran {
		if k, ok := f.index[b.Start+b.Bytes]; ok && (k == 0 || !f.insns[k-1].Ends) {
			known[k] = true
		}
	}
	return known
}

// function is the most that all calls of a function that is apart take in the stretch.
func (w *walk) function(f *function, from uint32) (uint64, error) {
	if err := w.p.call(f).err; err != nil && w.p.byData(f) {
		return 0, fmt.Errorf("%v as often as data says", err)
	}
	count := w.counts[f]
	g := &graph{f: f, weight: func(i int) (uint64, error) {
		x := &f.insns[i]
		if !x.Calls {
			return 1, nil
		}
		to := w.p.at(x.To[0])
		switch {
		case to == nil:
			return 0, fmt.Errorf("%s calls what is no function", f.Name)
		case w.apart[to] || to.Start == w.p.stop:
			return 1, nil
		}
		k := w.p.call(to)
		if k.err != nil && !w.p.byData(to) {
			return 1, nil // with loops, and not called
		}
		if k.err != nil {
			return 0, fmt.Errorf("%s calls %s: %w as often as data says", f.Name, to.Name, k.err)
		}
		return 1 + k.most, nil
	}, turns: func(entry int) (uint64, error) { return count[entry], nil }, stop: w.p.stop}
	at, ok := f.index[from]
	if !ok {
		return 0, fmt.Errorf("%s has no instruction at %#x", f.Name, from)
	}
	g.jumps = w.jumps(g, at)
	inside, entries := map[int]bool{}, []int{at}
	g.reached(at, inside)
	for i, n := range count { // nothing that is known leads there
		if n > 0 && !inside[i] {
			entries = append(entries, i)
			g.reached(i, inside)
		}
	}
	most, _, err := g.most(&region{inside: inside, entries: entries, cuts: entries})
	return most, err
}
