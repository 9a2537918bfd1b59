// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/report"
)

// Profile is Verify with what every layer costs: sizes, MACs, bytes, and
// estimated cycles where the core has a table of them.
func (o *Compiled) Profile(ctx context.Context) (*report.Verdict, error) {
	o.profiling = true
	v, err := o.Verify(ctx)
	if err == nil {
		v.Describe(&o.Subject, o.Report)
	}
	return v, err
}

// cycles follows the case with the most instructions once more.
func (o *Compiled) cycles(ctx context.Context, v *report.Verdict, im *run.Image, in []run.Case, res *run.Result) {
	o.Config.note("counting cycles on %s", o.Board.Runner.Machine)
	steps, err := run.Cycles(ctx, o.Board, im, in, res.Largest)
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
