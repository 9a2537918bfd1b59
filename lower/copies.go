// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule"
)

// Copyable is a constant of the program that can have a copy in faster memory.
type Copyable struct {
	Const int // in the program
	Bytes int
	// Reads is how often an inference reads all of it, at least; Steps, how many steps do.
	Reads, Steps int
	// ArenaEnd is the end of its copies in the arena, where steps fetch it, as far as they
	// are not there.
	ArenaEnd int
	// Kept: it is not fetched.
	Kept bool
}

// Reads is how often step i reads its constants, at least.
func (r *Result) Reads(i int) int {
	c, ok := r.Choices[r.Schedule.Nodes[i]]
	if !ok || c.Plan == nil {
		return 1
	}
	return c.Layer().Reads()
}

// Copyable are the constants that can have copies. A step fetches at most one, that with
// the most traffic, or its parts one after the other, so that what the arena grows by is that of one.
func (r *Result) Copyable() []Copyable {
	p := r.Program
	own := make([]Copyable, len(p.Consts))
	traffic := func(i int) int {
		if i < 0 {
			return -1
		}
		return own[i].Bytes * own[i].Reads
	}
	for k, s := range p.Steps {
		for _, i := range s.Constants() {
			x := &own[i]
			x.Const, x.Bytes = i, p.Consts[i].Bytes()
			x.Reads += r.Reads(k)
			x.Steps++
			x.ArenaEnd = max(x.ArenaEnd, fetchedEnd(p, k, i))
		}
	}
	for _, s := range p.Steps {
		most := slices.MaxFunc(append(s.Constants(), -1), func(i, j int) int {
			return cmp.Compare(traffic(i), traffic(j))
		})
		for _, i := range s.Constants() {
			own[i].Kept = own[i].Kept || i != most && s.Fetched(i) < 0 || len(p.Parts) > 0
		}
	}
	var list []Copyable
	for i, x := range own {
		if c := &p.Consts[i]; x.Steps > 0 && c.Ext == "" && c.Align <= program.Align && x.Bytes > 0 {
			list = append(list, x)
		}
	}
	return list
}

// fetchedEnd is the end in the arena of a copy that step k would make, 0 where it does.
func fetchedEnd(p *program.Program, k, constant int) int {
	if p.Steps[k].Fetched(constant) >= 0 {
		return 0
	}
	n := p.Consts[constant].Bytes()
	return schedule.Gap(p, k, n) + n
}

// Copy gives constants of the program copies.
func (r *Result) Copy(staged, fetched []int) error { return schedule.Stage(r.Program, staged, fetched) }

// StagedTraffic are the bytes of staged constants that an inference reads.
func (r *Result) StagedTraffic() int {
	n := 0
	for k, s := range r.Program.Steps {
		for _, i := range s.Constants() {
			if c := &r.Program.Consts[i]; c.Staged {
				n += c.Bytes() * r.Reads(k)
			}
		}
	}
	return n
}

// FetchStage is the stage that has steps fetch constants.
const FetchStage = "fetch"

// leastFetched are the cycles an inference that a constant has to save to be fetched. It is
// chosen, not derived: far more than a call of memcpy takes beside the bytes that it copies,
// so that the call's code in flash is worth it, too.
const leastFetched = 500

// fetch is the stage fetch: constants whose reads make the core wait, and that steps read
// many times, are copied before them into room of the arena, those first that save most.
// What an arena where values lie over each other, or take the place of another, leaves of one
// where they lie apart is room, too.
func (s *State) fetch() {
	saves, list := map[int]float64{}, []int{}
	for _, x := range s.Copyable() {
		c := boards.Constant{Bytes: uint64(x.Bytes), Reads: x.Reads, Steps: x.Steps}
		if n := s.facts.Copying.Fetching(&c); !x.Kept && n >= leastFetched {
			saves[x.Const], list = n, append(list, x.Const)
		}
	}
	slices.SortStableFunc(list, func(a, b int) int { return cmp.Compare(saves[b], saves[a]) })
	most := s.Program.LowerBound
	if most <= s.Program.ArenaBytes { // what makes the arena small is that values take the place of others
		for i := range s.Program.Buffers {
			most = max(most, s.Program.ArenaBytes+s.Program.Buffers[i].Bytes)
		}
	}
	most = min(most, int(s.facts.Copying.Room)-s.Program.StateBytes)
	if s.facts.MaxRAM > 0 {
		most = min(most, s.facts.MaxRAM-s.Program.StateBytes)
	}
	fail.Check(schedule.Within(s.Program, most, func() error {
		if err := schedule.Fetch(s.Program, list); err != nil || s.facts.WholeConstants {
			return err
		}
		for _, i := range list {
			s.fetchParts(i, saves[i])
		}
		return nil
	}))
}

// mostParts limits in how many parts a constant is fetched.
const mostParts = 8

// fetchParts is for a constant without room, from which a fetch would save so many cycles:
// its layer is computed in parts that fetch their part of it, as few as have room.
func (s *State) fetchParts(constant int, saves float64) {
	p := s.Program
	reads := func(x *program.Step) bool { return slices.Contains(x.Constants(), constant) }
	k := slices.IndexFunc(p.Steps, reads)
	step, n := p.Steps[k], s.Schedule.Nodes[k]
	shared := slices.ContainsFunc(p.Steps[k+1:], reads)
	low := s.Low[n]
	if shared || step.Fetched(constant) >= 0 || low.Cut == nil || step.In[0].Buffer < 0 || p.Consts[constant].Staged {
		return
	}
	for parts := 2; parts <= mostParts; parts++ {
		cut := low.Cut(parts)
		if cut == nil || saves < float64(parts)*leastFetched {
			return
		}
		if saves-s.costOfParts(n, cut) < float64(parts)*leastFetched {
			continue
		}
		done, err := schedule.FetchParts(p, n, k, constant, cut)
		if done || err != nil {
			fail.Check(err)
			return
		}
	}
}

// gatheredCycles are those of an input value of a window, which every part gathers anew: 1.3
// instructions on Cortex-M4, and what a call takes besides.
const gatheredCycles = 2

// costOfParts are the cycles that the parts of a layer take beyond those of the whole one: of
// gathering inputs again, or, where that is more, what prices say.
func (s *State) costOfParts(n *ir.Node, cut []call.CutCall) float64 {
	target, layer := s.options().CostTarget(), s.Choices[n].Layer()
	g := &layer.Geometry
	windows := g.N * max(1, g.OH*g.OW) * max(1, g.KH*g.KW) * g.C
	again := float64((len(cut)-1)*windows) * gatheredCycles
	whole := target.Of(layer)
	if whole.Unknown != "" {
		return again
	}
	priced := -whole.ExpectedCycles()
	for _, x := range cut {
		part := *layer
		part.Geometry.OC, part.Constants = x.Channels, layer.Constants*x.Channels/g.OC
		c := target.Of(&part)
		priced += c.ExpectedCycles()
	}
	return max(again, priced)
}
