package driver

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// ReportSchema is the version of report.json; fields are only ever added.
const ReportSchema = 1

// Report is report.json. Its fields are part of nncc's interface.
type Report struct {
	Schema    int         `json:"schema"`
	Generator string      `json:"generator"`
	Version   string      `json:"version"`
	Model     ReportModel `json:"model"`
	Board     string      `json:"board"`
	Precision string      `json:"precision"`
	// PrecisionLayers counts the layers by the precision that they compute in.
	PrecisionLayers lower.Layers      `json:"precision_layers,omitempty"`
	Inputs          []ReportIO        `json:"inputs"`
	Outputs         []ReportIO        `json:"outputs"`
	States          []ReportState     `json:"states"`
	Stream          *ReportStream     `json:"stream,omitempty"`
	Segments        []ReportSegment   `json:"segments"`
	Fallback        []ReportFallback  `json:"fallback"`
	Layers          []ReportLayer     `json:"layers"`
	Rejections      []ReportRejection `json:"rejections"`
	Alignment       []align.Row       `json:"alignment"`
	Fusion          []ReportFusion    `json:"fusion"`
	Optimize        ReportOptimize    `json:"optimize"`
	DeadChannel     []ReportDead      `json:"dead_channels"`
	Memory          ReportMemory      `json:"memory"`
	Code            *ReportCode       `json:"code,omitempty"`
	Calibration     *quant.Report     `json:"calibration,omitempty"`
	Warnings        []string          `json:"warnings"`
	Notes           []string          `json:"notes"`
	// Diagnostics are the warnings and notes with their codes and where they come from.
	Diagnostics diag.List `json:"diagnostics"`
	Files       []string  `json:"files"`
	// StageTimes is how long the stages took, with --time-passes.
	StageTimes []StageTime `json:"stage_times,omitempty"`
}

// ReportModel identifies the input.
type ReportModel struct {
	Name     string         `json:"name"`
	SHA256   string         `json:"sha256"`
	Producer string         `json:"producer"`
	Opset    map[string]int `json:"opset"`
}

// ReportIO is an input or output.
type ReportIO struct {
	Name      string   `json:"name"`
	CName     string   `json:"c_name"`
	DType     string   `json:"dtype"`
	Shape     []int    `json:"shape"`
	Layout    string   `json:"layout"`
	Scale     *float32 `json:"scale,omitempty"`
	ZeroPoint *int32   `json:"zero_point,omitempty"`
	Bytes     int      `json:"bytes"`
	// PaddedFrom is how many channels the model has where --pad-input added
	// some: they come last, and what they hold does not matter.
	PaddedFrom int `json:"padded_from,omitempty"`
}

// ReportState is recurrent state: what a run leaves in an output and the next
// one finds as an input. Neither is part of the C interface.
type ReportState struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Bytes  int    `json:"bytes"`
}

// ReportStream is a window that the firmware is fed a few frames at a time.
type ReportStream struct {
	Input    string `json:"input"`
	Axis     int    `json:"axis"`
	Window   int    `json:"window"`
	Frames   int    `json:"frames"` // a step
	MACs     int64  `json:"macs"`   // of a whole window
	StepMACs int64  `json:"step_macs"`
}

// streamed is what --stream made of the window; nil without.
func (o *Compiled) streamed() *ReportStream {
	x, at := o.Lowered.Streamed, o.Lowered.Slides
	if x == nil {
		return nil
	}
	return &ReportStream{Input: o.Lowered.Reference.In[at.Input].Name, Axis: at.Axis, Window: x.Window, Frames: x.Hop,
		MACs: x.MACs, StepMACs: x.StepMACs}
}

// ReportSegment is a run of layers on an accelerator or accelerated library.
type ReportSegment struct {
	ID          int      `json:"id"`
	Accelerator string   `json:"accelerator"`
	File        string   `json:"file,omitempty"`
	Nodes       []string `json:"nodes"`
	MACs        int64    `json:"macs"`
}

