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
	"github.com/nncc/nncc/cmd/internal/eval"
	"github.com/nncc/nncc/cmd/internal/junit"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/spf13/pflag"
)

// model takes the one positional argument.
func (c *cli) model(args []string) {
	if len(args) == 0 {
		wrong("no model given; usage: nncc [verb] [flags] MODEL (nncc -h shows more)")
	}
	c.oneModel(args)
	fail.Check(ours(args[0]))
	c.showProgress()
}

// oneModel takes a model that may be given.
func (c *cli) oneModel(args []string) {
	switch len(args) {
	case 0:
	case 1:
		c.cfg.Model = args[0]
	default:
		wrong("one model expected, got %d arguments: %s", len(args), strings.Join(args, " "))
	}
}

// wrong ends a verb with an error of usage.
func wrong(format string, args ...any) {
	fail.Check(&driver.UsageError{Msg: fmt.Sprintf(format, args...)})
}

// ours refuses a folder or a report that nncc wrote, where a model is wanted, and says what to give
// instead; nil about anything else.
func ours(path string) error {
	if st, err := os.Stat(path); err != nil || !st.IsDir() && filepath.Ext(path) != ".json" {
		return nil
	}
	list, err := diff.Load(path)
	if err != nil || len(list) == 0 || list[0].Board == "" {
		return nil // whatever it is, the reader of models says
	}
	of := lists.Map(list, func(m *diff.Model) string { return m.Model.Name })
	dir := path
	if filepath.Ext(path) == ".json" {
		dir = filepath.Dir(path)
	}
	return &driver.UsageError{Msg: fmt.Sprintf("%s is what nncc wrote, want the model that it was made of: nncc "+
		"explain --board %s %s; %s describes what was written, and nncc diff compares two folders", text.Line(path),
		text.Line(list[0].Board), text.Line(strings.Join(of, " ")), text.Line(filepath.Join(dir, "report.html")))}
}

// showProgress shows what the driver does from now on.
func (c *cli) showProgress() {
	c.progress.end()
	if c.quiet {
		return
	}
	c.progress = newProgress(c.terminal)
	c.cfg.Note = c.progress.say
}

// show prints a result: as JSON, or its text.
func (c *cli) show(v any, text func() string) {
	if c.cfg.JSON {
		fail.Must(c.out.Exact().Write(report.JSON(v)))
		return
	}
	fmt.Fprint(c.out, text())
}

// shown are the severities of what is said.
func (c *cli) shown() []diag.Severity {
	if c.quiet {
		return []diag.Severity{diag.Warning}
	}
	return []diag.Severity{diag.Note, diag.Warning}
}

// remark prints a diagnostic that was not printed before.
func (c *cli) remark(d *diag.Diag, said string) {
	if !c.said[said] {
		c.said[said] = true
		fmt.Fprintf(c.err, "nncc: %s: %s%s\n", d.Severity, text.Line(text.Short(said, maxLine)), c.origin(d))
	}
}

// origin says, with -v, where a diagnostic comes from.
func (c *cli) origin(d *diag.Diag) string {
	if !c.verbose {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", cmp.Or(d.Stage, "driver"), d.Code)
}

// warnings prints what there is to say of a program that was made.
func (c *cli) warnings() {
	c.progress.done()
	fmt.Fprint(c.err, c.cfg.StageTimes())
	for _, severity := range c.shown() {
		for _, d := range c.cfg.Diags {
			if d.Severity == severity {
				c.remark(d, d.Error())
			}
		}
	}
}

// remarks prints what there is to say of a firmware that was made.
func (c *cli) remarks(f *driver.Firmware) {
	c.progress.done()
	for _, severity := range c.shown() {
		for _, r := range f.Said(severity) {
			c.remark(r.Diag, r.Text)
		}
	}
}

// write writes a firmware's folder, and says which files of it were left as the user had edited them.
func (c *cli) write(f *driver.Firmware, dir string) error {
	kept, err := f.Write(dir)
	for _, p := range kept {
		p = filepath.Join(dir, filepath.FromSlash(p))
		now := "the new one is beside it as " + filepath.Base(p) + files.Fresh
		if _, err := os.Stat(p + files.Fresh); err != nil {
			now = "nncc does not write it any more"
		}
		d := diag.Warnf("edited", "", "%s was edited since nncc wrote it: it is kept, %s", p, now)
		c.remark(d, d.Error())
	}
	return err
}

// made compiles models and says what there is to say.
func (c *cli) made(list []*driver.Config) *driver.Firmware {
	f := fail.Must(driver.Compile(list...))
	c.progress.done()
	for _, x := range list {
		fmt.Fprint(c.err, x.StageTimes())
	}
	c.remarks(f)
	return f
}

// report is what report.json has.
func reportOf(f *driver.Firmware) any {
	if f.Several() {
		return f.Report
	}
	return f.Models[0].Report
}

// pageOf is report.html.
func pageOf(f *driver.Firmware) func() []byte {
	if f.Several() {
		return f.Report.HTML
	}
	return f.Models[0].Report.HTML
}

func pageFlag(c *cli, fs *pflag.FlagSet) {
	fs.StringVar(&c.page, "html", "", "also write what is printed, drawn, as one page to `FILE`")
}

// writePage writes --html, if it is asked for.
func (c *cli) writePage(page func() []byte) error {
	if c.page == "" {
		return nil
	}
	if err := files.ReplaceFile(c.page, page(), nil, c.inputFiles()...); err != nil {
		return &driver.InputError{Err: fmt.Errorf("--html: %w", err)}
	}
	return nil
}

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
		s.Cases = append(s.Cases, junit.Check(name+".gate", "--"+g.Flag+" "+g.Limit, "gate", g.Exceeded))
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
		why := ""
		for _, x := range r.Gates {
			if strings.HasPrefix(x, g.flag+" ") {
				why = x
			}
		}
		s.Cases = append(s.Cases, junit.Check(r.Model+".gate", g.flag+" "+g.limit, "gate", why))
	}
	if q := r.Qemu; q != nil {
		why := ""
		if q.Mismatches > 0 {
			why = fmt.Sprintf("%d elements of %d samples differ from the reference interpreter", q.Mismatches,
				q.Samples)
		}
		s.Cases = append(s.Cases, junit.Check(r.Model+".run", r.Board, "mismatch", why))
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

func isGate(err error) bool { return errors.As(err, new(*driver.GateError)) }

// exceeded is the error of a gate or nil; others end the verb.
func exceeded(err error) error {
	if !isGate(err) {
		fail.Check(err)
	}
	return err
}
