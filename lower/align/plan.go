// SPDX-License-Identifier: Apache-2.0

package align

import "slices"

// group is a set of dims that needs tie together, with these needs.
type group struct {
	dims  []*dim
	needs []*need
	held  map[*need]Lock // what holds back each need that is not met
	gain  float64        // what the padding saves
	why   string         // how, or why it has none; "" where prices were not asked
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
		slices.SortFunc(g.dims, func(x, y *dim) int { return x.id - y.id })
	}
	return all
}

// freeze makes the plan feasible: an axis either reaches its multiple or stays
// as it is. Needs that locked dims keep from being met lock the other dims of
// their axis, until what is left can be met together.
func (g *group) freeze() {
	g.held = map[*need]Lock{}
	for {
		open := slices.DeleteFunc(slices.Clone(g.needs), func(d *need) bool { _, no := g.held[d]; return no })
		if g.solve(open) {
			return
		}
		// Take back the needs that a locked dim or a hazard takes part in; where
		// there are none, all that are violated.
		open = slices.DeleteFunc(open, func(d *need) bool { return !d.unmet() })
		take := slices.DeleteFunc(slices.Clone(open), func(d *need) bool {
			return d.blocked == nil && d.locked() == nil
		})
		if len(take) == 0 {
			take = open
		}
		for _, d := range take {
			l := Lock{"infeasible", d.n.Label(),
				"no padding meets the multiples of all layers that share this dimension"}
			if d.blocked != nil {
				l = *d.blocked
			} else if m := d.locked(); m != nil {
				l = *m
			}
			g.held[d] = l
			d.x.lock(l)
		}
	}
}

// locked is the first lock on the axis that bears on the user, nil without.
func (d *need) locked() *Lock {
	var best *Lock
	for t := range d.x.each {
		if l := t.d.held; l != nil && (best == nil || rank(l.Code) < rank(best.Code)) {
			best = l
		}
	}
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

// solver looks for the least padding of the free dims of a group.
type solver struct {
	free    []*dim
	due     [][]*need // by free dim: the needs of which it is the last; behind all, those without
	most    int       // pads are below it
	steps   int
	best    []int // pads of the free dims; nil: none was found
	bestSum int
}

// newSolver takes all pads back.
func newSolver(g *group, needs []*need) *solver {
	s, at := &solver{most: 1}, map[*dim]int{}
	for _, d := range g.dims {
		if d.pad = 0; d.held == nil && d.size > 0 {
			at[d] = len(s.free)
			s.free = append(s.free, d)
		}
	}
	s.due = make([][]*need, len(s.free)+1)
	for _, d := range needs {
		s.most = max(s.most, d.multiple, d.exactly-d.x.size()+1)
		last := -1
		for _, t := range d.x.leaves() {
			if i, ok := at[t.d]; ok {
				last = max(last, i)
			}
		}
		if last < 0 {
			last = len(s.free)
		}
		s.due[last] = append(s.due[last], d)
	}
	return s
}

func met(ds []*need) bool {
	return !slices.ContainsFunc(ds, func(d *need) bool { return !d.met() })
}

// try goes over the pads of the free dims from i on; sum is what those before cost.
func (s *solver) try(i, sum int) {
	if s.steps++; s.steps > solveSteps || s.best != nil && sum >= s.bestSum {
		return
	}
	if i == len(s.free) {
		s.best, s.bestSum = make([]int, len(s.free)), sum
		for k, d := range s.free {
			s.best[k] = d.pad
		}
		return
	}
	d := s.free[i]
	for d.pad = 0; d.pad < s.most; d.pad++ {
		if met(s.due[i]) {
			s.try(i+1, sum+d.pad*d.size)
		}
	}
	d.pad = 0
}

// solve finds the least total padding of the free dims that meets all needs;
// false when there is none. The pads are left in the dims.
func (g *group) solve(needs []*need) bool {
	if slices.ContainsFunc(needs, func(d *need) bool { return d.blocked != nil && d.unmet() }) {
		return false
	}
	s := newSolver(g, needs)
	if !met(s.due[len(s.free)]) { // a need without a free dim cannot be met
		return false
	}
	s.try(0, 0)
	for k, d := range s.free {
		// Too many to search: each dim to its own multiple meets every need
		// without locked dims.
		if d.pad = (s.most - d.size%s.most) % s.most; s.best != nil {
			d.pad = s.best[k]
		}
	}
	if s.best == nil && !met(needs) {
		for _, d := range s.free {
			d.pad = 0
		}
		return false
	}
	return true
}
