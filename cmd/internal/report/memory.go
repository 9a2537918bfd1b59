// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/nncc/nncc/boards"

// Memory is where the arena goes.
type Memory struct {
	ArenaBytes      int  `json:"arena_bytes"`
	LowerBoundBytes int  `json:"arena_lower_bound_bytes"`
	OrderOptimal    bool `json:"order_optimal"`
	StateBytes      int  `json:"state_bytes"`
	IOBytes         int  `json:"io_bytes"`
	ScratchBytes    int  `json:"scratch_bytes"`
	WeightsBytes    int  `json:"weights_bytes"`
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
}

// Patch is the first layers computed in stripes for --max-ram.
type Patch struct {
	Nodes           []string `json:"nodes"`
	Stripes         int      `json:"stripes"`
	MACs            int64    `json:"macs"`
	ExtraMACs       int64    `json:"extra_macs"`
	WholeArenaBytes int      `json:"whole_arena_bytes"` // without stripes
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
	Region  string `json:"region,omitempty"` // of the part of the arena
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

// memory says what lies where in the arena and the state.
func (r *Report) memory(o *Subject) {
	p := o.Lowered.Program
	r.Memory = Memory{ArenaBytes: p.ArenaBytes, LowerBoundBytes: p.LowerBound, OrderOptimal: p.PeakOptimal,
		IOBytes: p.IOBytes(), StateBytes: p.StateBytes,
		ScratchBytes: p.ScratchBytes(), WeightsBytes: o.Info.WeightBytes, Buffers: []Buffer{}}
	if x := o.Lowered.Tiled; x != nil {
		r.Memory.Patch = &Patch{Nodes: x.Nodes, Stripes: x.Stripes, MACs: x.MACs, ExtraMACs: x.ExtraMACs,
			WholeArenaBytes: x.WholeBytes}
	}
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
