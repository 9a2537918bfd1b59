// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/cmd/internal/rounding"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
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
	vs, err := o.Firmware.Verify(ctx)
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
	fail.Check(f.askRounding(ctx))
	var vs []*report.Verdict
	var jobs []run.Job
	for i, o := range f.Models {
		vs = append(vs, o.verdict(im, len(cases[i])))
		jobs = append(jobs, o.job(cases[i]))
	}
	c.note("running %d cases on %s", n, f.board().Runner.Machine)
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
	var list []*Config
	for _, x := range f.Models {
		list = append(list, x.Config)
	}
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
		l := report.LayerVerdict{Name: s.Name, Kernel: s.Kernel, Route: s.Route}
		if i < len(res.Layers) {
			l.Instructions = res.Layers[i]
			n := res.Layers[i]
			o.Report.Layers[i].Instructions = &n
		}
		v.Layers = append(v.Layers, l)
	}
	if o.Firmware.profiling {
		o.cycles(ctx, v, im, jobs, k, res)
	}
	fail.Check(o.Compare(v, cases, res))
	if o.Config.Layers {
		fail.Check(o.compareLayers(v, cases, res))
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
func (o *Compiled) Compare(v *report.Verdict, cases []verify.Case, res *run.Result) error {
	f := verify.NewFirmware(o.Lowered, o.reference, o.Config.Tolerance)
	for k, r := range res.Cases {
		if r.Status != 0 {
			v.Failure = fmt.Sprintf("case %d: %s_run returned %d", k, o.Info.Prefix, r.Status)
			v.Mismatches++
			continue
		}
		wrong, golden, err := f.Case(cases[k], r.Outputs)
		if err != nil {
			return err
		}
		v.Mismatches += wrong + golden
		v.ByCase = append(v.ByCase, report.CaseVerdict{Source: cases[k].Source, Instructions: r.Instructions,
			Mismatches: wrong})
	}
	v.Outputs, v.Golden = f.Outputs, f.Golden
	return nil
}

// compareLayers compares what every step left in the arena.
func (o *Compiled) compareLayers(v *report.Verdict, cases []verify.Case, res *run.Result) error {
	l := verify.NewLayers(o.Lowered)
	for k, r := range res.Cases {
		if err := l.Case(k, cases[k], r.Dumps); err != nil {
			return err
		}
	}
	v.LayerCases, v.FirstWrong = l.Cases, l.First
	for i, n := range l.Mismatches {
		v.Layers[i].Mismatches = n
	}
	return nil
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
	for _, d := range dumps {
		size += int(d.Bytes)
	}
	return ir.Identity(min(cases, max(layerBytes/size, 1)))
}

func (c *Config) buildOpt() string {
	if c.Optimize == option.Size {
		return "size"
	}
	return "speed"
}

// askRounding makes the references round as the library that is linked.
func (f *Firmware) askRounding(ctx context.Context) error {
	c := f.config()
	if c.CMSISLib == "" {
		return nil
	}
	c.note("asking %s how it rounds", filepath.Base(c.CMSISLib))
	r, err := rounding.Probe(ctx, f.board(), c.CMSISInclude, c.CMSISLib)
	if err != nil {
		return err
	}
	for _, o := range f.Models {
		o.Rounding, o.reference = r.String(), o.Lowered.RoundAs(r)
	}
	return nil
}
