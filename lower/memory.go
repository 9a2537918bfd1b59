// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/patch"
	"github.com/nncc/nncc/schedule"
)

// TiledStage is how stretches of layers run a few rows at a time.
type TiledStage struct {
	Chains     []Chain
	Turned     []string // inputs that become channels last where they lie
	Calls      int      // that they take, with copies of rows that are read again
	Copied     int      // bytes of these rows
	ArenaBytes int      // with chains
	WholeBytes int      // without
	Work       float64  // predicted instructions of the program, to compare with others
	WholeWork  float64  // without chains
}

// Point is a program that was looked at: MaxRAM as large as RAMBytes gives it, with the same goal and kernels.
type Point struct {
	ArenaBytes, RAMBytes int
	Work                 float64 // predicted instructions
	Optimize             option.Optimize
	Kernels              option.Kernels
}

// Frontier are the points that need less memory than all with less work.
func Frontier(list []Point) (out []Point) {
	lists.Sort(list, func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Work, b.Work),
			a.RAMBytes-b.RAMBytes)
	})
	for _, p := range list {
		if n := len(out); n == 0 || p.RAMBytes < out[n-1].RAMBytes {
			out = append(out, p)
		}
	}
	return out
}

// Chain is layers that run a few rows at a time.
type Chain struct {
	Name          string // of its calls in the graph and the program
	Nodes         []string
	Rows, Stripes int  // of the first one in a stripe
	Heads         bool // rows are heads of attention
	MACs          int64
}

// maxTries bounds the plans that are looked at. The smallest ones are planned with
// more effort, the smallest of those with all.
const (
	maxTries  = 64
	maxMedium = 8
	maxFull   = 4
)

// Without --max-ram a program takes plans of little work only, and few are looked at.
const (
	freeWork = 0.008 // predicted instructions more
	// Speed that was bought with scratch pays for RAM: so much of it.
	scratchShare = 0.1
	copyShare    = 0.25 // of what copies move has to be gained
	freeTries    = 3
	freeVariants = 4   // of the best one, as long as they are better
	leastGain    = 512 // bytes, and 1/leastPart of the arena
	leastPart    = 32
	// Chips have a fourth to an eighth of their flash as RAM: who has room for so many times
	// what is gained has RAM enough.
	leastShare = 256
	callBytes  = 32 // of RAM are worth the code of a call and its parameters
	// worthWork is how many times the instructions of the fastest program the least that is named may take: less
	// memory than that is for who asks for so much of it.
	worthWork = 1.1
)

// trial is a plan and what it comes to.
type trial struct {
	plan   patch.Plan
	effort schedule.Effort // that it deserves
	spent  schedule.Effort // that arena was found with
	ram    int             // bytes of arena and state
	bound  int             // of them, for the order of its steps
	proven bool            // no order has less, nor is there a smaller arena
	work   float64         // predicted instructions
	share  float64         // of what copies move that they have to gain
}

// code is what the calls are worth in bytes of RAM.
func (t *trial) code() int { return t.plan.Calls * callBytes }

// search are the trials for one graph.
type search struct {
	whole  *State // the program without chains
	start  *State // before the stages that chains change
	rows   []*Stage
	prices patch.Prices
	made   *State  // the program of the best trial, where that was kept
	most   float64 // predicted instructions of a program
	trials []*trial
}

