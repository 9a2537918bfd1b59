// SPDX-License-Identifier: Apache-2.0

package paths

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/boards/thumb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// graph are the instructions of a function and what can follow them.
type graph struct {
	f *function
	// weight is what an instruction counts, with all that it calls.
	weight func(i int) (uint64, error)
	// turns is how often an instruction is executed that a loop, or the function, is
	// entered at.
	turns func(entry int) (uint64, error)
	stop  uint32
	jumps []int // where jumps through registers go
}

// next are the instructions that can follow one, inside of the function.
func (g *graph) next(i int) []int {
	x := &g.f.insns[i]
	if x.Calls && g.stop != 0 && x.To[0] == g.stop {
		return nil
	}
	var out []int
	if !x.Ends && i+1 < len(g.f.insns) {
		out = append(out, i+1)
	}
	if x.Jumps {
		out = append(out, g.jumps...)
	}
	if !x.Calls {
		for _, to := range x.To {
			if k, ok := g.f.index[to]; ok {
				out = append(out, k)
			}
		}
	}
	return out
}

// reached adds the instructions that can follow one to those inside, and reports whether
// it can follow itself.
func (g *graph) reached(entry int, inside map[int]bool) (again bool) {
	for list := []int{entry}; len(list) > 0; {
		i := list[len(list)-1]
		list = list[:len(list)-1]
		if !inside[i] {
			inside[i] = true
			next := g.next(i)
			again = again || slices.Contains(next, entry)
			list = append(list, next...)
		}
	}
	return again
}

// region is a part of a graph: instructions, those at which it is entered, and cuts, through
// which every loop goes that no part of it has to itself.
type region struct {
	inside  map[int]bool
	entries []int
	cuts    []int
	several bool // of the cuts, data may decide which one a turn goes through
}

// next are the instructions that can follow one, up to a cut.
func (r *region) next(g *graph) func(i int) []int {
	return func(i int) []int {
		return slices.DeleteFunc(g.next(i), func(k int) bool { return !r.inside[k] || slices.Contains(r.cuts, k) })
	}
}

func (r *region) parts(next func(i int) []int) *components {
	c := &components{next: next, number: map[int]int{}, low: map[int]int{}, of: map[int]int{}}
	for _, list := range [][]int{r.cuts, r.entries} {
		for _, i := range list {
			if c.number[i] == 0 {
				c.visit(i)
			}
		}
	}
	return c
}

// most is the longest way from the cuts to anywhere, as often as these are executed, and the
// same for the loops inside; before is the longest way from an entry to a cut. A way ends
// wherever it comes to a cut: no piece is longer than the longest way that comes to no cut
// again.
func (g *graph) most(r *region) (sum, before uint64, err error) {
	defer fail.Catch(&err)
	next := r.next(g)
	c := r.parts(next)
	longest := make([]uint64, len(c.list))
	for k, nodes := range c.list { // what follows comes first
		for _, i := range nodes {
			for _, j := range next(i) {
				if c.of[j] != k {
					longest[k] = max(longest[k], longest[c.of[j]])
				}
			}
		}
		if !c.isLoop(k) {
			w := fail.Must(g.weight(nodes[0]))
			longest[k] += w
			continue
		}
		n, way := fail.Must2(g.most(g.loop(nodes, c.entries(k, next, r.entries))))
		sum += n
		longest[k] += way
	}
	n, err := r.turned(g, func(i int) uint64 { return longest[c.of[i]] })
	for _, e := range r.entries {
		if !slices.Contains(r.cuts, e) {
			before = max(before, longest[c.of[e]])
		}
	}
	return sum + n, before, err
}

// turned is what the ways from the cuts come to, each as often as its cut is executed; where data
// may decide through which one a turn goes, each turn takes the longest.
func (r *region) turned(g *graph, way func(cut int) uint64) (sum uint64, err error) {
	turns, longest := uint64(0), uint64(0)
	for _, i := range r.cuts {
		n, err := g.turns(i)
		if err != nil {
			return 0, err
		}
		sum += n * way(i)
		turns, longest = turns+n, max(longest, way(i))
	}
	if r.several {
		return turns * longest, nil
	}
	return sum, nil
}

// loop is the region of a loop. It is cut where it is entered. Compilers copy the head of a
// loop to its end, and then data decides how often which of the two is executed: where the
// loop, or one inside, has several entries, it is cut at an instruction that every turn
// comes to, the one that is executed most often. Without such a one, at all entries.
func (g *graph) loop(nodes, entries []int) *region {
	r := &region{inside: lists.Set(nodes), entries: entries, cuts: entries, several: len(entries) > 1}
	if len(entries) == 1 && r.rest(g) >= 0 {
		return r
	}
	best, least, turns := -1, 0, uint64(0)
	for _, i := range slices.Concat(entries, nodes) {
		x := &region{inside: r.inside, entries: entries, cuts: []int{i}}
		rest := x.rest(g)
		if rest < 0 {
			continue
		}
		n, err := g.turns(i)
		if err != nil {
			return r // there is no bound either way
		}
		if best < 0 || rest < least || rest == least && n > turns {
			best, least, turns = i, rest, n
		}
	}
	if best >= 0 {
		r.cuts, r.several = []int{best}, false
	}
	return r
}