// ReportFallback is a node outside the segments.
type ReportFallback struct {
	Node    string   `json:"node"`
	Op      string   `json:"op"`
	MACs    int64    `json:"macs"`
	Role    string   `json:"role"` // compute or restore
	Reasons []string `json:"reasons"`
}

// ReportLayer is one step of the program.
type ReportLayer struct {
	Name   string `json:"name"`
	Op     string `json:"op"`
	Kernel string `json:"kernel"`
	// the kernel's: cmsis-nn, nncc-helium, nncc-dsp, nncc, view, or the accelerator's
	Library     string `json:"library"`
	Route       string `json:"route"`
	RouteReason string `json:"route_reason,omitempty"` // why no better function of the library runs
	// Candidates are the kernels that accept the layer, with predicted instructions (lower/cost).
	Candidates   []ReportCandidate `json:"offers,omitempty"`
	ONNXNodes    []string          `json:"onnx_nodes"`
	MACs         int64             `json:"macs"`
	In           []string          `json:"in"`
	Out          []string          `json:"out"`
	ScratchBytes int               `json:"scratch_bytes"`
	WeightBytes  int               `json:"weight_bytes"`
	Instructions *uint64           `json:"instructions,omitempty"`
}

// ReportRejection is a node that a better kernel refused.
type ReportRejection struct {
	Node    string         `json:"node"`
	Op      string         `json:"op"`
	Target  string         `json:"target"`
	Reasons []ReportReason `json:"reasons"`
}

// ReportReason is one ground of a refusal.
type ReportReason struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// ReportFusion is a group of nodes that are computed as one: by a table of
// results, by an interpolated curve, by a kernel that does the rest in its store loop, or by one loop;
// or that could be, with the reason why they are not.
type ReportFusion struct {
	Kind   string   `json:"kind"` // table, curve, kernel, loop or none
	Node   string   `json:"node"` // the node that stands for the group
	Nodes  []string `json:"nodes"`
	Kernel string   `json:"kernel,omitempty"`
	Reason string   `json:"reason,omitempty"` // of none
	// Of a curve: the largest distance from the exact function over all inputs,
	// in steps of the result, and that of the separate nodes.
	MaxError      float64 `json:"max_error_steps,omitempty"`
	SeparateError float64 `json:"separate_max_error_steps,omitempty"`
}

// ReportDead is a node whose result lost channels that are the same for every
// input or that nobody reads; all of them: the result is a constant.
type ReportDead struct {
	Node     string `json:"node"`
	Channels int    `json:"channels"`
	Removed  int    `json:"removed"`
	Constant int    `json:"constant"`
}

// ReportMemory is where the arena goes.
type ReportMemory struct {
	ArenaBytes      int            `json:"arena_bytes"`
	LowerBoundBytes int            `json:"arena_lower_bound_bytes"`
	OrderOptimal    bool           `json:"order_optimal"`
	IOBytes         int            `json:"io_bytes"`
	ScratchBytes    int            `json:"scratch_bytes"`
	WeightsBytes    int            `json:"weights_bytes"`
	Regions         []ReportRegion `json:"regions"`
	Buffers         []ReportBuffer `json:"buffers"`
	Patch           *ReportPatch   `json:"patch,omitempty"`
}

// ReportPatch is the first layers computed in stripes for --max-ram.
type ReportPatch struct {
	Nodes           []string `json:"nodes"`
	Stripes         int      `json:"stripes"`
	MACs            int64    `json:"macs"`
	ExtraMACs       int64    `json:"extra_macs"`
	WholeArenaBytes int      `json:"whole_arena_bytes"` // without stripes
}

// ReportRegion is a memory of the board with what lies in it.
type ReportRegion struct {
	Name    string       `json:"name"`
	Bytes   uint64       `json:"bytes"`
	Holds   []string     `json:"holds"`
	Used    uint64       `json:"used_bytes"`
	Missing uint64       `json:"missing_bytes"`
	Items   []ReportItem `json:"items"`
}

