// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// Rewritten is a model written back as ONNX, with what was done to it.
type Rewritten struct {
	lower.Form
	Model       []byte        `json:"-"`
	Calibration *quant.Report `json:"calibration,omitempty"`
	Precision   string        `json:"precision,omitempty"` // of a quantised model
	Warnings    []string      `json:"warnings"`
	// Differences compare the rewritten model with the original.
	Differences []lower.Difference `json:"differences,omitempty"`
	// Differs is set where a difference is larger than the rewrites explain;
	// nothing is to be written then.
	Differs error `json:"-"`
	nodes   [2]int
	replace replacer
}

// replacer is Config.replaceFiles. A result holds no Config: results are printed by reflection, which keeps
// every method of every type that it can reach in the binary.
type replacer func(path string, data []byte, beside ...files.Target) error

// Write puts the model at path and, where its outputs are an accelerator's, the
// description of how the original ones are rebuilt at path.json: both or none.
func (r *Rewritten) Write(path string) error {
	var beside []files.Target
	if r.Native != nil {
		beside = append(beside, files.Target{Path: filepath.Base(path) + ".json", Data: report.JSON(r.Native),
			Mine: lower.IsNative})
	}
	return r.replace(path, r.Model, beside...)
}

// Text lists the rewrites.
func (r *Rewritten) Text() string {
	r = text.Lines(r)
	var b strings.Builder
	if slices.Contains(r.Passes, "align") {
		b.WriteString(report.AlignmentText(r.Alignment))
	}
	for _, w := range r.Rewrites {
		if w.Pass == "align" {
			continue // in the table
		}
		fmt.Fprintf(&b, "%s: %s: %s\n", w.Pass, w.Node, w.What)
	}
	for _, l := range r.Left {
		fmt.Fprintf(&b, "not 4-D: %s %s: %s\n", l.Op, l.Node, l.Reason)
	}
	for _, d := range r.Differences {
		b.WriteString(d.String() + "\n")
	}
	fmt.Fprintf(&b, "%d nodes before, %d after\n", r.nodes[0], r.nodes[1])
	return b.String()
}

// LegalizeModel writes the rewritten float model, compared with the model as it was.
//
// outputs chooses the form: native is on 4-D tensors with an accelerator's own
// outputs, original has the nodes that rebuild the original outputs behind
// them. Without a choice, the form is that of what the model is for: with
// passes named (only), with --legalize off, for a board without an accelerator
// and for a quantised model it keeps its ranks and outputs; else it is native.
func (c *Config) LegalizeModel(only []string, outputs option.Outputs) (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	if outputs != option.OutputsByUse && len(only) > 0 {
		return nil, usage("--outputs %s rewrites the whole model; it does not go with --only", outputs)
	}
	fail.Check(c.Check())
	accel := true
	if c.Board != "" {
		spec := fail.Must(c.board())
		accel = len(spec.Accelerators) > 0
	}
	_, g := fail.Must2(c.load(nil))
	if outputs == option.OutputsByUse && len(only) == 0 && accel && c.Legalize && !lower.Quantised(g) {
		outputs = option.NativeOutputs
	}
	form := fail.Must(c.form(g, only, outputs))
	r := &Rewritten{Form: form.Form, replace: c.replaceFiles, nodes: [2]int{len(g.Nodes), len(form.Graph.Nodes)}}
	c.compare(r, g, form)
	return r, c.export(r, form.Graph)
}

func (c *Config) export(r *Rewritten, g *ir.Graph) (err error) {
	if err = c.strictly(); err == nil {
		r.Warnings = c.Diags.Texts(diag.Warning)
		r.Model, err = exportBytes(g, false)
	}
	return err
}

// form rewrites a copy of g: by the float passes (all, or those named) where it
// keeps its ranks, else on 4-D tensors.
func (c *Config) form(g *ir.Graph, only []string, outputs option.Outputs) (_ *lower.Rewritten, err error) {
	defer fail.Catch(&err)
	if outputs != option.OutputsByUse {
		if lower.Quantised(g) {
			return nil, badInput("%s is quantised: --outputs %s takes float models; without it a quantised "+
				"model is written on its own ranks", c.Model, outputs)
		}
		return lower.On4D(g, outputs == option.NativeOutputs)
	}
	return lower.OnRanks(g.Clone(), fail.Must(c.ranksOptions(g, only)))
}

func (c *Config) compare(r *Rewritten, g *ir.Graph, form *lower.Rewritten) {
	var given []*tensor.Dense
	if len(c.Inputs) > 0 {
		given = single(c.firmwareInferences(g.In))
	}
	var failed, err error
	r.Differences, r.Differs, failed, err = verify.Rewritten(g, form.Whole, given, form.Exact)
	if failed != nil {
		c.warn("compare", "not-compared", "", "the rewritten model was not compared with the original, which does "+
			"not run: %v", failed)
	}
	fail.Check(err)
}

