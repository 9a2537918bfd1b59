// SPDX-License-Identifier: Apache-2.0

// Package cycles estimates processor cycles from executed instructions: it prices
// their classes (boards/thumb) by a table per core. README.md has the tables and their rules.
package cycles

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/thumb"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

// Model is what instructions of a core cost in cycles.
type Model struct {
	Core   string
	Source string  // where the prices come from
	Error  float64 // of an estimate, relative, memory without wait states
	Basis  string  // how the error was found
	price  [thumb.Classes]int
	// A block of n registers takes first + n*each/2 cycles, at least 1.
	first, each int
	// What refilling the pipeline adds to a branch that is taken: to an address
	// in the instruction, of a BL, to one from a register or from memory.
	refill, call, jump, pop int
	// pair is what next costs more right behind prev than alone.
	pair func(prev, next *thumb.Work) int
	// units of a core that starts two instructions in a cycle; nil: one a cycle.
	units *[unitCount]int
}

// stalls are the rules of Pipeline.Stalls.
var stalls = map[string]func(prev, next *thumb.Work) int{"": alone, "none": alone, boards.StallsLoads: pipelinedLoads,
	boards.StallsLate: helium}

// For is the model of a board's core; the error says why there is none.
func For(spec *boards.Spec) (_ *Model, err error) {
	defer fail.Catch(&err)
	p := &spec.Pipeline
	fail.If(!p.Timed(), "there is no table of cycles for %s: the board's file has no pipeline", spec.Core)
	m := &Model{Core: spec.Core, Source: p.Source, Error: float64(p.Error), Basis: p.Basis, first: p.BlockFirst,
		each: p.BlockEach, pair: stalls[p.Stalls]}
	fail.If(m.pair == nil, "board %s: pipeline.stalls: %q; known: %s", spec.Name, p.Stalls,
		strings.Join(slices.Sorted(maps.Keys(stalls)), ", "))
	for c := range m.price {
		m.price[c] = 1
	}
	m.price[thumb.Loop] = 0
	prices := map[string]*int{}
	for c := range thumb.Classes {
		name := c.String()
		prices[name] = &m.price[c]
	}
	fail.Check(numbers(spec, "prices", p.Prices, prices))
	fail.Check(numbers(spec, "taken", p.Taken, map[string]*int{"branch": &m.refill, "call": &m.call, "jump": &m.jump,
		"pop": &m.pop}))
	if p.Issue < 2 {
		return m, nil
	}
	m.units = &[unitCount]int{1, 1, 1, 1, 1, 1}
	units := map[string]*int{}
	for u, name := range unitNames {
		units[name] = &m.units[u]
	}
	return m, numbers(spec, "units", p.Units, units)
}

// numbers sets what a map of a board's file names.
func numbers(spec *boards.Spec, key string, from map[string]any, to map[string]*int) error {
	for _, name := range slices.Sorted(maps.Keys(from)) {
		n, ok := from[name].(int64)
		switch {
		case to[name] == nil:
			known := slices.Sorted(maps.Keys(to))
			return fmt.Errorf("board %s: pipeline.%s: unknown name %q%s; known: %s", spec.Name, key, name,
				text.Meant(name, known), strings.Join(known, ", "))
		case !ok || n < 0 || n > boards.MaxPrice:
			return fmt.Errorf("board %s: pipeline.%s.%s: %v: want a whole number from 0 to %d", spec.Name, key, name,
				from[name], boards.MaxPrice)
		}
		*to[name] = int(n)
	}
	return nil
}

// alone: no instruction depends on the one before.
func alone(_, _ *thumb.Work) int { return 0 }

// pipelinedLoads: a load right behind another one takes a cycle less, unless
// its address waits for it.
func pipelinedLoads(prev, next *thumb.Work) int {
	if prev.Class == thumb.Load && next.Class == thumb.Load && prev.Dst&next.Src == 0 {
		return -1
	}
	return 0
}

// helium: a vector instruction occupies its pipe for two cycles, and what a
// load brings is there a cycle late.
func helium(prev, next *thumb.Work) int {
	if p := prev.Class.Pipe(); p != 0 && p == next.Class.Pipe() && prev.Class != thumb.Gather {
		return 1
	}
	if prev.Dst&next.Src != 0 {
		return 1
	}
	return 0
}

// cost is an instruction alone, a branch not taken.
func (m *Model) cost(i *thumb.Work) int {
	switch i.Class {
	case thumb.LoadMany, thumb.StoreMany:
		return max(1, m.first+(i.Regs*m.each+1)/2)
	case thumb.Gather:
		return max(4, min(i.Lanes, 8))
	case thumb.Jump:
		if i.Bytes > 0 { // its address comes from a table
			return m.price[thumb.Jump] + m.price[thumb.Load]
		}
	}
	return m.price[i.Class]
}