// ReportItem lies in a region: the stack that the board declares, the arena,
// code, constants.
type ReportItem struct {
	What      string `json:"what"` // as in holds
	Bytes     uint64 `json:"bytes"`
	Library   uint64 `json:"c_library_bytes,omitempty"` // of these
	Estimated bool   `json:"estimated,omitempty"`       // not measured: there was no build
}

// ReportBuffer is a place in the arena; alias_of names the buffer in whose
// storage it lies.
type ReportBuffer struct {
	Name    string `json:"name"`
	Offset  int    `json:"offset"`
	Bytes   int    `json:"bytes"`
	First   int    `json:"first"`
	Last    int    `json:"last"`
	AliasOf string `json:"alias_of,omitempty"`
	// of a buffer that lies in rows inside a wider one
	RowBytes   int `json:"row_bytes,omitempty"`
	PitchBytes int `json:"pitch_bytes,omitempty"`
}

// ReportCode is known after verify: what was measured, and the most stack that
// any input can make the program use.
type ReportCode struct {
	Measured
	ReportStack
}

// ReportStack is the bound of the stack, read from the program's machine code.
type ReportStack struct {
	Bound int      `json:"stack_bound_bytes,omitempty"`
	Path  []string `json:"stack_path,omitempty"` // the deepest way down, from the run or reset function
	// why there is no bound: of programs for a host, nothing is read
	NoBound string `json:"stack_unbounded,omitempty"`
	// Functions that run and reset can come to, the C library's included.
	Functions []ReportFunction `json:"functions,omitempty"`
}

// ReportFunction is what a function takes from the stack itself.
type ReportFunction struct {
	Name       string `json:"name"`
	StackBytes int    `json:"stack_bytes"`
}

// reportStack reads the program's stack.
func reportStack(o *Compiled, im *run.Image) ReportStack {
	entries := []string{o.Harness.RunFunc}
	if f := o.Harness.ResetFunc; f != "" {
		entries = append(entries, f)
	}
	b, err := im.Stack(entries...)
	r := ReportStack{}
	if b != nil {
		for _, f := range b.Functions {
			r.Functions = append(r.Functions, ReportFunction{f.Name, f.Frame})
		}
	}
	if err != nil {
		r.NoBound = err.Error()
		return r
	}
	r.Bound, r.Path = b.Bytes, b.Names
	return r
}

func newReport(o *Compiled) *Report {
	r := &Report{Schema: ReportSchema, Generator: "nncc", Version: Version, Board: o.Board.Name,
		Precision: o.Lowered.Precision, PrecisionLayers: o.Lowered.Layers,
		States: []ReportState{}, Segments: []ReportSegment{}, Fallback: []ReportFallback{}, Layers: []ReportLayer{},
		Rejections: []ReportRejection{},
		Alignment:  []align.Row{}, Fusion: []ReportFusion{}, DeadChannel: []ReportDead{},
		Calibration: o.Lowered.Calibration}
	r.Model = ReportModel{Name: filepath.Base(o.Config.Model), SHA256: hex.EncodeToString(o.Model.SHA256[:]),
		Producer: o.Model.Proto.GetProducerName(), Opset: map[string]int{}}
	for _, s := range o.Model.Proto.GetOpsetImport() {
		d := s.GetDomain()
		if d == "" {
			d = "ai.onnx"
		}
		r.Model.Opset[d] = int(s.GetVersion())
	}
	native := o.Config.IOLayout == option.NativeLayout
	for _, x := range o.Info.Inputs {
		in := reportIO(x.Name, x.CName, x.Type, native)
		if a := o.Lowered.Aligned; a != nil {
			in.PaddedFrom = a.Inputs[x.Name]
		}
		r.Inputs = append(r.Inputs, in)
	}
	for _, x := range o.Info.Outputs {
		r.Outputs = append(r.Outputs, reportIO(x.Name, x.CName, x.Type, native))
	}
	for _, x := range o.Info.States {
		r.States = append(r.States, ReportState{x.In, x.Out, x.Type.DType.ONNXName(), append([]int{}, x.Type.Shape...),
			x.Bytes})
	}
	r.Stream = o.streamed()
	for i := range o.Program.Steps {
		r.layer(o, i)
	}
	for _, f := range o.Lowered.Fusions {
		r.Fusion = append(r.Fusion, ReportFusion{Kind: f.Kind, Node: f.Anchor, Nodes: f.Nodes, Kernel: f.Kernel,
			Reason: f.Why, MaxError: f.Error, SeparateError: f.Apart})
	}
	for _, c := range o.Lowered.Pruned {
		r.DeadChannel = append(r.DeadChannel, ReportDead{Node: c.Node, Channels: c.Before, Removed: c.Before - c.After,
			Constant: c.Constant})
	}
	if a := o.Lowered.Aligned; a != nil {
		r.Alignment = append(r.Alignment, a.Rows...)
	}
	if len(o.Board.Accelerators) > 0 {
		r.accelerated(o)
	} else {
		r.libraries(o)
	}
	r.Optimize = reportOptimize(o)
	r.memory(o)
	for _, f := range o.Files {
		r.Files = append(r.Files, f.Path)
	}
	r.Files = append(r.Files, firmwareManifest, htmlReport)
	slices.Sort(r.Files)
	return r
}

