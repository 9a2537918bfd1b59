// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/lower/option"
)

// model takes the one positional argument.
func (c *cli) model(args []string) error {
	switch len(args) {
	case 0:
		return &driver.UsageError{Msg: "no model given; usage: nncc [verb] [flags] MODEL.onnx (nncc -h shows more)"}
	case 1:
		c.cfg.Model = args[0]
	default:
		return &driver.UsageError{Msg: fmt.Sprintf("one model expected, got %d arguments: %s", len(args),
			strings.Join(args, " "))}
	}
	c.showProgress()
	return nil
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
	e := json.NewEncoder(c.out.Exact())
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
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
			if d.Severity == severity && !c.said[d.Error()] {
				c.said[d.Error()] = true
				fmt.Fprintf(c.err, "nncc: %s: %s%s\n", severity, text.Line(text.Short(d.Error(), maxLine)), c.origin(d))
			}
		}
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

func (c *cli) compile(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	if c.cfg.StopAfter != "" {
		return c.stopAfter()
	}
	o, err := c.cfg.Compile()
	if err != nil {
		return err
	}
	c.warnings()
	gate := o.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(&c.cfg, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := o.OutDir()
	if err := o.Write(dir); err != nil {
		return err
	}
	if c.cfg.JSON {
		if err := c.json(o.Report); err != nil {
			return err
		}
		return gate
	}
	m := o.Report.Memory
	fmt.Fprintf(c.out, "%s: %d steps for %s (%s), %s, weights %d bytes\n", dir, len(o.Report.Layers),
		o.Report.Board, o.Report.PrecisionLayers.Text(o.Report.Precision), m.RAMText(), m.WeightsBytes)
	return gate
}

// stopAfter prints the graph behind a stage.
func (c *cli) stopAfter() error {
	a, err := c.cfg.Stop()
	if err != nil {
		return err
	}
	c.warnings()
	if c.cfg.JSON {
		return c.json(a)
	}
	fmt.Fprint(c.out, a.Text)
	return nil
}

func (c *cli) bisect(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	b, err := c.cfg.Bisect()
	if err != nil {
		return err
	}
	c.warnings()
	if b.Guilty != "" {
		c.status = exitDiffer
	}
	if c.cfg.JSON {
		return c.json(b)
	}
	fmt.Fprint(c.out, text.Lines(b).Text())
	return nil
}

func (c *cli) verify(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	o, err := c.cfg.Compile()
	if err != nil {
		return err
	}
	c.warnings()
	v, err := o.Verify(c.ctx)
	if err != nil {
		return err
	}
	c.diagnostics() // what sizes of the build say
	gate := o.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(&c.cfg, v)
	if c.cfg.Out != "" {
		if err := o.Write(c.cfg.Out); err != nil {
			return err
		}
	}
	c.progress.done()
	if c.cfg.JSON {
		if err := c.json(v); err != nil {
			return err
		}
	} else {
		fmt.Fprint(c.out, v.Text())
	}
	if v.Differs() { // weighs more than a gate
		c.gate(gate)
		c.status = exitDiffer
		return nil
	}
	return gate
}

func (c *cli) run(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	var gate error
	if c.fs.Changed("max-segments") || c.fs.Changed("max-fallback") || c.fs.Changed("max-ram") ||
		c.fs.Changed("max-flash") {
		whole := c.cfg // gates are about a program with a plan of its memory
		o, err := whole.Compile()
		if err != nil {
			return err
		}
		gate = o.Gates()
		if gate != nil && !isGate(gate) {
			return gate
		}
		c.cfg.Gates = whole.Gates
	}
	if err := c.cfg.RunModel(); err != nil {
		return err
	}
	c.checked(&c.cfg, nil)
	c.warnings()
	c.progress.done()
	for _, l := range c.cfg.Written {
		fmt.Fprintln(c.out, text.Line(l))
	}
	return gate
}

func (c *cli) check(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	fs, err := c.cfg.CheckModel()
	if err != nil {
		return err
	}
	c.progress.done()
	if fs.Count(diag.Error) > 0 || c.cfg.Strict && len(fs) > 0 {
		c.status = exitUsage
	}
	if c.cfg.JSON {
		return c.json(driver.Findings(fs))
	}
	for _, d := range fs {
		fmt.Fprintln(c.out, text.Line(d.String()))
	}
	switch {
	case len(fs) == 0:
		fmt.Fprintf(c.out, "%s: no findings\n", text.Line(c.cfg.Model))
	case fs.Count(diag.Error) == 0:
		fmt.Fprintf(c.out, "%s: valid ONNX\n", text.Line(c.cfg.Model))
	}
	return nil
}

func (c *cli) explain(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	o, err := c.cfg.Compile()
	if err != nil {
		if r := c.cfg.Refusals(err); r != nil {
			c.progress.done()
			if c.cfg.JSON {
				if e := c.json(r); e != nil {
					return e
				}
			} else {
				fmt.Fprint(c.out, r.Text())
			}
			if e := c.writePage(r.HTML); e != nil {
				return e
			}
		}
		return err
	}
	gate := o.Gates()
	if c.cfg.Out != "" {
		if err := o.Write(c.cfg.Out); err != nil {
			return err
		}
	}
	if err := c.writePage(o.Report.HTML); err != nil {
		return err
	}
	c.progress.done()
	if gate == nil || isGate(gate) {
		c.checked(&c.cfg, nil)
	}
	if c.cfg.JSON {
		if err := c.json(o.Report); err != nil {
			return err
		}
		return gate
	}
	fmt.Fprint(c.out, o.Explain())
	return gate
}

func (c *cli) legalize(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	l, err := c.cfg.LegalizeModel(c.only, c.outputs)
	if err != nil {
		return err
	}
	return c.writeModel(l, "-legal.onnx")
}

// sensitivity takes the place of a verb when its flag is set.
func (c *cli) sensitivity(args []string) error {
	if c.cfg.Eval.Propose != "" {
		return c.propose(args)
	}
	if err := c.model(args); err != nil {
		return err
	}
	r, err := c.cfg.RankLayers()
	if err != nil {
		return err
	}
	c.warnings()
	if c.cfg.JSON {
		return c.json(r)
	}
	fmt.Fprint(c.out, report.SensitivityText(r))
	return nil
}

func (c *cli) quantize(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	l, err := c.cfg.QuantizeModel()
	if err != nil {
		return err
	}
	return c.writeModel(l, "-"+l.Precision+".onnx")
}

// writeModel writes a rewritten model and says what was done to it.
func (c *cli) writeModel(l *driver.Rewritten, suffix string) error {
	c.warnings()
	path := c.cfg.Out
	if path == "" {
		// here, as compile: models may lie where nobody writes
		path = strings.TrimSuffix(filepath.Base(c.cfg.Model), ".onnx") + suffix
	}
	if l.Differs != nil {
		c.status = exitDiffer
		fmt.Fprintf(c.err, "nncc: %v\nnncc: nothing is written\n", l.Differs)
	}
	write := !c.reportOnly && l.Differs == nil
	if write {
		if err := l.Write(path); err != nil {
			return err
		}
	}
	if c.cfg.JSON {
		return c.json(l)
	}
	fmt.Fprint(c.out, l.Text())
	if write {
		fmt.Fprintf(c.out, "wrote %s (%d bytes)\n", text.Line(path), len(l.Model))
	}
	if write && l.Native != nil {
		fmt.Fprintf(c.out, "its outputs are the accelerator's; %s.json says how the original ones follow (--outputs "+
			"original appends the nodes that do it)\n", path)
	}
	return nil
}

// besideLibrary measures the same model with the linked library's kernels
// wherever it has one.
func (c *cli) besideLibrary(v *report.Verdict) error {
	c.cfg.Kernels = option.CMSISNN
	o, err := c.cfg.Compile()
	if err != nil {
		return err
	}
	w, err := o.Profile(c.ctx)
	c.progress.done()
	if err != nil {
		return err
	}
	v.Beside(w)
	return nil
}

func (c *cli) profile(args []string) error {
	if len(args) == 0 || len(args) > 2 {
		return &driver.UsageError{Msg: "want one model, or two to compare"}
	}
	var vs []*report.Verdict
	var gates []driver.Gate
	for _, a := range args {
		if _, err := os.Stat(a); err != nil {
			return err
		}
		cfg := c.cfg
		c2 := *c
		c2.cfg = cfg
		if err := c2.model([]string{a}); err != nil {
			return err
		}
		o, err := c2.cfg.Compile()
		if err != nil {
			return err
		}
		if n := len(o.Report.DeadChannel); n > 0 && len(args) == 2 && !c.quiet {
			fmt.Fprintf(c.err, "nncc: note: %s: dead channels of %d values were removed, padding among them; "+
				"--dead-channels off --align never measures the model as it is\n", a, n)
		}
		v, err := o.Profile(c.ctx)
		c2.progress.done()
		if err != nil {
			return err
		}
		if gate := o.Gates(); gate != nil && !isGate(gate) {
			return gate
		}
		gates = append(gates, c2.cfg.Gates...)
		c.checked(&c2.cfg, v)
		if c.cfg.Out != "" { // one model: flagsFit
			if err := o.Write(c.cfg.Out); err != nil {
				return err
			}
		}
		if err := c2.writePage(o.Report.HTML); err != nil {
			return err
		}
		if c2.cfg.CMSISLib != "" && c2.cfg.Kernels == option.AllKernels {
			if err := c2.besideLibrary(v); err != nil {
				return err
			}
		}
		vs = append(vs, v)
		if v.Differs() {
			c.status = exitDiffer
		}
	}
	if c.cfg.JSON {
		if err := c.json(vs); err != nil {
			return err
		}
	} else {
		fmt.Fprint(c.out, report.ProfileText(vs))
	}
	gate := driver.Exceeded(gates)
	if c.status == exitDiffer { // weighs more than a gate
		c.gate(gate)
		return nil
	}
	return gate
}
