// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stagepage"
)

// stagesOff reads --pass NAME=off; on is what every stage is without it.
func (c *Config) stagesOff() (map[string]bool, error) {
	off := map[string]bool{}
	for _, p := range c.Passes {
		name, v, ok := strings.Cut(p, "=")
		if !ok || v != "on" && v != "off" {
			return nil, usage("--pass %s: want NAME=off (or NAME=on); `nncc passes` lists the stages", p)
		}
		if _, err := lower.Find(name); err != nil {
			return nil, usage("--pass %s: %v", p, err)
		}
		off[name] = v == "off"
	}
	for name, is := range off {
		if !is {
			delete(off, name)
		}
	}
	return off, nil
}

// observer is what sees the stages of a compilation: the folder of --dump-ir, the
// table of --time-passes, and others.
func (c *Config) observer(d *dump, others ...func(lower.Step) error) func(lower.Step) error {
	if d == nil && !c.TimePasses && len(others) == 0 {
		return nil
	}
	return func(s lower.Step) error {
		c.times = append(c.times, report.StageTime{Stage: s.Name(),
			Milliseconds: float64(s.Took) / float64(time.Millisecond)})
		err := d.stage(s)
		for _, f := range others {
			if err == nil {
				err = f(s)
			}
		}
		return err
	}
}

// StageTimes is the table of --time-passes; "" without that.
func (c *Config) StageTimes() string {
	if !c.TimePasses {
		return ""
	}
	rows, sum := [][]string{{"stage", "ms"}}, 0.0
	for _, t := range c.times {
		rows = append(rows, []string{t.Stage, fmt.Sprintf("%.2f", t.Milliseconds)})
		sum += t.Milliseconds
	}
	return text.Table(append(rows, []string{"all stages", fmt.Sprintf("%.2f", sum)}))
}

// AfterStage is a model behind the stage of --stop-after.
type AfterStage struct {
	Stage string `json:"stage"`
	// Text is the graph, or behind the last stage the program, in text form.
	Text string `json:"text"`
	// Times are those of --time-passes.
	Times []report.StageTime `json:"stage_times,omitempty"`
}

// Stop lowers the model up to the stage of --stop-after and writes no program.
func (c *Config) Stop() (_ *AfterStage, err error) {
	defer fail.Catch(&err)
	spec, g := fail.Must2(c.modelAndBoard())
	r := fail.Must(c.lowered(g, spec))
	a := &AfterStage{Stage: c.StopAfter, Text: r.Graph.String()}
	if r.Program != nil {
		a.Text = r.Program.String()
	}
	if c.TimePasses {
		a.Times = c.times
	}
	return a, c.strictly()
}

// lowered runs the stages for a board, with warnings and notes taken over.
func (c *Config) lowered(g *ir.Graph, spec *boards.Spec,
	others ...func(lower.Step) error) (_ *lower.Result, err error) {
	defer fail.Catch(&err)
	opt := fail.Must(c.LowerOptions(spec, g))
	r := fail.Must(c.observed(g, opt, others))
	c.Diags.Add(r.Diags...)
	return r, nil
}

// program is the graph that would be emitted for a board; others see the stages.
func (c *Config) program(g *ir.Graph, spec *boards.Spec,
	others ...func(lower.Step) error) (_ *lower.Result, err error) {
	defer fail.Catch(&err)
	opt := fail.Must(c.LowerOptions(spec, g))
	if opt.MaxRAM == 0 { // nobody asks for a plan of the memory
		opt.StopAfter = "lowering"
	}
	return c.observed(g, opt, others)
}

// observed runs the stages under the eyes of others.
func (c *Config) observed(g *ir.Graph, o lower.Options, others []func(lower.Step) error) (r *lower.Result, err error) {
	return r, c.dumping(func(d *dump) error {
		o.Observe = c.observer(d, others...)
		if r, err = lower.Run(g, o); err != nil {
			return &InputError{err}
		}
		return c.layersDone()
	})
}

