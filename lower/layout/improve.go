// SPDX-License-Identifier: Apache-2.0

package layout

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/kernel"
)

// budget bounds the search, in nodes looked at: a second or so.
const budget = 10_000_000

// reach says to which neighbours a change of order spreads.
type reach uint8

const (
	alone    reach = 0
	upward   reach = 1 // to the nodes that compute the operands
	downward reach = 2 // to the readers of the results
)

var reaches = []reach{alone, upward | downward, upward, downward}

// improve changes picks as long as that saves copies. At each copy the nodes
// around it try every order, alone and together with the nodes above, below
// or all around them that can have any order.
func (p *plan) improve() {
	cost := p.eval()
again:
	for cost > 0 && p.work < budget {
		for _, k := range p.suspects() {
			for _, o := range p.candidates(k) {
				for _, r := range reaches {
					picks, input := slices.Clone(p.picks), slices.Clone(p.input)
					f := flood{p: p, r: r, seen: make([]bool, len(p.nodes))}
					f.node(k, o)
					if c := p.eval(); c < cost {
						cost = c
						continue again
					}
					p.picks, p.input = picks, input
				}
			}
			p.eval() // the orders of the picks kept, for candidates
			if p.work >= budget {
				return
			}
		}
		return
	}
}

// suspects are the nodes with a choice around values that are copied, seen
// through views.
func (p *plan) suspects() []int {
	var list []int
	seen := make([]bool, len(p.nodes))
	var up, down func(v int)
	visit := func(k int, next func(v int), through []int) {
		if k < 0 || seen[k] {
			return
		}
		seen[k] = true
		switch p.nodes[k].l.Kind {
		case kernel.Same, kernel.Strided:
			list = append(list, k)
		case kernel.ViewReshape:
			list = append(list, k)
			fallthrough
		case kernel.ViewTranspose:
			for _, v := range through {
				if v >= 0 {
					next(v)
				}
			}
		}
	}
	up = func(v int) {
		if k := p.def[v]; k >= 0 {
			visit(k, up, p.nodes[k].in)
		}
	}
	down = func(v int) {
		for _, k := range p.users[v] {
			visit(k, down, p.nodes[k].out)
		}
	}
	for v, c := range p.copies {
		if len(c) > 0 {
			up(v)
			down(v)
		}
	}
	return list
}

// flood spreads an order from a node to its neighbours.
type flood struct {
	p    *plan
	r    reach
	seen []bool
}

// node gives node k the order o and goes on from there.
func (f *flood) node(k int, o []int) {
	p := f.p
	x := &p.nodes[k]
	if f.seen[k] {
		return
	}
	f.seen[k] = true
	switch x.l.Kind {
	case kernel.Same:
		p.picks[k] = pick{true, o}
		for _, v := range x.in {
			if v >= 0 && p.rank(v) == len(o) {
				f.value(v, o, upward)
			}
		}
		for _, v := range x.out {
			if p.rank(v) == len(o) {
				f.value(v, o, downward)
			}
		}
	case kernel.Strided:
		if lastInnermost(o) {
			p.picks[k] = pick{true, o}
			f.value(x.out[0], o, downward)
		}
	case kernel.ViewReshape:
		if _, y, ok := p.across(k, x.in[0], o); ok {
			p.picks[k] = pick{true, o}
			f.value(x.out[0], y, downward)
		}
	}
}

// value spreads the order of a value to what computes it and to its readers.
// from is the way by which the value was reached.
func (f *flood) value(v int, o []int, from reach) {
	p := f.p
	if o == nil {
		o = ir.Identity(p.rank(v))
	}
	if f.r&upward != 0 {
		k := p.def[v]
		switch {
		case k < 0:
			if w := p.values[v]; p.freeIO(w) {
				p.input[v] = nil
				if w.Type.WithOrder(o).SameMemory(ir.NHWC(4)) {
					p.input[v] = ir.NHWC(4)
				}
			}
		case p.nodes[k].l.Kind == kernel.Strided,
			p.nodes[k].l.Kind == kernel.Same && p.rank(p.nodes[k].out[0]) == len(o):
			f.node(k, o)
		default:
			f.through(k, v, o, upward)
		}
	}
	if f.r&downward != 0 && (from == downward || f.r&upward != 0) {
		for _, k := range p.users[v] {
			if x := &p.nodes[k]; x.l.Kind == kernel.Same && p.rank(x.out[0]) == len(o) {
				f.node(k, o)
			} else {
				f.through(k, v, o, downward)
			}
		}
	}
}

// through passes a view on the way up or down.
func (f *flood) through(k, v int, o []int, way reach) {
	p := f.p
	x := &p.nodes[k]
	if f.seen[k] || way == upward && x.out[0] != v || way == downward && (len(x.in) == 0 || x.in[0] != v) ||
		x.l.Kind != kernel.ViewTranspose && x.l.Kind != kernel.ViewReshape {
		return
	}
	if to, y, ok := p.across(k, v, o); ok {
		f.seen[k] = true
		p.picks[k] = pick{}
		f.value(to, y, way)
	}
}