// searchArena looks for the program with the least work that stays below MaxRAM, when
// the program as it is does not; without MaxRAM, for the smallest that takes little more
// work.
//
// Which programs there are, and how many bytes each of them needs, does not
// depend on MaxRAM: one that is found for some budget is found for every
// budget that has room for it, and with a larger one nothing is slower. Where
// nothing fits, the smallest arena stays, and the gate reports it.
func (s *State) searchArena(rows []*Stage) (*State, error) {
	start := s.fork()
	start.facts.Tiled = true
	s, err := s.walk(rows)
	if err != nil || s.facts.MaxRAM > 0 && s.Program.RAMBytes() <= s.facts.MaxRAM {
		return s, err
	}
	patch.Hoist(start.Graph)
	f := &search{whole: s, start: start, rows: rows, prices: s.prices(start.Graph)}
	look := f.free
	if s.facts.MaxRAM > 0 {
		look = f.fits
	}
	best, err := look()
	s.Frontier = f.frontier(&s.facts)
	if s.facts.MaxRAM > 0 {
		s.Tried = 1 + len(f.trials)
	}
	whole := &trial{ram: s.Program.RAMBytes(), work: s.work()}
	if err != nil || best == nil || best.ram > s.facts.MaxRAM && f.compare(best, whole) >= 0 {
		return s, err
	}
	x := f.chained(best)
	x.Tried, x.Frontier, x.log = s.Tried, s.Frontier, s.log
	if x, err = f.settle(x, best); err != nil {
		return x, err
	}
	x.Tiled = &TiledStage{Turned: best.plan.Turned, Calls: best.plan.Calls, Copied: best.plan.Copied,
		WholeBytes: s.Program.ArenaBytes,
		ArenaBytes: x.Program.ArenaBytes, Work: best.work, WholeWork: s.work()}
	for _, c := range best.plan.Chains {
		nodes := f.start.Graph.Nodes[c.From:c.To]
		t := Chain{Name: patch.Name(nodes), Rows: c.Rows, Stripes: c.Stripes, Heads: c.Heads}
		for _, n := range nodes {
			t.Nodes = append(t.Nodes, n.Name)
			if n.Op.MACs != nil {
				t.MACs += n.Op.MACs(n)
			}
		}
		x.Tiled.Chains = append(x.Tiled.Chains, t)
	}
	return x, nil
}

// free is the smallest of the plans that take little more work than whole layers, nil
// where there is none that is worth it.
func (s *search) free() (best *trial, err error) {
	defer fail.Catch(&err)
	ram := s.whole.Program.RAMBytes()
	constants := 0
	for i := range s.whole.Program.Consts {
		constants += s.whole.Program.Consts[i].Bytes()
	}
	least := max(leastGain, ram/leastPart, constants/leastShare)
	s.most = s.whole.work() + freeWork*(s.whole.work()+s.whole.unpriced()) + scratchShare*s.whole.bought()
	s.prices.Most = s.most - s.whole.work()
	plans := s.candidates(maxTries)
	lists.Sort(plans, func(a, b patch.Plan) int {
		return a.Peak - b.Peak + (a.Calls-b.Calls)*callBytes
	})
	try := func(p patch.Plan) {
		t := &trial{plan: p, effort: schedule.Medium}
		if best != nil && p.Peak-p.Peak/16+t.code() >= best.ram+best.code() || p.Peak > ram-least ||
			slices.ContainsFunc(s.trials, func(o *trial) bool { return o.plan.Serves(p) }) {
			return
		}
		x := fail.Must(s.plan(t, t.effort))
		if t.work > s.most { // too many copies
			t = &trial{plan: p, effort: t.effort, share: copyShare}
			x.share = t.share
			fail.Must(x.run(s.rows[len(s.rows)-1]))
			s.measure(t, x)
		}
		if t.work <= s.most && t.ram+t.code() <= ram-least && (best == nil || t.ram+t.code() < best.ram+best.code()) {
			best, s.made = t, x
		}
	}
	for _, p := range plans[:min(len(plans), freeTries)] {
		try(p)
	}
	for was := (*trial)(nil); best != was; {
		was = best
		plans = patch.Variants(s.start.Graph, s.start.facts.NativeIO, s.prices, best.plan)
		for _, p := range plans[:min(len(plans), freeVariants)] {
			try(p)
		}
	}
	return best, nil
}

// frontier are the trials that need less memory than all with less work.
func (s *search) frontier(f *Facts) []Point {
	p := s.whole.Program
	list := []Point{{p.ArenaBytes, p.RAMBytes(), s.whole.work(), f.Optimize, f.Target.Kernels}}
	for _, t := range s.trials {
		list = append(list, Point{t.ram - p.StateBytes, t.ram, t.work, f.Optimize, f.Target.Kernels})
	}
	return Frontier(list)
}