// Bisection is a model compared before and after every stage.
type Bisection struct {
	Board  string             `json:"board"`
	Cases  int                `json:"cases"`
	Inputs string             `json:"inputs"` // where they came from
	Guilty string             `json:"guilty"` // the first stage that differs by more than it may; "" none does
	Stages []lower.Comparison `json:"stages"`
}

// BisectCases is how many inputs bisect tries where it is not told any.
const BisectCases = 2

// Bisect compares the outputs before and after every stage.
func (c *Config) Bisect() (_ *Bisection, err error) {
	defer fail.Catch(&err)
	spec, g := fail.Must2(c.modelAndBoard())
	out := &Bisection{Board: spec.Name, Stages: []lower.Comparison{}}
	b := &lower.Bisector{}
	b.Samples, out.Inputs = c.bisectInputs(g)
	out.Cases = len(b.Samples)
	r, err := c.lowered(g, spec, b.Observe)
	out.Stages = append(out.Stages, b.Stages...)
	if x := b.Guilty(); x != nil {
		out.Guilty = x.Step
		return out, nil // a wrong graph may have no program
	}
	if err != nil {
		return nil, err
	}
	fail.Check(c.strictly())
	return out, c.bisectGate(r)
}

// bisectGate is --max-ram, which decides what the stages are; a GateError.
func (c *Config) bisectGate(r *lower.Result) error {
	ram := c.maxRAM()
	if ram < 0 || r.Program == nil || r.Program.RAMBytes() <= ram {
		return nil
	}
	return &GateError{[]string{fmt.Sprintf("--max-ram %d: the arena needs %d bytes, %d too many; nncc explain says "+
		"more", ram, r.Program.RAMBytes(), r.Program.RAMBytes()-ram)}}
}

// bisectInputs are those of --input, calibration samples, or seeded ones.
func (c *Config) bisectInputs(g *ir.Graph) (_ []map[string]*tensor.Dense, _ string) {
	var list []quant.Sample
	from := "seeded"
	switch {
	case len(c.Inputs) > 0:
		list, from = []quant.Sample{single(c.firmwareInferences(g.In))}, "--input"
	case len(c.Calib) > 0:
		list, from = c.calibration(g, c.bindings(g)), "--calib"
	default:
		list = quant.SyntheticSamples(g.In, BisectCases, 1)
	}
	var out []map[string]*tensor.Dense
	for _, s := range list[:min(len(list), BisectCases)] {
		m := map[string]*tensor.Dense{}
		for i, d := range s {
			m[g.In[i].Name] = d
		}
		out = append(out, m)
	}
	return out, from
}

// Text is the comparison as a table.
func (b *Bisection) Text() string {
	rows := [][]string{{"stage", "numerics", "max diff", "dB", "verdict"}}
	for _, x := range b.Stages {
		db := "-"
		if x.SQNR != nil {
			db = fmt.Sprintf("%.1f", *x.SQNR)
		}
		verdict := "as it may"
		switch {
		case x.Error != "":
			verdict = "cannot be interpreted: " + x.Error
		case x.Beyond:
			verdict = fmt.Sprintf("output %s: beyond what is allowed (%s)", x.Output, x.Allowed)
		case x.Skipped != "":
			verdict = "not compared: " + x.Skipped
		}
		rows = append(rows, []string{x.Step, x.Numerics, fmt.Sprintf("%.3g", x.Difference), db, verdict})
	}
	s := text.Table(rows)
	if b.Guilty == "" {
		return s + fmt.Sprintf("%s: %d cases (%s): no stage does more than its numerics allow\n", b.Board, b.Cases,
			b.Inputs)
	}
	i := slices.IndexFunc(b.Stages, func(x lower.Comparison) bool { return x.Step == b.Guilty })
	return s + fmt.Sprintf("%s: %d cases (%s): %s is the first stage that does more than it may: allowed is %s\n",
		b.Board, b.Cases, b.Inputs, b.Guilty, b.Stages[i].Allowed)
}

// dump is the folder of --dump-ir: the graph after every stage, as text, as
// ONNX, and drawn on one page. It appears when lowering ends, also when that fails: then it holds the
// stages that were reached. A nil dump takes everything and writes nothing.
type dump struct {
	*files.Folder
	warn  func(stage, code, node, format string, args ...any)
	title string
	pages *stagepage.Page
	// noONNX are the stages whose graph ONNX cannot hold, reason is why the first of them cannot.
	noONNX []string
	reason error
}

