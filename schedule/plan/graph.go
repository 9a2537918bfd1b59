// SPDX-License-Identifier: Apache-2.0

package plan

import "slices"

// Value is something that nodes read and write, with a place in memory.
type Value struct {
	Name  string
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
	Name    string
	In, Out []int // indices of values; a value has one node that writes it
	Scratch int64 // bytes needed during the step only
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

// program is nodes and values as the searches see them.
type program struct {
	nodes []Node
	// Storages: groups of values that share bytes.
	size  []int64   // rounded up
	users [][]int32 // per storage: nodes that read or write it, ascending, once each
	input []bool
	keep  []bool    // live to the end: outputs, and inputs that no node reads
	prev  [][]int32 // per node: nodes that must come before
	next  [][]int32 // per node: nodes that must come after, ascending
	touch [][]int32 // per node: the storages it reads or writes, once each
	reuse [][]pair  // per node: storages that can be taken over
	of    []int     // per value: its storage
	delta []int64   // per value: how far from the start of that
	roots []int     // per storage: index of its root value

	scratch []int64 // per node, rounded up
}

// pair of storages: out may take the place of in.
type pair struct{ out, in int32 }

// newProgram looks at nodes in an order in which they can run.
func newProgram(nodes []Node, values []Value) *program {
	bufs := make([]Buffer, len(values)) // whose live ranges are not known yet
	for i, v := range values {
		bufs[i] = Buffer{Bytes: v.Bytes, AliasOf: v.AliasOf, Delta: v.Delta}
	}
	r, deltas := newResult(bufs)
	n := len(r.Storages)
	p := &program{nodes: nodes, of: r.StorageOf, delta: deltas, users: make([][]int32, n), input: make([]bool, n),
		keep: make([]bool, n)}
	for _, s := range r.Storages {
		p.size, p.roots = append(p.size, roundUp(s.Bytes)), append(p.roots, s.Root)
	}
	for i, v := range values {
		k := p.of[i]
		p.input[k] = p.input[k] || v.Input
		p.keep[k] = p.keep[k] || v.Output
	}
	p.link(len(values))
	for k := range p.keep {
		p.keep[k] = p.keep[k] || p.input[k] && len(p.users[k]) == 0
	}
	p.findReuse()
	return p
}

// link finds what must come before what, and the users of every storage.
func (p *program) link(values int) {
	writer := slices.Repeat([]int{-1}, values)
	n := len(p.nodes)
	p.prev, p.next, p.touch = make([][]int32, n), make([][]int32, n), make([][]int32, n)
	for i, n := range p.nodes {
		before := func(j int) {
			// Nodes come in ascending order, so a repeat is the last entry.
			if l := p.next[j]; len(l) == 0 || l[len(l)-1] != int32(i) {
				p.next[j] = append(l, int32(i))
				p.prev[i] = append(p.prev[i], int32(j))
			}
		}
		use := func(v int) {
			k := p.of[v]
			if l := p.users[k]; len(l) == 0 || l[len(l)-1] != int32(i) {
				p.users[k] = append(l, int32(i))
				p.touch[i] = append(p.touch[i], int32(k))
			}
		}
		p.scratch = append(p.scratch, roundUp(n.Scratch))
		for _, v := range n.In {
			use(v)
			if writer[v] >= 0 {
				before(writer[v])
			}
		}
		for _, v := range n.Out {
			use(v)
			writer[v] = i
		}
		for _, j := range n.After {
			before(j)
		}
	}
}

// findReuse keeps the in-place pairs that could ever apply.
func (p *program) findReuse() {
	p.reuse = make([][]pair, len(p.nodes))
	for i, n := range p.nodes {
		for _, ip := range n.InPlace {
			in, out := p.of[ip.In], p.of[ip.Out]
			if in != out && p.delta[ip.In] == 0 && p.delta[ip.Out] == 0 && p.size[in] == p.size[out] && !p.keep[in] &&
				!p.input[out] && slices.Contains(p.touch[i], int32(in)) && slices.Contains(p.touch[i], int32(out)) {
				p.reuse[i] = append(p.reuse[i], pair{int32(out), int32(in)})
			}
		}
	}
}
