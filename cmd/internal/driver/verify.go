// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/cmd/internal/rounding"
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// Verify compiles, builds, runs on the board's machine and compares every
// output with the reference interpreter. The verdict is nil when it did not
// come to a comparison.
func (c *Config) Verify(ctx context.Context) (*report.Verdict, error) {
	o, err := c.Compile()
	if err != nil {
		return nil, err
	}
	return o.Verify(ctx)
}

// Verify is Config.Verify on a compiled model, beside those that share its firmware. It
// completes the report.
func (o *Compiled) Verify(ctx context.Context) (*report.Verdict, error) {
	return o.own(o.Firmware.Verify(ctx))
}

// own is the model's verdict among those of the firmware.
func (o *Compiled) own(vs []*report.Verdict, err error) (*report.Verdict, error) {
	if vs == nil {
		return nil, err
	}
	return vs[slices.Index(o.Firmware.Models, o)], err
}

// Verify builds one image of all models, runs the cases of each in turn on one arena,
// and compares every output with the reference interpreter. The verdicts are in the order
// of the models, nil when it did not come to a comparison. It completes the reports.
func (f *Firmware) Verify(ctx context.Context) (_ []*report.Verdict, err error) {
	defer fail.Catch(&err)
	c := f.config()
	if !f.board().HasMachine() {
		return nil, badInput("board %s has no machine to run on", f.board().Name)
	}
	cases, n := make([][]verify.Case, len(f.Models)), 0
	for i, o := range f.Models {
		var err error
		if cases[i], err = o.Config.CasesOf(o); err != nil {
			return nil, f.named(o, err)
		}
		n += len(cases[i])
	}
	im, done := fail.Must2(f.build(ctx))
	defer done()
	f.memoryVerdict(&im.Sizes)
	if err := f.sections(); err != nil { // measured code may leave the constants another place
		return nil, err
	}
	fail.Check(f.strictly())
	f.askRounding(ctx)
	var vs []*report.Verdict
	var jobs []run.Job
	for i, o := range f.Models {
		vs = append(vs, o.verdict(im, len(cases[i])))
		jobs = append(jobs, o.job(cases[i]))
	}
	c.note("running %d cases on %s", n, cmp.Or(f.board().Runner.Machine, f.board().Name))
	res, err := run.All(ctx, f.board(), im, jobs)
	if err != nil {
		var re *run.Error
		if errors.As(err, &re) {
			for _, v := range vs {
				v.Failure = re.Error()
				v.Mismatches = max(v.Mismatches, 1)
			}
			return vs, nil
		}
		return nil, err
	}
	f.Report.Measured(im.Sizes)
	for i, o := range f.Models {
		if err := o.judge(ctx, vs[i], im, cases[i], jobs, i, res[i]); err != nil {
			return vs, f.named(o, err)
		}
	}
	return vs, nil
}

// named says of which model an error speaks.
func (f *Firmware) named(o *Compiled, err error) error {
	list := lists.Map(f.Models, func(x *Compiled) *Config { return x.Config })
	return named(list, o.Config, err)
}

// sizes are those of the image that belong to the model: of one that is not alone, what
// it shares with others is left out.
func (o *Compiled) sizes(im *run.Image) run.Sizes {
	if !o.Firmware.Several() {
		return im.Sizes
	}
	s := im.Sizes.Of(o.Info.Files)
	if o.Info.WeightsFile != "" { // no source has it
		own := s.By[run.ModelCode]
		own.Weights += uint64(o.Info.WeightBytes)
		s.By[run.ModelCode] = own
	}
	return s
}

// verdict begins a verdict with what is known before the program runs.
func (o *Compiled) verdict(im *run.Image, cases int) *report.Verdict {
	v := &report.Verdict{Rounding: o.Rounding, Board: o.Board.Name, Cases: cases,
		Warnings: o.Config.Diags.Texts(diag.Warning), Outputs: []verify.Output{}, Fidelity: []verify.Fidelity{},
		Layers: []report.LayerVerdict{}}
	if o.Firmware.Several() {
		v.Model, v.Prefix = o.Name, o.Info.Prefix
	}
	v.Sizes(o.Lowered.Program, o.sizes(im))
	v.StandsIn = o.Board.Runner.StandsIn
	v.Stream = o.Stream()
	return v
}

// job is what the machine is to do with the model.
func (o *Compiled) job(cases []verify.Case) run.Job {
	j := run.Job{Cases: o.runs(cases)}
	if o.Config.Layers {
		j.Dumps = o.dumps()
		j.Trace, j.TraceLargest = traced(len(cases), j.Dumps), true
	}
	return j
}

