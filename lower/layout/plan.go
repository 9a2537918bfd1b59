// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/kernel"
)

// plan is the graph as the search for orders sees it: values by number, and a
// free choice at some nodes. All else follows from the choices.
type plan struct {
	nodes  []node
	values []*ir.Value
	index  map[*ir.Value]int
	def    []int   // per value: node that computes it, -1 for inputs
	users  [][]int // per value: nodes that read it
	isOut  []bool  // per value: graph output
	native bool
	inner  map[*ir.Value]bool

	picks []pick  // per node
	input [][]int // per graph input: its order

	order  [][]int   // per value, by eval
	copies [][][]int // per value, by eval: the other orders it is wanted in
	need   []need    // of the node looked at last
	work   int       // nodes looked at
}

// node of a plan. In and out are value numbers, -1 where there is none.
type node struct {
	n       *ir.Node
	l       kernel.Layout
	in, out []int
}

// pick is the choice at a node: the order of all operands at a Same kernel;
// the order that the input is brought into at a ViewReshape (set false: the
// one it has, if the reshaped value can stay where it is, else the logical
// one).
type pick struct {
	set   bool
	order []int
}

// need is the order in which a node wants an operand.
type need struct {
	any   bool
	order []int
}

// copyCost stands for the call and the loop of a copy: of two plans that copy
// equally many bytes the one with fewer copies is better.
const copyCost = 64

func newPlan(g *ir.Graph, demand map[*ir.Node]kernel.Layout, opt Options) *plan {
	p := &plan{index: map[*ir.Value]int{}, native: opt.NativeIO, inner: opt.Inner}
	add := func(v *ir.Value, def int) {
		p.index[v] = len(p.values)
		p.values = append(p.values, v)
		p.def = append(p.def, def)
	}
	for _, v := range g.In {
		add(v, -1)
	}
	p.input = make([][]int, len(g.In))
	for i, v := range g.In {
		p.input[i] = p.border(v)
	}
	for k, n := range g.Nodes {
		for _, v := range n.Out {
			add(v, k)
		}
	}
	p.users = make([][]int, len(p.values))
	for k, n := range g.Nodes {
		x := node{n: n, l: demand[n]}
		for _, v := range n.In {
			i, ok := p.index[v]
			if !ok { // absent or constant
				i = -1
			} else if u := p.users[i]; len(u) == 0 || u[len(u)-1] != k {
				p.users[i] = append(u, k)
			}
			x.in = append(x.in, i)
		}
		for _, v := range n.Out {
			x.out = append(x.out, p.index[v])
		}
		p.nodes = append(p.nodes, x)
	}
	p.isOut = make([]bool, len(p.values))
	for _, v := range g.Out {
		if i, ok := p.index[v]; ok {
			p.isOut[i] = true
		}
	}
	p.picks = make([]pick, len(p.nodes))
	p.order, p.copies = make([][]int, len(p.values)), make([][][]int, len(p.values))
	return p
}

func (p *plan) shape(v int) []int { return p.values[v].Type.Shape }
func (p *plan) rank(v int) int    { return len(p.values[v].Type.Shape) }

// freeIO reports whether a value at the border may lie channels last.
func (p *plan) freeIO(v *ir.Value) bool { return p.native && v.Type.Rank() == 4 && !p.inner[v] }

// border is the order of a value at the border that has no choice.
func (p *plan) border(v *ir.Value) []int {
	if p.inner[v] && v.Type.Rank() == 4 {
		return ir.NHWC(4)
	}
	return nil
}

// outNeed is the order that a graph output must have, given the one it has.
func (p *plan) outNeed(v *ir.Value) []int {
	if o := p.border(v); o != nil {
		return o
	}
	if p.freeIO(v) && v.Type.SameMemory(ir.NHWC(4)) {
		return v.Type.Order
	}
	return nil
}

// needs is what node k wants of its operands, by the picks and the orders of
// the operands so far. The result is valid until the next call.
func (p *plan) needs(k int) []need {
	x := &p.nodes[k]
	p.need = p.need[:0]
	for i, v := range x.in {
		var w need
		switch x.l.Kind {
		case kernel.Fixed:
			w.order = at(x.l.In, i)
		case kernel.Same:
			if v >= 0 && p.rank(v) == p.rank(x.out[0]) {
				w.order = p.picks[k].order
			}
		case kernel.ViewTranspose, kernel.AnyToAny, kernel.Strided:
			w.any = true
		case kernel.ViewReshape:
			switch {
			case i > 0 || v < 0:
			case p.picks[k].set:
				w.order = p.picks[k].order
			default:
				_, w.any = reshapeOrder(p.values[v].Type.WithOrder(p.order[v]), p.shape(x.out[0]))
			}
		}
		p.need = append(p.need, w)
	}
	return p.need
}

