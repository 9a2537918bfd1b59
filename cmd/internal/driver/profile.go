// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"slices"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
)

// Profile is Verify with what every layer costs: sizes, MACs, bytes, and
// estimated cycles where the core has a table of them.
func (f *Firmware) Profile(ctx context.Context) ([]*report.Verdict, error) {
	f.profiling = true
	logs := make([]*report.CycleLog, len(f.Models))
	for i, o := range f.Models {
		var err error
		if logs[i], err = o.cycleLog(); err != nil {
			return nil, err
		}
	}
	vs, err := f.Verify(ctx)
	if err == nil {
		for i, o := range f.Models {
			vs[i].Describe(&o.Subject, o.Report)
			if logs[i] != nil {
				vs[i].Measure(logs[i])
			}
		}
	}
	return vs, err
}

// Profile is that of the firmware that the model is part of.
func (o *Compiled) Profile(ctx context.Context) (*report.Verdict, error) {
	vs, err := o.Firmware.Profile(ctx)
	if vs == nil {
		return nil, err
	}
	return vs[slices.Index(o.Firmware.Models, o)], err
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
	for _, c := range res.Cases {
		extremes = append(extremes, c.Layers)
	}
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