// rest is how many instructions are still in loops behind the cuts; -1: in one with several
// entries.
func (r *region) rest(g *graph) int {
	next := r.next(g)
	c, n := r.parts(next), 0
	for k, nodes := range c.list {
		if !c.isLoop(k) {
			continue
		}
		if len(c.entries(k, next, r.entries)) > 1 {
			return -1
		}
		n += len(nodes)
	}
	return n
}

// components are the strongly connected components of a graph, by Tarjan's algorithm: a
// component stands in front of those that lead to it.
type components struct {
	next        func(i int) []int
	number, low map[int]int
	stack       []int
	of          map[int]int // component of a node
	list        [][]int
}

func (c *components) visit(i int) {
	if c.number[i] != 0 {
		return
	}
	c.number[i] = len(c.number) + 1
	c.low[i] = c.number[i]
	c.stack = append(c.stack, i)
	for _, k := range c.next(i) {
		if c.number[k] == 0 {
			c.visit(k)
			c.low[i] = min(c.low[i], c.low[k])
		} else if _, done := c.of[k]; !done {
			c.low[i] = min(c.low[i], c.number[k])
		}
	}
	if c.low[i] != c.number[i] {
		return
	}
	at := slices.Index(c.stack, i)
	nodes := slices.Clone(c.stack[at:])
	c.stack = c.stack[:at]
	for _, k := range nodes {
		c.of[k] = len(c.list)
	}
	c.list = append(c.list, nodes)
}

// isLoop reports a component with a way from a node back to it.
func (c *components) isLoop(k int) bool {
	nodes := c.list[k]
	return len(nodes) > 1 || slices.Contains(c.next(nodes[0]), nodes[0])
}

// entries are the nodes of a component that others lead to, or at which the region around it is
// entered.
func (c *components) entries(k int, next func(i int) []int, outer []int) []int {
	var out []int
	add := func(j int) {
		if c.of[j] == k && !slices.Contains(out, j) {
			out = append(out, j)
		}
	}
	for i, of := range c.of {
		if of == k {
			continue
		}
		for _, j := range next(i) {
			add(j)
		}
	}
	for _, j := range outer {
		add(j)
	}
	slices.Sort(out)
	return out
}

// function is a decoded function.
type function struct {
	stack.Code
	insns []thumb.Insn
	index map[uint32]int // of instructions, by address
}

func decode(c stack.Code, named func(addr uint32) string) *function {
	f := &function{Code: c, index: map[uint32]int{}}
	block := uint16(0) // instructions left of an IT block
	for a := c.Start; a+2 <= c.End; {
		if c.IsData(a) {
			a += 2
			continue
		}
		x := f.at(a)
		if x.Calls && len(x.To) > 0 {
			f.table(&x, named(x.To[0]))
		}
		if block > 0 {
			block--
			x.Ends = false // or it is not executed
		}
		if x.Block > 0 {
			block = x.Block
		}
		f.index[a] = len(f.insns)
		f.insns = append(f.insns, x)
		a += x.Size
	}
	return f
}

// half is the half-word at an address, 0 behind the end.
func (f *function) half(a uint32) uint16 {
	if a < f.Start || a+2 > f.End {
		return 0
	}
	return binary.LittleEndian.Uint16(f.Bytes[a-f.Start:])
}

func (f *function) at(a uint32) thumb.Insn {
	x := thumb.Decode(a, f.half(a), f.half(a+2))
	if x.Table > 0 {
		x.To = f.targets(a+4, x.Table)
	}
	// A branch out of the function is a call, and comes back to the caller's caller.
	if len(x.To) == 1 && !x.Calls && (x.To[0] < f.Start || x.To[0] >= f.End) {
		x.Calls = true
	}
	return x
}

// table makes the compiler's function for switches of Armv6-M what it is: a jump by the
// table behind the call.
func (f *function) table(x *thumb.Insn, name string) {
	kind, ok := strings.CutPrefix(name, "__gnu_thumb1_case_")
	if !ok {
		return
	}
	x.Calls, x.Ends, x.To = false, true, nil
	switch kind {
	case "uqi":
		x.To = f.targets(x.At+4, 1)
	case "uhi":
		x.To = f.targets(x.At+4, 2)
	default:
		x.Register, x.Jumps = true, true
	}
}

// targets reads a table of distances in half-words, of so many bytes each.
func (f *function) targets(from uint32, bytes uint32) []uint32 {
	var out []uint32
	for a := from; a+bytes <= f.End && f.IsData(a); a += bytes {
		d := uint32(f.Bytes[a-f.Start])
		if bytes == 2 {
			d = uint32(f.half(a))
		}
		if to := from + 2*d; to < f.End && !f.IsData(to) && !slices.Contains(out, to) {
			out = append(out, to)
		}
	}
	return out
}
