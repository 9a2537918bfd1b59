// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

// analysis knows, for every tensor of a graph, which dims its axes consist of.
// A constant is a tensor of its own at every place where it is read, so that
// sharing a constant ties nothing together.
type analysis struct {
	space
	g      *ir.Graph
	opt    *Options
	values map[*ir.Value][]axis
	consts map[ir.Use][]axis
	fills  map[*ir.Value]fill
	// wants are conditions on what new elements hold, asked at the end.
	wants []want
	// layersOf are the layers with weights on a dim that a need mentions.
	layersOf map[*dim][]layer
	rowOf    map[string]*Row // of Options.Chosen, by its key
}

func analyse(g *ir.Graph, opt *Options) *analysis {
	a := &analysis{g: g, opt: opt, values: map[*ir.Value][]axis{}, consts: map[ir.Use][]axis{},
		fills: map[*ir.Value]fill{}}
	for _, v := range g.In {
		a.values[v] = a.fresh(v)
		for i, x := range a.values[v] {
			if !opt.PadInput || i != channelAxis(v) {
				x.lock(Lock{"graph-input", v.Name,
					fmt.Sprintf("%s is a graph input: its size is part of the model's interface", v)})
			}
		}
	}
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if v != nil && v.Const != nil {
				a.consts[ir.Use{Node: n, Index: i}] = a.fresh(v)
			}
		}
		for _, v := range n.Out {
			a.values[v] = a.fresh(v)
		}
		a.rule(n)
	}
	for i, v := range g.Out {
		for _, x := range a.values[v] {
			x.lock(Lock{"graph-output", g.OutNames[i],
				fmt.Sprintf("%%%s is a graph output: its size is part of the model's interface", g.OutNames[i])})
		}
	}
	a.checkFills()
	for _, v := range g.In { // channels may only be added behind the model's own
		if k := channelAxis(v); opt.PadInput && k >= 0 {
			l := a.values[v][k].leaves()
			l[:len(l)-1].lock(Lock{"graph-input", v.Name,
				fmt.Sprintf("%s is a graph input: only behind its last channel others can be added", v)})
		}
	}
	return a
}

// channelAxis is where a feature map has its channels, -1 without.
func channelAxis(v *ir.Value) int {
	if v.Type.Rank() < 3 {
		return -1
	}
	return 1
}

func (a *analysis) fresh(v *ir.Value) []axis {
	return lists.Map(v.Type.Shape, func(d int) axis { return a.space.axis(d) })
}

// in are the axes of input i, nil when absent.
func (a *analysis) in(n *ir.Node, i int) []axis {
	switch v := n.Input(i); {
	case v == nil:
		return nil
	case v.Const != nil:
		return a.consts[ir.Use{Node: n, Index: i}]
	default:
		return a.values[v]
	}
}

func (a *analysis) out(n *ir.Node, i int) []axis {
	if i >= len(n.Out) {
		return nil
	}
	return a.values[n.Out[i]]
}

// rule applies the meaning of n's operator to the dims of its operands.
func (a *analysis) rule(n *ir.Node) {
	f := rules[n.Op.Name]
	switch {
	case len(n.Body) > 0:
		f = nil
	case f != nil:
	case n.Op.Pattern == ir.Elementwise:
		f = elementwise
	case n.Op.Pattern == ir.Broadcast:
		f = broadcast
	}
	if f == nil {
		a.lockAll(n, "operator", "%s fixes the size of its operands", n.Op.Name)
		return
	}
	f(a, n)
	a.fillOf(n)
}

func (a *analysis) lockAll(n *ir.Node, code, format string, args ...any) {
	locked(lockAt(n, code, format, args...), a.axes(n)...)
}

// lockParams fixes every axis of the operands behind the first.
func (a *analysis) lockParams(n *ir.Node, l Lock) {
	for i := 1; i < len(n.In); i++ {
		locked(l, a.in(n, i)...)
	}
}

// axes are those of all operands and results.
func (a *analysis) axes(n *ir.Node) (out []axis) {
	for i := range n.In {
		out = append(out, a.in(n, i)...)
	}
	for i := range n.Out {
		out = append(out, a.out(n, i)...)
	}
	return out
}

func lockAt(n *ir.Node, code, format string, args ...any) Lock {
	return Lock{code, n.Label(), fmt.Sprintf(format, args...)}
}

func (a *analysis) same(n *ir.Node, x, y axis) { a.unify(x, y, coupling(n)) }

func coupling(n *ir.Node) Lock {
	return Lock{"coupling", n.Label(), n.Op.Name + " joins dimensions that cannot grow together"}
}

func (a *analysis) sameAxes(n *ir.Node, x, y []axis) {
	for i := range x {
		a.same(n, x[i], y[i])
	}
}

// axisOf is the attribute axis, counted from the first dimension of operand 0.
func axisOf(n *ir.Node) int {
	return bug.Must(op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, n.In[0].Type.Rank()))
}