// QuantizeModel legalises, quantises and exports the QDQ graph.
func (c *Config) QuantizeModel() (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	if c.unquantised() && c.LayersConfig == "" {
		return nil, usage("quantize --precision %s: there is nothing to quantise", c.Precision)
	}
	_, g := fail.Must2(c.load(nil))
	r := &Rewritten{Form: lower.NewForm(), replace: c.replaceFiles}
	r.nodes[0] = len(g.Nodes)
	fail.Check(quant.FreeWeights(g))
	if lower.Quantised(g) {
		return nil, badInput("%s is quantised already", c.Model)
	}
	made, err := lower.Quantise(g, c.quantOptions(g, c.bindings(g)), c.Legalize)
	c.Diags.Add(made.Diags...)
	fail.Check(err)
	fail.Check(c.layersDone())
	r.Calibration, r.Precision = made.Calibration, made.Precision
	r.Rewrites = append(r.Rewrites, made.Rewrites...)
	r.nodes[1] = len(made.Graph.Nodes)
	return r, c.export(r, made.Graph)
}

// RankLayers quantises one layer of the model at a time (--sensitivity).
func (c *Config) RankLayers() (_ *lower.Sensitivity, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	if c.unquantised() && c.LayersConfig == "" {
		return nil, usage("--sensitivity ranks quantised layers; it does not go with --precision %s", c.Precision)
	}
	_, g := fail.Must2(c.load(nil))
	if lower.Quantised(g) {
		return nil, c.precisionIsFixed()
	}
	s, notes, err := lower.RankLayers(g, c.quantOptions(g, c.bindings(g)), c.Legalize,
		func(done, all int) { c.note("layer %d of %d", done+1, all) })
	c.Diags.Add(notes...)
	fail.Check(err)
	fail.Check(c.layersDone())
	return s, c.strictly()
}

// ProposeLayers looks for a precision of each layer with which a program reaches
// --min-sqnr on samples that its calibration does not see, and writes it to --propose.
// It is there, and a GateError, where nothing was found that does.
func (c *Config) ProposeLayers() (*lower.Proposal, error) {
	_, db, err := c.evalGates()
	if err != nil {
		return nil, err
	}
	if db != db {
		return nil, usage("--propose %s: --min-sqnr says what to reach, in dB", c.Eval.Propose)
	}
	return c.proposal(lower.Goal{Least: db, Ratio: true}, fmt.Sprintf("--min-sqnr %s", c.Eval.MinSQNR), "%.1f dB")
}

// proposal searches, writes the file and says whether the goal is met. what is the flag
// that is to be reached, unit how figures are written.
func (c *Config) proposal(goal lower.Goal, what, unit string) (_ *lower.Proposal, err error) {
	defer fail.Catch(&err)
	if c.LayersConfig != "" || c.unquantised() || c.baseLayer() != quant.Int8 {
		return nil, usage("--propose begins with int8 throughout: leave --layers-config, --precision and --weights out")
	}
	if c.FixedWeights != "" || c.FixedActs != "" {
		return nil, usage("--propose does not go with --fixed-point-weights and --fixed-point-activations")
	}
	spec, g := fail.Must2(c.modelAndBoard())
	if lower.Quantised(g) {
		return nil, badInput("%s is quantised already: --propose takes the float model", c.Model)
	}
	o := fail.Must(c.LowerOptions(spec, g))
	goal.Note = c.note
	if prefixes, err := prefixes([]*Config{c}); err != nil {
		return nil, err
	} else if spec.Runner.Kind == "qemu" {
		goal.Instructions = func(r *lower.Result) ([]float64, error) { return c.instructions(r, spec, prefixes) }
	}
	p := input(lower.Propose(g, o, goal))
	reached := fmt.Sprintf(unit, p.Mixed.Reached)
	text := fmt.Sprintf("nncc %s, %s for %s: %s on samples that calibration did not see, %.0f instructions",
		Version, what, spec.Name, reached, p.Mixed.Instructions)
	fail.Check(c.replaceFiles(c.Eval.Propose, p.Config(text)))
	c.Gates = append(c.Gates, Gate{Flag: "propose", Limit: filepath.Base(c.Eval.Propose)})
	if !p.Met {
		c.Gates[len(c.Gates)-1].exceeded("%s is not reached; the best that was found has %s", what, reached)
	}
	return p, Exceeded(c.Gates)
}