// results sets the orders of the outputs of node k.
func (p *plan) results(k int) {
	x := &p.nodes[k]
	in := func() []int { // order of operand 0 as the node gets it
		if len(x.in) == 0 || x.in[0] < 0 {
			return nil
		}
		if w := p.need[0]; !w.any {
			return w.order
		}
		return p.order[x.in[0]]
	}
	for i, v := range x.out {
		var o []int
		switch x.l.Kind {
		case kernel.Fixed:
			o = at(x.l.Out, i)
		case kernel.Same, kernel.Strided:
			if c := p.picks[k].order; len(c) == p.rank(v) {
				o = c
			}
		case kernel.ViewTranspose:
			o = transposeForward(in(), x.l.Perm)
		case kernel.ViewReshape:
			var ok bool
			o, ok = reshapeOrder(x.n.In[0].Type.WithOrder(in()), p.shape(v))
			bug.If(!ok, "layout of %s moves elements", x.n)
		case kernel.AnyToAny:
			o = p.values[v].Type.Order
		}
		p.order[v] = o
	}
}

// across is the value on the other side of view k from v, and the order that it has
// when v has order o; false: there is none.
func (p *plan) across(k, v int, o []int) (to int, order []int, ok bool) {
	x := &p.nodes[k]
	if len(x.in) == 0 || x.in[0] < 0 {
		return -1, nil, false
	}
	if to = x.in[0]; v == to {
		to = x.out[0]
	}
	switch {
	case x.l.Kind == kernel.ViewReshape:
		order, ok = reshapeOrder(p.values[v].Type.WithOrder(o), p.shape(to))
		return to, order, ok
	case to == x.out[0]:
		return to, transposeForward(o, x.l.Perm), true
	}
	return to, transposeBack(o, x.l.Perm), true
}

// lastInnermost reports an order that keeps the last dimension innermost.
func lastInnermost(o []int) bool { return len(o) == 0 || o[len(o)-1] == len(o)-1 }

func at(s [][]int, i int) []int {
	if i < len(s) {
		return s[i]
	}
	return nil
}

// eval sets order and copies by the picks, and returns the bytes copied plus
// copyCost for every copy.
func (p *plan) eval() int {
	for i := range p.values {
		p.copies[i] = p.copies[i][:0]
	}
	copy(p.order, p.input)
	cost := 0
	want := func(v int, o []int) {
		t := p.values[v].Type
		same := func(c []int) bool { return t.WithOrder(c).SameMemory(o) }
		if same(p.order[v]) || slices.ContainsFunc(p.copies[v], same) {
			return
		}
		p.copies[v] = append(p.copies[v], o)
		cost += p.values[v].Type.Bytes() + copyCost
	}
	for k := range p.nodes {
		for i, w := range p.needs(k) {
			if v := p.nodes[k].in[i]; v >= 0 && !w.any {
				want(v, w.order)
			}
		}
		p.results(k)
	}
	for v, out := range p.isOut {
		if out && !(p.freeIO(p.values[v]) && p.values[v].Type.WithOrder(p.order[v]).SameMemory(ir.NHWC(4))) {
			want(v, p.border(p.values[v]))
		}
	}
	p.work += len(p.nodes)
	return cost
}

// ballot counts the readers of every value that want an order.
type ballot struct {
	p     *plan
	votes [][]vote
}

type vote struct {
	order []int
	count int
}

// add is one reader that wants a value, if there is one, in an order.
func (b *ballot) add(v int, o []int) {
	if v < 0 {
		return
	}
	t := b.p.values[v].Type.WithOrder(o)
	if i := slices.IndexFunc(b.votes[v], func(w vote) bool { return t.SameMemory(w.order) }); i >= 0 {
		b.votes[v][i].count++
		return
	}
	b.votes[v] = append(b.votes[v], vote{o, 1})
}

// most is the order that most readers want; false where none wants any.
func (b *ballot) most(v int) ([]int, bool) {
	best := vote{}
	for _, w := range b.votes[v] {
		if w.count > best.count {
			best = w
		}
	}
	return best.order, best.count > 0
}

