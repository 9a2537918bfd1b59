// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"errors"
	"slices"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/patch"
	"github.com/nncc/nncc/schedule"
)

// TiledStage is how the first layers run in stripes.
type TiledStage struct {
	Nodes      []string
	Stripes    int
	MACs       int64   // of these layers as the model has them
	ExtraMACs  int64   // what overlapping windows compute twice
	ArenaBytes int     // with stripes
	WholeBytes int     // without
	Work       float64 // predicted instructions of the program, to compare with others
}

// maxTries bounds the ways to stripe a graph that are looked at. The smallest
// ones are planned with more effort, the smallest of those with all.
const (
	maxTries  = 64
	maxMedium = 8
	maxFull   = 4
)

// trial is a way to stripe the graph and what it comes to.
type trial struct {
	plan   patch.Plan
	effort schedule.Effort // that it deserves
	spent  schedule.Effort // that arena was found with
	ram    int             // bytes of arena and state
	work   float64         // predicted instructions
}

// search are the trials for one graph.
type search struct {
	whole  *State // the program without stripes
	start  *State // before the stages that stripes change
	rows   []*Stage
	trials []*trial
}

// searchArena looks for the program with the least work that stays below
// MaxRAM, when the program as it is does not.
//
// Which programs there are, and how many bytes each of them needs, does not
// depend on MaxRAM: one that is found for some budget is found for every
// budget that has room for it, and with a larger one nothing is slower. Where
// nothing fits, the smallest arena stays, and the gate reports it.
func (s *State) searchArena(rows []*Stage) (*State, error) {
	start := s.fork()
	start.facts.Tiled = true
	s, err := s.walk(rows)
	if err != nil || s.Program.RAMBytes() <= s.facts.MaxRAM {
		return s, err
	}
	f := &search{whole: s, start: start, rows: rows}
	if err := f.candidates(); err != nil {
		return s, err
	}
	s.Tried = 1 + len(f.trials)
	best, err := f.first()
	if err != nil || best == nil || best.ram >= s.Program.RAMBytes() {
		return s, err
	}
	x := f.striped(best)
	x.Tried, x.Effort, x.log = s.Tried, best.effort, s.log
	if x, err = x.walk(rows); err != nil {
		return x, err
	}
	x.Tiled = &TiledStage{Stripes: best.plan.Stripes, MACs: best.plan.MACs, ExtraMACs: best.plan.ExtraMACs,
		WholeBytes: s.Program.ArenaBytes, ArenaBytes: x.Program.ArenaBytes, Work: best.work}
	for _, n := range best.plan.Nodes {
		x.Tiled.Nodes = append(x.Tiled.Nodes, n.Name)
	}
	return x, nil
}

// candidates fills the trials, least work first, and says which deserve effort.
func (s *search) candidates() (err error) {
	defer fail.Catch(&err)
	for _, p := range patch.Candidates(s.start.Graph, cmp.Or(s.start.facts.MaxTries, maxTries)) {
		t := &trial{plan: p, effort: schedule.Short}
		x := fail.Must(s.plan(t, schedule.Short))
		t.work = x.work()
		s.trials = append(s.trials, t)
	}
	for _, e := range []struct {
		effort schedule.Effort
		most   int
	}{{schedule.Medium, maxMedium}, {schedule.Full, maxFull}} {
		slices.SortStableFunc(s.trials, func(a, b *trial) int {
			return cmp.Or(cmp.Compare(a.ram, b.ram), cmp.Compare(a.work, b.work))
		})
		for _, t := range s.trials[:min(len(s.trials), e.most)] {
			t.effort = e.effort
			if e.effort == schedule.Full {
				continue // when it matters
			}
			fail.Must(s.plan(t, e.effort))
		}
	}
	slices.SortStableFunc(s.trials, func(a, b *trial) int {
		return cmp.Or(cmp.Compare(a.work, b.work), cmp.Compare(a.ram, b.ram))
	})
	return nil
}

// first is the first trial that fits, else the smallest.
func (s *search) first() (*trial, error) {
	var best *trial
	for _, t := range s.trials {
		if t.ram > s.start.facts.MaxRAM && t.spent < t.effort {
			if _, err := s.plan(t, t.effort); err != nil {
				return nil, err
			}
		}
		if best == nil || t.ram < best.ram {
			best = t
		}
		if t.ram <= s.start.facts.MaxRAM {
			return t, nil
		}
	}
	return best, nil
}

func (s *search) plan(t *trial, effort schedule.Effort) (*State, error) {
	x := s.striped(t)
	x.Effort = effort
	x, err := x.walk(s.rows)
	if err != nil {
		return nil, err
	}
	t.ram, t.spent = x.Program.RAMBytes(), effort
	return x, nil
}

// striped is the state from which a trial's program is made.
func (s *search) striped(t *trial) *State {
	x := s.start.fork()
	x.tile = &t.plan
	return x
}

func (s *State) applyTiles() error { return patch.Apply(s.Graph, *s.tile, s.facts.NativeIO) }

// work is what the program is predicted to execute.
func (r *Result) work() float64 {
	sum := 0.0
	for _, n := range r.Graph.Nodes {
		for _, x := range r.Candidates[n] {
			if x.Chosen {
				sum += x.Price.Instructions
			}
		}
	}
	return sum
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
