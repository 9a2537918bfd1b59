// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/cycles"
	"github.com/nncc/nncc/ir/lists"
)

// Memory is where the arena goes.
type Memory struct {
	ArenaBytes      int `json:"arena_bytes"`
	LowerBoundBytes int `json:"arena_lower_bound_bytes"`
	// OverlapBoundBytes is the bound where results may lie over operands.
	OverlapBoundBytes int  `json:"arena_overlap_bound_bytes"`
	OrderOptimal      bool `json:"order_optimal"`
	StateBytes        int  `json:"state_bytes"`
	IOBytes           int  `json:"io_bytes"`
	ScratchBytes      int  `json:"scratch_bytes"`
	WeightsBytes      int  `json:"weights_bytes"`
	// WaitCycles is how long an inference waits, as estimated, for arena and constants in
	// the regions where they are placed; no placement is below the bound.
	WaitCycles      int `json:"wait_cycles"`
	WaitCyclesBound int `json:"wait_cycles_bound"`
	// WeightsFile is where constants are bound at run time.
	WeightsFile *WeightsFile `json:"weights_file,omitempty"`
	Copies      *Copies      `json:"copies,omitempty"`
	Regions     []Region     `json:"regions"`
	// ArenaParts of an arena that no region holds: offsets of buffers go on from one to
	// the next.
	ArenaParts []ArenaPart `json:"arena_parts,omitempty"`
	Buffers    []Buffer    `json:"buffers"`
	// StateBuffers lie in the state, which is kept from run to run: their offsets
	// count from its start.
	StateBuffers []Buffer `json:"state_buffers,omitempty"`
	Patch        *Patch   `json:"patch,omitempty"`
	Frontier     Frontier `json:"frontier,omitempty"`
}

// Patch is layers that run a few rows at a time.
type Patch struct {
	Nodes           []string     `json:"nodes"`      // of all chains
	Stripes         int          `json:"stripes"`    // of the chain that has most
	MACs            int64        `json:"macs"`       // of all chains
	ExtraMACs       int64        `json:"extra_macs"` // 0: nothing is computed twice
	WholeArenaBytes int          `json:"whole_arena_bytes"`
	Chains          []PatchChain `json:"chains"`
	Calls           int          `json:"calls"`
	CopiedBytes     int          `json:"copied_bytes"`  // rows that are read again
	Turned          []string     `json:"turned_inputs"` // channels last over their own bytes
}

// PatchChain is layers that follow each other, a few rows at a time.
type PatchChain struct {
	Nodes   []string `json:"nodes"`
	Rows    int      `json:"rows"` // of the first layer in a stripe
	Stripes int      `json:"stripes"`
	Heads   bool     `json:"heads,omitempty"` // rows are heads of attention
}

// Region is a memory of the board with what lies in it.
type Region struct {
	Name    string   `json:"name"`
	Bytes   uint64   `json:"bytes"`
	Holds   []string `json:"holds"`
	Used    uint64   `json:"used_bytes"`
	Missing uint64   `json:"missing_bytes"`
	Items   []Item   `json:"items"`
}

// ArenaPart is what lies of an arena in one of several regions.
type ArenaPart struct {
	Region  string `json:"region"`
	Offset  int    `json:"offset"` // at which it begins in the offsets of buffers
	Bytes   int    `json:"bytes"`
	Traffic int    `json:"traffic_bytes"` // that an inference reads and writes there
}

// Item lies in a region: the stack that the board declares, the arena,
// code, constants.
type Item struct {
	What      string `json:"what"` // as in holds
	Bytes     uint64 `json:"bytes"`
	Library   uint64 `json:"c_library_bytes,omitempty"` // of these
	Estimated bool   `json:"estimated,omitempty"`       // not measured: there was no build
}

// Buffer is a place in the arena or the state; alias_of names the buffer in whose
// storage it lies.
type Buffer struct {
	Name    string `json:"name"`
	Offset  int    `json:"offset"`
	Bytes   int    `json:"bytes"`
	First   int    `json:"first"`
	Last    int    `json:"last"`
	AliasOf string `json:"alias_of,omitempty"`
	// Overlaps are others that are live at the same time and have bytes in common with it, without aliases.
	Overlaps []string `json:"overlaps,omitempty"`
	Region   string   `json:"region,omitempty"` // of the part of the arena
	// of a buffer that lies in rows inside a wider one
	RowBytes   int `json:"row_bytes,omitempty"`
	PitchBytes int `json:"pitch_bytes,omitempty"`
}

// WeightsFile has the constants of a model. It can take the place of another one with
// the same layout.
type WeightsFile struct {
	File   string `json:"file"`
	Bytes  int    `json:"bytes"`
	Layout string `json:"layout_sha256"`
}