// below is the program, and the points that need less memory.
func (s *State) below(list []Point) []Point {
	p := Point{s.Program.ArenaBytes, s.Program.RAMBytes(), s.Predicted(), s.facts.Optimize, s.facts.Target.Kernels}
	return Frontier(append(slices.DeleteFunc(list, func(x Point) bool { return x.RAMBytes >= p.RAMBytes }), p))
}

// settle makes the program of a trial with the effort that it deserves. More effort may
// give up views: where that is worse, with the effort of the trial.
func (s *search) settle(x *State, t *trial) (_ *State, err error) {
	defer fail.Catch(&err)
	last := len(s.rows) - 1
	if s.made != nil && (x.log == nil || x.log.observe == nil) { // nobody would see the stages again
		s.made.Tried, s.made.Frontier, s.made.log = x.Tried, x.Frontier, x.log
		x = s.made
	} else {
		x = fail.Must(x.walk(s.rows[:last]))
	}
	if x == s.made && x.Effort == t.effort && !x.draft { // that is what it takes
		return x, x.observed(s.rows[last], 0)
	}
	was := *t
	x.Effort, x.draft = t.effort, false
	took := fail.Must(x.run(s.rows[last]))
	if s.measure(t, x); t.ram > was.ram || t.work > s.most && was.work <= s.most {
		*t, x.Effort = was, was.spent
		took = fail.Must(x.run(s.rows[last]))
	}
	return x, x.observed(s.rows[last], took)
}

func (s *search) candidates(most int) []patch.Plan {
	return patch.Candidates(s.start.Graph, s.start.facts.NativeIO, s.prices, most)
}

// near are the plans whose account is not far above MaxRAM, or above the least one, or the least one that is worth it:
// no other can be expected to fit. A larger budget has all of a smaller one.
func (s *search) near() []patch.Plan {
	list, least, most := s.candidates(maxTries), math.MaxInt, math.MaxInt
	worth := func(p *patch.Plan) bool { return s.whole.worth(s.whole.work() + p.Extra) }
	for i := range list {
		if least = min(least, list[i].Peak); worth(&list[i]) {
			most = min(most, list[i].Peak)
		}
	}
	return slices.DeleteFunc(list, func(p patch.Plan) bool {
		n := p.Peak - p.Peak/5
		return n > max(least, s.start.facts.MaxRAM) && (n > most || !worth(&p))
	})
}

// fits is the plan with the least work below MaxRAM, else the smallest.
func (s *search) fits() (best *trial, err error) {
	defer fail.Catch(&err)
	plans := s.near()
	if n := s.start.facts.MaxTries; n > 0 {
		plans = s.candidates(n)
	}
	first := schedule.Short
	if len(plans) <= maxMedium {
		first = schedule.Medium
	}
	for _, p := range plans {
		fail.Must(s.plan(&trial{plan: p, effort: first}, first))
	}
	for k, most := range []int{maxMedium, maxFull} {
		for _, order := range []func(a, b *trial) int{smaller, s.compare} {
			slices.SortStableFunc(s.trials, order)
			for _, t := range s.trials[:min(len(s.trials), most)] {
				if t.effort = []schedule.Effort{schedule.Medium, schedule.Full}[k]; k == 0 && t.spent < t.effort {
					fail.Must(s.plan(t, t.effort)) // Full when it matters
				}
			}
		}
	}
	slices.SortStableFunc(s.trials, func(a, b *trial) int {
		return cmp.Or(cmp.Compare(a.work, b.work), cmp.Compare(a.ram, b.ram))
	})
	return s.first(), nil
}

// smaller says which of two trials needs less memory; compare prefers those that are worth it.
func smaller(a, b *trial) int { return cmp.Or(cmp.Compare(a.ram, b.ram), cmp.Compare(a.work, b.work)) }

func (s *search) compare(a, b *trial) int {
	switch worth := s.whole.worth(a.work); {
	case worth == s.whole.worth(b.work):
		return smaller(a, b)
	case worth:
		return -1
	}
	return 1
}

