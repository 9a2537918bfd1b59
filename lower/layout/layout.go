// SPDX-License-Identifier: Apache-2.0

// Package layout gives every value its memory order. Shapes stay logical;
// kernels state what they need (lower/kernel), Transposes and Reshapes become
// views, and where producer and consumer disagree one Relayout copy is
// inserted, shared by all consumers that want the same order.
package layout

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Rules gives the layout demand of a node.
type Rules func(n *ir.Node) kernel.Layout

// Options of Assign.
type Options struct {
	// NativeIO lets rank-4 inputs and outputs lie channels last where that
	// saves a copy.
	NativeIO bool
	// Inner are inputs and outputs that only runs see: those of rank 4 lie
	// channels last.
	Inner map[*ir.Value]bool
}

// Assign sets the Order of every value of g and inserts Relayout nodes.
func Assign(g *ir.Graph, rules Rules, opt Options) (err error) {
	defer fail.Catch(&err)
	a := &assigner{g: g, rules: rules, demand: map[*ir.Node]kernel.Layout{}, copies: map[*ir.Value][]*ir.Value{}}
	a.alignRanks()
	p := newPlan(g, a.demand, opt)
	p.start()
	p.improve()
	a.apply(p)
	return nil
}

type assigner struct {
	g      *ir.Graph
	rules  Rules
	demand map[*ir.Node]kernel.Layout
	copies map[*ir.Value][]*ir.Value // Relayouts of a value
}

// alignRanks gives run-time operands of broadcasting kernels the rank of the
// output, by a Reshape that costs nothing, so that one permutation fits all.
func (a *assigner) alignRanks() {
	for _, n := range append([]*ir.Node(nil), a.g.Nodes...) {
		l := a.rules(n)
		a.demand[n] = l
		if l.Kind != kernel.Same || n.Op.Pattern > ir.Broadcast {
			continue
		}
		rank := n.Out[0].Type.Rank()
		for i, v := range n.In {
			if v == nil || v.Const != nil || v.Type.Rank() >= rank {
				continue
			}
			shape := slices.Repeat([]int{1}, rank)
			copy(shape[rank-v.Type.Rank():], v.Type.Shape)
			w := Reshape(a.g, n, v, shape)
			a.demand[w.Def] = kernel.Layout{Kind: kernel.ViewReshape}
			a.g.SetInput(n, i, w)
		}
	}
}

// Reshape inserts a Reshape of v to shape before node at (nil: at the end);
// the quantisation is kept. An error ends the caller (ir/fail).
func Reshape(g *ir.Graph, at *ir.Node, v *ir.Value, shape []int) *ir.Value {
	w := g.Insert(at, v.Def, op.Reshape, v.Name+".reshaped", nil, v, g.AddConst(v.Name+".shape", tensor.Ints(shape...)))
	w.Type = w.Type.WithQuant(v.Type.DType, v.Type.Quant)
	return w
}

// apply writes the orders of the plan into the graph and inserts the copies.
func (a *assigner) apply(p *plan) {
	p.eval()
	for i, v := range p.values {
		v.Type.Order = p.order[i]
	}
	for k := range p.nodes {
		n := p.nodes[k].n
		for i, o := range p.needs(k) {
			v := n.In[i]
			if o.any || v == nil || v.Const != nil || v.Type.SameMemory(o.order) {
				continue
			}
			a.g.SetInput(n, i, a.converted(n, v, o.order))
		}
	}
	for i, v := range a.g.Out {
		if o := p.outNeed(v); !v.Type.SameMemory(o) {
			a.g.SetOutput(i, a.converted(nil, v, o))
		}
	}
}

// converted is v in another order, by a Relayout node before at.
func (a *assigner) converted(at *ir.Node, v *ir.Value, order []int) *ir.Value {
	for _, w := range a.copies[v] {
		if w.Type.SameMemory(order) {
			return w
		}
	}
	w := a.g.Insert(at, v.Def, op.Relayout, v.Name+".relayout", nil, v)
	w.Type = v.Type.WithOrder(order)
	a.copies[v] = append(a.copies[v], w)
	return w
}
