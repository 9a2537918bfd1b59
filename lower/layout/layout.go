// Package layout gives every value its memory order. Shapes stay logical;
// kernels state what they need (lower/target), Transposes and unit-dimension
// Reshapes become views, and where producer and consumer disagree one
// Relayout copy is inserted, shared by all consumers that want the same order.
package layout

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/target"
)

// Rules gives the layout demand of a node.
type Rules func(n *ir.Node) target.Layout

// Options of Assign.
type Options struct {
	// NativeIO lets rank-4 inputs and outputs keep the kernels' own order.
	NativeIO bool
}

// Assign sets the Order of every value of g and inserts Relayout nodes.
func Assign(g *ir.Graph, rules Rules, opt Options) error {
	a := &assigner{g: g, rules: rules, opt: opt, want: map[*ir.Value][]int{}, copies: map[copyKey]*ir.Value{}, demand: map[*ir.Node]target.Layout{}}
	if err := a.alignRanks(); err != nil {
		return err
	}
	a.wishes()
	for _, v := range g.In {
		v.Type.Order = nil
		if opt.NativeIO && v.Type.Rank() == 4 {
			v.Type.Order = a.want[v]
		}
	}
	for _, n := range append([]*ir.Node(nil), g.Nodes...) {
		if err := a.place(n); err != nil {
			return err
		}
	}
	for i, v := range g.Out {
		var target []int
		if opt.NativeIO && v.Type.Rank() == 4 {
			target = v.Type.Order
		}
		if !v.Type.SameMemory(target) {
			w, err := a.converted(nil, v, target)
			if err != nil {
				return err
			}
			g.Out[i] = w
		}
	}
	return nil
}

type copyKey struct {
	v     *ir.Value
	order string
}

type assigner struct {
	g      *ir.Graph
	rules  Rules
	opt    Options
	want   map[*ir.Value][]int // order the consumers would like; absent: no wish
	copies map[copyKey]*ir.Value
	demand map[*ir.Node]target.Layout
}

// alignRanks gives run-time operands of broadcasting kernels the rank of the
// output, by a Reshape that costs nothing, so that one permutation fits all.
func (a *assigner) alignRanks() error {
	for _, n := range append([]*ir.Node(nil), a.g.Nodes...) {
		l := a.rules(n)
		a.demand[n] = l
		if l.Kind != target.Same || n.Op.Pattern > ir.Broadcast {
			continue
		}
		rank := n.Out[0].Type.Rank()
		for i, v := range n.In {
			if v == nil || v.Const != nil || v.Type.Rank() == rank {
				continue
			}
			shape := make([]int, rank)
			for k := range shape {
				shape[k] = 1
			}
			copy(shape[rank-v.Type.Rank():], v.Type.Shape)
			w, err := Reshape(a.g, n, v, shape)
			if err != nil {
				return err
			}
			a.demand[w.Def] = target.Layout{Kind: target.ViewReshape}
			a.g.SetInput(n, i, w)
		}
	}
	return nil
}

// Reshape inserts a Reshape of v to shape before node at (nil: at the end);
// the quantisation is kept.
func Reshape(g *ir.Graph, at *ir.Node, v *ir.Value, shape []int) (*ir.Value, error) {
	c := g.AddConst(v.Name+".shape", constInts(shape))
	r, err := g.InsertBefore(at, op.Reshape, v.Name+".reshaped", nil, 1, v, c)
	if err != nil {
		return nil, err
	}
	if v.Def != nil {
		r.Origin = v.Def.Origin
	}
	r.Out[0].Type = r.Out[0].Type.WithQuant(v.Type.DType, v.Type.Quant)
	return r.Out[0], nil
}

// wishes propagates the consumers' demands backwards.
func (a *assigner) wishes() {
	wish := func(v *ir.Value, o []int) {
		if v == nil || v.Const != nil {
			return
		}
		if _, ok := a.want[v]; !ok {
			a.want[v] = o
		}
	}
	for _, v := range a.g.Out {
		if !a.opt.NativeIO || v.Type.Rank() != 4 {
			wish(v, nil)
		}
	}
	for i := len(a.g.Nodes) - 1; i >= 0; i-- {
		n := a.g.Nodes[i]
		switch l := a.demand[n]; l.Kind {
		case target.Fixed:
			for k, v := range n.In {
				wish(v, at(l.In, k))
			}
		case target.Same:
			o, ok := a.want[n.Out[0]]
			if l.Prefer != nil {
				o, ok = l.Prefer, true
			}
			for _, v := range n.In {
				if ok && v != nil && v.Type.Rank() == n.Out[0].Type.Rank() {
					wish(v, o)
				}
			}
		case target.ViewTranspose:
			if o, ok := a.want[n.Out[0]]; ok {
				wish(n.In[0], transposeBack(o, l.Perm))
			}
		case target.ViewReshape:
			if o, ok := a.want[n.Out[0]]; ok {
				if b, ok := reshapeOrder(n.Out[0].Type.WithOrder(o), n.In[0].Type.Shape); ok {
					wish(n.In[0], b)
				}
			}
		case target.Natural:
			for _, v := range n.In {
				wish(v, nil)
			}
		}
	}
}