// judge completes a verdict with what the machine reported; job k is the model's.
func (o *Compiled) judge(ctx context.Context, v *report.Verdict, im *run.Image, cases []verify.Case, jobs []run.Job,
	k int, res *run.Result) (err error) {
	defer fail.Catch(&err)
	v.Measured, v.Stack = report.NewMeasured(o.sizes(im), res), report.StackOf(o.Harness, im)
	o.Report.Code = &report.Code{Measured: v.Measured, Stack: v.Stack}
	fail.Check(o.stackVerdict(v))
	for i, s := range o.Lowered.Program.Steps {
		l := report.LayerVerdict{Name: s.Name, Kernel: s.Kernel, Route: s.Route,
			LayerElsewhere: o.Report.Layers[i].LayerElsewhere}
		if i < len(res.Layers) {
			l.Instructions = res.Layers[i]
			n := res.Layers[i]
			o.Report.Layers[i].Instructions = &n
		}
		v.Layers = append(v.Layers, l)
	}
	o.Report.Count()
	v.Steps = o.Report.Steps
	if o.Firmware.profiling {
		o.cycles(ctx, v, im, jobs, k, res)
	}
	fail.Check(o.Compare(v, cases, res))
	if o.Config.Layers {
		o.compareLayers(v, cases, res)
	}
	if o.Firmware.profiling {
		return nil
	}
	return o.Fidelity(v, cases)
}

// inTemp writes the firmware's files into a folder for temporary files, to be built there.
func (f *Firmware) inTemp(pattern string) (dir string, remove func(), err error) {
	if dir, err = files.TempDir("", pattern); err == nil {
		remove = func() { _ = files.RemoveTemp(dir) }
		if err = writeFiles(dir, f.Files); err != nil {
			remove()
		}
	}
	if err != nil {
		return "", nil, fmt.Errorf("the firmware is built in %s (TMPDIR, where set): %w", os.TempDir(), err)
	}
	return dir, remove, nil
}

// build builds the firmware with its test harness; done gives back what that took.
func (f *Firmware) build(ctx context.Context) (im *run.Image, done func(), err error) {
	c := f.config()
	dir, remove, err := f.inTemp("nncc-verify-")
	if err != nil {
		return nil, nil, err
	}
	c.note("building for %s", f.board().Name)
	im, err = run.Build(ctx, f.board(), dir, run.BuildOptions{CMSISInclude: c.CMSISInclude, CMSISLib: c.CMSISLib,
		Trace: true, Opt: c.buildOpt()})
	if err != nil {
		remove()
		return nil, nil, err
	}
	return im, func() { im.Close(); remove() }, nil
}

// runs are cases as the machine gets them: with state, the steps of one sequence.
func (o *Compiled) runs(cases []verify.Case) []run.Case {
	var in []run.Case
	ins := o.Lowered.Ports().Inputs()
	for i, k := range cases {
		in = append(in, run.Case{Inputs: verify.Memory(lower.Widened(k.Inputs, ins), ins),
			KeepState: i > 0 && len(o.Lowered.StateBindings) > 0})
	}
	return in
}

// Compare compares the outputs of a run on cases with the interpreter's and the stored ones, in a verdict.
func (o *Compiled) Compare(v *report.Verdict, cases []verify.Case, res *run.Result) (err error) {
	defer fail.Catch(&err)
	f := verify.NewFirmware(o.Lowered, o.reference, o.Config.Tolerance)
	if o.Config.Record != "" {
		o.record(cases, res)
	}
	for k, r := range res.Cases {
		if r.Status != 0 {
			v.Failure = fmt.Sprintf("case %d: %s_run returned %d", k, o.Info.Prefix, r.Status)
			v.Mismatches++
			continue
		}
		wrong, golden := fail.Must2(f.Case(cases[k], r.Outputs))
		v.Mismatches += wrong + golden
		v.ByCase = append(v.ByCase, report.CaseVerdict{Source: cases[k].Source, Instructions: r.Instructions,
			Mismatches: wrong})
	}
	v.Outputs, v.Golden = f.Outputs, f.Golden
	return nil
}

// record writes --record: a folder of cases for --golden.
func (o *Compiled) record(cases []verify.Case, res *run.Result) {
	folder := input(files.NewFolder(o.Config.Record, goldenManifest))
	defer folder.Discard()
	var sources []string
	for i, r := range res.Cases {
		if r.Status != 0 {
			continue // Compare says so
		}
		stored := fail.Must(verify.Stored(o.Lowered, cases[i], r.Outputs))
		for _, name := range slices.Sorted(maps.Keys(stored)) {
			path := fmt.Sprintf("case_%d/%s.npy", i, name)
			fail.Check(asInput(folder.Add(files.File{Path: path, Data: fail.Must(npy(stored[name]))})))
		}
		sources = append(sources, cases[i].Source)
	}
	index := report.Golden{Generator: "nncc", Version: Version, Model: o.Name, Board: o.Board.Name, Cases: sources,
		Files: append(folder.Files(), goldenManifest)}
	fail.Check(asInput(folder.Add(files.File{Path: goldenManifest, Data: report.JSON(index)})))
	fail.Check(asInput(folder.Commit()))
}

