// Package schedule turns a lowered graph into a Program: steps in the order
// that needs the least memory, and an offset in one arena for every value.
package schedule

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/schedule/plan"
)

// Align is the alignment of the arena and of every storage in it, in bytes.
const Align = 16

// Program is what code generation sees: no graph, only steps over places in
// the arena.
type Program struct {
	Name    string
	Inputs  []IO
	Outputs []IO
	Steps   []*Step
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
	Low     *target.Lowered
	Choice  target.Choice
	Scratch int // offset in the arena, when Low.Scratch > 0
}

// Buffer is a place in the arena. AliasOf is the index of the buffer in whose
// storage it lies, or -1.
type Buffer struct {
	Name        string
	Value       *ir.Value // nil: scratch
	Offset      int
	Bytes       int
	First, Last int // steps, inclusive
	AliasOf     int
}

// Offset is the place of a run-time value in the arena.
func (p *Program) Offset(v *ir.Value) (int, bool) {
	i, ok := p.index[v]
	if !ok {
		return 0, false
	}
	return p.Buffers[i].Offset, true
}

// Lowering is a node with its kernel choice and calls.
type Lowering struct {
	Low    *target.Lowered
	Choice target.Choice
}

// Build orders the nodes of g, decides which operands share storage, and
// places everything. low has an entry per node.
func Build(g *ir.Graph, low map[*ir.Node]Lowering) (*Program, error) {
	// Views of parts (concat, split) save copies, but keep the whole storage
	// alive for longer: take whichever arrangement needs less memory.
	best, err := build(g, low, true)
	if err != nil {
		return nil, err
	}
	if best.hasParts(low) {
		if plain, err := build(g, low, false); err == nil && plain.ArenaBytes < best.ArenaBytes {
			best = plain
		}
	}
	return best, nil
}

func (p *Program) hasParts(low map[*ir.Node]Lowering) bool {
	for _, l := range low {
		if len(l.Low.Parts) > 0 {
			return true
		}
	}
	return false
}

func build(g *ir.Graph, low map[*ir.Node]Lowering, parts bool) (*Program, error) {
	b := newBuilder(g, low, parts)
	b.alias()
	nodes := b.steps()
	opt := plan.Options{Align: Align}
	order, stats, err := plan.Order(nodes, b.values, opt)
	if err != nil {
		return nil, fmt.Errorf("BUG: ordering %s: %w", g.Name, err)
	}
	bufs, err := plan.Buffers(nodes, b.values, order, opt)
	if err != nil {
		return nil, fmt.Errorf("BUG: buffers of %s: %w", g.Name, err)
	}
	res, err := plan.Place(bufs, opt)
	if err != nil {
		return nil, fmt.Errorf("BUG: placing %s: %w", g.Name, err)
	}
	p := &Program{Name: g.Name, ArenaBytes: max(int(res.Total), Align), LowerBound: int(res.LowerBound), PeakOptimal: stats.Optimal, index: b.index}
	for i, x := range bufs {
		buf := Buffer{Name: x.Name, Offset: int(res.Offsets[i]), Bytes: int(x.Bytes), First: x.First, Last: x.Last, AliasOf: x.AliasOf}
		if i < len(b.values) {
			buf.Value = b.of[i]
		} else {
			p.ScratchBytes = max(p.ScratchBytes, buf.Bytes)
		}
		p.Buffers = append(p.Buffers, buf)
	}
	for i, x := range bufs {
		if x.AliasOf < 0 && x.Bytes > 0 { // a storage lives as long as any of its views
			st := res.Storages[res.StorageOf[i]]
			buf := &p.Buffers[i]
			buf.Bytes, buf.First, buf.Last = max(buf.Bytes, int(st.Bytes)), st.First, st.Last
		}
	}
	scratch := len(b.values)
	for _, k := range order {
		n := b.nodes[k]
		s := &Step{Name: stepName(n), Node: n, Low: low[n].Low, Choice: low[n].Choice}
		if s.Low.Scratch > 0 {
			s.Scratch = p.Buffers[scratch].Offset
			scratch++
		}
		p.Steps = append(p.Steps, s)
	}
	for _, v := range g.In {
		o, _ := p.Offset(v)
		p.Inputs = append(p.Inputs, IO{v.Name, v, o})
		p.IOBytes += v.Type.Bytes()
	}
	for i, v := range g.Out {
		o, ok := p.Offset(v)
		if !ok {
			return nil, fmt.Errorf("BUG: output %s has no place", g.OutNames[i])
		}
		p.Outputs = append(p.Outputs, IO{g.OutNames[i], v, o})
		p.IOBytes += v.Type.Bytes()
	}
	return p, nil
}

func stepName(n *ir.Node) string {
	if len(n.Origin) > 0 && n.Origin[0] != "" {
		return n.Origin[0]
	}
	return n.Name
}