func reportIO(name, cname string, t ir.Type, native bool) ReportIO {
	x := ReportIO{Name: name, CName: cname, DType: t.DType.ONNXName(), Shape: append([]int{}, t.Shape...),
		Layout: "onnx", Bytes: t.Bytes()}
	if t.Order != nil && !t.SameMemory(nil) {
		x.Layout = "NHWC"
	}
	if t.Quant != nil && !t.Quant.PerAxis() {
		s, z := t.Quant.Scale[0], t.Quant.Zero[0]
		x.Scale, x.ZeroPoint = &s, &z
	}
	return x
}

func macs(n *ir.Node) int64 {
	if n.Op.MACs == nil {
		return 0
	}
	return n.Op.MACs(n)
}

// opName is the operator of a node, of all its parts for a fused one.
func opName(n *ir.Node) string {
	if n.Op != op.Fused {
		return n.Op.Name
	}
	var s []string
	for _, m := range n.Body[0].Nodes {
		s = append(s, m.Op.Name)
	}
	return strings.Join(s, "+")
}

// layer describes step i.
func (r *Report) layer(o *Compiled, i int) {
	s, n, low := o.Program.Steps[i], o.Schedule.Nodes[i], o.low(i)
	l := ReportLayer{Name: s.Name, Op: opName(n), Kernel: s.Kernel, Library: low.Library, Route: s.Route,
		RouteReason: low.RouteReason, ONNXNodes: append([]string{}, s.Origin...),
		MACs: macs(n), In: []string{}, Out: []string{}, ScratchBytes: low.Scratch, WeightBytes: o.Info.StepBlobs[i]}
	l.Candidates = reportCandidates(o.Lowered.Candidates[n])
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			l.In = append(l.In, v.Type.String())
		}
	}
	for _, v := range n.Out {
		l.Out = append(l.Out, v.Type.String())
	}
	r.Layers = append(r.Layers, l)
}

// libraries fills segments, fallback and rejections of a Cortex-M board:
// segments are the runs of layers by CMSIS-NN and nncc's kernels for the core.
func (r *Report) libraries(o *Compiled) {
	inSegment := false
	for i, s := range o.Program.Steps {
		n, l, library := o.Schedule.Nodes[i], &r.Layers[i], o.low(i).Library
		if kernel.IsOptimized(library) {
			if !inSegment {
				r.Segments = append(r.Segments, ReportSegment{ID: len(r.Segments), Accelerator: library,
					Nodes: []string{}})
			}
			x := &r.Segments[len(r.Segments)-1]
			if !slices.Contains(strings.Split(x.Accelerator, "+"), library) {
				x.Accelerator += "+" + library
			}
			x.Nodes = append(x.Nodes, s.Name)
			x.MACs += l.MACs
			inSegment = true
		} else {
			inSegment = false
			f := ReportFallback{Node: s.Name, Op: n.Op.Name, MACs: l.MACs, Role: "compute", Reasons: []string{}}
			for _, x := range o.Lowered.Choices[n].Rejected {
				if x.Library == library {
					continue
				}
				for _, y := range x.Reasons {
					f.Reasons = append(f.Reasons, x.Kernel+": "+y.Text)
				}
			}
			if len(f.Reasons) == 0 {
				f.Reasons = append(f.Reasons, "CMSIS-NN has no kernel for "+n.Op.Name+" on "+typeWord(n))
			}
			r.Fallback = append(r.Fallback, f)
		}
		for _, x := range o.Lowered.Choices[n].Rejected {
			if x.Library == library {
				continue // another kernel of the same library took the node
			}
			r.Rejections = append(r.Rejections, rejection(s.Name, n, x))
		}
	}
}

