// SPDX-License-Identifier: Apache-2.0

// Package report is what users read of a compilation or a verification: report.json
// and report.html, the tables of explain, verify and profile, and their JSON.
package report

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// Schema is the version of report.json; fields are only ever added.
const Schema = 1

// Report is report.json. Its fields are part of nncc's interface.
type Report struct {
	Schema    int    `json:"schema"`
	Generator string `json:"generator"`
	Version   string `json:"version"`
	Model     Model  `json:"model"`
	Prefix    string `json:"c_prefix,omitempty"` // of several models in one folder
	Board     string `json:"board"`
	Precision string `json:"precision"`
	// Verdict says first whether the program fits, and what is known of its accuracy.
	Verdict Summary `json:"verdict"`
	// PrecisionLayers counts the layers by the precision that they compute in.
	PrecisionLayers lower.Layers `json:"precision_layers,omitempty"`
	Inputs          []IO         `json:"inputs"`
	Outputs         []IO         `json:"outputs"`
	// Preprocess is the C that makes inputs of what the device gives.
	Preprocess []codegen.PreprocessInfo `json:"preprocess,omitempty"`
	// Postprocess is the C that makes boxes, classes and keywords of the outputs.
	Postprocess []codegen.PostprocessInfo `json:"postprocess,omitempty"`
	States      []State                   `json:"states"`
	Stream      *Stream                   `json:"stream,omitempty"`
	Segments    []Segment                 `json:"segments"`
	Fallback    []Fallback                `json:"fallback"`
	Layers      []Layer                   `json:"layers"`
	// Steps are what <name>_step counts: layers, and chains of layers, of which .layers has every call.
	Steps       []Step        `json:"steps"`
	Graph       *Graph        `json:"graph,omitempty"`
	Rejections  []Rejection   `json:"rejections"`
	Alignment   []align.Row   `json:"alignment"`
	Fusion      []Fusion      `json:"fusion"`
	Optimize    Optimize      `json:"optimize"`
	DeadChannel []Dead        `json:"dead_channels"`
	Memory      Memory        `json:"memory"`
	Code        *Code         `json:"code,omitempty"`
	Calibration *quant.Report `json:"calibration,omitempty"`
	// Gates are the limits that the program exceeds, with by how much and why.
	Gates    []string `json:"exceeded_gates,omitempty"`
	Warnings []string `json:"warnings"`
	Notes    []string `json:"notes"`
	// Diagnostics are the warnings and notes with their codes and where they come from.
	Diagnostics diag.List `json:"diagnostics"`
	Files       []string  `json:"files"`
	// FileHashes are the SHA-256 of all files but this one, as written: those of which a user edited are kept.
	FileHashes map[string]string `json:"file_hashes,omitempty"`
	// StageTimes is how long the stages took, with --time-passes.
	StageTimes []StageTime `json:"stage_times,omitempty"`
}

// Model identifies the input.
type Model struct {
	Name     string         `json:"name"`
	SHA256   string         `json:"sha256"`
	Producer string         `json:"producer"`
	Opset    map[string]int `json:"opset"`
}

// IO is an input or output.
type IO struct {
	Name      string   `json:"name"`
	CName     string   `json:"c_name"`
	DType     string   `json:"dtype"`
	Shape     []int    `json:"shape"`
	Layout    string   `json:"layout"`
	Scale     *float32 `json:"scale"`
	ZeroPoint *int32   `json:"zero_point"`
	// Scales and ZeroPoints are those of each index of dimension Axis, where Scale and
	// ZeroPoint are null for it.
	Scales     []float32 `json:"scales,omitempty"`
	ZeroPoints []int32   `json:"zero_points,omitempty"`
	Axis       *int      `json:"axis,omitempty"`
	Bytes      int       `json:"bytes"`
	// PaddedFrom is how many channels the model has where --pad-input added
	// some: they come last, and what they hold does not matter.
	PaddedFrom int `json:"padded_from,omitempty"`
	// Classes are the texts that integers of an output stand for, or columns of reals.
	Classes []string `json:"classes,omitempty"`
}

// State is recurrent state: what a run leaves in an output and the next
// one finds as an input. Neither is part of the C interface.
type State struct {
	Input  string `json:"input"`
	Output string `json:"output"`
	DType  string `json:"dtype"`
	Shape  []int  `json:"shape"`
	Bytes  int    `json:"bytes"`
}

// Stream is a window that the firmware is fed a few frames at a time.
type Stream struct {
	Input    string `json:"input"`
	Axis     int    `json:"axis"`
	Window   int    `json:"window"`
	Frames   int    `json:"frames"` // a step
	MACs     int64  `json:"macs"`   // of a whole window
	StepMACs int64  `json:"step_macs"`
}

