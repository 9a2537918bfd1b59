// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Apply rewrites g, or a clone of the graph that the plan was made for: the
// region's nodes once a stripe, one stripe after the other, on slices of rows;
// the rows of what the region leaves behind are put together. In channels-last
// memory slices and concatenations of rows are views.
//
// Rows of an input that lies in another order than channels last are copied
// into that order a stripe at a time; native says that inputs may lie so.
func Apply(g *ir.Graph, p Plan, native bool) error {
	nodes := make([]*ir.Node, len(p.Nodes))
	copy(nodes, g.Nodes[:len(p.Nodes)])
	for i, n := range nodes {
		if n.ID != p.Nodes[i].ID {
			return bug.Errorf("patching another graph than was planned: %s is not %s", n, p.Nodes[i])
		}
	}
	a := &applier{g: g, r: newRegion(g, nodes), first: nodes[0], native: native}
	pieces := map[*ir.Value][]*ir.Value{}
	for s := range p.Stripes {
		if err := a.stripe(s, p.Stripes, pieces); err != nil {
			return err
		}
	}
	for _, v := range a.r.frontier {
		n, err := g.InsertBefore(a.first, op.Concat, v.Name+".rows", ir.Attrs{"axis": ir.Int(2)}, 1, pieces[v]...)
		if err != nil {
			return bug.Errorf("joining the rows of %s: %w", v, err)
		}
		n.Origin = v.Def.Origin
		n.Out[0].Type = v.Type
		g.ReplaceUses(v, n.Out[0])
	}
	g.RemoveDead()
	return nil
}

type applier struct {
	g      *ir.Graph
	r      *region
	first  *ir.Node // new nodes stand in front of it
	native bool
}

// part is some rows of a value.
type part struct {
	v    *ir.Value
	rows span
}

func (a *applier) stripe(s, k int, pieces map[*ir.Value][]*ir.Value) error {
	need := a.r.rows(s, k)
	have := map[*ir.Value]part{}
	for _, n := range a.r.nodes {
		out, ok := need[n.Out[0]]
		if !ok {
			continue
		}
		in := make([]*ir.Value, len(n.In))
		attrs := n.Attrs.Clone()
		for j, v := range n.In {
			if v == nil || v.Const != nil {
				in[j] = v
				continue
			}
			rows, above, below := window(n, j, out)
			from, ok := have[v]
			if !ok { // an input of the graph
				from = part{v, span{0, v.Type.Shape[2]}}
			}
			var err error
			if in[j], err = a.slice(from, rows, s); err != nil {
				return err
			}
			if windowed(n) {
				if attrs == nil {
					attrs = ir.Attrs{}
				}
				left, right := columns(n)
				attrs["pads"] = ir.Ints(above, left, below, right)
				delete(attrs, "auto_pad")
			}
		}
		m, err := a.g.InsertBefore(a.first, n.Op, fmt.Sprintf("%s.%d", n.Name, s), attrs, 1, in...)
		if err != nil {
			return bug.Errorf("stripe %d: %w", s, err)
		}
		t := n.Out[0].Type
		if got := m.Out[0].Type.Shape[2]; got != out.len() {
			return bug.Errorf("stripe %d of %s has %d rows, want %d", s, n, got, out.len())
		}
		m.Out[0].Type = t.WithShape(m.Out[0].Type.Shape)
		m.Origin = n.Origin
		have[n.Out[0]] = part{m.Out[0], out}
	}
	for _, v := range a.r.frontier {
		h := v.Type.Shape[2]
		w, err := a.slice(have[v], span{s * h / k, (s + 1) * h / k}, s)
		if err != nil {
			return err
		}
		pieces[v] = append(pieces[v], w)
	}
	return nil
}

// slice is the given rows of a part of a value.
func (a *applier) slice(p part, rows span, s int) (*ir.Value, error) {
	if rows == p.rows {
		return p.v, nil
	}
	ints := func(name string, v int) *ir.Value { return a.g.AddConst(p.v.Name+name, tensor.Ints(v)) }
	t, how := p.v.Type, op.Slice
	if p.v.IsInput() && !a.native && !t.SameMemory(ir.NHWC(4)) {
		t, how = t.WithOrder(ir.NHWC(4)), op.Crop
	}
	n, err := a.g.InsertBefore(a.first, how, fmt.Sprintf("%s.rows%d", p.v.Name, s), nil, 1,
		p.v, ints(".from", rows.lo-p.rows.lo), ints(".to", rows.hi-p.rows.lo), ints(".axis", 2))
	if err != nil {
		return nil, bug.Errorf("rows %d to %d of %s: %w", rows.lo, rows.hi, p.v, err)
	}
	order := t.Order
	n.Out[0].Type = t.WithShape(n.Out[0].Type.Shape).WithOrder(order)
	if p.v.Def != nil {
		n.Origin = p.v.Def.Origin
	}
	return n.Out[0], nil
}
