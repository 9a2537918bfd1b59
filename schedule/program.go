// Package schedule turns a lowered graph into a Program: steps in the order
// that needs the least memory, and an offset in one arena for every value.
package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
)

// Align is the alignment of the arena and of every storage in it, in bytes.
const Align = 16

// Program is what code generation sees: no graph, only steps over places in
// the arena.
type Program struct {
	Name    string
	Inputs  []IO
	Outputs []IO
	States  []State // inputs and outputs that the caller does not see
	Steps   []*Step
	// Silent are the nodes without code, in graph order: views, and concats and
	// splits whose operands lie inside each other.
	Silent  []*Step
	Buffers []Buffer
	// ArenaBytes holds everything: activations, scratch, inputs and outputs.
	ArenaBytes int
	// LowerBound is the largest set of live storages at one step, in bytes.
	LowerBound int
	// PeakOptimal tells that no other order of the steps has a smaller bound.
	PeakOptimal bool
	// IOBytes are those of inputs and outputs, ScratchBytes the largest scratch.
	IOBytes, ScratchBytes int

	index map[*ir.Value]int
}

// IO is an input or output of the model.
type IO struct {
	Name   string // ONNX name
	Value  *ir.Value
	Offset int
}

// Step is one node that has code.
type Step struct {
	Name    string
	Node    *ir.Node
	Low     *call.Lowered
	Scratch int // offset in the arena, when Low.Scratch > 0
}

// Buffer is a place in the arena. AliasOf is the index of the buffer in whose
// storage it lies, or -1. First and Last are the steps between which its bytes
// are needed, both inclusive; for a buffer with storage of its own, those
// between which any buffer in the storage is. Where Pitch is not 0, the Bytes lie
// in rows of Row bytes at that distance.
type Buffer struct {
	Name        string
	Value       *ir.Value // nil: scratch
	Offset      int
	Bytes       int
	First, Last int
	AliasOf     int
	Row, Pitch  int
}

// Offset is the place of a run-time value in the arena.
func (p *Program) Offset(v *ir.Value) (int, bool) {
	i, ok := p.index[v]
	if !ok {
		return 0, false
	}
	return p.Buffers[i].Offset, true
}

func newStep(n *ir.Node, low map[*ir.Node]*call.Lowered) *Step {
	return &Step{Name: stepName(n), Node: n, Low: low[n]}
}

func stepName(n *ir.Node) string {
	if len(n.Origin) > 0 && n.Origin[0] != "" {
		return n.Origin[0]
	}
	return n.Name
}

// operands are the run-time values that the code of a step reads.
func (s *Step) operands() []*ir.Value {
	idle := unused(s.Low)
	var out []*ir.Value
	for i, v := range s.Node.In {
		if v != nil && v.Const == nil && !idle[i] {
			out = append(out, v)
		}
	}
	return out
}

// overlap reports whether two runs of bytes share any.
func overlap(a, na, b, nb int) bool { return a < b+nb && b < a+na && na > 0 && nb > 0 }

func bug(format string, args ...any) error { return fmt.Errorf("BUG: schedule: "+format, args...) }
