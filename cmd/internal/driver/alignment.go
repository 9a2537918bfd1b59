// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// ranksOptions are the options of the float passes. Which channels pay to be padded is
// decided where it is known: on the program that would be emitted for the board.
func (c *Config) ranksOptions(g *ir.Graph, only []string) (lower.RanksOptions, error) {
	o := lower.RanksOptions{Legalize: c.Legalize, Only: only, Align: c.Align, PadInput: c.PadInput}
	if err := o.Check(); err != nil {
		return o, &UsageError{err.Error()}
	}
	if !slices.Contains(only, "align") || c.Align != option.AlignAuto {
		return o, nil
	}
	if c.Board == "" {
		c.warn("align", "no-board", "--align", "--align auto decides by what kernels cost on a board: without "+
			"--board nothing is padded (--align always pads by the rule)")
		return o, nil
	}
	spec, err := c.board()
	if err != nil {
		return o, err
	}
	if len(spec.Accelerators) > 0 {
		return o, usage("--align auto knows no costs of the accelerator of %s; want --align always, or another board",
			spec.Name)
	}
	d := *c // its remarks are about a program that is not written
	d.DeadChannels, d.DumpIR, d.TimePasses, d.Note = false, "", false, nil
	res, err := d.program(g.Clone(), spec)
	if err != nil {
		return o, err
	}
	o.Aligned = res.Aligned
	return o, nil
}

// inputNotes say in the header which inputs have more channels than the model's.
func (o *Compiled) inputNotes() map[string]string {
	if o.Lowered.Aligned == nil {
		return nil
	}
	m := map[string]string{}
	for name, n := range o.Lowered.Aligned.Inputs {
		m[name] = fmt.Sprintf("the model has %d channels; those behind them are padding (--pad-input), any values "+
			"will do", n)
	}
	return m
}