// instructions counts those of every step of a program on the board's machine, with
// seeded inputs; nil where a tool for that is missing, which is said.
func (c *Config) instructions(r *lower.Result, spec *boards.Spec, prefixes []string) ([]float64, error) {
	o := &Compiled{Config: c, Subject: report.Subject{Version: Version, Name: filepath.Base(c.Model), Board: spec,
		Model: c.source, Optimize: c.Optimize, Lowered: r}, reference: r.Reference}
	if err := newFirmware([]*Compiled{o}, prefixes).generate(); err != nil {
		return nil, err
	}
	list, err := o.count(r)
	var tool *run.ToolError
	if errors.As(err, &tool) && tool.Install != "" {
		c.Diags.Add(diag.Notef("propose-estimates", "", "instructions are estimates: %v", err))
		return nil, nil
	}
	return list, err
}

func (o *Compiled) count(r *lower.Result) (_ []float64, err error) {
	defer fail.Catch(&err)
	c := o.Config
	im, done := fail.Must2(o.Firmware.build(c.context()))
	defer done()
	in := verify.Seeded(r.Interface(), 0, 20)
	res := fail.Must(run.RunWith(c.context(), o.Board, im, o.runs([]verify.Case{{Inputs: in}}), run.Options{}))
	out := lists.Map(res.Layers, func(n uint64) float64 { return float64(n) })
	return out, nil
}

// propose adds a proposal that reaches the gates to the result of int8: searched on
// every second sample, checked on the others.
func (e *evaluation) propose(r *eval.Result, top1, db float64) (gate, err error) {
	c := e.c
	if (top1 == top1) == (db == db) {
		return nil, usage("--propose %s: --min-top1 or --min-sqnr, one of them, says what to reach", c.Eval.Propose)
	}
	search, check, err := e.halves()
	if err != nil {
		return nil, err
	}
	e.keep = true
	figure := func(list [][]int, program func() *state.Runner) (float64, error) {
		m, err := e.run(list, program)
		if err != nil {
			return 0, err
		}
		x := m.Result(nil)
		if top1 == top1 {
			return *x.Program.Top1, nil
		}
		worst, _ := x.Worst()
		return worst, nil
	}
	named := e.compiled.Lowered.Named()
	goal := lower.Goal{Least: top1, Quick: func(g *ir.Graph) (float64, error) {
		return figure(search, func() *state.Runner { return state.New(g, named) })
	},
		Final: func(l *lower.Result) (float64, error) { return figure(check, l.Interface) }}
	what, unit := "--min-top1 "+c.Eval.MinTop1, "%.4f"
	if db == db {
		goal.Least, goal.Ratio, what, unit = db, true, "--min-sqnr "+c.Eval.MinSQNR, "%.1f dB"
	}
	again := *c // warnings about the samples are there already
	again.Diags, again.Gates, r.Gates = nil, nil, nil
	p, err := again.proposal(goal, what, unit)
	if p == nil {
		return nil, err
	}
	c.Gates, r.Proposal = again.Gates, p
	for _, g := range c.Gates {
		if g.Exceeded != "" {
			r.Gates = append(r.Gates, g.Exceeded)
		}
	}
	return Exceeded(c.Gates), nil
}

// leastHalved are the sequences of samples from which on one half is kept for the check.
const leastHalved = 4

// halves are every second sequence of samples, and the others; all of them twice where
// they are few.
func (e *evaluation) halves() (search, check [][]int, err error) {
	r, err := e.float()
	if err != nil {
		return nil, nil, err
	}
	all := e.sequences(r)
	if len(all) < leastHalved {
		return all, all, nil
	}
	for i, s := range all {
		if i%2 == 0 {
			search = append(search, s)
		} else {
			check = append(check, s)
		}
	}
	return search, check, nil
}

// Surgical is what a script of graph edits did: the answer of nncc surgery.
type Surgical struct {
	Model    string             `json:"model"`
	SHA256   string             `json:"sha256"` // of the model before
	Script   string             `json:"script"`
	Nodes    [2]int             `json:"nodes"` // before and after
	Steps    []surgery.Did      `json:"steps"`
	Verified []surgery.Verified `json:"verified"`
	Files    []string           `json:"files"` // beside the result
	Warnings []string           `json:"warnings"`
	// Differs: a comparison found a difference; nothing is to be written.
	Differs error `json:"-"`

	replace replacer
	model   []byte
	extra   []surgery.File
}

