// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// Compiled is a model on its way to firmware, with everything decided.
type Compiled struct {
	report.Subject
	Config   *Config
	Float    *ir.Graph // as imported
	Report   *report.Report
	Firmware *Firmware // that it is part of, alone or beside others
	// Rounding is how the linked CMSIS-NN requantises, "" before it was asked.
	Rounding  string
	reference *ir.Graph // what the program has to compute
	pre       []codegen.Preprocess
	post      *codegen.Postprocess
	drivers   fs.FS // C of the accelerator
	dump      *dump // --dump-ir, until the firmware is planned
}

// Compile does everything but write files.
func (c *Config) Compile() (*Compiled, error) {
	f, err := Compile(c)
	if err != nil {
		return nil, err
	}
	return f.Models[0], nil
}

// loadAndLower takes the model from its file to a program.
func (c *Config) loadAndLower(spec *boards.Spec) (_ *Compiled, err error) {
	defer fail.Catch(&err)
	c.note("reading %s", filepath.Base(c.Model))
	m, g := fail.Must2(c.load(nil))
	d := fail.Must(c.openDump())
	out, err := c.lower(m, g, spec, d)
	if err != nil {
		d.closeBehind(&err)
		return nil, err
	}
	d.warnNoONNX()
	out.dump = d
	return out, nil
}

// LowerOptions are the options of the middle end.
func (c *Config) LowerOptions(spec *boards.Spec, g *ir.Graph) (o lower.Options, err error) {
	defer fail.Catch(&err)
	o = input(board.Options(spec))
	o.Precision, o.Legalize = c.Precision, c.Legalize
	o.DeadChannels = c.DeadChannels && !c.WeightsFile // which ones are dead is decided by a training
	if c.WeightsFile && len(spec.Accelerators) > 0 {
		return o, usage("--weights-file: not on a board with an accelerator (%s), whose programs hold its constants",
			spec.Name)
	}
	o.WholeConstants, o.Target.Bound = c.StageWeights || c.WeightsFile, c.WeightsFile
	c.keepFloat(g, &o)
	o.Fuse, o.FuseAll, o.Align, o.PadInput = c.Fuse, c.FuseAll, c.Align, c.PadInput
	o.FloatIO, o.OwnIO, o.NativeIO = c.OwnIO || c.IO == option.FloatIO, c.OwnIO, c.IOLayout == option.NativeLayout
	o.Target.Kernels, o.Target.Generic, o.Target.Without = c.Kernels, c.Generic, c.Without
	o.Installed, o.Optimize = c.CMSISLib != "", c.Optimize
	o.Off, o.StopAfter = fail.Must(c.stagesOff()), c.StopAfter
	ram := c.maxRAM()
	if flash, _ := parseBytes("max-flash", c.MaxFlash); flash > 0 {
		o.Flash = min(flash, cmp.Or(o.Flash, flash))
	}
	o.Flash /= max(c.sharing, 1)
	if o.MaxTries = c.Tries; ram >= 0 {
		o.MaxRAM = max(ram-c.othersState, 1)
	}
	o.StateBindings = c.bindings(g)
	o.Stream = used(state.ParseStream(g, o.StateBindings, c.Stream))
	fail.Check(c.stateFits(&o, spec))
	c.quantised(&o, g)
	return o, nil
}

// quantised says how a float model is quantised, and which flags mean nothing for another.
func (c *Config) quantised(o *lower.Options, g *ir.Graph) {
	switch {
	case lower.Quantised(g):
		fail.Check(c.precisionIsFixed())
	case !c.unquantised() || c.LayersConfig != "":
		if c.LayersConfig != "" {
			o.Precision = option.Auto // layer by layer
		}
		o.Quant = c.quantOptions(g, o.StateBindings)
		return
	}
	c.notCalibrated(g, o.StateBindings)
}

// syntheticSamples is how many seeded inputs stand in for --calib.
const syntheticSamples = 8

// bindings are the model's own state and what --state says.
func (c *Config) bindings(g *ir.Graph) []state.Binding {
	b := used(state.Parse(g, c.States))
	if c.source == nil { // a graph that came in by another way
		return b
	}
	for _, s := range c.source.State {
		b = append(b, state.Binding{Out: s.Out, In: s.In, Init: s.Init})
	}
	return b
}

