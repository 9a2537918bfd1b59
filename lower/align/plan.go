// SPDX-License-Identifier: Apache-2.0

package align

import (
	"slices"
	"sort"
)

// group is a set of dims that needs tie together, with these needs.
type group struct {
	dims  []*dim
	needs []*need
}

// groups are the connected parts of the dims that needs mention.
func groups(needs []*need) []*group {
	of := map[*dim]*group{}
	var all []*group
	for _, d := range needs {
		var g *group
		for _, t := range d.x.leaves() {
			h := of[t.d]
			switch {
			case h == nil && g == nil:
				g = &group{}
				all = append(all, g)
				fallthrough
			case h == nil:
				g.dims = append(g.dims, t.d)
				of[t.d] = g
			case g == nil:
				g = h
			case h != g: // joined by this need
				for _, x := range h.dims {
					of[x] = g
				}
				g.dims = append(g.dims, h.dims...)
				g.needs = append(g.needs, h.needs...)
				h.dims, h.needs = nil, nil
			}
		}
		if g != nil {
			g.needs = append(g.needs, d)
		}
	}
	all = slices.DeleteFunc(all, func(g *group) bool { return len(g.dims) == 0 })
	for _, g := range all {
		sort.Slice(g.dims, func(i, j int) bool { return g.dims[i].id < g.dims[j].id })
	}
	return all
}

// freeze makes the plan feasible: an axis either reaches its multiple or stays
// as it is. Needs that locked dims keep from being met lock the other dims of
// their axis, until what is left can be met together. It returns the lock that
// holds back each need that will not be met.
func (g *group) freeze() map[*need]Lock {
	held := map[*need]Lock{}
	for {
		open := g.open(held)
		if g.solve(open) {
			return held
		}
		// Take back the needs that a locked dim or a hazard takes part in; where
		// there are none, all that are violated.
		var take []*need
		for _, d := range open {
			if d.unmet() && (d.blocked != nil || d.locked() != nil) {
				take = append(take, d)
			}
		}
		if len(take) == 0 {
			for _, d := range open {
				if d.unmet() {
					take = append(take, d)
				}
			}
		}
		for _, d := range take {
			l := Lock{"infeasible", nodeName(d.n),
				"no padding meets the multiples of all layers that share this dimension"}
			if d.blocked != nil {
				l = *d.blocked
			} else if m := d.locked(); m != nil {
				l = *m
			}
			held[d] = l
			d.x.lock(l)
		}
	}
}

// open are the needs that are still to be met.
func (g *group) open(held map[*need]Lock) []*need {
	var out []*need
	for _, d := range g.needs {
		if _, no := held[d]; no {
			continue
		}
		out = append(out, d)
	}
	return out
}

// locked is the first lock on the axis that bears on the user, nil without.
func (d *need) locked() *Lock {
	var best *Lock
	d.x.each(func(t token) bool {
		if l := t.d.held; l != nil && (best == nil || rank(l.Code) < rank(best.Code)) {
			best = l
		}
		return true
	})
	return best
}

var ranked = []string{"graph-input", "graph-output", "shuffle", "reshape", "hazard"}

// rank puts the locks first that say most.
func rank(code string) int {
	if k := slices.Index(ranked, code); k >= 0 {
		return k
	}
	return len(ranked)
}

// solveSteps bounds the search for the least padding.
const solveSteps = 100_000

// solve finds the least total padding of the free dims that meets all needs;
// false when there is none. The pads are left in the dims.
func (g *group) solve(needs []*need) bool {
	most := 1
	for _, d := range needs {
		if d.blocked != nil && d.unmet() {
			return false
		}
		most = max(most, d.multiple, d.exactly-d.x.size()+1)
	}
	var free []*dim
	for _, d := range g.dims {
		d.pad = 0
		if d.held == nil && d.size > 0 {
			free = append(free, d)
		}
	}
	// due[i] are the needs whose last free dim is free[i]; due[len] those without.
	at := map[*dim]int{}
	for i, d := range free {
		at[d] = i
	}
	due := make([][]*need, len(free)+1)
	for _, d := range needs {
		last := -1
		for _, t := range d.x.leaves() {
			if i, ok := at[t.d]; ok {
				last = max(last, i)
			}
		}
		if last < 0 {
			last = len(free)
		}
		due[last] = append(due[last], d)
	}
	met := func(ds []*need) bool {
		return !slices.ContainsFunc(ds, func(d *need) bool { return !d.met() })
	}
	if !met(due[len(free)]) {
		// A need without a free dim cannot be met; one that holds already must
		// not be counted here.
		return false
	}
	best, bestSum, steps := []int(nil), 0, 0
	var try func(i, sum int)
	try = func(i, sum int) {
		if steps++; steps > solveSteps || best != nil && sum >= bestSum {
			return
		}
		if i == len(free) {
			best, bestSum = make([]int, len(free)), sum
			for k, d := range free {
				best[k] = d.pad
			}
			return
		}
		d := free[i]
		for d.pad = 0; d.pad < most; d.pad++ {
			if met(due[i]) {
				try(i+1, sum+d.pad*d.size)
			}
		}
		d.pad = 0
	}
	try(0, 0)
	if best == nil {
		// Too many to search: each dim to its own multiple meets every need
		// without locked dims.
		best = make([]int, len(free))
		for k, d := range free {
			best[k] = (most - d.size%most) % most
			d.pad = best[k]
		}
		if !met(needs) {
			for _, d := range free {
				d.pad = 0
			}
			return false
		}
	}
	for k, d := range free {
		d.pad = best[k]
	}
	return true
}
