// SPDX-License-Identifier: Apache-2.0

// Package lower takes an imported graph to a program: a walk over the table of
// stages in pipeline.go, from import to the plan of the arena.
package lower

import (
	"io/fs"
	"slices"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/fuse"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/prune"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
	"github.com/nncc/nncc/schedule"
)

// Options of Run.
type Options struct {
	Precision option.Precision // the layers' own are in Quant
	Legalize  bool
	FloatIO   bool // inputs and outputs that stand for reals are float
	OwnIO     bool // FloatIO leaves integers that the model itself has there
	NativeIO  bool // rank-4 inputs and outputs in the kernels' own order
	Target    kernel.Options
	Libraries []string // kernel libraries, best first: cmsisnn, refc
	Quant     quant.Options
	// Accel is the board's accelerator; nil: it has none.
	Accel accel.Accelerator
	// DeadChannels removes channels that are constant for every input or that
	// nobody reads.
	DeadChannels bool
	Fuse         bool // compute neighbours together where a kernel does
	FuseAll      bool // loops even where they do not pay: to measure them
	// Align pads channels; PadInput allows it to add channels to inputs.
	Align         option.Align
	PadInput      bool
	MaxRAM        int             // bytes of arena to stay below if that can be; 0: whatever is fastest
	Flash         int             // bytes of code and constants to stay below if that can be; 0: any
	MaxTries      int             // programs that are planned in search of one that does; 0: as many as pays
	StateBindings []state.Binding // recurrent state
	Stream        *stream.Options // feed a few frames at a time; nil: whole windows
	// Installed: the program will be linked with an installed CMSIS-NN; its
	// kernels have costs of their own.
	Installed bool
	Optimize  option.Optimize // instructions against bytes
	// Copying is what copies of constants cost on the board; the zero value is memory that
	// makes nothing wait.
	Copying boards.Copying
	// WholeConstants: none is fetched in parts, because all are copied later, or are others at
	// run time, when parts that were different may be equal.
	WholeConstants bool
	// Off are stages that are skipped, StopAfter is the last one that runs; "" is
	// all.
	Off       map[string]bool
	StopAfter string
	// Observe sees the state after every stage.
	Observe func(Step) error
}

// Drivers are C files of the accelerator; nil: it brings none.
func (o Options) Drivers() fs.FS {
	if o.Accel == nil {
		return nil
	}
	return o.Accel.Sources()
}

// Result is a program, with what was decided on the way. While stages run it is
// as far as they are.
type Result struct {
	Graph    *ir.Graph        // in the end: types, orders and quantisation fixed
	Program  *program.Program // nil before the last stage
	Schedule *schedule.Result // what the program was in the graph
	Versions
	Selection
	Findings
	Offloading
	Arena
	Recurrence
	start *State // before the stages that goal and kernels decide; nil: it did not get so far
}

// Versions are the graph at earlier stages.
type Versions struct {
	// Model is what the program stands for by its own semantics: the graph as
	// imported where it carries its own quantisation or nothing is quantised, else
	// QDQ. Whole is the program whose values say which tensors of Model they hold:
	// Reference, or the graph before it was brought to 4-D bit for bit.
	Model, Whole *ir.Graph
	// QDQ has QuantizeLinear and DequantizeLinear nodes; nil in float32.
	QDQ *ir.Graph
	// Reference computes what Graph must compute bit for bit: the graph as it
	// was before anything was rearranged for speed or size.
	Reference *ir.Graph
}

// Selection is how each node is computed.
type Selection struct {
	Low        map[*ir.Node]*call.Lowered
	Choices    map[*ir.Node]kernel.Choice // the kernel of each node, and why better ones were not
	Candidates map[*ir.Node][]Candidate   // what Low was chosen from
	Cost       SelectionCost
}

// Findings are for reports.
type Findings struct {
	Precision    string    // of the layers: int8, int16x8, int4, mixed, float32 (or another float type), integer
	Layers       Layers    // how many have which
	Diags        diag.List // warnings and notes, each with the stage that gave it
	Rewrites     []pass.Rewrite
	Calibration  *quant.Report    // nil unless this run quantised the model
	Pruned       []prune.Cut      // values that lost channels
	Fusions      []fuse.Fusion    // nodes that became one, or could have
	Aligned      *align.Result    // the alignment of channel counts; nil on accelerators
	interpolated []fuse.Fusion    // int16 functions that became one
	floatSteps   map[string]int64 // of QuantizeLinear nodes of Reference, by name
}