func at(s [][]int, i int) []int {
	if i < len(s) {
		return s[i]
	}
	return nil
}

func (a *assigner) place(n *ir.Node) error {
	l := a.demand[n]
	setAll := func(order []int) {
		for _, v := range n.Out {
			if v.Type.Rank() == len(order) || order == nil {
				v.Type.Order = order
			}
		}
	}
	convert := func(i int, order []int) error {
		v := n.In[i]
		if v == nil || v.Const != nil || v.Type.SameMemory(order) {
			return nil
		}
		w, err := a.converted(n, v, order)
		if err == nil {
			a.g.SetInput(n, i, w)
		}
		return err
	}
	switch l.Kind {
	case target.Natural:
		for i := range n.In {
			if err := convert(i, nil); err != nil {
				return err
			}
		}
		setAll(nil)
	case target.Fixed:
		for i := range n.In {
			if err := convert(i, at(l.In, i)); err != nil {
				return err
			}
		}
		for i, v := range n.Out {
			v.Type.Order = at(l.Out, i)
		}
	case target.Same:
		order := a.bestOrder(n, l)
		rank := n.Out[0].Type.Rank()
		for i, v := range n.In {
			o := order
			if v != nil && v.Type.Rank() != rank {
				o = nil
			}
			if err := convert(i, o); err != nil {
				return err
			}
		}
		setAll(order)
	case target.ViewTranspose:
		n.Out[0].Type.Order = transposeForward(n.In[0].Type.OrderOrIdentity(), l.Perm)
	case target.ViewReshape:
		o, ok := reshapeOrder(n.In[0].Type, n.Out[0].Type.Shape)
		if !ok {
			if err := convert(0, nil); err != nil {
				return err
			}
			o = nil
		}
		n.Out[0].Type.Order = o
	case target.AnyToAny:
	}
	return nil
}

// bestOrder picks the order that costs the fewest copied bytes for the
// inputs, counting the wish of the consumers like one more operand.
func (a *assigner) bestOrder(n *ir.Node, l target.Layout) []int {
	out := n.Out[0].Type
	rank := out.Rank()
	type cand struct {
		order []int
		cost  int
	}
	var cands []cand
	add := func(o []int) {
		for _, c := range cands {
			if out.SameMemory(o) && out.WithOrder(c.order).SameMemory(o) || slices.Equal(norm(c.order, rank), norm(o, rank)) {
				return
			}
		}
		cands = append(cands, cand{order: o})
	}
	if l.Prefer != nil {
		add(l.Prefer)
	}
	w, wished := a.want[n.Out[0]]
	for _, v := range n.In {
		if v != nil && v.Const == nil && v.Type.Rank() == rank {
			add(v.Type.Order)
		}
	}
	if wished {
		add(w)
	}
	add(nil)
	best := 0
	for i := range cands {
		c := &cands[i]
		for _, v := range n.In {
			if v != nil && v.Const == nil && v.Type.Rank() == rank && !v.Type.SameMemory(c.order) {
				if a.copies[copyKey{v, key(c.order, rank)}] == nil {
					c.cost += v.Type.Bytes()
				}
			}
		}
		if wished && !out.WithOrder(c.order).SameMemory(w) {
			c.cost += out.Bytes()
		}
		if l.Prefer != nil && !out.WithOrder(c.order).SameMemory(l.Prefer) {
			c.cost += out.Bytes() / 2
		}
		if c.cost < cands[best].cost {
			best = i
		}
	}
	return cands[best].order
}

func norm(o []int, rank int) []int {
	if o == nil {
		return ir.Identity(rank)
	}
	return o
}

func key(o []int, rank int) string {
	b := make([]byte, 0, rank)
	for _, d := range norm(o, rank) {
		b = append(b, byte(d))
	}
	return string(b)
}

// converted is v in another order, by a Relayout node before at.
func (a *assigner) converted(at *ir.Node, v *ir.Value, order []int) (*ir.Value, error) {
	k := copyKey{v, key(order, v.Type.Rank())}
	if w := a.copies[k]; w != nil {
		return w, nil
	}
	n, err := a.g.InsertBefore(at, op.Relayout, v.Name+".relayout", nil, 1, v)
	if err != nil {
		return nil, err
	}
	if v.Def != nil {
		n.Origin = v.Def.Origin
	}
	w := n.Out[0]
	w.Type = v.Type.WithOrder(order)
	a.copies[k] = w
	return w, nil
}
