// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// group is a set of values that have one quantisation.
type group struct {
	members []*ir.Value // in the order of the graph
	fixed   *ir.Quant   // prescribed by a member's producer
	params  affine
}

// groups joins values into groups.
type groups struct {
	of   map[*ir.Value]*group
	list []*ir.Value // values in the order in which they were added
}

func (g *groups) add(v *ir.Value) {
	if g.of[v] == nil {
		g.of[v] = &group{members: []*ir.Value{v}}
		g.list = append(g.list, v)
	}
}

// fixed is what is prescribed for the group of a value; nil: nothing is.
func (g *groups) fixed(v *ir.Value) *ir.Quant {
	if k := g.of[v]; k != nil {
		return k.fixed
	}
	return nil
}

// union joins the groups of a and b, unless different quantisations are
// prescribed for them.
func (g *groups) union(a, b *ir.Value) {
	x, y := g.of[a], g.of[b]
	if x == nil || y == nil || x == y { // nobody reads one of them
		return
	}
	if x.fixed != nil && y.fixed != nil && !x.fixed.Equal(y.fixed) {
		return
	}
	if len(x.members) < len(y.members) {
		x, y = y, x
	}
	x.members, x.fixed = append(x.members, y.members...), cmp.Or(x.fixed, y.fixed)
	for _, v := range y.members {
		g.of[v] = x
	}
}

// collect gives the groups in the order of their first members.
func (g *groups) collect() (out []*group) {
	members := map[*group][]*ir.Value{}
	for _, v := range g.list {
		k := g.of[v]
		if members[k] == nil {
			out = append(out, k)
		}
		members[k] = append(members[k], v)
	}
	for k, list := range members {
		k.members = list
	}
	return out
}

// bitRatio is how much wider one range may be than another for both values to
// have one quantisation where that is a choice; beyond it the narrower one
// would lose more than a bit.
//
//   - An input of a Concat that others read too is otherwise requantised on
//     its way into the Concat.
const bitRatio = 2

// averageRatio is the same for average pools. CMSIS-NN's kernel wants equal
// scales, as TFLite does; averages of whole feature maps can have a range so
// much narrower than the map's that sharing would leave them a few bits. Then
// they have a scale of their own, and another kernel.
const averageRatio = 4

// tailRatio is how much the ranges of a Concat's inputs may differ where the
// result is only for the caller. Beyond it (5 of 8 bits) the narrow ones would
// be lost: box coordinates beside probabilities in a detector's output.
const tailRatio = 32

// floatTails takes back the quantisation of Concats whose inputs have such
// different ranges that one scale would destroy the narrow ones, and whose
// result leaves the graph or is read in float: they join the reals instead.
func (c *calibrator) floatTails() {
	changed := false
	for _, n := range slices.Backward(c.g.Nodes) {
		if r, ok := c.rules[n]; ok && r.join && c.spread(n, r) > tailRatio {
			if tail := c.tail(n); tail != nil {
				changed = true
				for _, m := range tail {
					delete(c.rules, m)
				}
			}
		}
	}
	if changed {
		c.collect()
	}
}

// tail is n with everything that its result goes through on its way to graph
// outputs and float operators; nil when a quantised computation reads it.
func (c *calibrator) tail(n *ir.Node) []*ir.Node {
	nodes := []*ir.Node{n}
	for _, v := range n.Out {
		for _, u := range v.Uses() {
			r, ok := c.rules[u.Node]
			if !ok {
				continue
			}
			if !r.passive {
				return nil
			}
			more := c.tail(u.Node)
			if more == nil {
				return nil
			}
			nodes = append(nodes, more...)
		}
	}
	return nodes
}

// spread is the ratio of the widest range of n's inputs to the narrowest one
// that is not empty.
func (c *calibrator) spread(n *ir.Node, r rule) float64 {
	least, most := math.Inf(1), 0.0
	for _, i := range r.in {
		s := c.stats[n.In[i].ID]
		if s == nil {
			continue
		}
		if w := max(s.hi, 0) - min(s.lo, 0); w > 0 {
			least, most = min(least, w), max(most, w)
		}
	}
	return most / least
}