func (c *Config) openDump() (_ *dump, err error) {
	defer fail.Catch(&err)
	if c.DumpIR == "" {
		return nil, nil
	}
	f := input(files.NewFolder(c.DumpIR, dumpManifest))
	return &dump{Folder: f, warn: c.warn, title: modelName(c.Model), pages: stagepage.New()}, nil
}

// dumping runs f with a dump that is put in its place behind f, also when that
// fails.
func (c *Config) dumping(f func(d *dump) error) (err error) {
	d, err := c.openDump()
	if err != nil {
		return err
	}
	defer d.closeBehind(&err)
	return f(d)
}

// closeBehind closes the dump behind what may have failed, which is then the error.
func (d *dump) closeBehind(err *error) {
	if e := d.close(); *err == nil {
		*err = e
	}
}

// dumped puts the dump of a model in its place, with the program as it was planned: its arena
// can be in parts, and its constants have copies.
func (o *Compiled) dumped() error {
	d := o.dump
	if d == nil {
		return nil
	}
	o.dump = nil
	err := d.program(o.Lowered.Program)
	d.closeBehind(&err)
	return err
}

// stage writes the graph after a stage, and the one that rebuilds the model's
// outputs while it stands apart.
func (d *dump) stage(s lower.Step) error {
	if d == nil {
		return nil
	}
	if err := d.graph(s.Name(), s.State.Graph); err != nil {
		return err
	}
	d.pages.Add(s)
	if r := s.State.Reconstruction(); r != nil {
		return d.graph(s.Name()+".outputs", r)
	}
	return nil
}

func (d *dump) graph(name string, g *ir.Graph) error {
	if err := d.Add(files.File{Path: name + ".ir", Data: []byte(g.String())}); err != nil {
		return err
	}
	b, err := exportBytes(g, true)
	if err != nil {
		if d.reason == nil {
			d.reason = err
		}
		d.noONNX = append(d.noONNX, name)
		return nil
	}
	return d.Add(files.File{Path: name + ".onnx", Data: b})
}

func (d *dump) program(p fmt.Stringer) error {
	return d.Add(files.File{Path: "program.txt", Data: []byte(p.String())})
}

// warnNoONNX says once which stages have no .onnx, with the first reason: a graph of bfloat16 layers has one for
// every layer and stage.
func (d *dump) warnNoONNX() {
	if d == nil || d.reason == nil {
		return
	}
	first, more := d.reason, ""
	if all, ok := d.reason.(interface{ Unwrap() []error }); ok {
		if e := all.Unwrap(); len(e) > 1 {
			first, more = e[0], fmt.Sprintf(" (and %d more such)", len(e)-1)
		}
	}
	d.warn("dump", "no-onnx", d.noONNX[0], "--dump-ir: the .ir files alone hold %s: %v%s",
		strings.Join(d.noONNX, ", "), first, more)
	d.reason = nil
}

// close puts the folder in its place.
func (d *dump) close() (err error) {
	defer fail.Catch(&err)
	if d == nil {
		return nil
	}
	defer d.Discard()
	d.warnNoONNX()
	page := fail.Must(d.pages.HTML(d.title))
	fail.Check(d.Add(files.File{Path: "index.html", Data: page}))
	m := struct {
		Generator string   `json:"generator"`
		Version   string   `json:"version"`
		Files     []string `json:"files"`
	}{"nncc", Version, append(d.Files(), dumpManifest)}
	fail.Check(d.Add(files.File{Path: dumpManifest, Data: report.JSON(m)}))
	return asInput(d.Commit())
}

// exportBytes is the graph as an ONNX file. custom lets operators of nncc's own
// that have no ONNX form through, under their own domain: for looking at dumps.
func exportBytes(g *ir.Graph, custom bool) ([]byte, error) {
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "nncc", Version: Version, Custom: custom})
	if err != nil {
		return nil, err
	}
	return onnx.Marshal(m)
}