func typeWord(n *ir.Node) string {
	if len(n.Out) > 0 {
		return n.Out[0].Type.DType.ONNXName()
	}
	return "these types"
}

func rejection(name string, n *ir.Node, x kernel.Rejection) ReportRejection {
	j := ReportRejection{Node: name, Op: n.Op.Name, Target: x.Library + "/" + x.Kernel, Reasons: []ReportReason{}}
	for _, y := range x.Reasons {
		j.Reasons = append(j.Reasons, ReportReason{y.Code, y.Text})
	}
	return j
}

func (r *Report) memory(o *Compiled) {
	p := o.Program
	r.Memory = ReportMemory{ArenaBytes: p.ArenaBytes, LowerBoundBytes: p.LowerBound, OrderOptimal: p.PeakOptimal,
		IOBytes:      p.IOBytes(),
		ScratchBytes: p.ScratchBytes(), WeightsBytes: o.Info.WeightBytes, Buffers: []ReportBuffer{}}
	if x := o.Lowered.Tiled; x != nil {
		r.Memory.Patch = &ReportPatch{Nodes: x.Nodes, Stripes: x.Stripes, MACs: x.MACs, ExtraMACs: x.ExtraMACs,
			WholeArenaBytes: x.WholeBytes}
	}
	r.Memory.regions(o)
	for _, b := range p.Buffers {
		x := ReportBuffer{Name: b.Name, Offset: b.Offset, Bytes: b.Bytes, First: b.First, Last: b.Last, RowBytes: b.Row,
			PitchBytes: b.Pitch}
		if b.AliasOf >= 0 {
			x.AliasOf = p.Buffers[b.AliasOf].Name
		}
		if b.Bytes > 0 {
			r.Memory.Buffers = append(r.Memory.Buffers, x)
		}
	}
}

func (r *Report) computeFallback() int {
	n := 0
	for _, f := range r.Fallback {
		if f.Role == "compute" {
			n++
		}
	}
	return n
}

// segments counts them and names what cuts them.
func (r *Report) segments() string {
	s := fmt.Sprintf("the program has %d segments", len(r.Segments))
	if len(r.Segments) == 1 {
		s = "the program has 1 segment"
	}
	if c := r.cuts(); c != "" {
		s += ", cut by " + c
	}
	return s
}

// namedCuts bounds the nodes that a gate names.
const namedCuts = 8

// cuts are the nodes that compute outside the segments, each with its reasons.
func (r *Report) cuts() string {
	var s []string
	for _, f := range r.Fallback {
		if f.Role != "compute" {
			continue
		}
		if len(s) == namedCuts {
			s = append(s, fmt.Sprintf("and %d more", r.computeFallback()-namedCuts))
			break
		}
		why := ""
		if len(f.Reasons) > 0 {
			why = " (" + strings.Join(f.Reasons, ", ") + ")"
		}
		s = append(s, f.Op+" "+f.Node+why)
	}
	return strings.Join(s, "; ")
}

// JSON is the report as it is written: indented, ending in a line break.
func (r *Report) JSON() []byte { return toJSON(r) }

// JSON is the form of all JSON files: indented, ending in a line break.
func JSON(v any) []byte { return toJSON(v) }

func toJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(bug.Errorf("report: %w", err))
	}
	return b.Bytes()
}