// first is the first trial that fits, else the smallest that is worth it. More effort is for those whose bound fits,
// and that one.
func (s *search) first() (best *trial) {
	if len(s.trials) == 0 {
		return nil
	}
	most := s.start.facts.MaxRAM
	worth := slices.MinFunc(s.trials, s.compare)
	for _, t := range s.trials {
		var made *State
		if t.ram > most && t.spent < t.effort && (t.bound <= most || t == worth && !t.proven) {
			made = fail.Must(s.plan(t, t.effort))
		}
		if best == nil || t.ram <= most || s.compare(t, best) < 0 {
			best, s.made = t, made
		}
		if t.ram <= most {
			break
		}
	}
	return best
}

func (s *search) plan(t *trial, effort schedule.Effort) (*State, error) {
	x := s.chained(t)
	x.Effort, x.draft = effort, effort < schedule.Full
	x, err := x.walk(s.rows)
	if err != nil && x.draft { // with the graph before the stage, which no draft keeps
		x = s.chained(t)
		x, err = x.walk(s.rows)
	}
	if err != nil {
		return nil, err
	}
	s.measure(t, x)
	return x, nil
}

// measure is what a trial comes to in program x.
func (s *search) measure(t *trial, x *State) {
	if t.spent == 0 {
		s.trials = append(s.trials, t)
	}
	target := x.options().CostTarget()
	t.ram, t.spent = x.Program.RAMBytes(), x.Effort
	t.bound = t.ram - x.Program.ArenaBytes + x.Program.OverlapBound
	t.proven = t.ram == t.bound && x.Program.PeakOptimal
	t.work = s.whole.work() + t.plan.Extra + x.joined(target) - s.whole.joined(target)
}

// chained is the state from which a trial's program is made.
func (s *search) chained(t *trial) *State {
	x := s.start.fork()
	x.tile, x.share = &t.plan, t.share
	return x
}

func (s *State) applyTiles() { fail.Check(patch.Apply(s.Graph, *s.tile, s.facts.NativeIO)) }

// Predicted is what the program is expected to execute, with its chains.
func (r *Result) Predicted() float64 {
	if r.Tiled != nil {
		return r.Tiled.Work
	}
	return r.work()
}

// Worth reports a program whose memory is worth its instructions (worthWork).
func (r *Result) Worth() bool { return r.worth(r.Predicted()) }

func (r *Result) worth(work float64) bool { return r.Fastest == 0 || work <= worthWork*r.Fastest }

// work is what the program is predicted to execute with whole layers.
func (r *Result) work() (sum float64) {
	for _, n := range r.Graph.Nodes {
		for _, x := range r.Candidates[n] {
			if x.Chosen {
				sum += x.Price.Instructions
			}
		}
	}
	return sum
}

// unpriced is the least that layers without a price can be expected to execute.
func (r *Result) unpriced() (sum float64) {
	for n, list := range r.Candidates {
		for _, x := range list {
			if !x.Chosen || x.Price.Instructions > 0 || r.Low[n].View {
				continue
			}
			if sum += float64(n.Out[0].Type.Elems()); n.Op.MACs != nil {
				sum += float64(n.Op.MACs(n)) / 2
			}
		}
	}
	return sum
}

// bought is what kernels with more scratch than the first one of their node save of work.
func (r *Result) bought() (sum float64) {
	for _, list := range r.Candidates {
		for _, x := range list {
			if x.Chosen && x.Scratch > list[0].Scratch {
				sum += list[0].Price.Instructions - x.Price.Instructions
			}
		}
	}
	return max(sum, 0)
}

// joined is what copies are predicted to take that could be views.
func (r *Result) joined(target *cost.Target) (sum float64) {
	for _, n := range r.Schedule.Nodes {
		if n.Op == op.Concat || n.Op == op.Slice {
			sum += target.Copied(n.Out[0].Type.Bytes())
		}
	}
	return sum
}