// share makes the groups of the quantised nodes: first those that kernels
// insist on, then prescribed outputs, then those of one computation at several
// times, then Concat's inputs where sharing does no harm.
func (c *calibrator) share() *groups {
	g := &groups{of: map[*ir.Value]*group{}}
	for _, v := range c.values {
		g.add(v)
	}
	c.each(func(n *ir.Node, r rule) {
		if k := g.of[n.Out[0]]; k != nil && r.fixed != nil {
			k.fixed = cmp.Or(k.fixed, r.fixed)
		}
	})
	c.each(func(n *ir.Node, r rule) {
		wide := c.layer[n].Data == tensor.I16 // 16 bits lose nothing by a wider range
		if !r.share || r.join || r.narrows && !wide && !c.near(n.Out[0], n.In[0], averageRatio) {
			return
		}
		for _, v := range n.Out {
			for _, i := range r.in {
				if n.In[i].Const == nil && c.dataType(n.In[i]) == c.layer[n].Data {
					g.union(v, n.In[i])
				}
			}
		}
	})
	c.shareStates(g)
	c.shareSeries(g)
	c.shareJoins(g)
	return g
}

// each calls f with the quantised nodes, in order.
func (c *calibrator) each(f func(n *ir.Node, r rule)) {
	for _, n := range c.g.Nodes {
		if r, ok := c.rules[n]; ok {
			f(n, r)
		}
	}
}

// shareStates unites what is one state.
func (c *calibrator) shareStates(g *groups) {
	for _, t := range c.opt.StateBindings {
		g.union(c.g.Out[t.Out], c.g.In[t.In])
	}
	c.each(func(n *ir.Node, r rule) { // the outputs of an LSTM are one state
		for _, v := range n.Out[1:] {
			if g.of[n.Out[0]] != nil && v != c.stateResult(n) {
				g.union(n.Out[0], v)
			}
		}
		if r.hidden > 0 && c.dataType(n.In[r.hidden]) == c.layer[n].Data {
			for _, v := range n.Out {
				if v != c.stateResult(n) {
					g.union(v, n.In[r.hidden])
				}
			}
		}
	})
}

// shareSeries unites one computation at several times.
func (c *calibrator) shareSeries(g *groups) {
	steps := map[string]*ir.Value{}
	c.each(func(n *ir.Node, _ rule) {
		if n.Series == "" || len(n.Out) > 1 || g.of[n.Out[0]] == nil {
			return
		}
		key := fmt.Sprint(n.Series, " ", c.dataType(n.Out[0]))
		if steps[key] == nil {
			steps[key] = n.Out[0]
		}
		g.union(steps[key], n.Out[0])
	})
}

// shareJoins unites inputs of a Concat with its result, where that does no harm.
func (c *calibrator) shareJoins(g *groups) {
	c.each(func(n *ir.Node, r rule) {
		if !r.join {
			return
		}
		out := n.Out[0]
		for _, i := range r.in {
			v := n.In[i]
			if v.Const != nil || c.dataType(v) != c.layer[n].Data || c.g.SoleUse(v) != n && !c.near(v, out, bitRatio) ||
				g.fixed(v) != nil && !c.sameFixed(g, n, r) {
				continue
			}
			g.union(out, v)
		}
	})
}

// near reports that the range of wide is at most ratio times that of v.
func (c *calibrator) near(v, wide *ir.Value, ratio float64) bool {
	if c.opt.Bound { // as most trainings have it, by how many elements one is of
		return wide.Type.Elems() <= 64*v.Type.Elems()
	}
	a, b := c.stats[v.ID], c.stats[wide.ID]
	return b.hi-b.lo <= ratio*(a.hi-a.lo)
}

// sameFixed reports that one quantisation is prescribed for all inputs of a
// Concat: only then does its output take it.
func (c *calibrator) sameFixed(g *groups, n *ir.Node, r rule) bool {
	var q *ir.Quant
	for _, i := range r.in {
		v := n.In[i]
		if v.Const != nil {
			return false
		}
		f := g.fixed(v)
		if f == nil || q != nil && !q.Equal(f) {
			return false
		}
		q = f
	}
	return q != nil
}

// originals are the values of a group by which its error is measured: those
// that are no copies of others.
func (k *group) originals(rules map[*ir.Node]rule) []*ir.Value {
	var own []*ir.Value
	for _, v := range k.members {
		if n := v.Def; n != nil {
			if r, ok := rules[n]; ok && r.passive &&
				slices.ContainsFunc(r.in, func(i int) bool { return slices.Contains(k.members, n.In[i]) }) {
				continue
			}
		}
		own = append(own, v)
	}
	if len(own) == 0 {
		return k.members
	}
	return own
}

// bounds is the range of the elements of values, with what a Pad writes.
func (c *calibrator) bounds(vs []*ir.Value) (lo, hi float64) {
	for _, v := range vs {
		s := c.stats[v.ID]
		lo, hi = min(lo, s.lo), max(hi, s.hi)
		if v.Def != nil && v.Def.Op == op.Pad {
			f := padFill(v.Def)
			lo, hi = min(lo, f), max(hi, f)
		}
	}
	if math.IsInf(lo, 0) || math.IsInf(hi, 0) {
		return 0, 0
	}
	return lo, hi
}
