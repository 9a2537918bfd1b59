// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
)

// Value is something that nodes read and write, with a place in memory.
type Value struct {
	Name  string // only errors show it
	Bytes int64
	// AliasOf is -1, or the index of the value in whose storage this one lies,
	// Delta bytes after its start: as in Buffer. The storage is live from the
	// first node that writes any of its values to the last that reads one.
	AliasOf int
	Delta   int64
	Input   bool // written by the caller before the first step
	Output  bool // read by the caller after the last step
}

// Node is a step of a program, to be ordered.
type Node struct {
	Name    string // only errors show it
	In, Out []int  // indices of values; a value has one node that writes it
	Scratch int64  // bytes needed during the step only
	// InPlace lists what the kernel of this node can overwrite.
	InPlace []InPlace
	// After lists nodes that must come before this one for other reasons than
	// its inputs: an alias that overwrites what another node reads, for example.
	After []int
}

// InPlace says that a node may write output Out (an index of a value) over its
// input In. It does where In's storage is needed by nobody else any more, is
// not one the caller reads afterwards, and both storages have the same rounded
// size; any other pair is ignored, so it does no harm to list it.
type InPlace struct{ Out, In int }

// program is the checked form of nodes and values.
type program struct {
	nodes []Node
	align int64
	// Storages: groups of values that share bytes.
	size  []int64   // rounded up
	users [][]int32 // per storage: nodes that read or write it, ascending, once each
	input []bool
	keep  []bool    // live to the end: outputs, and inputs that no node reads
	prev  [][]int32 // per node: nodes that must come before
	next  [][]int32 // per node: nodes that must come after, ascending
	touch [][]int32 // per node: the storages it reads or writes, once each
	reuse [][]pair  // per node: storages that can be taken over
	value []root    // per value: storage (row = index in size) and distance
	roots []int     // per storage: index of its root value

	scratch []int64 // per node, rounded up
}

// pair of storages: out may take the place of in.
type pair struct{ out, in int32 }

func (v Value) label(i int) string {
	if v.Name != "" {
		return fmt.Sprintf("value %q", v.Name)
	}
	return fmt.Sprintf("value #%d", i)
}

func (n Node) label(i int) string {
	if n.Name != "" {
		return fmt.Sprintf("node %q", n.Name)
	}
	return fmt.Sprintf("node #%d", i)
}

// newProgram checks nodes and values. The nodes must stand in an order in which
// they can run.
func newProgram(nodes []Node, values []Value, align int64) (*program, error) {
	p := &program{nodes: nodes, align: align}
	// A value is a buffer whose live range is not known yet.
	bufs := make([]Buffer, len(values))
	for i, v := range values {
		bufs[i] = Buffer{Name: v.Name, ID: i, Bytes: v.Bytes, AliasOf: v.AliasOf, Delta: v.Delta}
	}
	g, err := makeGroups(bufs, align)
	if err != nil {
		return nil, err
	}
	n := len(g.storages)
	p.size, p.roots = make([]int64, n), make([]int, n)
	p.users, p.input, p.keep = make([][]int32, n), make([]bool, n), make([]bool, n)
	for k, s := range g.storages {
		p.size[k], p.roots[k] = roundUp(s.Bytes, align), s.Root
	}
	p.value = make([]root, len(values))
	for i, v := range values {
		k := g.of[i]
		p.value[i] = root{k, g.rel[i]}
		p.input[k] = p.input[k] || v.Input
		p.keep[k] = p.keep[k] || v.Output
	}
	if err := p.link(values); err != nil {
		return nil, err
	}
	for k := range p.keep {
		p.keep[k] = p.keep[k] || p.input[k] && len(p.users[k]) == 0
	}
	p.findReuse(values)
	return p, nil
}

// link finds what must come before what, and the users of every storage.
func (p *program) link(values []Value) error {
	writer := make([]int, len(values))
	for i := range writer {
		writer[i] = -1
	}
	p.prev, p.next, p.touch = make([][]int32, len(p.nodes)), make([][]int32, len(p.nodes)),
		make([][]int32, len(p.nodes))
	for i, n := range p.nodes {
		before := func(j int) {
			// Nodes come in ascending order, so a repeat is the last entry.
			if l := p.next[j]; len(l) == 0 || l[len(l)-1] != int32(i) {
				p.next[j] = append(l, int32(i))
				p.prev[i] = append(p.prev[i], int32(j))
			}
		}
		use := func(v int) {
			k := p.value[v].row
			if l := p.users[k]; len(l) == 0 || l[len(l)-1] != int32(i) {
				p.users[k] = append(l, int32(i))
				p.touch[i] = append(p.touch[i], int32(k))
			}
		}
		if n.Scratch < 0 || n.Scratch > maxTotal-p.align {
			return errorf("%s has %d bytes of scratch; wanted 0 to %d", n.label(i), n.Scratch, maxTotal-p.align)
		}
		p.scratch = append(p.scratch, roundUp(n.Scratch, p.align))
		for _, v := range append(append([]int(nil), n.In...), n.Out...) {
			if v < 0 || v >= len(values) {
				return errorf("%s uses value %d; there are values 0 to %d", n.label(i), v, len(values)-1)
			}
		}
		for _, v := range n.In {
			use(v)
			if writer[v] >= 0 {
				before(writer[v])
			} else if !values[v].Input {
				return errorf("%s reads %s, which is no input and no node before it writes", n.label(i),
					values[v].label(v))
			}
		}
		for _, v := range n.Out {
			use(v)
			if writer[v] >= 0 {
				return errorf("%s writes %s, which %s writes already", n.label(i), values[v].label(v),
					p.nodes[writer[v]].label(writer[v]))
			}
			writer[v] = i
		}
		for _, j := range n.After {
			if j < 0 || j >= i {
				return errorf("%s is to run after node %d; wanted a node that stands before it in the list", n.label(i),
					j)
			}
			before(j)
		}
	}
	for v := range values {
		k := p.value[v].row
		if values[v].Output && !p.input[k] && len(p.users[k]) == 0 {
			return errorf("output %s is written by no node", values[v].label(v))
		}
	}
	return nil
}

// findReuse keeps the in-place pairs that could ever apply.
func (p *program) findReuse(values []Value) {
	p.reuse = make([][]pair, len(p.nodes))
	for i, n := range p.nodes {
		for _, ip := range n.InPlace {
			if ip.In < 0 || ip.In >= len(values) || ip.Out < 0 || ip.Out >= len(values) {
				continue
			}
			in, out := p.value[ip.In], p.value[ip.Out]
			if in.row != out.row && in.delta == 0 && out.delta == 0 && p.size[in.row] == p.size[out.row] &&
				!p.keep[in.row] && !p.input[out.row] && slices.Contains(p.touch[i], int32(in.row)) &&
				slices.Contains(p.touch[i], int32(out.row)) {
				p.reuse[i] = append(p.reuse[i], pair{int32(out.row), int32(in.row)})
			}
		}
	}
}