func (o *Compiled) compareLayers(v *report.Verdict, cases []verify.Case, res *run.Result) {
	l := verify.NewLayers(o.Lowered)
	for k, r := range res.Cases {
		fail.Check(l.Case(k, cases[k], r.Dumps))
	}
	v.LayerCases, v.FirstWrong = l.Cases, l.First
	for i, n := range l.Mismatches {
		v.Layers[i].Mismatches = n
	}
}

// Fidelity compares the program with the model on cases, in a verdict.
func (o *Compiled) Fidelity(v *report.Verdict, cases []verify.Case) error {
	rows, err := verify.Model(o.Lowered, o.Float, cases)
	if err != nil {
		return err
	}
	v.Fidelity = append(v.Fidelity, rows...)
	for _, f := range rows {
		if f.Warning != "" {
			o.Config.warn("verify", "fidelity", f.Output, "%s", f.Warning)
		}
	}
	o.said(v)
	if v.Differs() {
		return nil // which weighs more
	}
	return o.Config.strictly()
}

// dumps asks for every step's output in the arena or the state.
func (o *Compiled) dumps() []run.Dump {
	var d []run.Dump
	p := o.Lowered.Program
	for i, s := range p.Steps {
		for _, k := range s.Out {
			b := &p.Buffers[k]
			d = append(d, run.Dump{Step: i, Offset: uint32(p.Address(k)), Bytes: uint32(b.Span())})
		}
	}
	return d
}

// layerBytes bounds the memory of all values of all steps that --layers looks
// at, over all cases.
const layerBytes = 256 << 20

// traced are the cases of which --layers compares every layer: as many as fit,
// at least one.
func traced(cases int, dumps []run.Dump) []int {
	size := 1
	size += lists.Sum(dumps, func(d run.Dump) int { return int(d.Bytes) })
	return ir.Identity(min(cases, max(layerBytes/size, 1)))
}

func (c *Config) buildOpt() string {
	if c.Optimize == option.Size {
		return "size"
	}
	return "speed"
}

// askRounding makes the references round as the library that is linked.
func (f *Firmware) askRounding(ctx context.Context) {
	c := f.config()
	if c.CMSISLib == "" {
		return
	}
	c.note("asking %s how it rounds", filepath.Base(c.CMSISLib))
	r := fail.Must(rounding.Probe(ctx, f.board(), c.CMSISInclude, c.CMSISLib))
	for _, o := range f.Models {
		o.Rounding, o.reference = r.String(), o.Lowered.RoundAs(r)
	}
}

// maxCaseBytes bounds the inputs of all cases together.
const maxCaseBytes = 256 << 20

// CasesOf are the inferences that verify runs: --golden, --input, else
// calibration samples first and seeded ones up to --cases.
func (c *Config) CasesOf(o *Compiled) (_ []verify.Case, err error) {
	defer fail.Catch(&err)
	ins := o.Lowered.Interface().Inputs()
	if c.Golden != "" {
		out, err := verify.Golden(c.Golden, o.Lowered.Ports(), c.dataLimits())
		return out, asInput(err)
	}
	if len(c.Inputs) > 0 {
		list, err := c.firmwareInferences(ins)
		var out []verify.Case
		for i, in := range list {
			k := verify.Case{Source: "--input", Inputs: in}
			if len(list) > 1 {
				k.Source = fmt.Sprintf("--input, sample %d", i)
			}
			out = append(out, k)
		}
		return out, err
	}
	out := input(c.calibrated(o, ins))
	bytes := lists.Sum(ins, func(v *ir.Value) int { return v.Type.Bytes() })
	if c.Cases > MaxCases || bytes > 0 && c.Cases > max(1, maxCaseBytes/bytes) {
		return nil, usage("--cases %d: a case has %d bytes of inputs; want at most %d", c.Cases, bytes,
			min(MaxCases, max(1, maxCaseBytes/max(bytes, 1))))
	}
	for i := len(out); i < c.Cases; i++ {
		out = append(out, verify.Case{Source: fmt.Sprintf("seed %d", i), Seeded: true,
			Inputs: verify.Seeded(o.Lowered.Interface(), i, 20)})
	}
	return out, nil
}