// Stream is what --stream made of the window; nil without.
func (o *Subject) Stream() *Stream {
	x, at := o.Lowered.Streamed, o.Lowered.Slides
	if x == nil {
		return nil
	}
	return &Stream{Input: o.Lowered.Reference.In[at.Input].Name, Axis: at.Axis, Window: x.Window, Frames: x.Hop,
		MACs: x.MACs, StepMACs: x.StepMACs}
}

// Layer is one step of the program.
type Layer struct {
	Name   string `json:"name"`
	Op     string `json:"op"`
	Kernel string `json:"kernel"`
	// the kernel's: cmsis-nn, nncc-helium, nncc-dsp, nncc, view, or the accelerator's
	Library     string `json:"library"`
	Route       string `json:"route"`
	RouteReason string `json:"route_reason,omitempty"` // why no better function of the library runs
	// Candidates are the kernels that accept the layer, with predicted instructions (lower/cost).
	Candidates   []Candidate `json:"offers,omitempty"`
	ONNXNodes    []string    `json:"onnx_nodes"`
	planned      bool        // the arena's plan put it there
	MACs         int64       `json:"macs"`
	In           []string    `json:"in"`
	Out          []string    `json:"out"`
	ScratchBytes int         `json:"scratch_bytes"`
	WeightBytes  int         `json:"weight_bytes"`
	MovedBytes   int         `json:"moved_bytes"` // activations that are read and written
	Instructions *uint64     `json:"instructions,omitempty"`
	LayerBound
	LayerElsewhere
	// Cycles are those estimated from the instructions that were executed; only after profile.
	Cycles *int `json:"estimated_cycles,omitempty"`
}

// Rejection is a node that a better kernel refused.
type Rejection struct {
	Node    string   `json:"node"`
	Op      string   `json:"op"`
	Target  string   `json:"target"`
	Reasons []Reason `json:"reasons"`
}

// Reason is one ground of a refusal.
type Reason struct {
	Code string `json:"code"`
	Text string `json:"text"`
	Was  string `json:"was,omitempty"` // the code before conditions had codes; for one version
}

