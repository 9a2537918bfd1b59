// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"slices"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
)

// Profile is Verify with what every layer costs: sizes, MACs, bytes, and
// estimated cycles where the core has a table of them.
func (f *Firmware) Profile(ctx context.Context) ([]*report.Verdict, error) {
	f.profiling = true
	vs, err := f.Verify(ctx)
	if err == nil {
		for i, o := range f.Models {
			vs[i].Describe(&o.Subject, o.Report)
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
