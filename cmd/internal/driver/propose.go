// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

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

// count builds and runs the program.
func (o *Compiled) count(r *lower.Result) (_ []float64, err error) {
	defer fail.Catch(&err)
	c := o.Config
	im, done := fail.Must2(o.Firmware.build(c.context()))
	defer done()
	in := verify.Seeded(r.Interface().Inputs(), 0, 20)
	res := fail.Must(run.RunWith(c.context(), o.Board, im, o.runs([]verify.Case{{Inputs: in}}), run.Options{}))
	var out []float64
	for _, n := range res.Layers {
		out = append(out, float64(n))
	}
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
	goal := lower.Goal{Least: top1,
		Quick: func(g *ir.Graph) (float64, error) {
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