// calibrated are cases of calibration samples.
func (c *Config) calibrated(o *Compiled, ins []*ir.Value) (out []verify.Case, err error) {
	defer fail.Catch(&err)
	if len(c.Calib) == 0 {
		return nil, nil
	}
	set := fail.Must(data.Open(c.Calib, state.New(o.Float, o.Lowered.Named()).Inputs(), c.dataOptions("")))
	samples := fail.Must(quant.SamplesOf(set))
	if o.Lowered.Streamed != nil {
		samples = state.Frames(o.Lowered.Slides, samples)
	}
	for i, s := range samples[:min(len(samples), c.Cases)] {
		in := fail.Must(verify.Inputs(s, ins))
		out = append(out, verify.Case{Source: fmt.Sprintf("calibration sample %d", i), Inputs: in})
	}
	return out, nil
}

// Profile is Verify with what every layer costs: sizes, MACs, bytes, and
// estimated cycles where the core has a table of them.
func (f *Firmware) Profile(ctx context.Context) (vs []*report.Verdict, err error) {
	defer fail.Catch(&err)
	f.profiling = true
	logs := lists.Map(f.Models, func(o *Compiled) *report.CycleLog { return fail.Must(o.cycleLog()) })
	if vs, err = f.Verify(ctx); err != nil {
		return vs, err
	}
	for i, o := range f.Models {
		vs[i].Describe(&o.Subject, o.Report)
		if logs[i] != nil {
			vs[i].Measure(logs[i])
		}
	}
	return vs, nil
}

// Profile is that of the firmware that the model is part of.
func (o *Compiled) Profile(ctx context.Context) (*report.Verdict, error) {
	return o.own(o.Firmware.Profile(ctx))
}

// cycleLog is what was measured on a real core (--measured), or nil.
func (o *Compiled) cycleLog() (*report.CycleLog, error) {
	name := o.Config.Measured
	if name == "" {
		return nil, nil
	}
	text, err := files.Read(name, maxLog)
	if err != nil {
		return nil, badInput("--measured %s: %v", name, files.Reason(err))
	}
	log, err := report.ParseCycleLog(text)
	if err == nil {
		err = log.Fits(&o.Subject)
	}
	if err != nil {
		return nil, badInput("--measured %s: %v", name, err)
	}
	return log, nil
}

// maxLog bounds the file of --measured.
const maxLog = 64 << 20

// cycles follows the case with the most instructions once more; job k is the model's.
func (o *Compiled) cycles(ctx context.Context, v *report.Verdict, im *run.Image, jobs []run.Job, k int,
	res *run.Result) {
	if slices.ContainsFunc(v.Layers, func(l report.LayerVerdict) bool { return l.AcceleratorCycles > 0 }) {
		v.CyclesMissing = "a simulator on the core stands for the accelerator"
		return
	}
	o.Config.note("counting cycles on %s", o.Board.Runner.Machine)
	seen, err := run.Cycles(ctx, o.Board, im, jobs, k, res.Largest)
	if most := o.bound(ctx, v, im, jobs, k, res, seen, err); most != nil {
		v.NoMost = most.Error()
	}
	if err == nil {
		err = v.Estimate(&o.Subject, seen.Cycles)
	}
	for i := range v.Layers {
		if c := v.Layers[i].LayerCycles; c != nil {
			o.Report.Layers[i].Cycles = &c.Cycles
		}
	}
	if err != nil {
		v.CyclesMissing = err.Error()
	}
}

// bound measures every layer with extreme data in its operands, and bounds what any data can
// take. followed is the largest case block by block, or the error why it is not known.
func (o *Compiled) bound(ctx context.Context, v *report.Verdict, im *run.Image, jobs []run.Job, k int,
	res *run.Result, followed *run.Followed, unknown error) error {
	if o.Board.Runner.Kind != "qemu" {
		return nil // no instructions are counted
	}
	o.Config.note("running layers with extreme data on %s", o.Board.Runner.Machine)
	var cases []run.Case
	for _, e := range o.Lowered.Program.Extremes() {
		c := run.Case{Inputs: jobs[k].Cases[res.Largest].Inputs}
		for _, f := range e.Fills {
			c.Fills = append(c.Fills, run.Fill(f))
		}
		cases = append(cases, c)
	}
	extremes, err := run.Filled(ctx, o.Board, im, k, len(jobs), cases)
	if err != nil {
		return err
	}
	extremes = append(extremes, lists.Map(res.Cases, func(c run.CaseResult) []uint64 { return c.Layers })...)
	for i := range v.Layers {
		l := &v.Layers[i]
		counts := []uint64{l.Instructions}
		for _, steps := range extremes {
			if i < len(steps) {
				counts = append(counts, steps[i])
			}
		}
		l.Extremes(l.Kernel, o.Dependence(i, o.Config.CMSISLib != ""), counts, func() (uint64, error) {
			if unknown != nil {
				return 0, unknown
			}
			more, err := followed.More(i)
			return l.Instructions + more, err
		})
		o.Report.Layers[i].LayerBound = l.LayerBound
	}
	v.BoundBy()
	o.Report.Code.InferenceBound = v.InferenceBound
	return nil
}
