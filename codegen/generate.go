// SPDX-License-Identifier: Apache-2.0

// Package codegen prints the programs of a firmware, one or several, as a folder of C
// sources: for each its header, steps, weights, input and output helpers; the kernels
// of all and build files. All decisions are made before or in Go; the templates only
// print.
package codegen

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/types"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// File is one emitted file; Path is below the output folder.
type File struct {
	Path string
	Data []byte
}

// Options of Generate, for all models of the folder.
type Options struct {
	Version  string // of nncc
	Board    string
	CPUFlags []string // compiler flags of the board's core
	CFlags   []string // other default flags
	Features []string // of the board's core (runtime_c/kernels.csv, column instructions)
	CC, AR   string   // default tools of the Makefile; "" for cc and ar
	Projects []string // build files, see Projects
	Notes    []string // for the README: warnings
	// Library is where kernels come from; nil for those that nncc ships.
	Library *runtimec.Library
	// Drivers are C files of an accelerator that brings its own; nil: it has none.
	Drivers fs.FS
	// WeightsFile: constants are no part of the sources, but a file for each model that
	// firmware binds at run time.
	WeightsFile bool
}

// complete is o with defaults, and with every text that comes from outside made
// safe for comments: model and node names can be anything.
func (o Options) complete() Options {
	o.Version, o.Board = comment(o.Version), comment(o.Board)
	o.Notes = slices.Clone(o.Notes)
	for i, n := range o.Notes {
		o.Notes[i] = strings.Join(strings.FieldsFunc(n, func(r rune) bool { return r < 32 || r == 127 }), " ")
	}
	if o.Library == nil {
		o.Library = runtimec.Shipped()
	}
	o.CC, o.AR = cmp.Or(o.CC, "cc"), cmp.Or(o.AR, "ar")
	if slices.Contains(o.Projects, "cmake-package") && !slices.Contains(o.Projects, "cmake") {
		o.Projects = append(slices.Clone(o.Projects), "cmake") // whose file installs the package
	}
	if !slices.ContainsFunc(o.CFlags, func(f string) bool { return strings.HasPrefix(f, "-O") }) {
		o.CFlags = append([]string{"-O2"}, o.CFlags...)
	}
	return o
}

// Info is what the report and the harness need to know about the output.
type Info struct {
	Prefix       string
	Inputs       []IOInfo
	Outputs      []IOInfo
	States       []StateInfo // inputs and outputs that only runs see
	StateMacro   string      // bytes of the state; "" without
	WeightBytes  int
	StepNames    []string
	StepBlobs    []int // constant bytes that a step refers to (shared ones counted at every user)
	Functions    []string
	ArenaMacro   string
	ArenaParts   []PartInfo // none: the arena is in one piece
	parts        []partView
	WeightBinary bool
	// Sections: SectionFiles say where constants go.
	Sections bool
	// WeightsFile is bound at run time, Layout the digest of what it has to match;
	// "": constants are linked.
	WeightsFile, Layout string
	// StagedMacro is the size of the memory that copies of constants take; "" without.
	StagedMacro string
	Images      []string // files linked as they are: accelerator programs, in step order
	Preprocess  []PreprocessInfo
	Files       []string // of the model alone, without kernels and what the folder shares
	Postprocess []PostprocessInfo
}

// IOInfo names one input or output in C.
type IOInfo struct {
	Name, CName, Upper, CType string
	Type                      types.Type
	Bytes, Offset, Buffer     int
}

// StateInfo is recurrent state: what a run leaves in an output is what the next
// one finds as an input.
type StateInfo struct {
	In, Out string // ONNX names
	Type    types.Type
	Bytes   int
}