func (r *Report) memory(o *Subject) {
	p := o.Lowered.Program
	r.Memory = Memory{ArenaBytes: p.ArenaBytes, LowerBoundBytes: p.LowerBound,
		OverlapBoundBytes: p.OverlapBound, OrderOptimal: p.PeakOptimal,
		IOBytes: p.IOBytes(), StateBytes: p.StateBytes,
		ScratchBytes: p.ScratchBytes(), WeightsBytes: o.Info.WeightBytes, Buffers: []Buffer{}}
	if x := o.Lowered.Tiled; x != nil {
		p := &Patch{WholeArenaBytes: x.WholeBytes, Calls: x.Calls, CopiedBytes: x.Copied, Nodes: []string{},
			Chains: []PatchChain{}, Turned: append([]string{}, x.Turned...)}
		for _, c := range x.Chains {
			p.Nodes, p.Stripes, p.MACs = append(p.Nodes, c.Nodes...), max(p.Stripes, c.Stripes), p.MACs+c.MACs
			p.Chains = append(p.Chains, PatchChain{c.Nodes, c.Rows, c.Stripes, c.Heads})
		}
		r.Memory.Patch = p
	}
	r.Memory.Frontier = NewFrontier(o.Lowered.Frontier)
	if o.Info.WeightsFile != "" {
		r.Memory.WeightsFile = &WeightsFile{o.Info.WeightsFile, o.Info.WeightBytes, o.Info.Layout}
	}
	r.Memory.Copies = o.copies()
	r.Memory.Place(o.Placement)
	at := 0
	for i, n := range p.PartTraffic() {
		if len(p.Parts) > 0 {
			x := p.Parts[i]
			r.Memory.ArenaParts = append(r.Memory.ArenaParts, ArenaPart{x.Name, at, x.Bytes, n})
			at += x.Bytes
		}
	}
	for i, b := range p.Buffers {
		x := Buffer{Name: b.Name, Offset: b.Offset, Bytes: b.Bytes, First: b.First, Last: b.Last, RowBytes: b.Row,
			PitchBytes: b.Pitch}
		if b.AliasOf >= 0 {
			x.AliasOf = p.Buffers[b.AliasOf].Name
		}
		x.Overlaps = append(x.Overlaps, lists.Map(p.Sharing(i), func(k int) string { return p.Buffers[k].Name })...)
		if k, _ := p.Part(i); len(p.Parts) > 0 && !b.Kept {
			x.Region = p.Parts[k].Name
		}
		switch {
		case b.Bytes == 0:
		case b.Kept:
			r.Memory.StateBuffers = append(r.Memory.StateBuffers, x)
		default:
			r.Memory.Buffers = append(r.Memory.Buffers, x)
		}
	}
}

// Place says what lies in the board's memories.
func (m *Memory) Place(p boards.Placement) {
	m.WaitCycles, m.WaitCyclesBound = int(p.Cycles), int(p.CyclesBound)
	m.Regions = []Region{}
	for _, r := range p.Regions {
		x := Region{Name: r.Name, Bytes: uint64(r.Size), Holds: r.Holds, Used: r.Used(), Missing: r.Missing(),
			Items: []Item{}}
		for _, i := range r.Items {
			x.Items = append(x.Items, Item{i.What, i.Bytes, i.Library, i.Estimated})
		}
		m.Regions = append(m.Regions, x)
	}
}

// bounds are what the arena cannot be smaller than.
func (m *Memory) bounds(number func(any) string) string {
	s := "lower bound " + number(m.OverlapBoundBytes)
	if m.LowerBoundBytes != m.OverlapBoundBytes {
		s += ", " + number(m.LowerBoundBytes) + " where buffers lie apart"
	}
	return s
}

// RAMText is the arena, with its lower bound, and the state where there is one.
func (m *Memory) RAMText() string {
	s := fmt.Sprintf("arena %d bytes (%s)", m.ArenaBytes, m.bounds(func(n any) string { return fmt.Sprint(n) }))
	for i, x := range m.ArenaParts {
		s += fmt.Sprintf("%s %d in %s", []string{":", " +"}[min(i, 1)], x.Bytes, x.Region)
	}
	if m.StateBytes > 0 {
		s += fmt.Sprintf(", state %d bytes", m.StateBytes)
	}
	return s
}

func (v *Verdict) ramText() string {
	s := fmt.Sprintf("arena %d bytes", v.RAM["arena_bytes"])
	if len(v.Guards) > 0 {
		s += fmt.Sprintf(" in %s (guards intact)", strings.Join(v.Guards, ", "))
	}
	if n := v.RAM["state_bytes"]; n > 0 {
		s += fmt.Sprintf(", state %d bytes", n)
	}
	return s
}

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
