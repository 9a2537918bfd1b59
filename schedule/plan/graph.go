// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"iter"
	"slices"
)

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
	In, Out []int  // indices of values; a value has one node that writes it
	Scratch int64  // bytes needed during the step only
	Over    []Over // inputs over which the scratch may lie
	// Overlap lists what the kernel of this node can overwrite.
	Overlap []Overlap
	// After lists nodes that must come before this one for other reasons than
	// its inputs: an alias that overwrites what another node reads, for example.
	After []int
}

// Overlap says that a node may write output Out (an index of a value) over bytes of its input
// In that nobody needs any more, where Out begins at least Ahead bytes before In or, unless
// Behind is 0, at least Behind bytes after it; with Exact
// only where one storage takes the place of the other. A pair that cannot apply is ignored, so
// it does no harm to list it; other inputs of the node in the same bytes have to be listed, too.
type Overlap struct {
	Out, In       int
	Ahead, Behind int64
	Slower        int64 // bytes further from where on the node takes less time; 0: it does not
	Exact         bool
}

// program is nodes and values as the searches see them.
type program struct {
	nodes  []Node
	values []Value
	// Storages: groups of values that share bytes. They consist of pieces, each in or outside
	// of every value.
	from   []int   // per storage: its first piece; those of the next one follow
	roots  []int   // per storage: index of its root value
	bytes  []int64 // per storage, rounded up
	pieces []span  // from the start of the storage, multiples of Align
	size   []int64
	users  [][]int32 // per piece: nodes that read or write it, ascending, once each
	input  []bool
	keep   []bool     // live to the end: outputs, and inputs that no node reads
	prev   [][]int32  // per node: nodes that must come before
	next   [][]int32  // per node: nodes that must come after, ascending
	touch  [][]int32  // per node: the pieces it reads or writes, once each
	reuse  [][]pair   // per node: storages that can be taken over
	saves  [][]saving // per node
	of     []int      // per value: its storage
	delta  []int64    // per value: how far from the start of that

	scratch []int64 // per node, rounded up
	written []int64 // per node: bytes of outputs that can lie over inputs
}

// pair of storages: out may take the place of in, of which as many bytes are live.
type pair struct {
	out, in int32
	bytes   int64
}

// saving is the bytes of a piece of an output that lie over one of an input, which die, where
// the storages begin so far from each other as they have to.
type saving struct {
	in, out      int32
	shift, bytes int64
}

// newProgram looks at nodes in an order in which they can run.
func newProgram(nodes []Node, values []Value) *program {
	bufs := make([]Buffer, len(values)) // whose live ranges are not known yet
	for i, v := range values {
		bufs[i] = Buffer{Bytes: v.Bytes, AliasOf: v.AliasOf, Delta: v.Delta}
	}
	r, deltas := newResult(bufs)
	p := &program{nodes: nodes, values: values, of: r.StorageOf, delta: deltas}
	p.cut(r.Storages)
	for i, v := range values {
		for k := range p.piecesOf(i) {
			p.input[k] = p.input[k] || v.Input
			p.keep[k] = p.keep[k] || v.Output
		}
	}
	p.link()
	for k := range p.roots {
		if p.unused(k) {
			for i := p.from[k]; i < p.from[k+1]; i++ {
				p.keep[i] = p.keep[i] || p.input[i]
			}
		}
	}
	p.reuse, p.saves, p.written = make([][]pair, len(nodes)), make([][]saving, len(nodes)), make([]int64, len(nodes))
	for i, n := range nodes {
		for _, o := range n.Overlap {
			if p.of[o.In] != p.of[o.Out] {
				p.findReuse(i, o)
				p.findSaving(i, o)
			}
		}
		for k, s := range p.saves[i] {
			if !slices.ContainsFunc(p.saves[i][:k], func(o saving) bool { return o.out == s.out }) {
				p.written[i] += p.size[s.out]
			}
		}
	}
	return p
}