// stateFits refuses what does not go together with state: that which the model has of its own,
// or the user asks for.
func (c *Config) stateFits(o *lower.Options, spec *boards.Spec) error {
	if len(o.StateBindings) == 0 && o.Stream == nil {
		return nil
	}
	what := "--state and --stream"
	if len(c.States) == 0 && c.Stream == "" {
		names := lists.Map(o.StateBindings, func(b state.Binding) string { return b.In })
		what = fmt.Sprintf("the model keeps state of its own (%s)", strings.Join(names, ", "))
	}
	switch {
	case o.Accel != nil && o.Accel.Traits().Native4D && !o.Accel.Traits().OtherRanks: // it rewrites inputs and outputs
		return usage("%s: not on a board with an accelerator (%s), want one without, such as %s", what, spec.Name,
			spec.Core)
	case o.NativeIO:
		return usage("%s: not together with --io-layout native", what)
	case o.PadInput:
		return usage("%s: not together with --pad-input, as inputs are part of the program's state", what)
	}
	return nil
}

// keepFloat: a float model of a format whose interpreters compute in float, without
// calibration data, stays float.
func (c *Config) keepFloat(g *ir.Graph, o *lower.Options) {
	if c.source == nil || c.source.Format == "" || lower.Quantised(g) || c.Precision != option.Auto || o.Accel != nil ||
		len(c.Calib) > 0 || c.LayersConfig != "" || c.Weights == option.Int4Weights {
		return
	}
	o.Precision = option.Float32
	c.Precision = option.Float32
	c.Diags.Add(diag.Notef("float-model", "", "a float model of %s stays float; --calib or --precision int8 "+
		"quantise it", c.source.Format))
}

// quantOptions reads the calibration data.
func (c *Config) quantOptions(g *ir.Graph, bindings []state.Binding) quant.Options {
	q := quant.Options{Method: c.CalibMethod, BiasCorrection: c.BiasCorrect, Rounding: c.Rounding, Equalize: c.Equalize,
		Bound: c.WeightsFile, OneScale: c.spec != nil && c.spec.Outputs.Emits(),
		Try: quant.Trial{Method: !c.Told["calib-method"] || c.CalibMethod == option.PerLayer,
			Bias: !c.Told["bias-correction"], Rounding: !c.Told["weight-rounding"]}}
	q.Layer = c.layerPrecision(g)
	q.FixedWeights, q.FixedActivations = fail.Must2(c.fixedPoint())
	if len(c.Calib) == 0 {
		r := state.New(g, bindings)
		q.Samples = input(r.Sequence(quant.SyntheticSamples(r.Inputs(), syntheticSamples, 1)))
		q.Source = quant.SyntheticSource
		q.Rounding = option.Nearest // made-up inputs say nothing about how inputs depend on each other
		return q
	}
	var names []string // without folders: the report does not depend on where things lie
	for _, p := range c.Calib {
		names = append(names, filepath.Base(p))
	}
	q.Source = strings.Join(names, ", ")
	q.Samples = c.calibration(g, bindings)
	return q
}

// fixedPoint reads --fixed-point-weights and --fixed-point-activations, nil
// where they are not given.
func (c *Config) fixedPoint() (weights, activations *quant.FixedPoint, err error) {
	defer fail.Catch(&err)
	read := func(flag, s string) *quant.FixedPoint {
		if s == "" {
			return nil
		}
		f, err := quant.ParseFixedPoint(s)
		if err != nil {
			fail.Check(usage("--%s %s: %v", flag, s, err))
		}
		return f
	}
	return read("fixed-point-weights", c.FixedWeights), read("fixed-point-activations", c.FixedActs), nil
}

// calibrationFlags say how a float model is quantised, and nothing else.
var calibrationFlags = []string{"calib", "calib-method", "bias-correction", "weight-rounding", "equalize",
	"fixed-point-weights", "fixed-point-activations"}

// notCalibrated is for models that are not quantised here: calibration data is
// checked like any other, and flags without effect are named.
func (c *Config) notCalibrated(g *ir.Graph, bindings []state.Binding) {
	why := "the model is quantised already: its scales are kept bit for bit"
	if !lower.Quantised(g) {
		why = "nothing is quantised with --precision " + c.Precision.String()
	}
	if len(c.Calib) > 0 {
		c.calibration(g, bindings)
	}
	c.noEffect(why)
}

// noEffect warns of flags of calibration that change nothing.
func (c *Config) noEffect(why string) {
	for _, f := range calibrationFlags {
		if c.Told[f] && !(f == "calib" && c.RunsSamples) {
			c.warn("quantize", "no-effect", "--"+f, "--%s has no effect: %s", f, why)
		}
	}
}

