// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/diff"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/cmd/internal/query"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/cmd/internal/tune"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/spf13/pflag"
)

func evalFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	f := &c.cfg.Eval
	fs.StringVar(&f.Data, "data", "", "samples: `PATH` of a .npy, .npz or folder, as for --calib")
	fs.StringVar(&f.Labels, "labels", "", "`FILE` of labels: .npy, .npz, .csv or .txt; whole numbers are classes, "+
		"numbers with a point values, words names of classes (default: an array called labels or y in --data)")
	fs.StringVar(&f.Classes, "classes", "", "`NAMES` of classes in the order of the model's scores: a,b,c, or a "+
		"file with a name a line")
	fs.StringVar(&f.Scores, "scores", "", "`OUTPUT[:AXIS]` that labels speak of (default: guessed, and said)")
	fs.IntVar(&f.TopK, "top-k", f.TopK, "also count labels among the `K` highest scores")
	fs.IntVar(&f.Qemu, "qemu", 0, "run `N` of the samples on the board's QEMU machine, too")
	fs.IntVar(&f.Sequence, "sequence", 0, "a model with state: state begins anew after `N` samples (default: never)")
	fs.StringVar(&f.MinTop1, "min-top1", "", "gate: least `SHARE` of labels that the program gets right, such as 0.97 "+
		"or 97%")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

// proposeFlags are those of a search for precisions.
func proposeFlags(c *cli, fs *pflag.FlagSet) {
	f := &c.cfg.Eval
	fs.StringVar(&f.Propose, "propose", "", "look for the cheapest precision of each layer that reaches --min-sqnr or "+
		"--min-top1, and write it as `FILE.yaml` for --layers-config")
	fs.StringVar(&f.MinSQNR, "min-sqnr", "", "gate: least SQNR of the program's outputs, in `DB`")
}

// propose takes the place of a verb with --sensitivity.
func (c *cli) propose(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	p, err := c.cfg.ProposeLayers()
	if p == nil {
		return err
	}
	c.warnings()
	c.checkedModel(filepath.Base(c.cfg.Model), &c.cfg, nil)
	if c.cfg.JSON {
		return cmp.Or(c.json(p), err)
	}
	fmt.Fprint(c.out, report.ProposalText(p, c.cfg.Eval.Propose))
	return err
}

func (c *cli) eval(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	r, err := c.cfg.Evaluate(c.ctx)
	var gate *driver.GateError
	if err != nil && !errors.As(err, &gate) {
		return err
	}
	c.warnings()
	c.evaluated(r)
	if c.cfg.JSON {
		fail.Check(c.json(r))
	} else {
		fmt.Fprint(c.out, r.Text())
		if r.Proposal != nil {
			fmt.Fprint(c.out, "\n"+report.ProposalText(r.Proposal, c.cfg.Eval.Propose))
		}
	}
	if r.Qemu != nil && r.Qemu.Mismatches > 0 { // weighs more than a gate
		c.gate(err)
		c.status = exitDiffer
		return nil
	}
	return err
}

func diffFlags(c *cli, fs *pflag.FlagSet) {
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
	fs.BoolVar(&c.markdown, "markdown", false, "print Markdown, for a comment of a pull request")
	fs.StringArrayVar(&c.growth, "max-growth", nil, "gate: the most that figures may grow, "+
		"`FIGURE=N,...` in percent, bytes (K, M) or counts: ram, flash, weights, stack, instructions, cycles, macs; "+
		"the most that they may fall: sqnr (dB), top1 (a share, or points of 100 with %: 0.02 is 2%) (repeatable)")
	junitFlag(c, fs)
	pageFlag(c, fs)
}

func notJSON(c *cli, _ string) string {
	if c.cfg.JSON {
		return "a command without --json"
	}
	return ""
}

func (c *cli) diff(args []string) error {
	if len(args) != 2 {
		return &driver.UsageError{Msg: fmt.Sprintf("diff: want two reports, OLD and NEW (report.json or folders with "+
			"one), got %d arguments", len(args))}
	}
	limits, err := diff.ParseLimits(c.growth)
	if err != nil {
		return &driver.UsageError{Msg: "--max-growth " + err.Error()}
	}
	var sides [2][]*diff.Model
	for i, a := range args {
		c.reads = append(c.reads, a, filepath.Join(a, report.File), filepath.Join(a, diff.EvalFile))
		if sides[i], err = diff.Load(a); err != nil {
			return &driver.InputError{Err: err}
		}
	}
	d := diff.Compare(sides[0], sides[1])
	d.Old.Path, d.New.Path = args[0], args[1]
	if err := d.Check(limits); err != nil {
		return &driver.InputError{Err: err}
	}
	c.growths(d)
	if err := cmp.Or(c.showDiff(d), c.writePage(d.HTML)); err != nil {
		return err
	}
	why := lists.Map(d.Exceeded(), func(g diff.Gate) string { return "--max-growth " + g.Limit + ": " + g.Reason })
	if len(why) > 0 {
		return &driver.GateError{Reasons: why}
	}
	return nil
}

func (c *cli) showDiff(d *diff.Diff) error {
	switch {
	case c.cfg.JSON:
		return c.json(d)
	case c.markdown:
		fmt.Fprint(c.out, d.Markdown())
	default:
		fmt.Fprint(c.out, d.Text())
	}
	return nil
}

// growths are the gates of --max-growth for --junit.
func (c *cli) growths(d *diff.Diff) {
	for _, r := range d.Models {
		s := junit.Suite{Name: r.Name, Cases: []junit.Case{{Class: r.Name + ".diff", Name: strings.TrimSpace(r.Board)}}}
		for _, g := range d.Gates {
			if g.Model != r.Name || g.Board != r.Board {
				continue
			}
			s.Cases = append(s.Cases, junit.Check(r.Name+".gate", "--max-growth "+g.Limit, "gate", g.Reason))
		}
		c.suites = append(c.suites, s)
	}
}

// cost answers queries on standard input, with or without --json.
func (c *cli) cost(args []string) error {
	if err := noArgs(args); err != nil {
		return err
	}
	err := query.Serve(os.Stdin, c.out.Exact())
	if errors.Is(err, query.ErrNone) {
		return &driver.UsageError{Msg: err.Error()}
	}
	return err
}

func (c *cli) tune(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	c.cfg.Cases = 1
	list, err := tune.Model(c.ctx, &c.cfg)
	c.warnings()
	switch {
	case err != nil:
		return err
	case c.cfg.JSON:
		return c.json(list)
	}
	fmt.Fprint(c.out, tune.Text(list))
	return nil
}
