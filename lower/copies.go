// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/schedule"
)

// Copyable is a constant of the program that can have a copy in faster memory.
type Copyable struct {
	Const int // in the program
	Bytes int
	// Reads is how often an inference reads all of it, at least; Steps, how many steps do.
	Reads, Steps int
	// ArenaEnd is the end of its copies in the arena, where steps fetch it.
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
// the most traffic, so that what the arena grows by is that of one.
func (r *Result) Copyable() []Copyable {
	p := r.Program
	own := make([]Copyable, len(p.Consts))
	traffic := func(i int) int { return own[i].Bytes * own[i].Reads }
	for k, s := range p.Steps {
		for _, i := range s.Constants() {
			x := &own[i]
			x.Const, x.Bytes = i, p.Consts[i].Bytes()
			x.Reads += r.Reads(k)
			x.Steps++
			x.ArenaEnd = max(x.ArenaEnd, schedule.Gap(p, k, x.Bytes)+x.Bytes)
		}
	}
	for _, s := range p.Steps {
		most := -1
		for _, i := range s.Constants() {
			if most < 0 || traffic(i) > traffic(most) {
				most = i
			}
		}
		for _, i := range s.Constants() {
			own[i].Kept = own[i].Kept || i != most || len(p.Parts) > 0
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