// Generate prints the programs of a firmware into one folder, one set of kernels for all; the
// infos are in the order of the models.
func Generate(models []Model, o Options) (_ []File, _ []*Info, err error) {
	defer fail.Catch(&err)
	o = o.complete()
	if o.Drivers != nil {
		o.Library = fail.Must(o.Library.With(o.Drivers))
	}
	v, infos := fail.Must2(newFirmware(models, o))
	var files []File
	for i, m := range v.Models {
		list := fail.Must(m.files())
		for _, f := range list {
			files = append(files, f)
			infos[i].Files = append(infos[i].Files, f.Path)
		}
	}
	sections := fail.Must(SectionFiles(infos, o.Version, ""))
	list := fail.Must(renderJobs(v, v.jobs()))
	files = slices.Concat(files, sections, list)
	for _, f := range o.Library.Emitted(v.runtime) {
		files = append(files, File{"nncc/" + f.Path, f.Data})
	}
	files = withProjects(v, files)
	lists.Sort(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return files, infos, nil
}

// withProjects adds what build systems want besides, and the terms of all of it.
func withProjects(v *firmwareView, files []File) []File {
	for _, p := range projects {
		if p.more != nil && v.Has(p.name) {
			files = append(files, p.more(v, files)...)
		}
	}
	files = withTerms(v, files)
	for _, p := range projects {
		if p.archive != nil && v.Has(p.name) {
			f := fail.Must(p.archive(v, files))
			files = append(files, f)
		}
	}
	return files
}

// model is what the templates of a model print.
func (e *emitter) model(m Model, o Options, names *ioNaming) (*modelView, error) {
	p := e.prog
	v := &modelView{Options: o, Model: m, arenaForm: e.arena, Upper: strings.ToUpper(m.Prefix),
		Arena: p.ArenaBytes, State: p.StateBytes, Align: program.Align, Images: e.images, arrays: e.arrays}
	v.inputs, v.outputs = ioInfo(p, m.Prefix, names)
	for _, x := range v.inputs {
		io := newIOView(x, e.arena, true, e.bound != nil)
		io.Pointer = e.ioPointer(x, false)
		io.WhenMacro, io.When, io.WhenDoc = until(e.stepOf(p.Until(x.Buffer)), e.stepOf(len(p.Steps)))
		if s := m.InputNotes[x.Name]; s != "" {
			io.Comment += "; " + comment(s)
		}
		v.Inputs = append(v.Inputs, io)
	}
	from := p.From()
	for _, x := range v.outputs {
		io := newIOView(x, e.arena, false, e.bound != nil)
		io.Pointer = e.ioPointer(x, true)
		io.WhenMacro, io.When = "FROM", e.stepOf(from[x.Buffer])
		io.WhenDoc = fmt.Sprintf("complete after step %d", io.When)
		io.Classes, io.ClassNames = lists.Map(m.Classes[x.Name], cString), m.Prefix+"_classes_"+x.CName
		v.Outputs = append(v.Outputs, io)
	}
	var scales []scaleView
	if e.bound != nil {
		scales = e.ioNumbers(v)
	}
	v.States = lists.Map(p.States, e.state)
	for i, s := range p.Steps {
		v.Steps = append(v.Steps, e.step(i, s))
	}
	v.Structs, v.Code, v.Accessors, v.bases = e.structs, e.code, e.accessors, e.bases
	v.Weights = weightsView(e.arrays, e.bound != nil)
	if e.bound != nil {
		v.Bound = e.weightsFile(m, scales)
		v.Weights.Bytes = v.Bound.Bytes
	}
	v.Staged = e.staged(m.StagedRegion)
	v.NeedsMath = slices.ContainsFunc(e.structs, func(s *structView) bool { return needsMath(s.Init) })
	var err error
	if v.Pre, err = preprocessViews(m, v.inputs, v.Inputs); err != nil {
		return nil, err
	}
	if v.Post, err = postViews(m, v.outputs, v.Outputs); err != nil {
		return nil, err
	}
	v.kernels = slices.Concat(sortedKeys(e.funcs), sortedKeys(e.sources), preFunctions(v.Pre), postFunctions(v.Post))
	runtime, err := o.Library.Files(v.kernels...)
	if err != nil {
		return nil, bug.Errorf("runtime sources: %w", err)
	}
	v.Runtime = newRuntimeView(o.Library, runtime)
	v.Headers = v.Runtime.headersFor(e)
	return v, nil
}

// info is what others need to know of the model.
func (e *emitter) info(v *modelView) *Info {
	p := e.prog
	info := &Info{Prefix: v.Prefix, ArenaMacro: v.Upper + "_ARENA_BYTES", Functions: sortedKeys(e.funcs),
		WeightBytes: v.Weights.Bytes, WeightBinary: v.Weights.Binary, Inputs: v.inputs, Outputs: v.outputs,
		ArenaParts: v.info(), parts: v.Parts}
	info.Sections = v.Sections()
	if v.Bound != nil {
		info.WeightsFile, info.Layout = v.Bound.File, v.Bound.Digest
	}
	for _, x := range v.Pre {
		info.Preprocess = append(info.Preprocess, x.PreprocessInfo)
	}
	for _, x := range v.Post {
		info.Postprocess = append(info.Postprocess, x.PostprocessInfo)
	}
	if len(p.States) > 0 {
		info.StateMacro = v.Upper + "_STATE_BYTES"
	}
	if v.Staged != nil {
		info.StagedMacro = v.Upper + "_STAGED_BYTES"
	}
	for _, x := range p.States {
		in := p.Inputs[x.In]
		t := p.Buffers[in.Buffer].Type
		info.States = append(info.States, StateInfo{in.Name, p.Outputs[x.Out].Name, t, t.Bytes()})
	}
	for _, s := range p.Steps {
		info.StepNames = append(info.StepNames, s.Name)
		info.StepBlobs = append(info.StepBlobs, stepBlobBytes(p, s))
	}
	for _, x := range e.images {
		info.WeightBytes += x.Bytes()
		info.Images = append(info.Images, x.File)
	}
	return info
}

// data are the files that the assembler includes, with their C versions.
func (v *modelView) data() []File {
	var files []File
	if v.Bound != nil {
		files = append(files, File{v.Bound.File, v.Bound.data})
	}
	if v.Weights.Binary {
		b := v.arrays.binary()
		files = append(files, File{v.Prefix + "_weights.bin", b})
		if v.Weights.Fallback {
			files = append(files, File{v.Prefix + "_weights.inc", byteText(b)})
		}
	}
	for _, x := range v.Images {
		files = append(files, File{x.File, x.data})
		if x.Fallback {
			files = append(files, File{x.Inc(), byteText(x.data)})
		}
	}
	return files
}

// ioInfo are the inputs and outputs that the caller sees.
func ioInfo(p *program.Program, prefix string, naming *ioNaming) (in, out []IOInfo) {
	ins, outs := p.Visible()
	all := slices.Concat(ins, outs)
	names := lists.Map(all, func(x program.IO) string { return x.Name })
	var info []IOInfo
	for i, c := range naming.names(prefix, names) {
		b := &p.Buffers[all[i].Buffer]
		info = append(info, IOInfo{Name: names[i], CName: c, Upper: strings.ToUpper(c), CType: call.CType(b.Type.DType),
			Type: b.Type, Bytes: b.Type.Bytes(), Offset: b.Offset, Buffer: all[i].Buffer})
	}
	return info[:len(ins):len(ins)], info[len(ins):]
}

// stepBlobBytes is the constant data of a step, each constant once: the report's weight_bytes.
func stepBlobBytes(p *program.Program, s *program.Step) int {
	n, seen := 0, map[int]bool{}
	for _, c := range s.Calls {
		n += lists.Sum(c.Args, func(a call.Arg) int { return constBytes(p, a, seen) })
	}
	return n
}

// byteText is the C fallback of a binary: numbers, no declarations.
func byteText(b []byte) []byte {
	var out bytes.Buffer
	for i, x := range b {
		if i > 0 {
			out.WriteByte(',')
			if i%24 == 0 {
				out.WriteByte('\n')
			}
		}
		fmt.Fprintf(&out, "%d", x)
	}
	out.WriteByte('\n')
	return out.Bytes()
}
