// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
)

func junitFlag(c *cli, fs *pflag.FlagSet) {
	fs.StringVar(&c.junit, "junit", "", "also write what was checked (outputs, layers, gates) to `FILE`, as JUnit "+
		"XML for CI services; on every exit status behind the flags")
}

// junitFits refuses a place where the file cannot be before the work is done.
func (c *cli) junitFits() error {
	if st, err := os.Lstat(c.junit); c.junit != "" && err == nil && !st.Mode().IsRegular() {
		return &driver.UsageError{Msg: fmt.Sprintf("--junit %s: want a file, it is %s", c.junit, files.Kind(st.Mode()))}
	}
	return nil
}

// checked notes what was checked of the models of a firmware: vs is nil where nothing ran.
func (c *cli) checked(f *driver.Firmware, vs []*report.Verdict) {
	for i, o := range f.Models {
		var v *report.Verdict
		if vs != nil {
			v = vs[i]
		}
		name := filepath.Base(o.Config.Model)
		if f.Several() {
			name = o.Info.Prefix // file names may be the same
		}
		c.checkedModel(name, o.Config, v)
	}
}

// checkedModel notes what was checked of a model.
func (c *cli) checkedModel(name string, cfg *driver.Config, v *report.Verdict) {
	if c.junit == "" {
		return
	}
	s := junit.Suite{Name: name, Cases: []junit.Case{{Class: name + "." + strings.TrimPrefix(c.fs.Name(), "nncc "),
		Name: cmp.Or(cfg.Board, "float")}}}
	if v != nil {
		s = junit.OfVerdict(name, v)
	}
	for _, g := range cfg.Gates {
		x := junit.Case{Class: name + ".gate", Name: "--" + g.Flag + " " + g.Limit}
		if g.Exceeded != "" {
			x.Failure = &junit.Problem{Type: "gate", Message: g.Exceeded, Text: g.Exceeded}
		}
		s.Cases = append(s.Cases, x)
	}
	c.suites = append(c.suites, s)
}

// evaluated notes what eval found.
func (c *cli) evaluated(r *eval.Result) {
	s := junit.Suite{Name: r.Model, Cases: []junit.Case{{Class: r.Model + ".eval", Name: r.Data}}}
	for _, g := range []struct{ flag, limit string }{{"--min-top1", c.cfg.Eval.MinTop1},
		{"--min-sqnr", c.cfg.Eval.MinSQNR}} {
		if g.limit == "" {
			continue
		}
		x := junit.Case{Class: r.Model + ".gate", Name: g.flag + " " + g.limit}
		for _, why := range r.Gates {
			if strings.HasPrefix(why, g.flag+" ") {
				x.Failure = &junit.Problem{Type: "gate", Message: why, Text: why}
			}
		}
		s.Cases = append(s.Cases, x)
	}
	if q := r.Qemu; q != nil {
		x := junit.Case{Class: r.Model + ".run", Name: r.Board}
		if q.Mismatches > 0 {
			m := fmt.Sprintf("%d elements of %d samples differ from the reference interpreter", q.Mismatches, q.Samples)
			x.Failure = &junit.Problem{Type: "mismatch", Message: m, Text: m}
		}
		s.Cases = append(s.Cases, x)
	}
	c.suites = append(c.suites, s)
}

// statusWords are the types of problems by exit status.
var statusWords = map[int]string{exitDiffer: "difference", exitUsage: "input", exitGate: "gate", exitTool: "tool",
	exitBug: "bug"}

// writeJUnit writes --junit and gives the exit status: a command that did not
// end well is never a file without a failure.
func (c *cli) writeJUnit(verb string, err error, code int) int {
	if c.junit == "" {
		return code
	}
	if code != exitOK && junit.Passed(c.suites) || len(c.suites) == 0 {
		x := junit.Case{Class: "nncc", Name: strings.TrimSpace(verb + " " + strings.Join(c.fs.Args(), " "))}
		if code != exitOK {
			msg := fmt.Sprintf("exit status %d", code)
			if err != nil {
				msg = err.Error()
			}
			first, _, _ := strings.Cut(msg, "\n")
			x.Error = &junit.Problem{Type: statusWords[code], Message: first, Text: msg}
		}
		c.suites = append(c.suites, junit.Suite{Name: "nncc " + verb, Cases: []junit.Case{x}})
	}
	if werr := junit.Write(c.junit, c.suites, c.inputFiles()); werr != nil {
		werr = &driver.InputError{Err: fmt.Errorf("--junit: %w", werr)}
		if bad := c.fail(werr); code == exitOK {
			return bad
		}
	}
	return code
}

// isGate tells a gate that was exceeded from an error about one.
func isGate(err error) bool {
	var g *driver.GateError
	return errors.As(err, &g)
}