// taken is what it adds that an instruction goes elsewhere.
func (m *Model) taken(i *thumb.Work) int {
	switch {
	case i.Class == thumb.Branch || i.Class == thumb.LoopStart:
		return m.refill
	case i.Class == thumb.Call:
		return m.call
	case i.Class == thumb.Jump:
		return m.jump
	case i.PC:
		return m.pop
	}
	return 0
}

// Block is a run of instructions that are executed one after the other.
type Block struct {
	PC, End     uint32
	first, last thumb.Work // last without the end of a loop, which takes no time
	branch      thumb.Work // the very last one
	sum         Count
}

// Block decodes the instructions of text, which lie from pc on.
func (m *Model) Block(pc uint32, text []byte) *Block {
	b := &Block{PC: pc, End: pc + uint32(len(text))}
	var prev *thumb.Work
	var issue *issue
	if m.units != nil {
		issue = newIssue(m)
	}
	for len(text) >= 2 {
		first, second := binary.LittleEndian.Uint16(text), uint16(0)
		if len(text) >= 4 {
			second = binary.LittleEndian.Uint16(text[2:])
		}
		i := thumb.Sort(first, second)
		text = text[min(i.Size, len(text)):]
		price := m.cost(&i)
		if issue != nil {
			issue.next(&i, price)
			price = 0
		}
		b.sum.add(&i, price)
		if prev == nil {
			b.first = i
		} else if issue == nil {
			b.sum.Cycles += m.pair(prev, &i)
		}
		b.branch = i
		if i.Class != thumb.Loop {
			b.last = i
			prev = &b.last
		}
	}
	if issue != nil {
		b.sum.Cycles = issue.cycles()
	}
	return b
}

// Count is what was executed.
type Count struct {
	Instructions, Cycles int
	Waits                int // of Cycles: waiting for code (Fetch)
	Classes              [thumb.Classes]int
	Loaded, Stored       int // bytes, with all lanes of vectors active
}

func (c *Count) add(i *thumb.Work, cycles int) {
	c.Instructions++
	c.Cycles += cycles
	c.Classes[i.Class]++
	switch i.Class {
	case thumb.Load, thumb.LoadPair, thumb.LoadMany, thumb.VecLoad, thumb.Jump:
		c.Loaded += i.Bytes
	case thumb.Store, thumb.StorePair, thumb.StoreMany, thumb.VecStore:
		c.Stored += i.Bytes
	case thumb.Gather:
		if i.Loads {
			c.Loaded += i.Bytes
		} else {
			c.Stored += i.Bytes
		}
	}
}

// Add adds another count.
func (c *Count) Add(x *Count) {
	c.Instructions += x.Instructions
	c.Cycles += x.Cycles
	c.Waits += x.Waits
	c.Loaded += x.Loaded
	c.Stored += x.Stored
	for k, n := range x.Classes {
		c.Classes[k] += n
	}
}

// ByClass are the counts of the classes that occurred, by name.
func (c *Count) ByClass() map[string]int {
	m := map[string]int{}
	for k, n := range c.Classes {
		if n > 0 {
			m[thumb.Class(k).String()] = n
		}
	}
	return m
}

// Counter adds up blocks in the order of their execution.
type Counter struct {
	Count
	m     *Model
	fetch *Fetch
	prev  *Block
}

// Counter of a model, with nothing counted. Instructions come through fetch;
// nil: memory never makes them wait.
func (m *Model) Counter(fetch *Fetch) *Counter { return &Counter{m: m, fetch: fetch} }

// Enter counts one execution of a block.
func (c *Counter) Enter(b *Block) {
	if p := c.prev; p != nil {
		if p.End != b.PC {
			c.Cycles += c.m.taken(&p.branch)
		}
		c.Cycles += c.m.pair(&p.last, &b.first)
	}
	c.Count.Add(&b.sum)
	if c.fetch != nil {
		n := c.fetch.run(b)
		c.Cycles, c.Waits = c.Cycles+n, c.Waits+n
	}
	c.prev = b
}

// defaultCopyByte is for cores without a table: a load and a store a word.
const defaultCopyByte = 0.75

// CopyByte is what a byte takes on a board to be copied by words, a load and a store
// each, where memory makes nothing wait.
func CopyByte(spec *boards.Spec) float64 {
	m, err := For(spec)
	if err != nil {
		return defaultCopyByte
	}
	return float64(m.price[thumb.Load]+m.price[thumb.Store]) / 4
}

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