// Offloading is what an accelerator computes.
type Offloading struct {
	Segments []*ir.Node        // what runs on it, in order
	Refused  []Refusal         // what it does not take
	boundary map[*ir.Node]bool // nodes that rebuild outputs or carry inputs, outside of segments
}

// Arena is how the program came to its arena.
type Arena struct {
	Tiled  *TiledStage     // layers a few rows at a time; nil: none
	Effort schedule.Effort // of the plan; 0: Full
	Tried  int             // programs that were looked at for MaxRAM; 0: there was no need
	// Fastest are the predicted instructions of the program without MaxRAM; 0: nobody asked for less memory.
	Fastest float64
	// Frontier are programs that were looked at, each with less memory and more work than the one before it.
	Frontier []Point
}

// Recurrence is the program's state.
type Recurrence struct {
	States        []schedule.StateBinding // by value
	StateBindings []state.Binding         // by name
	Streamed      *stream.Result          // nil: whole windows
	Slides        *stream.Options         // with the frames of a step
}

// Quantised reports a graph that carries its own quantisation.
func Quantised(g *ir.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *ir.Node) bool {
		return n.Op == op.QuantizeLinear || n.Op == op.DequantizeLinear
	})
}

// Run lowers g, which it consumes.
func Run(g *ir.Graph, o Options) (*Result, error) {
	s, err := newState(g, o)
	if err != nil {
		return nil, err
	}
	first := slices.IndexFunc(Table, func(t *Stage) bool { return t.Name == goalStage })
	if s, err = s.walk(Table[:first]); err != nil || s.stopped {
		return s.Result, err
	}
	var fast *State
	if s.facts.MaxRAM > 0 {
		fast = s.fastest(Table[first:])
	}
	if fast != nil {
		s.Fastest = fast.Predicted()
	}
	start := s.fork()
	if fast != nil && fast.Program.RAMBytes() <= s.facts.MaxRAM {
		s.facts.MaxRAM = 0
	}
	s, err = s.walk(Table[first:])
	if fast != nil && err == nil {
		s.Frontier = fast.below(s.Frontier)
		if n := s.Program.RAMBytes(); n > s.facts.MaxRAM && (n > fast.Program.RAMBytes() || !s.Worth()) {
			fast.Tried, fast.Frontier = s.Tried, s.Frontier
			s = fast
		} else if a, b := s.elsewhere(), fast.elsewhere(); a > b {
			s.Diags.Add(diag.Notef("cascades", "", "layers that the accelerator computes a few rows at a time take %d "+
				"bytes instead of %d, and an estimated %.0f cycles instead of %.0f", n, fast.Program.RAMBytes(), a, b))
		}
	}
	s.start = start
	return s.Result, err
}

// elsewhere is the cycles that accelerators take, as estimated.
func (r *Result) elsewhere() (sum float64) {
	for _, n := range r.Graph.Nodes {
		if l := r.Low[n]; l != nil && l.Elsewhere != nil {
			sum += l.Elsewhere.Cycles
		}
	}
	return sum
}

// fastest is the program of the rows without MaxRAM, which every budget gives that it meets; nil: there is none.
func (s *State) fastest(rows []*Stage) *State {
	x := s.fork()
	x.facts.MaxRAM = 0
	x, err := x.walk(rows)
	if err != nil || x.Program == nil {
		return nil
	}
	return x
}

// goalStage is the first stage that asks for goal or kernels.
const goalStage = "align"

// Again is the program of the same numbers with another goal, and with other kernels.
func (r *Result) Again(goal option.Optimize, kernels option.Kernels) (_ *Result, err error) {
	defer fail.Catch(&err)
	s := r.start.fork()
	s.facts.Optimize, s.facts.Target.Kernels, s.facts.Target.Memo = goal, kernels, map[any]any{}
	s.table = fail.Must(s.facts.table())
	s = fail.Must(s.walk(between(goalStage, FetchStage)))
	s.start = r.start
	return s.Result, nil
}

// Legalise runs the float passes on g, which has no target yet, and returns what
// they did. Without legalize only those run that later stages rely on.
func Legalise(g *ir.Graph, legalize bool) (_ []pass.Rewrite, err error) {
	defer fail.Catch(&err)
	s := fail.Must(newState(g, Options{Legalize: legalize}))
	return fail.Must(s.walk(between("const-fold", "pixel-shuffle"))).Rewrites, nil
}