// Fusion is a group of nodes that are computed as one: by a table of
// results, by an interpolated curve, by a kernel that does the rest in its store loop, or by one loop;
// or that could be, with the reason why they are not.
type Fusion struct {
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

// Dead is a node whose result lost channels that are the same for every
// input or that nobody reads; all of them: the result is a constant.
type Dead struct {
	Node     string `json:"node"`
	Channels int    `json:"channels"`
	Removed  int    `json:"removed"`
	Constant int    `json:"constant"`
}

// Code is known after verify: what was measured, and the most stack that
// any input can make the program use.
type Code struct {
	Measured
	InferenceBound
	Stack
}

// New is the report of a compiled model; what a build or a run measures is added to it.
func New(o *Subject) *Report {
	r := &Report{Schema: Schema, Generator: "nncc", Version: o.Version, Board: o.Board.Name,
		Precision: o.Lowered.Precision, PrecisionLayers: o.Lowered.Layers, States: []State{}, Segments: []Segment{},
		Fallback: []Fallback{}, Layers: []Layer{}, Rejections: []Rejection{}, Alignment: []align.Row{},
		Fusion: []Fusion{}, DeadChannel: []Dead{}, Calibration: o.Lowered.Calibration}
	r.Model = Model{Name: o.Name, SHA256: hex.EncodeToString(o.Model.SHA256[:]),
		Producer: o.Model.Proto.GetProducerName(), Opset: map[string]int{}}
	for _, s := range o.Model.Proto.GetOpsetImport() {
		d := s.GetDomain()
		if d == "" {
			d = "ai.onnx"
		}
		r.Model.Opset[d] = int(s.GetVersion())
	}
	for _, x := range o.Info.Inputs {
		in := newIO(x.Name, x.CName, x.Type)
		if a := o.Lowered.Aligned; a != nil {
			in.PaddedFrom = a.Inputs[x.Name]
		}
		r.Inputs = append(r.Inputs, in)
	}
	for _, x := range o.Info.Outputs {
		out := newIO(x.Name, x.CName, x.Type)
		out.Classes = o.Model.Classes[x.Name]
		r.Outputs = append(r.Outputs, out)
	}
	for _, x := range o.Info.States {
		r.States = append(r.States, State{x.In, x.Out, x.Type.DType.ONNXName(), append([]int{}, x.Type.Shape...),
			x.Bytes})
	}
	r.Preprocess, r.Postprocess = o.Info.Preprocess, o.Info.Postprocess
	r.Stream = o.Stream()
	for i := range o.Lowered.Program.Steps {
		r.layer(o, i)
	}
	r.Steps = o.steps()
	r.Graph = newGraph(o)
	for _, f := range o.Lowered.Fusions {
		r.Fusion = append(r.Fusion, Fusion{Kind: f.Kind, Node: f.Anchor, Nodes: f.Nodes, Kernel: f.Kernel,
			Reason: f.Why, MaxError: f.Error, SeparateError: f.Apart})
	}
	for _, c := range o.Lowered.Pruned {
		r.DeadChannel = append(r.DeadChannel, Dead{Node: c.Node, Channels: c.Before, Removed: c.Before - c.After,
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
	r.Optimize = newOptimize(o)
	r.memory(o)
	r.Files = append(r.Files, lists.Map(o.Files, func(f codegen.File) string { return f.Path })...)
	r.Files = append(r.Files, File, HTMLFile)
	slices.Sort(r.Files)
	return r
}

func newIO(name, cname string, t ir.Type) IO {
	x := IO{Name: name, CName: cname, DType: t.DType.ONNXName(), Shape: append([]int{}, t.Shape...),
		Layout: "onnx", Bytes: t.Bytes()}
	if t.Order != nil && !t.SameMemory(nil) {
		x.Layout = "NHWC"
	}
	switch q := t.Quant; {
	case q.PerAxis():
		x.Scales, x.ZeroPoints, x.Axis = q.Scale, q.Zero, &q.Axis
	case q != nil:
		x.Scale, x.ZeroPoint = &q.Scale[0], &q.Zero[0]
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
	s := lists.Map(n.Body[0].Nodes, func(m *ir.Node) string { return m.Op.Name })
	return strings.Join(s, "+")
}

func (r *Report) layer(o *Subject, i int) {
	s, n, low := o.Lowered.Program.Steps[i], o.Lowered.Schedule.Nodes[i], o.low(i)
	l := Layer{Name: s.Name, Op: opName(n), planned: n.Op.Planned, Kernel: s.Kernel, Library: low.Library,
		Route: s.Route, RouteReason: low.RouteReason, ONNXNodes: append([]string{}, s.Origin...),
		MACs: macs(n), In: []string{}, Out: []string{}, ScratchBytes: low.Scratch, WeightBytes: o.Info.StepBlobs[i],
		MovedBytes:     MovedBytes(o.Lowered.Program, i),
		LayerBound:     LayerBound{DependOnData: o.Dependence(i, false) != runtimec.Fixed},
		LayerElsewhere: newElsewhere(low.Elsewhere)}
	if k := slices.Index(o.Lowered.Segments, n); k >= 0 && k < len(o.Info.Images) {
		l.WeightBytes += o.FileBytes(o.Info.Images[k])
	}
	l.Candidates = newCandidates(o.Lowered.Candidates[n])
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			l.In = append(l.In, v.Type.String())
		}
	}
	l.Out = append(l.Out, lists.Map(n.Out, func(v *ir.Value) string { return v.Type.String() })...)
	r.Layers = append(r.Layers, l)
}

// libraries fills segments, fallback and rejections of a Cortex-M board:
// segments are the runs of layers by CMSIS-NN and nncc's kernels for the core.
func (r *Report) libraries(o *Subject) {
	inSegment := false
	for i, s := range o.Lowered.Program.Steps {
		n, l, library := o.Lowered.Schedule.Nodes[i], &r.Layers[i], o.low(i).Library
		if n.Op.Planned {
			continue
		}
		if kernel.IsOptimized(library) {
			if !inSegment {
				r.Segments = append(r.Segments, Segment{ID: len(r.Segments), Accelerator: library, Nodes: []string{}})
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
			f := Fallback{Node: s.Name, Op: l.Op, MACs: l.MACs, Role: "compute", Reasons: []string{}}
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

func rejection(name string, n *ir.Node, x kernel.Rejection) Rejection {
	return Rejection{Node: name, Op: n.Op.Name, Target: x.Library + "/" + x.Kernel,
		Reasons: lists.Each(x.Reasons, func(y kernel.Reason) Reason { return Reason(y) })}
}

// StageTime is how long a stage took.
type StageTime struct {
	Stage        string  `json:"stage"`
	Milliseconds float64 `json:"ms"`
}

// Subject is what a report is about: a compiled model with what was decided.
type Subject struct {
	Version   string // of nncc
	Name      string // the model's file, without its folder
	Board     *boards.Spec
	Model     *onnx.Model
	Lowered   *lower.Result
	Info      *codegen.Info
	Files     []codegen.File
	Harness   run.Model
	Placement boards.Placement // of the program in the board's memories
	Copies    *Copying         // of constants in faster memory; nil: none was asked for, or none pays
	// What the user chose.
	Optimize option.Optimize
	Align    option.Align
}

// FileBytes is the size of an emitted file; 0 where there is none.
func (o *Subject) FileBytes(path string) int {
	i := slices.IndexFunc(o.Files, func(f codegen.File) bool { return f.Path == path })
	if i < 0 {
		return 0
	}
	return len(o.Files[i].Data)
}

func (o *Subject) low(i int) *call.Lowered { return o.Lowered.Low[o.Lowered.Schedule.Nodes[i]] }
