// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// Apply rewrites g, or a clone of the graph that the plan was made for: the nodes of
// its chains stand there once for every call, on slices of rows. Rows that are read
// again are copied in front of new ones (nncc.Crop, Concat); the rows of what a chain
// leaves behind are put together. In channels-last memory slices and concatenations
// of rows are views.
//
// Rows of an input that lies in another order than channels last are copied into that
// order as they are needed; native says that inputs may lie so.
func Apply(g *ir.Graph, p Plan, native bool) (err error) {
	defer fail.Catch(&err)
	shift := 0
	if len(p.Turned) > 0 {
		shift = turn(g, turnable(g, native))
	}
	nets := newNetworks(g, native || shift > 0)
	var list []*applier
	for _, c := range p.Chains {
		c.From, c.To = c.From+shift, c.To+shift
		list = append(list, &applier{g: g, f: c.of(nets).flow(), nodes: slices.Clone(g.Nodes[c.From:c.To]),
			have: map[*ir.Value]part{}, pieces: map[*ir.Value][]*ir.Value{}})
	}
	for _, a := range list {
		for a.s = range a.f.fresh {
			if a.f.again() {
				clear(a.have)
			}
			for i, rows := range a.f.fresh[a.s] {
				if rows.len() > 0 {
					a.node(i, rows)
				}
			}
		}
		a.join()
	}
	g.RemoveDead()
	return nil
}

// turnable are the inputs that are brought into channels-last order for windows.
func turnable(g *ir.Graph, native bool) []*ir.Value {
	w := newNetwork(g, native, nil)
	return slices.DeleteFunc(slices.Clone(g.In), func(v *ir.Value) bool { return !w.values[w.index[v]].turned })
}

// turn does so in front of everything else, and gives the number of nodes that it adds.
func turn(g *ir.Graph, list []*ir.Value) int {
	for _, v := range list {
		w := g.Insert(g.Nodes[0], nil, op.Turn, v.Name+".turned", nil, v)
		w.Type = v.Type.WithOrder(ir.NHWC(4))
		g.ReplaceUses(v, w)
		g.SetInput(w.Def, 0, v)
	}
	return len(list)
}

// applier rewrites one chain. Its methods end by ir/fail.
type applier struct {
	g      *ir.Graph
	f      *flow
	nodes  []*ir.Node
	s      int // the stripe
	have   map[*ir.Value]part
	pieces map[*ir.Value][]*ir.Value // of what leaves the chain
}

// part is some rows of a value, of which x knows where they lie.
type part struct {
	v    *ir.Value
	rows span
	x    *value
}

func (a *applier) value(v *ir.Value) *value { return &a.f.w.values[a.f.w.index[v]] }

// insert adds a node in front of the chain, for the sake of value of.
func (a *applier) insert(of *ir.Value, d *ir.OpDef, name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
	v := a.g.Insert(a.nodes[0], of.Def, d, of.Name+"."+name, attrs, in...)
	v.Def.Chain = Name(a.nodes)
	v.Type = of.Type.WithShape(v.Type.Shape)
	return v
}

// at is a name for the stripe.
func (a *applier) at(name string) string { return name + strconv.Itoa(a.s) }

// node computes some rows of the result of node i.
func (a *applier) node(i int, rows span) {
	n, x, d := a.nodes[i], &a.f.w.nodes[a.f.from+i], a.nodes[i].Op
	attrs, v, in := n.Attrs.Clone(), n.Out[0], slices.Clone(n.In)
	for j, v := range n.In {
		if v == nil || v.Const != nil {
			if v != nil && x.along.Parts > 0 && x.along.In[j] >= 0 {
				in[j] = a.constant(v, x.along.In[j], rows, a.value(n.Out[0]).rows)
			}
			continue
		}
		k := a.f.w.index[v]
		from, above, below := x.reads(k, rows, a.f.w.values[k].rows)
		in[j] = a.slice(a.source(v), from)
		if d.Window != ir.NoWindow && x.window.up == 1 {
			if attrs == nil {
				attrs = ir.Attrs{}
			}
			w := op.WindowsOf(n)
			attrs["pads"] = ir.Ints(above, w.PadBegin[1], below, w.PadEnd[1])
			delete(attrs, "auto_pad")
		}
	}
	kept, p := a.front(v), part{rows: rows, x: a.value(v)}
	shape := slices.Clone(v.Type.Shape)
	shape[p.x.axis] = rows.len() * p.x.step
	if d.View == ir.Reshaped {
		d, attrs, in = op.Reshape, nil, []*ir.Value{in[0], a.g.AddConst(v.Name+".shape", tensor.Ints(shape...))}
	}
	p.v = a.insert(v, d, a.at(""), attrs, in...)
	bug.If(!slices.Equal(p.v.Type.Shape, shape), "stripe %d of %s is %v, want %v", a.s, n, p.v.Type.Shape, shape)
	leaves := a.f.leaves(a.f.w.index[v])
	if leaves {
		own := rows
		if a.f.again() {
			own = a.f.share(a.s, p.x.rows)
		}
		a.pieces[v] = append(a.pieces[v], a.slice(p, own))
	}
	a.extend(v, kept, p, leaves)
}

