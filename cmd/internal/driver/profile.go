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
		return nil, badInput("--measured %s: %v", name, err)
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
	steps, err := run.Cycles(ctx, o.Board, im, jobs, k, res.Largest)
	if err == nil {
		err = v.Estimate(&o.Subject, steps)
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
