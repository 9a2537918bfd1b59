// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
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
func (c *cli) propose() {
	p, err := c.cfg.ProposeLayers()
	if p != nil {
		c.warnings()
		c.checkedModel(filepath.Base(c.cfg.Model), &c.cfg, nil)
		c.show(p, func() string { return report.ProposalText(p, c.cfg.Eval.Propose) })
	}
	fail.Check(err)
}

func (c *cli) eval([]string) {
	r, err := c.cfg.Evaluate(c.ctx)
	gate := exceeded(err)
	c.warnings()
	c.evaluated(r)
	c.show(r, func() string {
		if r.Proposal == nil {
			return r.Text()
		}
		return r.Text() + "\n" + report.ProposalText(r.Proposal, c.cfg.Eval.Propose)
	})
	c.differs(r.Qemu != nil && r.Qemu.Mismatches > 0)
	c.end(gate)
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

func (c *cli) diff(args []string) {
	if len(args) != 2 {
		wrong("diff: want two reports, OLD and NEW (report.json or folders with one), got %d arguments", len(args))
	}
	limits, err := diff.ParseLimits(c.growth)
	if err != nil {
		wrong("--max-growth %v", err)
	}
	var sides [2][]*diff.Model
	for i, a := range args {
		c.reads = append(c.reads, a, filepath.Join(a, report.File), filepath.Join(a, diff.EvalFile))
		sides[i] = input(diff.Load(a))
	}
	d := diff.Compare(sides[0], sides[1])
	d.Old.Path, d.New.Path = args[0], args[1]
	badInput(d.Check(limits))
	c.growths(d)
	if c.markdown {
		c.show(d, d.Markdown)
	} else {
		c.show(d, d.Text)
	}
	fail.Check(c.writePage(d.HTML))
	why := lists.Map(d.Exceeded(), func(g diff.Gate) string { return "--max-growth " + g.Limit + ": " + g.Reason })
	if len(why) > 0 {
		fail.Check(&driver.GateError{Reasons: why})
	}
}

// badInput ends the verb with an error about the input; nil is none.
func badInput(err error) {
	if err != nil {
		fail.Check(&driver.InputError{Err: err})
	}
}

// input is v; an error is one about the input.
func input[T any](v T, err error) T {
	badInput(err)
	return v
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
func (c *cli) cost([]string) {
	err := query.Serve(os.Stdin, c.out.Exact())
	if errors.Is(err, query.ErrNone) {
		wrong("%v", err)
	}
	fail.Check(err)
}

func (c *cli) tune([]string) {
	c.cfg.Cases = 1
	list, err := tune.Model(c.ctx, &c.cfg)
	c.warnings()
	fail.Check(err)
	c.show(list, func() string { return tune.Text(list) })
}