// constant is the part of a constant, along an axis, that belongs to some of all rows.
func (a *applier) constant(v *ir.Value, axis int, rows span, all int) *ir.Value {
	step := v.Type.Shape[axis] / all
	lo, hi := rows.lo*step, rows.hi*step
	if lo == 0 && hi == v.Type.Shape[axis] {
		return v
	}
	c := a.g.AddConst(v.Name+"."+strconv.Itoa(lo), v.Const.Slice(axis, lo, hi))
	q := v.Type.Quant
	if q.PerAxis() && q.Axis == axis {
		q = &ir.Quant{Axis: axis, Scale: q.Scale[lo:hi], Zero: q.Zero[lo:hi]}
	}
	c.Type = v.Type.WithShape(c.Type.Shape)
	c.Type.Quant = q
	return c
}

// front is the rows of a value that were computed before and are still read, if any: all that there are, or a copy
// of some. It is made before the new rows are, so that these may lie over the others of before.
func (a *applier) front(v *ir.Value) (p part) {
	if old, k := a.have[v], a.f.w.index[v]; old.v != nil && a.f.kept(a.s, k, old.rows.hi) {
		p.x, p.rows = old.x, span{max(a.f.keep(a.s, k), old.rows.lo), old.rows.hi}
		if p.v = a.slice(old, p.rows); p.v != old.v {
			p.v = a.crop(v, p, p.rows)
		}
	}
	return p
}

// extend puts new rows of a value behind those that are still read. Rows that leave
// the chain stay where they are, and are copied.
func (a *applier) extend(v *ir.Value, kept, rows part, leaves bool) {
	if kept.v != nil {
		if leaves {
			rows.v = a.crop(v, rows, rows.rows)
		}
		rows.v = a.insert(v, op.Concat, a.at("window"), ir.Attrs{"axis": ir.Int(rows.x.axis)}, kept.v, rows.v)
		rows.rows.lo = kept.rows.lo
	}
	a.have[v] = rows
}

// source is the rows of an operand that are there.
func (a *applier) source(v *ir.Value) part {
	k := a.f.w.index[v]
	if p, ok := a.have[v]; !a.f.enters(k) || ok && (!a.f.w.values[k].turned || p.rows.hi >= a.f.brought(a.s, k)) {
		return p
	}
	x := &a.f.w.values[k]
	whole := part{v, span{0, x.rows}, x}
	if !x.turned {
		return whole
	}
	at := span{a.have[v].rows.hi, a.f.brought(a.s, k)}
	at.lo = max(at.lo, min(a.f.keep(a.s, k), at.hi-1)) // rows between windows are not brought
	a.extend(v, a.front(v), part{a.crop(v, whole, at), at, x}, false)
	return a.have[v]
}

// crop is a copy of some rows of a part of v, channels last.
func (a *applier) crop(v *ir.Value, p part, rows span) *ir.Value {
	y := a.insert(v, op.Crop, a.at("kept"), nil, a.bounds(p, rows)...)
	if image(y.Type) {
		y.Type.Order = ir.NHWC(4)
	}
	return y
}

// slice is some rows of a part of a value, where they lie.
func (a *applier) slice(p part, rows span) *ir.Value {
	if rows == p.rows {
		return p.v
	}
	y := a.insert(p.v, op.Slice, a.at("rows"), nil, a.bounds(p, rows)...)
	y.Type.Order = p.v.Type.Order
	return y
}

func (a *applier) bounds(p part, rows span) []*ir.Value {
	ints := func(name string, v int) *ir.Value { return a.g.AddConst(p.v.Name+name, tensor.Ints(v)) }
	return []*ir.Value{p.v, ints(".from", (rows.lo-p.rows.lo)*p.x.step), ints(".to", (rows.hi-p.rows.lo)*p.x.step),
		ints(".axis", p.x.axis)}
}

// join puts the rows of what leaves the chain together.
func (a *applier) join() {
	for _, n := range a.nodes {
		v := n.Out[0]
		list := a.pieces[v]
		if len(list) > 1 {
			list = []*ir.Value{a.insert(v, op.Concat, "rows", ir.Attrs{"axis": ir.Int(a.value(v).axis)}, list...)}
		}
		if len(list) > 0 {
			a.g.ReplaceUses(v, list[0])
			a.f.w.index[list[0]] = a.f.w.index[v]
		}
	}
}
