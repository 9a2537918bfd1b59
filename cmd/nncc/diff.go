// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/diff"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/cmd/internal/report"
)

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
	var why []string
	for _, g := range d.Exceeded() {
		why = append(why, "--max-growth "+g.Limit+": "+g.Reason)
	}
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
			x := junit.Case{Class: r.Name + ".gate", Name: "--max-growth " + g.Limit}
			if g.Exceeded {
				x.Failure = &junit.Problem{Type: "gate", Message: g.Reason, Text: g.Reason}
			}
			s.Cases = append(s.Cases, x)
		}
		c.suites = append(c.suites, s)
	}
}
