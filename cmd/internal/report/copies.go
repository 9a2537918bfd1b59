// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
)

// Copying is how copies of constants were chosen for all models of a firmware together
// (--stage-weights); without, a program has those of the stage fetch.
type Copying struct {
	From   string // region of the constants
	Choice boards.Copies
}

// Copies are the constants of a model that are read from faster memory. Cycles are
// estimated.
type Copies struct {
	From   string `json:"from_region"`
	Region string `json:"region,omitempty"` // of those that are staged
	// StagedBytes are what the caller gives <name>_stage, FetchedBytes the largest copy
	// that a step makes in the arena.
	StagedBytes  int `json:"staged_bytes"`
	FetchedBytes int `json:"fetched_bytes"`
	// Waits an inference for constants, where all are read in place and with the copies:
	// of this model. SavedBound is what no choice of copies saves more than, in all models
	// of the firmware (--stage-weights); OnceCycles what copying before the first run takes.
	InPlace    int    `json:"wait_cycles_in_place"`
	Waits      int    `json:"wait_cycles"`
	Saved      int    `json:"saved_cycles"`
	SavedBound int    `json:"saved_cycles_bound,omitempty"`
	OnceCycles int    `json:"once_cycles"`
	Constants  []Copy `json:"constants"`
}

// Copy is a constant with a copy.
type Copy struct {
	Constant string   `json:"constant"` // what it is
	Steps    []string `json:"layers"`   // that read it
	Bytes    int      `json:"bytes"`
	// staged: once, before the first run; fetched: before each of the layers, or its part of one
	How   string `json:"how"`
	Saved int    `json:"saved_cycles"`
}

// region is how long reads of a region of the board take.
func (o *Subject) region(name string) boards.Wait {
	for _, r := range o.Board.Memory {
		if r.Name == name {
			return r.Wait
		}
	}
	return boards.Wait{}
}

// constantsRegion is where constants are linked: where they would be, as far as that is
// known, if they are bound.
func (o *Subject) constantsRegion() string {
	if o.Copies != nil {
		return o.Copies.From
	}
	if at := o.Placement.At("weights"); at != "" {
		return at
	}
	for _, r := range o.Board.Memory.Holding("weights") {
		return r.Name
	}
	return ""
}

// constantsWait is how long reads of constants take where they are linked.
func (o *Subject) constantsWait() boards.Wait {
	if at := o.constantsRegion(); at != "" {
		return o.region(at)
	}
	return o.Board.Memory.Wait("weights")
}

// constantWaits are the cycles that the core waits in step i for constants: read in
// place, and as they are read. A copy that the step makes waits for what it copies; its
// instructions are the step's.
func (o *Subject) constantWaits(i int) (inPlace, waits float64) {
	p, from := o.Lowered.Program, o.constantsWait()
	s, reads, rest := p.Steps[i], o.Lowered.Reads(i), o.Info.StepBlobs[i]
	arena, staged := o.region(o.Placement.At("arena")), o.region(o.Placement.At("staged"))
	for _, k := range s.Constants() {
		c := &p.Consts[k]
		if c.Ext != "" {
			continue
		}
		n := uint64(len(c.Data))
		rest -= len(c.Data)
		x := from.Read(n, reads)
		inPlace += x
		switch {
		case c.Staged:
			x = staged.Read(n, reads)
		case s.Fetched(k) >= 0:
			x = from.Read(n, 1) + float64(n)*arena.PerByteCycles() + arena.Read(n, reads)
		}
		waits += x
	}
	x := from.PerByteCycles() * float64(max(0, rest)) // tables of structs
	return inPlace + x, waits + x
}

// copies describes the copies of a program; nil without.
func (o *Subject) copies() *Copies {
	p, from := o.Lowered.Program, o.constantsWait()
	if !p.HasCopies() {
		return nil
	}
	r := &Copies{From: o.constantsRegion(), StagedBytes: p.StagedBytes, Constants: []Copy{}}
	if o.Copies != nil {
		r.SavedBound = round(o.Copies.Choice.Bound)
	}
	if p.StagedBytes > 0 {
		r.Region = o.Placement.At("staged")
	}
	arena, staged := o.region(o.Placement.At("arena")), o.region(r.Region)
	perByte := cycles.CopyByte(o.Board)
	inPlace, waits, once := 0.0, 0.0, 0.0
	for k := range p.Consts {
		c := &p.Consts[k]
		one, reads := Copy{Constant: c.Hint, Bytes: c.Bytes()}, 0
		n, fetches := uint64(c.Bytes()), 0
		for i, s := range p.Steps {
			if !slices.Contains(s.Constants(), k) || c.Ext != "" {
				continue
			}
			one.Steps = append(one.Steps, s.Name)
			reads += o.Lowered.Reads(i)
			if s.Fetched(k) >= 0 {
				fetches++
			}
		}
		was := from.Read(n, reads)
		is := was
		copied := float64(n) * (from.PerByteCycles() + perByte)
		switch {
		case c.Staged:
			one.How, is = "staged", staged.Read(n, reads)
			once += copied + float64(n)*staged.PerByteCycles()
		case fetches > 0:
			one.How = "fetched"
			is = float64(fetches)*(copied+float64(n)*arena.PerByteCycles()) + arena.Read(n, reads)
			r.FetchedBytes = max(r.FetchedBytes, int(n))
		}
		inPlace, waits = inPlace+was, waits+is
		if one.How != "" {
			one.Saved = round(was - is)
			r.Constants = append(r.Constants, one)
		}
	}
	r.InPlace, r.Waits, r.Saved, r.OnceCycles = round(inPlace), round(waits), round(inPlace-waits), round(once)
	return r
}

func round(x float64) int { return int(math.Round(x)) }

// Text is a line for people.
func (c *Copies) Text() string {
	s := ""
	if c.StagedBytes > 0 {
		s = fmt.Sprintf("%d bytes of constants are staged in region %s before the first run", c.StagedBytes, c.Region)
	}
	if c.FetchedBytes > 0 {
		if s != "" {
			s += ", "
		}
		s += fmt.Sprintf("up to %d bytes are fetched into the arena before what reads them, a layer or a part of one",
			c.FetchedBytes)
	}
	s += fmt.Sprintf(": constants cost about %d cycles of waits and copies an inference instead of %d", c.Waits,
		c.InPlace)
	if c.SavedBound > 0 {
		s += fmt.Sprintf(" (no choice saves more than %d in all models)", c.SavedBound)
	}
	return s
}
