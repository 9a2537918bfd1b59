// SPDX-License-Identifier: Apache-2.0

// Package schedule turns a lowered graph into a program: steps in the order
// that needs the least memory, and an offset in one arena for every value.
package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule/plan"
)

// maxTrials bounds how many concats and splits are tried one by one, and
// maxTrialNodes in graphs of which size: each trial plans the whole program.
const (
	maxTrials     = 12
	maxTrialNodes = 400
)

// Effort bounds the searches for a small arena.
type Effort int64

// Efforts, in plan's units of work. With more effort the arena is as large or
// smaller.
const (
	Short  Effort = 1 << 18
	Medium Effort = 1 << 21
	Full   Effort = plan.DefaultBudget
)

// Build orders the nodes of g, decides which operands share storage, and
// places everything. low has an entry per node.
//
// Concats and splits that are views save copies, but keep their whole storage
// alive for longer, and its parts cannot be overwritten in place. So they are
// views except where a copy makes the arena smaller.
//
// states are the outputs that a run hands to the next one as inputs.
func Build(g *ir.Graph, low map[*ir.Node]*call.Lowered, states ...StateBinding) (*Result, error) {
	return BuildFor(Goal{Effort: Full}, g, low, states...)
}

// Goal is what BuildFor looks for.
type Goal struct {
	Effort
	Draft bool // the bytes of the arena alone: nodes may take longer
	// Share of the bytes that copies move by which they have to make the arena smaller: what could be a view stays
	// one otherwise.
	Share float64
	Known *Result // of the same calls, or nil: what was looked at for it is not looked at again
	Plans Plans   // of other calls that need the same memory; nil: none are kept
}

// Plans are what was found, by all that it depends on.
type Plans map[string]planned

type planned struct {
	order   []int // of the builder's nodes
	buffers []plan.Buffer
	plan    plan.Result
	optimal bool // no other order has a smaller bound
}

// BuildFor is Build with another goal.
func BuildFor(goal Goal, g *ir.Graph, low map[*ir.Node]*call.Lowered, states ...StateBinding) (*Result, error) {
	s := &search{g: g, low: low, states: states, effort: goal.Effort, share: goal.Share, copied: map[*ir.Node]bool{},
		plans: goal.Plans, known: map[string]*arrangement{}}
	if goal.Known != nil {
		s.known = goal.Known.known
	}
	best := *s.run()
	if !goal.Draft {
		best.buffers, best.plan = plan.Faster(best.buffers, best.plan, int64(goal.Effort))
	}
	r, err := best.result(states)
	if err != nil {
		return nil, err
	}
	r.known = s.known
	return r, r.Program.Verify()
}

// search looks for the arrangement with the smallest arena.
type search struct {
	g      *ir.Graph
	low    map[*ir.Node]*call.Lowered
	states []StateBinding
	effort Effort
	share  float64
	copied map[*ir.Node]bool // that could be views and are not
	handed bool              // new state is copied at the end of a run, all of it
	pools  *Pools            // nil: one arena
	below  int64             // bytes of arenas that are of no use; 0: none
	known  map[string]*arrangement
	plans  Plans
}

// run is the best arrangement. Writing new state in place saves a copy, but
// makes steps wait for those that read the old one: where that makes the arena
// larger, it is copied.
func (s *search) run() *arrangement {
	best := s.views()
	if len(best.inPlace) == 0 {
		return best
	}
	s.handed = true
	clear(s.copied)
	if a := s.views(); a.better(best) {
		return a
	}
	return best
}

// views looks for the concats and splits that should be views.
func (s *search) views() *arrangement {
	s.below = 0
	best := s.try()
	s.below = int64(best.bytes()) + program.Align
	views := lists.Filter(s.g.Nodes, func(n *ir.Node) bool { return best.silent[n] && len(s.low[n].Parts) > 0 })
	if len(views) == 0 {
		return best
	}
	for _, n := range views {
		s.copied[n] = true
	}
	a := s.try()
	if gained := float64(best.bytes() - a.bytes()); s.share > 0 && gained < s.share*moved(views) {
		clear(s.copied)
		return best
	}
	same := !a.better(best) && !best.better(a)
	if a.better(best) {
		best = a
	} else {
		clear(s.copied)
	}
	if same || s.effort != Full || len(views) == 1 || len(views) > maxTrials || len(s.g.Nodes) > maxTrialNodes {
		return best
	}
	return s.oneByOne(best, views)
}

// moved is the bytes that nodes copy.
func moved(list []*ir.Node) float64 {
	return float64(lists.Sum(list, func(n *ir.Node) int { return n.Out[0].Type.Bytes() }))
}

// oneByOne looks at each view by itself; with all copied, going back to one is
// worth it where it costs nothing.
func (s *search) oneByOne(best *arrangement, views []*ir.Node) *arrangement {
	for _, n := range views {
		was := s.copied[n]
		s.copied[n] = !was
		if a := s.try(); a.better(best) || was && !best.better(a) {
			best = a
		} else {
			s.copied[n] = was
		}
	}
	return best
}

// try is the smallest arrangement with the present copies. An order with a lower
// peak can be harder to pack: what less effort finds may be smaller.
func (s *search) try() *arrangement {
	best := s.arrange(s.effort)
	for _, e := range []Effort{Medium, Short} {
		if s.effort < Full || best.settled() {
			continue
		}
		if a := s.arrange(e); a.better(best) {
			best = a
		}
	}
	return best
}

// settled reports that less effort finds nothing better.
func (a *arrangement) settled() bool {
	if a.parts != nil {
		return a.parts.Fits
	}
	return a.optimal && a.bytes() == int(a.plan.OverlapBound)
}

// arrangement is an order of the steps and a place for every buffer.
type arrangement struct {
	*builder
	planned
	pools *Pools
	parts *plan.Parts // in the pools; nil: one arena
}

func (a *arrangement) bytes() int { return max(int(a.plan.Total), program.Align) }

// arrange is the arrangement that some effort finds. It is found once.
func (s *search) arrange(effort Effort) *arrangement {
	key := fmt.Sprint(effort, s.handed, s.below)
	for i, n := range s.g.Nodes {
		if s.copied[n] {
			key += fmt.Sprint(" ", i)
		}
	}
	if s.known[key] == nil {
		s.known[key] = s.newArrangement(effort)
	}
	return s.known[key]
}

func (s *search) newArrangement(effort Effort) *arrangement {
	b := newBuilder(s.g, s.low, func(n *ir.Node) bool { return !s.copied[n] })
	b.keep(s.states)
	b.alias()
	nodes := b.steps()
	if !s.handed {
		nodes = b.writeInPlace(nodes, s.states)
	}
	for _, x := range s.states {
		if !b.inPlace[x.In] {
			b.values[b.index[x.In]].Output = true
		}
	}
	a := &arrangement{builder: b, pools: s.pools}
	if s.pools != nil {
		a.divide(nodes, b.inArena(), int64(effort))
		return a
	}
	key, ok, values := "", false, b.inArena()
	if s.plans != nil {
		key = fmt.Sprint(nodes, values, effort, s.below)
		a.planned, ok = s.plans[key]
	}
	if !ok {
		var stats plan.Stats
		a.order, a.buffers, a.plan, stats = plan.Schedule(nodes, values, int64(effort), s.below)
		a.optimal = stats.Optimal
	}
	if s.plans != nil {
		s.plans[key] = a.planned
	}
	return a
}
