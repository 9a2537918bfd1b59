// SPDX-License-Identifier: Apache-2.0

package align

import (
	"fmt"
	"math"
	"slices"
	"strings"

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

// verdict is what the padding of a group saves, and how, or why it has none.
type verdict struct {
	gain float64
	why  string
}

// decide leaves the padding of each group in its dims that pays, one after the other, and takes
// the others' back.
func (a *analysis) decide(groups []*group) map[*group]verdict {
	pads := map[*group][]int{}
	for _, g := range groups {
		if slices.ContainsFunc(g.needs, func(d *need) bool { return d.violated() }) {
			pads[g] = g.pads()
		}
		g.set(nil)
	}
	touched, out := a.touched(groups), map[*group]verdict{}
	for _, g := range groups {
		if slices.ContainsFunc(pads[g], func(n int) bool { return n > 0 }) {
			out[g] = a.try(g, pads[g], touched[g])
		}
	}
	return out
}

// pads are the group's as they are.
func (g *group) pads() []int {
	var out []int
	for _, d := range g.dims {
		out = append(out, d.pad)
	}
	return out
}

// set pads the group's dims, or not at all.
func (g *group) set(pads []int) {
	for i, d := range g.dims {
		if d.pad = 0; pads != nil {
			d.pad = pads[i]
		}
	}
}

// try pads a group, whose dims these nodes have, if that pays.
func (a *analysis) try(g *group, pads []int, nodes []*ir.Node) verdict {
	plain, padded, why, routes := 0.0, 0.0, "", []string(nil)
	for _, n := range nodes {
		g.set(nil)
		before := a.price(n)
		g.set(pads)
		after := before
		if a.grows(n) {
			after = a.price(n)
			if why == "" {
				why = worse(n, &before, &after)
			}
		}
		plain, padded = plain+before.Instructions, padded+after.Instructions
		if after.Kernel != before.Kernel {
			routes = append(routes, fmt.Sprintf("; %s: %s instead of %s", nodeName(n), after.Kernel, before.Kernel))
		}
	}
	if why == "" && plain-padded < worthwhile*plain {
		why = fmt.Sprintf("padding would not save anything: %.0f instructions become %.0f", plain, padded)
	}
	if why != "" {
		g.set(nil)
		return verdict{0, why}
	}
	why = fmt.Sprintf("%.0f instructions become %.0f", plain, padded)
	if more := len(routes) - maxRoutes; more > 0 {
		routes = append(routes[:maxRoutes], fmt.Sprintf("; and %d more", more))
	}
	return verdict{plain - padded, why + strings.Join(routes, "")}
}

// maxRoutes bounds how many layers a row names that get other kernels.
const maxRoutes = 32

// worse says what speaks against new shapes of a layer, "" for nothing.
func worse(n *ir.Node, before, after *Price) string {
	b, p := before.Instructions, after.Instructions
	switch {
	case after.Unknown != "":
		return fmt.Sprintf("%s: %s", nodeName(n), after.Unknown)
	case math.Abs(p-b) <= sameWithin*b || p <= b*(1-after.Error):
		return ""
	case p > b:
		return fmt.Sprintf("%s would be slower: %.0f instructions become %.0f (%s)", nodeName(n), b, p, after.Kernel)
	}
	return fmt.Sprintf("%s would not be faster for certain: %.0f instructions become %.0f, known to %.1f %% (%s)",
		nodeName(n), b, p, 100*after.Error, after.Kernel)
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