func (c *Config) lower(m *onnx.Model, g *ir.Graph, spec *boards.Spec, d *dump) (_ *Compiled, err error) {
	defer fail.Catch(&err)
	out := &Compiled{Config: c, Float: g.Clone(), Subject: report.Subject{Version: Version,
		Name: filepath.Base(c.Model), Board: spec, Model: m, Optimize: c.Optimize, Align: c.Align}}
	opt := fail.Must(c.LowerOptions(spec, g))
	opt.Observe = c.observer(d)
	c.note("lowering for %s", spec.Name)
	out.Lowered = input(lower.Run(g, opt))
	fail.Check(c.layersDone())
	c.Diags.Add(out.Lowered.Diags...)
	if opt.Quant.Samples != nil && opt.StopAfter == "" && out.Lowered.Calibration == nil {
		c.noEffect("no value of the model is quantised")
	}
	float := func(v *ir.Value) bool { return v.Type.DType.IsFloat() }
	switch {
	case c.IO != option.FloatIO:
		c.Diags.Add(out.Lowered.FloatInputs(out.Float)...)
	case c.Told["io"] && !slices.ContainsFunc(slices.Concat(out.Lowered.Graph.In, out.Lowered.Graph.Out), float):
		c.warn("quantize", "no-effect", "--io",
			"--io float has no effect: the model itself has integers at its inputs "+
				"and outputs; the header's functions convert")
	}
	out.reference, out.drivers = out.Lowered.Reference, opt.Drivers()
	out.pre = fail.Must(c.preprocessing(out))
	out.post, err = c.postprocessing(out)
	return out, err
}

// CompileGraph is Compile for a graph that was imported before from model m,
// which it consumes.
func (c *Config) CompileGraph(m *onnx.Model, g *ir.Graph, spec *boards.Spec) (_ *Compiled, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	prefixes := fail.Must(prefixes([]*Config{c}))
	o := fail.Must(c.lower(m, g, spec, nil))
	f := newFirmware([]*Compiled{o}, prefixes)
	fail.Check(f.finish())
	return f.Models[0], nil
}

// ranksOptions are the options of the float passes. Which channels pay to be padded is
// decided where it is known: on the program that would be emitted for the board.
func (c *Config) ranksOptions(g *ir.Graph, only []string) (_ lower.RanksOptions, err error) {
	defer fail.Catch(&err)
	o := lower.RanksOptions{Legalize: c.Legalize, Only: only, Align: c.Align, PadInput: c.PadInput}
	fail.Check(asUsage(o.Check()))
	if !slices.Contains(only, "align") || c.Align != option.AlignAuto {
		return o, nil
	}
	if c.Board == "" {
		c.warn("align", "no-board", "--align", "--align auto decides by what kernels cost on a board: without "+
			"--board nothing is padded (--align always pads by the rule)")
		return o, nil
	}
	spec := fail.Must(c.board())
	if len(spec.Accelerators) > 0 {
		return o, usage("--align auto knows no costs of the accelerator of %s; want --align always, or another board",
			spec.Name)
	}
	d := *c // its remarks are about a program that is not written
	d.DeadChannels, d.DumpIR, d.TimePasses, d.Note = false, "", false, nil
	o.Aligned = fail.Must(d.program(g.Clone(), spec)).Aligned
	return o, nil
}

// inputNotes say in the header which inputs have more channels than the model's.
func (o *Compiled) inputNotes() map[string]string {
	if o.Lowered.Aligned == nil {
		return nil
	}
	m := map[string]string{}
	for name, n := range o.Lowered.Aligned.Inputs {
		m[name] = fmt.Sprintf("the model has %d channels; those behind them are padding (--pad-input), any values "+
			"will do", n)
	}
	return m
}

// preprocessing are the inputs for which --preprocess wants C: those that the firmware
// has as the model has them.
func (c *Config) preprocessing(o *Compiled) (_ []codegen.Preprocess, err error) {
	defer fail.Catch(&err)
	if c.Told["preprocess"] && !c.spec.Emits() && len(c.Calib)+len(c.Inputs) == 0 && c.Eval.Data == "" {
		c.warn("data", "no-effect", "--preprocess", "--preprocess has no effect: there is no --calib or --input that "+
			"it speaks of, and emit is not set")
	}
	list := input(c.spec.Devices(o.Float.In))
	if len(c.Calib)+len(list) > 0 && len(c.Inputs) == 0 && c.Eval.Data == "" { // those are yet to be read
		c.Diags.Add(c.spec.Idle().From("data")...)
	}
	ins := o.Lowered.Interface().Inputs()
	var out []codegen.Preprocess
	for _, d := range list {
		model := o.Float.In[slices.IndexFunc(o.Float.In, func(v *ir.Value) bool { return v.Name == d.Input })]
		i := slices.IndexFunc(ins, func(v *ir.Value) bool { return v.Name == d.Input })
		switch {
		case i < 0:
			return nil, badInput("--preprocess: emit for %s, which is state: nobody writes it", d.Input)
		case !slices.Equal(ins[i].Type.Shape, model.Type.Shape):
			return nil, badInput("--preprocess: emit for %s, which the firmware has as %v and the model as %v; want a "+
				"program without --stream and --pad-input", d.Input, ins[i].Type.Shape, model.Type.Shape)
		}
		if err := codegen.Preprocessable(ins[i].Type); err != nil {
			return nil, badInput("--preprocess: emit for %s: %w", d.Input, err)
		}
		out = append(out, codegen.Preprocess{Input: d.Input, Image: d.Image, Values: d.Values, Strides: d.Strides,
			Sound: d.Sound, Rate: d.Rate, Says: d.Says})
	}
	return out, nil
}