// Surgery runs a script of graph edits on the model, or on the one that the
// script names. A comparison that fails leaves Differs set.
func (c *Config) Surgery(script string) (_ *Surgical, err error) {
	defer fail.Catch(&err)
	if script == "" {
		return nil, usage("no script given: nncc surgery -f steps.yaml MODEL.onnx --out X.onnx (nncc surgery " +
			"--steps lists the steps)")
	}
	c.Script = script
	sc := input(surgery.LoadScript(script))
	if c.Model == "" {
		if sc.Model == "" {
			return nil, usage("no model given: neither on the command line nor in %s (model:)", script)
		}
		c.Model = sc.Model
		if !filepath.IsAbs(c.Model) {
			c.Model = filepath.Join(sc.Dir, c.Model)
		}
	}
	loaded := input(frontend.Load(c.Model, c.Limits))
	m, err := surgery.New(loaded)
	if err != nil {
		return nil, badInput("%s: %w", c.Model, err)
	}
	opt := fail.Must(c.surgeryOptions(m))
	s := &Surgical{replace: c.replaceFiles, Model: c.Model, SHA256: hex.EncodeToString(loaded.SHA256[:]),
		Script: script}
	res, err := sc.Run(m, opt)
	s.Nodes[0] = len(m.Proto.Graph.Node)
	s.Steps = append([]surgery.Did{}, res.Steps...)
	s.Verified = append([]surgery.Verified{}, res.Verified...)
	s.Warnings = res.Warnings.Texts(diag.Warning)
	s.Files = []string{}
	var differ *surgery.DifferError
	switch {
	case errors.As(err, &differ):
		s.Differs = err
		return s, nil
	case err != nil:
		return nil, &InputError{err}
	}
	c.Diags.Add(res.Warnings...)
	fail.Check(c.strictly())
	s.Nodes[1] = len(res.Model.Proto.Graph.Node)
	s.extra = res.Files
	c.read = append(append(c.read, res.Read...), loaded.ExternalFiles()...)
	for _, f := range res.Files {
		s.Files = append(s.Files, f.Path)
	}
	s.model = fail.Must(res.Model.Bytes())
	return s, nil
}

func (c *Config) surgeryOptions(m *surgery.Model) (opt surgery.RunOptions, err error) {
	defer fail.Catch(&err)
	if c.Cases < 1 || c.Cases > MaxCases {
		return opt, usage("--cases %d: want 1 to %d", c.Cases, MaxCases)
	}
	var from onnx.ImportOptions
	opt = surgery.RunOptions{Count: c.Cases, Note: func(s string) { c.note("%s", s) }, Dims: fail.Must(c.dims())}
	fail.Check(asInput(c.functions(&from)))
	opt.Functions = from.Functions
	if len(c.Inputs) > 0 {
		names := m.InputNames()
		in := input(npz.ReadInputs(c.Inputs, names, c.dataLimits()))
		one := map[string]*tensor.Dense{}
		for i, n := range names {
			one[n] = in[i]
		}
		opt.Cases = append(opt.Cases, one)
	}
	return opt, nil
}

// Write puts the result at path and the other files beside it: all of them, or
// none where one cannot be written. Where the script chose a name, only what
// nncc saved there before is replaced.
func (s *Surgical) Write(path string) error {
	var beside []files.Target
	for _, f := range s.extra {
		beside = append(beside, files.Target{Path: f.Path, Data: f.Data, Mine: surgery.Saved})
	}
	return s.replace(path, s.model, beside...)
}

// Bytes is the size of the result.
func (s *Surgical) Bytes() int { return len(s.model) }

// Text lists what was done and compared.
func (s *Surgical) Text() string {
	s = text.Lines(s)
	var b strings.Builder
	for _, d := range s.Steps {
		fmt.Fprintf(&b, "%-6s %s: %s\n", d.Path, d.Step, d.Text)
	}
	if s.Differs == nil {
		fmt.Fprintf(&b, "%d nodes before, %d after\n", s.Nodes[0], s.Nodes[1])
	}
	if len(s.Verified) > 0 {
		rows := [][]string{{"output", "against", "shape", "elements", "min diff", "max diff", "max |diff|", "relative",
			"beyond", "allowed"}}
		for _, v := range s.Verified {
			for _, o := range v.Outputs {
				rows = append(rows, []string{o.Name, v.Against, strings.ReplaceAll(fmt.Sprint(o.Shape), " ", ","),
					strconv.Itoa(o.Elements * v.Cases), short(o.Min), short(o.Max), short(o.MaxAbs), short(o.Relative),
					strconv.Itoa(o.Mismatches), v.Wanted})
			}
		}
		b.WriteString(text.Table(rows))
	}
	return b.String()
}

func short(x float64) string {
	if math.Abs(x) == math.MaxFloat64 {
		return "no number"
	}
	return strconv.FormatFloat(x, 'g', 3, 64)
}
