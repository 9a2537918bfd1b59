// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
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
func (c *Config) LowerOptions(spec *boards.Spec, g *ir.Graph) (lower.Options, error) {
	o, err := board.Options(spec)
	if err != nil {
		return o, &InputError{err}
	}
	o.Precision, o.Legalize = c.Precision, c.Legalize
	o.DeadChannels = c.DeadChannels && !c.WeightsFile // which ones are dead is decided by a training
	if c.WeightsFile && len(spec.Accelerators) > 0 {
		return o, usage("--weights-file: not on a board with an accelerator (%s), whose programs hold its constants",
			spec.Name)
	}
	o.WholeConstants = c.StageWeights || c.WeightsFile
	c.keepFloat(g, &o)
	o.Fuse, o.FuseAll, o.Align, o.PadInput = c.Fuse, c.FuseAll, c.Align, c.PadInput
	o.FloatIO, o.NativeIO = c.IO == option.FloatIO, c.IOLayout == option.NativeLayout
	o.Target.Kernels, o.Target.Generic, o.Target.Without = c.Kernels, c.Generic, c.Without
	o.Installed, o.Optimize = c.CMSISLib != "", c.Optimize
	if o.Off, err = c.stagesOff(); err != nil {
		return o, err
	}
	o.StopAfter = c.StopAfter
	ram, err := parseBytes("max-ram", c.MaxRAM)
	if err != nil {
		return o, err
	}
	if o.MaxTries = c.Tries; ram >= 0 {
		o.MaxRAM = max(ram-c.othersState, 1)
	}
	if err := c.stateOptions(&o, g, spec); err != nil {
		return o, err
	}
	if lower.Quantised(g) {
		if err := c.precisionIsFixed(); err != nil {
			return o, err
		}
	} else if !c.unquantised() || c.LayersConfig != "" {
		if c.LayersConfig != "" {
			o.Precision = option.Auto // layer by layer
		}
		q, err := c.quantOptions(g, o.StateBindings)
		if err != nil {
			return o, err
		}
		o.Quant = q
		return o, nil
	}
	return o, c.notCalibrated(g, o.StateBindings)
}

// syntheticSamples is how many seeded inputs stand in for --calib.
const syntheticSamples = 8

// bindings are the model's own state and what --state says.
func (c *Config) bindings(g *ir.Graph) ([]state.Binding, error) {
	b, err := state.Parse(g, c.States)
	if err != nil {
		return nil, &UsageError{err.Error()}
	}
	if c.source == nil { // a graph that came in by another way
		return b, nil
	}
	for _, s := range c.source.State {
		b = append(b, state.Binding{Out: s.Out, In: s.In, Init: s.Init})
	}
	return b, nil
}

// stateOptions are --state and --stream, and the state that a model has of its own.
func (c *Config) stateOptions(o *lower.Options, g *ir.Graph, spec *boards.Spec) (err error) {
	if o.StateBindings, err = c.bindings(g); err != nil {
		return err
	}
	if o.Stream, err = state.ParseStream(g, o.StateBindings, c.Stream); err != nil {
		return &UsageError{err.Error()}
	}
	return c.stateFits(o, spec)
}

// stateFits refuses what does not go together with state: that which the model has of its own,
// or the user asks for.
func (c *Config) stateFits(o *lower.Options, spec *boards.Spec) error {
	if len(o.StateBindings) == 0 && o.Stream == nil {
		return nil
	}
	what := "--state and --stream"
	if len(c.States) == 0 && c.Stream == "" {
		var names []string
		for _, b := range o.StateBindings {
			names = append(names, b.In)
		}
		what = fmt.Sprintf("the model keeps state of its own (%s)", strings.Join(names, ", "))
	}
	switch {
	case len(spec.Accelerators) > 0:
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

// quantOptionsOf are quantOptions with the state of --state.
func (c *Config) quantOptionsOf(g *ir.Graph) (quant.Options, error) {
	b, err := c.bindings(g)
	if err != nil {
		return quant.Options{}, err
	}
	return c.quantOptions(g, b)
}

// quantOptions reads the calibration data.
func (c *Config) quantOptions(g *ir.Graph, bindings []state.Binding) (quant.Options, error) {
	q := quant.Options{Method: c.CalibMethod, BiasCorrection: c.BiasCorrect, Rounding: c.Rounding, Equalize: c.Equalize,
		Try: quant.Trial{Method: !c.Told["calib-method"] || c.CalibMethod == option.PerLayer,
			Bias: !c.Told["bias-correction"], Rounding: !c.Told["weight-rounding"]}}
	var err error
	if q.Layer, err = c.layerPrecision(g); err != nil {
		return q, err
	}
	if q.FixedWeights, q.FixedActivations, err = c.fixedPoint(); err != nil {
		return q, err
	}
	if len(c.Calib) == 0 {
		r := state.New(g, bindings)
		if q.Samples, err = r.Sequence(quant.SyntheticSamples(r.Inputs(), syntheticSamples, 1)); err != nil {
			return q, &InputError{err}
		}
		q.Source = quant.SyntheticSource
		q.Rounding = option.Nearest // made-up inputs say nothing about how inputs depend on each other
		return q, nil
	}
	var names []string // without folders: the report does not depend on where things lie
	for _, p := range c.Calib {
		names = append(names, filepath.Base(p))
	}
	q.Source = strings.Join(names, ", ")
	q.Samples, err = c.calibration(g, bindings)
	return q, err
}

// fixedPoint reads --fixed-point-weights and --fixed-point-activations, nil
// where they are not given.
func (c *Config) fixedPoint() (weights, activations *quant.FixedPoint, err error) {
	if c.FixedWeights != "" {
		if weights, err = quant.ParseFixedPoint(c.FixedWeights); err != nil {
			return nil, nil, usage("--fixed-point-weights %s: %v", c.FixedWeights, err)
		}
	}
	if c.FixedActs != "" {
		if activations, err = quant.ParseFixedPoint(c.FixedActs); err != nil {
			return nil, nil, usage("--fixed-point-activations %s: %v", c.FixedActs, err)
		}
	}
	return weights, activations, nil
}

// calibrationFlags say how a float model is quantised, and nothing else.
var calibrationFlags = []string{"calib", "calib-method", "bias-correction", "weight-rounding", "equalize",
	"fixed-point-weights", "fixed-point-activations"}

// notCalibrated is for models that are not quantised here: calibration data is
// checked like any other, and flags without effect are named.
func (c *Config) notCalibrated(g *ir.Graph, bindings []state.Binding) error {
	why := "the model is quantised already: its scales are kept bit for bit"
	if !lower.Quantised(g) {
		why = "nothing is quantised with --precision " + c.Precision.String()
	}
	if len(c.Calib) > 0 {
		if _, err := c.calibration(g, bindings); err != nil {
			return err
		}
	}
	c.noEffect(why)
	return nil
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
	if c.IO != option.FloatIO {
		c.Diags.Add(out.Lowered.FloatInputs(out.Float)...)
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
	return o, newFirmware([]*Compiled{o}, prefixes).finish()
}