// postFile is what --postprocess made of a run's outputs, beside them.
const postFile = "postprocess.json"

// poster makes of the outputs of runs what --postprocess declares.
type poster struct {
	Runs []data.Found `json:"runs"`

	post   *data.Post
	reader *data.Reader
	types  []ir.Type
	now    [][]float32 // outputs of a run that came so far
}

// resolvePost finds what --postprocess declares in the outputs of a model; nil: nothing is.
func (c *Config) resolvePost(r *state.Runner) (*data.Post, []ir.Type, error) {
	if err := c.readSpec(); err != nil || c.spec.Outputs.Empty() {
		return nil, nil, err
	}
	var names []string
	var types []ir.Type
	for _, i := range r.Outputs() {
		names = append(names, r.Graph.OutNames[i])
		types = append(types, verify.RealType(r.Graph.Out[i]))
	}
	p, err := c.spec.Outputs.Resolve(r.Inputs(), names, types)
	if err != nil {
		return nil, nil, asInput(err)
	}
	c.Diags.Add(p.Diags.From("data")...)
	return p, types, nil
}

// poster is nil where nothing is declared.
func (c *Config) poster(r *state.Runner) (*poster, error) {
	post, types, err := c.resolvePost(r)
	if post == nil {
		return nil, err
	}
	return &poster{post: post, reader: post.NewReader(), types: types, Runs: []data.Found{}}, nil
}

// add takes outputs in their order; with the last one of a run it looks at them.
func (p *poster) add(outs ...*tensor.Dense) {
	if p == nil {
		return
	}
	for _, d := range outs {
		p.now = append(p.now, reals(d, p.types[len(p.now)]))
	}
	if len(p.now) == len(p.types) {
		p.Runs, p.now = append(p.Runs, p.reader.Read(p.now)), nil
	}
}

// reals are the values of an output.
func reals(d *tensor.Dense, t ir.Type) []float32 {
	if d.DType == t.DType {
		d = verify.Dequantised(d, t)
	}
	return floats(d)
}

// mostRuns bounds the runs of which something is printed.
const mostRuns = 20

// text is what was found, in lines.
func (p *poster) text(dir string) []string {
	out := []string{"wrote " + filepath.Join(dir, postFile) + ": what --postprocess made of the outputs"}
	for i, r := range p.Runs {
		if i == mostRuns {
			return append(out, fmt.Sprintf("... and of %d runs more", len(p.Runs)-i))
		}
		for _, l := range p.post.Lines(r) {
			if len(p.Runs) > 1 {
				l = fmt.Sprintf("run %d: %s", i, l)
			}
			out = append(out, l)
		}
	}
	return out
}

// postprocessing is what --postprocess wants as C, of outputs that the firmware has as the
// model has them; nil: nothing.
func (c *Config) postprocessing(o *Compiled) (*codegen.Postprocess, error) {
	if c.spec == nil || c.Eval.Data != "" { // eval writes no folder
		return nil, nil
	}
	if !c.spec.Outputs.Emits() {
		if c.Told["postprocess"] && !c.spec.Outputs.Empty() {
			c.warn("data", "no-effect", "--postprocess", "--postprocess has no effect: emit is not set, and only run "+
				"and eval look at outputs")
		}
		return nil, nil
	}
	r := o.Lowered.Interface()
	post, types, err := c.resolvePost(r)
	if err != nil {
		return nil, err
	}
	p := &codegen.Postprocess{Outputs: lists.Map(r.Outputs(), func(i int) string { return r.Graph.OutNames[i] })}
	p.Boxes, p.Classes, p.Keywords = c.spec.Outputs.Emitted(post)
	if err := p.Check(types); err != nil {
		return nil, badInput("--postprocess: emit: %w", err)
	}
	return p, nil
}
