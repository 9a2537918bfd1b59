// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower/cost"
)

// Price is what a layer costs an inference.
type Price = cost.Cost

// Pricer prices node n with the given shapes in place of those of its run-time
// inputs and outputs; absent and constant inputs have none.
type Pricer func(n *ir.Node, in, out [][]int) Price

// worthwhile is how much of what its layers cost together the padding of a group
// must save beyond the error of the model, in mode Auto.
const worthwhile = 0.01

// decide leaves the padding of each group in its dims that pays, one after the other, and takes
// the others' back.
func (a *analysis) decide(groups []*group) {
	pads := lists.Map(groups, func(g *group) []int {
		defer g.set(nil)
		return lists.Map(g.dims, func(d *dim) int { return d.pad })
	})
	touched := a.touched(groups)
	for i, g := range groups {
		switch {
		case a.opt.Price == nil:
			g.why = "costs are unknown"
		case slices.ContainsFunc(g.needs, (*need).violated) && slices.Max(append(pads[i], 0)) > 0:
			a.try(g, pads[i], touched[g])
		}
	}
}

func (g *group) set(pads []int) {
	for i, d := range g.dims {
		if d.pad = 0; pads != nil {
			d.pad = pads[i]
		}
	}
}

// try pads a group, whose dims these nodes have, if that pays.
func (a *analysis) try(g *group, pads []int, nodes []*ir.Node) {
	plain, padded, margin := 0.0, 0.0, 0.0
	for _, n := range nodes {
		before := a.price(n)
		g.set(pads)
		after := a.price(n)
		g.set(nil)
		if after.Unknown != "" {
			g.why = fmt.Sprintf("%s: %s", n.Label(), after.Unknown)
			return
		}
		plain, padded = plain+before.Instructions, padded+after.Instructions
		if after.Instructions != before.Instructions {
			margin += after.Instructions * after.Error
		}
	}
	if plain-padded-margin < worthwhile*plain {
		g.why = fmt.Sprintf("padding would not save anything for certain: %.0f instructions become %.0f, "+
			"give or take %.0f", plain, padded, margin)
		return
	}
	g.set(pads)
	g.gain, g.why = plain-padded, fmt.Sprintf("%.0f instructions become %.0f", plain, padded)
}

func (a *analysis) price(n *ir.Node) Price {
	in := lists.Make(len(n.In), func(i int) []int {
		if v := n.In[i]; v == nil || v.Const != nil {
			return nil
		}
		return paddedShape(a.in(n, i))
	})
	out := lists.Make(len(n.Out), func(i int) []int { return paddedShape(a.out(n, i)) })
	return a.opt.Price(n, in, out)
}

// touched are, for every group, the nodes whose shapes depend on its dims.
func (a *analysis) touched(groups []*group) map[*group][]*ir.Node {
	of := map[*dim]*group{}
	for _, g := range groups {
		for _, d := range g.dims {
			of[d] = g
		}
	}
	out := make(map[*group][]*ir.Node, len(groups))
	if len(of) == 0 {
		return out
	}
	for _, n := range a.g.Nodes {
		note := func(x []axis) {
			for _, y := range x {
				for t := range y.each {
					if g := of[t.d]; g != nil && (len(out[g]) == 0 || out[g][len(out[g])-1] != n) {
						out[g] = append(out[g], n)
					}
				}
			}
		}
		for i, v := range n.In {
			if v != nil && v.Const == nil {
				note(a.in(n, i))
			}
		}
		for i := range n.Out {
			note(a.out(n, i))
		}
	}
	return out
}
