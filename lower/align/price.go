// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/cost"
)

// Price is what a layer costs an inference.
type Price = cost.Cost

// Pricer prices node n with the given shapes in place of those of its run-time
// inputs and outputs; absent and constant inputs have none.
type Pricer func(n *ir.Node, in, out [][]int) Price

// Thresholds of mode Auto. A layer may change its price only downwards by more
// than its model's error, or not at all; a group must save so much of what its
// layers cost together.
const (
	sameWithin = 0.0005
	worthwhile = 0.01
)

// optimiser chooses the padding of all groups for the least price: group by
// group, until no change helps. Layers are compared with what they cost in the
// original model, so that a layer that has won by its inputs may spend some of
// that on its outputs.
type optimiser struct {
	a      *analysis
	groups []*group
	touch  map[*group][]*ir.Node
	base   map[*ir.Node]Price
	chosen map[*group][]int
	why    map[*group]string
}

// optimise leaves the chosen padding in the dims.
func (a *analysis) optimise(groups []*group, held map[*group]map[*need]Lock) *optimiser {
	o := &optimiser{a: a, groups: groups, base: map[*ir.Node]Price{}, chosen: map[*group][]int{},
		why: map[*group]string{}}
	options := map[*group][][]int{}
	for _, g := range groups {
		if slices.ContainsFunc(g.needs, func(d *need) bool { return d.violated() }) {
			options[g] = g.options(held[g])
		}
		g.clear()
	}
	o.touch = a.touched(groups)
	for _, g := range groups {
		for _, n := range o.touch[g] {
			if _, ok := o.base[n]; !ok {
				o.base[n] = a.price(n)
			}
		}
	}
	for sweep := 0; sweep < 8; sweep++ {
		moved := false
		for _, g := range groups {
			moved = o.improve(g, options[g]) || moved
		}
		if !moved {
			break
		}
	}
	return o
}

func (g *group) clear() {
	for _, d := range g.dims {
		d.pad = 0
	}
}

// options are the paddings of a group that are tried: what the needs ask for,
// and, for a group of one free dim, the next multiples of 2, 8 and 16, too.
func (g *group) options(held map[*need]Lock) [][]int {
	var out [][]int
	add := func() {
		pads, padded := make([]int, len(g.dims)), false
		for i, d := range g.dims {
			pads[i] = d.pad
			padded = padded || d.pad > 0
		}
		if padded {
			out = append(out, pads)
		}
	}
	g.solve(g.open(held))
	add()
	var free []*dim
	for _, d := range g.dims {
		if d.held == nil {
			free = append(free, d)
		}
	}
	if len(free) == 1 && len(g.dims) == 1 {
		for _, m := range []int{2, 8, 16} {
			if d := free[0]; d.size%m != 0 {
				d.pad = m - d.size%m
				add()
			}
		}
	}
	return out
}

// improve tries the options of one group with the others as they are.
func (o *optimiser) improve(g *group, options [][]int) bool {
	now := make([]int, len(g.dims))
	for i, d := range g.dims {
		now[i] = d.pad
	}
	before, _ := o.total(g)
	g.clear()
	plain, _ := o.total(g)
	best, bestTotal := now, before
	reason, reasonTotal := "", math.Inf(1)
	for _, pads := range options {
		for i, d := range g.dims {
			d.pad = pads[i]
		}
		total, why := o.total(g)
		if why == "" && plain-total < worthwhile*plain {
			why = fmt.Sprintf("padding would not save anything: %.0f instructions become %.0f", plain, total)
		}
		if why == "" && total < bestTotal {
			best, bestTotal = pads, total
		} else if why != "" && (reason == "" || total < reasonTotal) {
			reason, reasonTotal = why, total
		}
	}
	for i, d := range g.dims {
		d.pad = best[i]
	}
	if o.why[g] == "" || reason != "" {
		o.why[g] = reason
	}
	return bestTotal < before
}

// total is what the layers of a group cost with the padding as it stands; why
// says what speaks against it.
func (o *optimiser) total(g *group) (sum float64, why string) {
	for _, n := range o.touch[g] {
		b, p := o.base[n], o.a.price(n)
		if !o.a.grows(n) {
			sum += b.Instructions
			continue
		}
		switch {
		case p.Unknown != "":
			return math.Inf(1), fmt.Sprintf("%s: %s", nodeName(n), p.Unknown)
		case math.Abs(p.Instructions-b.Instructions) <= sameWithin*b.Instructions:
		case p.Instructions > b.Instructions*(1-p.Error) && why == "":
			if p.Instructions > b.Instructions {
				why = fmt.Sprintf("%s would be slower: %.0f instructions become %.0f (%s)", nodeName(n), b.Instructions,
					p.Instructions, p.Kernel)
			} else {
				why = fmt.Sprintf("%s would not be faster for certain: %.0f instructions become %.0f, known to %.1f "+
					"%% (%s)", nodeName(n), b.Instructions, p.Instructions, 100*p.Error, p.Kernel)
			}
		}
		sum += p.Instructions
	}
	return sum, why
}

// price asks for n with the padding as it stands.
func (a *analysis) price(n *ir.Node) Price {
	var in, out [][]int
	for i, v := range n.In {
		if v == nil || v.Const != nil {
			in = append(in, nil)
			continue
		}
		in = append(in, paddedShape(a.in(n, i)))
	}
	for i := range n.Out {
		out = append(out, paddedShape(a.out(n, i)))
	}
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
				y.each(func(t token) bool {
					if g := of[t.d]; g != nil && (len(out[g]) == 0 || out[g][len(out[g])-1] != n) {
						out[g] = append(out[g], n)
					}
					return true
				})
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

// maxRoutes bounds how many layers a row names that get other kernels.
const maxRoutes = 32

// gain is what the group's padding saves, and how.
func (o *optimiser) gain(g *group) (float64, string) {
	with, _ := o.total(g)
	pads := make([]int, len(g.dims))
	for i, d := range g.dims {
		pads[i] = d.pad
		d.pad = 0
	}
	without, _ := o.total(g)
	routes := map[*ir.Node]string{}
	for _, n := range o.touch[g] {
		routes[n] = o.a.price(n).Kernel
	}
	for i, d := range g.dims {
		d.pad = pads[i]
	}
	why, more := fmt.Sprintf("%.0f instructions become %.0f", without, with), 0
	for _, n := range o.touch[g] {
		k := o.a.price(n).Kernel
		switch {
		case k == routes[n]:
		case more < maxRoutes:
			why += fmt.Sprintf("; %s: %s instead of %s", nodeName(n), k, routes[n])
			more++
		default:
			more++
		}
	}
	if more > maxRoutes {
		why += fmt.Sprintf("; and %d more", more-maxRoutes)
	}
	return without - with, why
}
