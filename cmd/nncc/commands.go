// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/diff"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
)

// model takes the one positional argument.
func (c *cli) model(args []string) error {
	switch len(args) {
	case 0:
		return &driver.UsageError{Msg: "no model given; usage: nncc [verb] [flags] MODEL (nncc -h shows more)"}
	case 1:
		c.cfg.Model = args[0]
		if err := written(args[0]); err != nil {
			return err
		}
	default:
		return &driver.UsageError{Msg: fmt.Sprintf("one model expected, got %d arguments: %s", len(args),
			strings.Join(args, " "))}
	}
	c.showProgress()
	return nil
}

// written refuses a folder or a report that nncc wrote, where a model is wanted, and says what to give
// instead; nil about anything else.
func written(path string) error {
	if st, err := os.Stat(path); err != nil || !st.IsDir() && filepath.Ext(path) != ".json" {
		return nil
	}
	list, err := diff.Load(path)
	if err != nil || len(list) == 0 || list[0].Board == "" {
		return nil // whatever it is, the reader of models says
	}
	var of []string
	for _, m := range list {
		of = append(of, m.Model.Name)
	}
	dir := path
	if filepath.Ext(path) == ".json" {
		dir = filepath.Dir(path)
	}
	return &driver.UsageError{Msg: fmt.Sprintf("%s is what nncc wrote, want the model that it was made of: "+
		"nncc explain --board %s %s; %s describes what was written, and nncc diff compares two folders",
		text.Line(path), text.Line(list[0].Board), text.Line(strings.Join(of, " ")),
		text.Line(filepath.Join(dir, "report.html")))}
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

func (c *cli) json(v any) error {
	_, err := c.out.Exact().Write(report.JSON(v))
	return err
}

// diagnostics prints the notes and warnings that there are, each once.
func (c *cli) diagnostics() {
	c.progress.done()
	shown := []diag.Severity{diag.Note, diag.Warning}
	if c.quiet {
		shown = shown[1:]
	}
	for _, severity := range shown {
		for _, d := range c.cfg.Diags {
			if d.Severity == severity {
				c.remark(d, d.Error())
			}
		}
	}
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
	c.diagnostics()
}

// remarks prints what there is to say of a firmware that was made.
func (c *cli) remarks(f *driver.Firmware) {
	c.progress.done()
	shown := []diag.Severity{diag.Note, diag.Warning}
	if c.quiet {
		shown = shown[1:]
	}
	for _, severity := range shown {
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
func (c *cli) made(list []*driver.Config) (*driver.Firmware, error) {
	f, err := driver.Compile(list...)
	if err != nil {
		return nil, err
	}
	c.progress.done()
	for _, x := range list {
		fmt.Fprint(c.err, x.StageTimes())
	}
	c.remarks(f)
	return f, nil
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
