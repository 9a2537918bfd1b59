// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/cmd/internal/rounding"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
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

// Verify is Config.Verify on a compiled model. It completes the report.
func (o *Compiled) Verify(ctx context.Context) (*report.Verdict, error) {
	c := o.Config
	if !o.Board.HasMachine() {
		return nil, badInput("board %s has no machine to run on", o.Board.Name)
	}
	cases, err := c.cases(o)
	if err != nil {
		return nil, err
	}
	im, done, err := o.build(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	o.memoryVerdict(&im.Sizes)
	if err := c.strictly(); err != nil {
		return nil, err
	}
	if err := o.askRounding(ctx); err != nil {
		return nil, err
	}
	v := &report.Verdict{Rounding: o.Rounding, Board: o.Board.Name, Cases: len(cases),
		Warnings: c.Diags.Texts(diag.Warning), Outputs: []verify.Output{}, Fidelity: []verify.Fidelity{},
		Layers: []report.LayerVerdict{}}
	v.Sizes(o.Lowered.Program, im)
	v.StandsIn = o.Board.Runner.StandsIn
	v.Stream = o.Stream()
	in := o.runs(cases)
	opt := run.Options{}
	if c.Layers {
		opt.Dumps = o.dumps()
		opt.Trace, opt.TraceLargest = traced(len(cases), opt.Dumps), true
	}
	c.note("running %d cases on %s", len(cases), o.Board.Runner.Machine)
	res, err := run.RunWith(ctx, o.Board, im, in, opt)
	if err != nil {
		var re *run.Error
		if errors.As(err, &re) {
			v.Failure = re.Error()
			v.Mismatches = max(v.Mismatches, 1)
			return v, nil
		}
		return nil, err
	}
	v.Measured, v.Stack = report.NewMeasured(im, res), report.StackOf(o.Harness, im)
	o.Report.Code = &report.Code{Measured: v.Measured, Stack: v.Stack}
	if err := o.stackVerdict(v); err != nil {
		return nil, err
	}
	for i, s := range o.Lowered.Program.Steps {
		l := report.LayerVerdict{Name: s.Name, Kernel: s.Kernel, Route: s.Route}
		if i < len(res.Layers) {
			l.Instructions = res.Layers[i]
			n := res.Layers[i]
			o.Report.Layers[i].Instructions = &n
		}
		v.Layers = append(v.Layers, l)
	}
	if o.profiling {
		o.cycles(ctx, v, im, in, res)
	}
	if err := o.compare(v, cases, res); err != nil {
		return v, err
	}
	if c.Layers {
		if err := o.compareLayers(v, cases, res); err != nil {
			return v, err
		}
	}
	if o.profiling {
		return v, nil
	}
	return v, o.fidelity(v, cases)
}

// build builds the firmware with its test harness; done gives back what that took.
func (o *Compiled) build(ctx context.Context) (im *run.Image, done func(), err error) {
	c := o.Config
	dir, err := files.TempDir("", "nncc-verify-")
	if err != nil {
		return nil, nil, err
	}
	remove := func() { _ = files.RemoveTemp(dir) }
	if err := writeFiles(dir, o.Files); err != nil {
		remove()
		return nil, nil, err
	}
	c.note("building for %s", o.Board.Name)
	im, err = run.Build(ctx, o.Board, dir, run.BuildOptions{CMSISInclude: c.CMSISInclude, CMSISLib: c.CMSISLib,
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

// compare compares the outputs.
func (o *Compiled) compare(v *report.Verdict, cases []verify.Case, res *run.Result) error {
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

// fidelity compares the program with the model.
func (o *Compiled) fidelity(v *report.Verdict, cases []verify.Case) error {
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

// askRounding makes the reference round as the library that is linked.
func (o *Compiled) askRounding(ctx context.Context) error {
	c := o.Config
	if c.CMSISLib == "" {
		return nil
	}
	c.note("asking %s how it rounds", filepath.Base(c.CMSISLib))
	r, err := rounding.Probe(ctx, o.Board, c.CMSISInclude, c.CMSISLib)
	if err != nil {
		return err
	}
	o.Rounding, o.reference = r.String(), o.Lowered.RoundAs(r)
	return nil
}
