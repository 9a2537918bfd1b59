// SPDX-License-Identifier: Apache-2.0

// Package program is the last IR: steps in order, each with its C calls, and a
// place in the arena or in the state's memory for every run-time value. It is
// all that code generation reads; of the graph only names are left. README.md
// has the text form.
package program

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/types"
)

// Align is the alignment of the arena, of the state's memory and of every
// storage in them, in bytes.
const Align = 16

// Program is a scheduled model.
type Program struct {
	Name    string
	Inputs  []IO
	Outputs []IO
	States  []State // inputs and outputs that the caller does not see
	Steps   []*Step
	// Views are nodes without code, in graph order: their results lie in their
	// operands, or their operands in their result.
	Views   []*Step
	Buffers []Buffer
	Consts  []Const
	// ArenaBytes holds activations, scratch, inputs and outputs. Between runs it
	// is anybody's.
	ArenaBytes int
	// Parts of the arena, which lie in different memories: in offsets of buffers they
	// stand behind each other. None: it is in one piece.
	Parts []Part
	// StateBytes is the memory of the state, which is kept from run to run; 0
	// without state.
	StateBytes int
	// StagedBytes is the memory of the caller to which constants are copied once,
	// before the first run (Const.Staged).
	StagedBytes int
	// LowerBound is the largest set of live storages at one step, in bytes, OverlapBound that of
	// bytes that are needed, without those in which results can lie over operands.
	LowerBound, OverlapBound int
	// PeakOptimal tells that no other order of the steps has a smaller bound.
	PeakOptimal bool
}

// IO is an input or output of the model.
type IO struct {
	Name   string // ONNX name
	Buffer int
}

// State is recurrent state: the next run finds in input In, which lies in the
// state's memory, what this one left in output Out. Where Out does not lie there
// itself (Program.InPlace), its bytes are copied after the last step, in the
// order of Program.States.
type State struct {
	In, Out int // in Inputs and Outputs
	// What In holds before the first run: Fill in every byte, or constant Init
	// where that is not -1.
	Fill, Init int
}

// Step is one node.
type Step struct {
	Name   string   // of the ONNX node it came from, or its own
	Op     string   // operator
	Origin []string // names of the ONNX nodes it came from
	// Chain names the layers that run a few rows at a time, of which this is one of the calls; calls of
	// one chain in a row are one step for the caller.
	Chain   string
	In      []Operand
	Out     []int  // buffers
	Kernel  string // function of the library's API
	Route   string // inner function that will run, when the library routes
	Scratch int    // buffer, or -1
	Fetches []Fetch
	Calls   []call.Call
	Headers []string       // that the calls need beyond the library's own
	Overlap []call.Overlap // inputs whose bytes an output may take
	Rows    []call.Rows
	// Of views only. Whole: output 0 is input 0 under another type; else Parts
	// say which operand lies where in which.
	Whole bool
	Parts []call.Part
}

// Operand is an input of a step. Buffer is -1 where it is absent or constant;
// constants that calls take are in their arguments. The calls do not read an
// operand that is Unread.
type Operand struct {
	Buffer int
	Unread bool
}

// Buffer is a place in the arena or, with Kept, in the state's memory, Offset
// bytes behind its start: that of a run-time value, or, where Type has no
// element type, scratch memory of a step. AliasOf is the index of the buffer
// in whose storage it lies, or -1. First and Last are the steps between which
// its bytes are needed, both inclusive; for a buffer with storage of its own,
// those between which any buffer in the storage is, and Bytes are all of the
// storage. Where Pitch is not 0, the value lies in rows of Row bytes at that
// distance.
type Buffer struct {
	Name        string
	Type        types.Type
	Offset      int
	Bytes       int
	First, Last int
	AliasOf     int
	Row, Pitch  int
	Kept        bool
}

// Const is a constant array in flash, or, with Ext, a file that is linked as it
// is. Where it is Staged, calls read its copy At so many bytes into the staged
// memory.
type Const struct {
	Hint  string // what it is: "weights", "bias", "multiplier", "table"
	CType string // element type
	Data  []byte // little-endian, memory order
	Align int    // bytes; 0: the element's own
	Pad   int    // bytes readable behind the end
	Ext   string // extension of the file

	Staged bool
	At     int
}

func (s *Step) String() string { return s.Op + " " + strconv.Quote(s.Name) }

// operands are the buffers that the code of a step reads.
func (s *Step) operands() []int {
	var out []int
	for _, x := range s.In {
		if x.Buffer >= 0 && !x.Unread {
			out = append(out, x.Buffer)
		}
	}
	return out
}

// takesRows reports whether the calls of a step take an operand, input i or
// output i, in rows of the given size.
func (s *Step) takesRows(output bool, i, row int) bool {
	return slices.Contains(s.Rows, call.Rows{Output: output, I: i, Bytes: row})
}

// IsScratch tells scratch memory from values.
func (b *Buffer) IsScratch() bool { return b.Type.DType == 0 }

// Span is the number of bytes from the first to the last one of the value.
func (b *Buffer) Span() int {
	e := b.extent()
	return e.end() - e.at
}

// Gather is the value out of the bytes of its span, in memory order.
func (b *Buffer) Gather(span []byte) []byte {
	e := b.extent()
	e.at = 0
	return e.gather(span)
}

// RAMBytes is the arena and the state.
func (p *Program) RAMBytes() int { return p.ArenaBytes + p.StateBytes }

// InPlace reports a state whose new value is written where the old one was.
func (p *Program) InPlace(x State) bool {
	return p.extent(p.Inputs[x.In].Buffer) == p.extent(p.Outputs[x.Out].Buffer)
}

// IOBytes is the size in the arena of the inputs and outputs that the caller sees.
func (p *Program) IOBytes() int {
	n := 0
	in, out := p.Visible()
	for _, x := range slices.Concat(in, out) {
		if p.Buffers[x.Buffer].Kept {
			continue
		}
		n += p.Buffers[x.Buffer].Type.Bytes()
	}
	return n
}

// ScratchBytes is the size of the largest scratch memory.
func (p *Program) ScratchBytes() int {
	n := 0
	for i := range p.Buffers {
		if b := &p.Buffers[i]; b.IsScratch() {
			n = max(n, b.Bytes)
		}
	}
	return n
}

// Visible are the inputs and outputs that the caller writes and reads.
func (p *Program) Visible() (in, out []IO) {
	hiddenIn, hiddenOut := map[int]bool{}, map[int]bool{}
	for _, s := range p.States {
		hiddenIn[s.In], hiddenOut[s.Out] = true, true
	}
	for i, x := range p.Inputs {
		if !hiddenIn[i] {
			in = append(in, x)
		}
	}
	for i, x := range p.Outputs {
		if !hiddenOut[i] {
			out = append(out, x)
		}
	}
	return in, out
}