// cut divides storages where values in them begin and end.
func (p *program) cut(storages []Storage) {
	ends := make([][]int64, len(storages))
	for i, v := range p.values {
		if v.Bytes > 0 {
			k := p.of[i]
			ends[k] = append(ends[k], roundDown(p.delta[i]), roundUp(p.delta[i]+v.Bytes))
		}
	}
	for k, s := range storages {
		p.roots, p.bytes, p.from = append(p.roots, s.Root), append(p.bytes, roundUp(s.Bytes)), append(p.from,
			len(p.size))
		slices.Sort(ends[k])
		for i, e := range slices.Compact(ends[k]) {
			if i > 0 {
				p.pieces, p.size = append(p.pieces, span{ends[k][i-1], e}), append(p.size, e-ends[k][i-1])
			}
		}
	}
	n := len(p.size)
	p.from = append(p.from, n)
	p.users, p.input, p.keep = make([][]int32, n), make([]bool, n), make([]bool, n)
}

// piecesOf are the pieces of a value.
func (p *program) piecesOf(v int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if p.values[v].Bytes == 0 {
			return
		}
		k := p.of[v]
		list := p.pieces[p.from[k]:p.from[k+1]]
		i, _ := slices.BinarySearchFunc(list, roundDown(p.delta[v]),
			func(s span, off int64) int { return cmp.Compare(s.off, off) })
		more := true
		for i += p.from[k]; more && i < p.from[k+1] && p.pieces[i].off < p.delta[v]+p.values[v].Bytes; i++ {
			more = yield(i)
		}
	}
}

// unused reports a storage that no node reads or writes.
func (p *program) unused(k int) bool {
	return !slices.ContainsFunc(p.users[p.from[k]:p.from[k+1]], func(l []int32) bool { return len(l) > 0 })
}

// link finds what must come before what, and the users of every piece.
func (p *program) link() {
	writer := slices.Repeat([]int{-1}, len(p.values))
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
			for k := range p.piecesOf(v) {
				if l := p.users[k]; len(l) == 0 || l[len(l)-1] != int32(i) {
					p.users[k] = append(l, int32(i))
					p.touch[i] = append(p.touch[i], int32(k))
				}
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

// findReuse keeps a pair by which the output of node i could take the whole place of an input.
func (p *program) findReuse(i int, o Overlap) {
	in, out := p.of[o.In], p.of[o.Out]
	t := pair{out: int32(out), in: int32(in)}
	if o.Ahead > 0 || p.bytes[in] == 0 || p.delta[o.In] != 0 || p.delta[o.Out] != 0 || p.bytes[in] != p.bytes[out] {
		return
	}
	for k := p.from[in]; k < p.from[in+1]; k++ {
		if p.keep[k] {
			return
		}
	}
	for k := p.from[out]; k < p.from[out+1]; k++ {
		if p.input[k] {
			return
		}
	}
	for k := range p.piecesOf(o.Out) {
		for _, x := range p.touch[i] {
			if int(x) >= p.from[in] && int(x) < p.from[in+1] {
				t.bytes += p.pieces[k].common(p.pieces[x], 0)
			}
		}
	}
	p.reuse[i] = append(p.reuse[i], t)
}

// findSaving keeps what lies over pieces of an input where output and input are as near as they can be.
func (p *program) findSaving(i int, o Overlap) {
	if o.Exact {
		return
	}
	shift := roundUp(o.Ahead + p.delta[o.Out] - p.delta[o.In])
	for in := range p.piecesOf(o.In) {
		for out := range p.piecesOf(o.Out) {
			s := saving{int32(in), int32(out), shift, p.pieces[out].common(p.pieces[in], shift)}
			at := slices.IndexFunc(p.saves[i], func(x saving) bool { return x.in == s.in && x.out == s.out })
			switch {
			case at < 0 && !p.keep[in] && !p.input[out]:
				p.saves[i] = append(p.saves[i], s)
			case at >= 0 && shift > p.saves[i][at].shift:
				p.saves[i][at] = s
			}
		}
	}
}