// prices are predicted instructions of some rows of the layers of g, the graph that
// became this program. Layers that have been fused count as one.
func (s *State) prices(g *ir.Graph) patch.Prices {
	target, layers, kernels := s.options().CostTarget(), map[int]*cost.Layer{}, map[int]*patch.Kernel{}
	became := map[string][]*ir.Node{}
	for _, x := range s.Graph.Nodes {
		if !s.Low[x].View && len(x.Origin) > 0 {
			became[x.Origin[0]] = append(became[x.Origin[0]], x)
		}
	}
	for i, n := range g.Nodes {
		if len(n.Origin) == 0 {
			continue
		}
		for _, x := range became[n.Origin[0]] {
			if l := s.Choices[x].Plan.Layer(); l.Geometry.Kind == kernel.GeometryOf(n).Kind {
				layers[i] = l
			}
			if x.Op == n.Op {
				kernels[i] = needs(x, s.Low[x])
			}
		}
	}
	type key struct{ node, axis, rows, all int }
	seen := map[key]float64{}
	return patch.Prices{Copy: target.Copied, Turn: target.Turned, Most: math.Inf(1),
		Kernel: func(node int) *patch.Kernel { return kernels[node] }, Rows: func(node, axis, rows, all int) float64 {
			l := layers[node]
			if l == nil {
				return 0
			}
			k := key{node, axis, rows, all}
			if _, ok := seen[k]; !ok {
				seen[k] = part(target, l, g.Nodes[node], axis, rows, all)
			}
			return seen[k]
		}}
}

// part is what some of all rows along an axis of a node's result take in one call.
func part(target *cost.Target, l *cost.Layer, n *ir.Node, axis, rows, all int) float64 {
	if n.Op == op.Gemm && axis == 1 {
		return target.Channels(l, rows, all)
	}
	if right := n.Input(1); n.Op == op.MatMul && right.Const == nil { // right sides by themselves
		if a := n.Along(axis); a.Parts > 0 && a.In[1] >= 0 && a.In[1] < right.Type.Rank()-2 {
			one := *l
			one.Geometry.Groups = max(l.Geometry.Groups*rows/all, 1)
			l = &one
		}
	}
	return max(target.Rows(l, rows, all), target.Copied(0))
}

// needs is what the account of chains has to know of the kernel of n.
func needs(n *ir.Node, l *call.Lowered) *patch.Kernel {
	out := n.Out[0].Type.Bytes()
	k := &patch.Kernel{Scratch: l.Scratch, Apart: out}
	for _, o := range l.Overlap {
		if in := n.In[o.I].Type.Bytes(); o.Out == 0 && (!o.Exact || in == out) {
			k.Rolls, k.Apart = k.Rolls || !o.Exact, min(k.Apart, max(o.Ahead-max(out-in, 0), 0))
		}
	}
	return k
}

type (
	// Pool is a memory that can hold a part of the arena.
	Pool = schedule.Pool
	// NoRoomError says why an arena cannot be divided.
	NoRoomError = schedule.NoRoomError
)

// Room is what a way to place everything else leaves of the memories that can hold a part
// of the arena, and the cycles that a run waits for what is placed.
type Room struct {
	Pools  []Pool
	Cycles float64
}

// Split is the program planned again with its arena in parts, one in each of several
// memories, for which a run waits least, over all rooms; most, where not 0, is what the parts
// may have together. No other way waits less than bound. A *NoRoomError says why the arena
// cannot be divided, with the first room. The result stays as it is.
func (r *Result) Split(rooms []Room, most int) (best *schedule.Result, bound float64, err error) {
	var no error
	least := 0.0
	for i, room := range rooms {
		if best != nil && room.Cycles >= least {
			continue // what the parts cost comes on top
		}
		x, cost, err := schedule.BuildIn(schedule.Pools{List: room.Pools, Most: most}, cmp.Or(r.Effort, schedule.Full),
			r.Graph, r.Low, r.States...)
		if errors.As(err, new(*NoRoomError)) {
			if i == 0 {
				no = err
			}
			continue
		}
		if err != nil {
			return nil, 0, err
		}
		if best == nil || room.Cycles+cost.Cost < least {
			best, least = x, room.Cycles+cost.Cost
		}
		if n := room.Cycles + cost.Bound; bound == 0 || n < bound {
			bound = n
		}
	}
	if best == nil {
		return nil, 0, no
	}
	return best, bound, nil
}