// start makes the first picks: going backwards, every Same kernel takes the
// order that most readers of its results want; going forwards, one that nobody
// wants anything of takes the order of its largest operand.
func (p *plan) start() {
	b := &ballot{p: p, votes: make([][]vote, len(p.values))}
	for v, out := range p.isOut {
		if out && !p.freeIO(p.values[v]) {
			b.add(v, p.border(p.values[v]))
		}
	}
	for k := len(p.nodes) - 1; k >= 0; k-- {
		p.elect(k, b)
	}
	for i := range p.input {
		if o, ok := b.most(i); ok && p.freeIO(p.values[i]) && p.values[i].Type.WithOrder(o).SameMemory(ir.NHWC(4)) {
			p.input[i] = ir.NHWC(4)
		}
	}
	copy(p.order, p.input)
	for k := range p.nodes {
		x := &p.nodes[k]
		if x.l.Kind == kernel.Same && !p.picks[k].set {
			most := -1
			for _, v := range p.alike(x) {
				if size := p.values[v].Type.Bytes(); size > most {
					most, p.picks[k] = size, pick{true, p.order[v]}
				}
			}
		}
		p.needs(k)
		p.results(k)
	}
}

// alike are the operands of the rank of the result.
func (p *plan) alike(x *node) []int {
	return lists.Filter(x.in, func(v int) bool { return v >= 0 && p.rank(v) == p.rank(x.out[0]) })
}

// elect picks what most readers of node k's result want, and says what k then wants of
// its operands.
func (p *plan) elect(k int, b *ballot) {
	x := &p.nodes[k]
	o, ok := b.most(x.out[0])
	switch x.l.Kind {
	case kernel.Same:
		if x.l.Prefer != nil {
			o, ok = x.l.Prefer, true
		}
		if p.picks[k] = (pick{ok, o}); ok {
			for _, v := range p.alike(x) {
				b.add(v, o)
			}
		}
	case kernel.Strided:
		if ok && lastInnermost(o) {
			p.picks[k] = pick{true, o}
		}
	case kernel.Fixed:
		for i, v := range x.in {
			b.add(v, at(x.l.In, i))
		}
	case kernel.Natural:
		for _, v := range x.in {
			b.add(v, nil)
		}
	case kernel.ViewTranspose, kernel.ViewReshape:
		if ok {
			if v, back, ok := p.across(k, x.out[0], o); ok {
				b.add(v, back)
			}
		}
	}
}

// candidates are the orders worth trying at node k: those of its operands, of
// its results' readers, the logical one and channels last.
func (p *plan) candidates(k int) [][]int {
	x := &p.nodes[k]
	var list [][]int
	add := func(o []int, rank int) {
		if o == nil {
			o = ir.Identity(rank)
		}
		if len(o) == rank && !slices.ContainsFunc(list, func(c []int) bool { return slices.Equal(c, o) }) {
			list = append(list, o)
		}
	}
	var back func(v int, to func(o []int), depth int)
	back = func(v int, to func(o []int), depth int) { // what readers of v want
		for _, o := range p.copies[v] {
			to(o)
		}
		if depth == 0 {
			return
		}
		for _, u := range p.users[v] {
			if y := &p.nodes[u]; y.l.Kind == kernel.ViewTranspose || y.l.Kind == kernel.ViewReshape {
				back(y.out[0], func(o []int) {
					if _, b, ok := p.across(u, y.out[0], o); ok {
						to(b)
					}
				}, depth-1)
			}
		}
	}
	const depth = 6
	switch x.l.Kind {
	case kernel.Same:
		rank := p.rank(x.out[0])
		for _, v := range p.alike(x) {
			add(p.order[v], rank)
		}
		for _, v := range x.out {
			if p.rank(v) == rank {
				back(v, func(o []int) { add(o, rank) }, depth)
			}
		}
		add(nil, rank)
		add(ir.NHWC(rank), rank)
		if x.l.Prefer != nil {
			add(x.l.Prefer, rank)
		}
	case kernel.Strided:
		rank := p.rank(x.out[0])
		back(x.out[0], func(o []int) {
			if lastInnermost(o) {
				add(o, rank)
			}
		}, depth)
		add(nil, rank)
	case kernel.ViewReshape:
		if v := x.in[0]; v >= 0 {
			back(v, func(o []int) { add(o, p.rank(v)) }, depth)
			add(nil, p.rank(v))
		}
	}
	return list
}
