// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
		return &driver.UsageError{Msg: "no model given; usage: nncc [verb] [flags] MODEL (nncc -h shows more)"}
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

func (c *cli) compile(args []string) error {
	list, err := c.models(args)
	if err != nil {
		return err
	}
	if c.cfg.StopAfter != "" {
		if len(list) > 1 {
			return c.model(args)
		}
		return c.stopAfter()
	}
	f, err := c.made(list)
	if err != nil {
		return err
	}
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := f.OutDir()
	if err := f.Write(dir); err != nil {
		return err
	}
	if c.cfg.JSON {
		if err := c.json(reportOf(f)); err != nil {
			return err
		}
		return gate
	}
	for i, r := range f.Reports() {
		what := dir
		if f.Several() {
			what = fmt.Sprintf("%s (%s)", r.Prefix, text.Line(list[i].Model))
		}
		fmt.Fprintf(c.out, "%s: %d steps for %s (%s), %s, weights %d bytes\n", what, len(r.Layers), r.Board,
			r.PrecisionLayers.Text(r.Precision), r.Memory.RAMText(), r.Memory.WeightsBytes)
	}
	if f.Several() {
		m := f.Report.Memory
		fmt.Fprintf(c.out, "%s: %d models, %s, weights %d bytes; include models.h\n", dir, len(list), m.RAMText(),
			m.WeightsBytes)
	}
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
	b, gate := c.cfg.Bisect()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.warnings()
	if b.Guilty != "" {
		c.status = exitDiffer
	}
	if c.cfg.JSON {
		return cmp.Or(c.json(b), gate)
	}
	fmt.Fprint(c.out, text.Lines(b).Text())
	return gate
}

func (c *cli) verify(args []string) error {
	list, err := c.models(args)
	if err != nil {
		return err
	}
	f, err := c.made(list)
	if err != nil {
		return err
	}
	vs, err := f.Verify(c.ctx)
	if err != nil {
		return err
	}
	c.remarks(f) // what sizes of the build say
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, vs)
	if c.cfg.Out != "" {
		if err := f.Write(c.cfg.Out); err != nil {
			return err
		}
	}
	c.progress.done()
	whole := report.NewFirmwareVerdict(f.Report, vs)
	if err := c.showVerdict(whole); err != nil {
		return err
	}
	if whole.Differs() { // weighs more than a gate
		c.gate(gate)
		c.status = exitDiffer
		return nil
	}
	return gate
}

// showVerdict prints the verdict of one model, or of all of a firmware.
func (c *cli) showVerdict(v *report.FirmwareVerdict) error {
	one := len(v.Models) == 1
	switch {
	case c.cfg.JSON && one:
		return c.json(v.Models[0])
	case c.cfg.JSON:
		return c.json(v)
	case one:
		fmt.Fprint(c.out, v.Models[0].Text())
	default:
		fmt.Fprint(c.out, v.Lines())
	}
	return nil
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
	c.checkedModel(filepath.Base(c.cfg.Model), &c.cfg, nil)
	c.warnings()
	c.progress.done()
	if c.cfg.JSON {
		return cmp.Or(c.json(c.cfg.RunResult), gate)
	}
	if t := c.cfg.RunResult.Tensors; t != nil {
		fmt.Fprint(c.out, t.Text())
		fmt.Fprintf(c.out, "wrote %s: %d files\n", text.Line(c.cfg.Tensors), len(t.Files))
	}
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
		fmt.Fprintf(c.out, "%s: valid %s\n", text.Line(c.cfg.Model), c.cfg.Format())
	}
	return nil
}

func (c *cli) explain(args []string) error {
	list, err := c.models(args)
	if err != nil {
		return err
	}
	f, err := driver.Compile(list...)
	if err != nil {
		if len(list) > 1 {
			return err
		}
		return c.refused(err)
	}
	gate := f.Gates()
	if c.cfg.Out != "" {
		if err := f.Write(c.cfg.Out); err != nil {
			return err
		}
	}
	if err := c.writePage(pageOf(f)); err != nil {
		return err
	}
	c.progress.done()
	if gate == nil || isGate(gate) {
		c.checked(f, nil)
	}
	if c.cfg.JSON {
		if err := c.json(reportOf(f)); err != nil {
			return err
		}
		return gate
	}
	for i, o := range f.Models {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		if f.Several() {
			fmt.Fprintf(c.out, "== %s\n", o.Info.Prefix)
		}
		fmt.Fprint(c.out, o.Explain())
	}
	return gate
}

// refused explains why a model cannot be compiled, node by node, where that is known.
func (c *cli) refused(err error) error {
	r := c.cfg.Refusals(err)
	if r == nil {
		return err
	}
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
	return err
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

// named is a model's name without its folder and format.
func named(model string) string {
	name := filepath.Base(model)
	return strings.TrimSuffix(strings.TrimSuffix(name, ".onnx"), ".tflite")
}

// onnxFile refuses the name of a file for an ONNX model that says another format.
func onnxFile(path string) error {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".tflite", ".lite", ".pb", ".pt", ".pth", ".h5", ".keras", ".ort":
		return &driver.UsageError{Msg: fmt.Sprintf("--out %s: the model is written as ONNX, not as %s; want a name "+
			"that ends in .onnx", path, ext)}
	}
	return nil
}

// writeModel writes a rewritten model and says what was done to it.
func (c *cli) writeModel(l *driver.Rewritten, suffix string) error {
	c.warnings()
	path := c.cfg.Out
	if path == "" {
		// here, as compile: models may lie where nobody writes
		path = named(c.cfg.Model) + suffix
	} else if err := onnxFile(path); err != nil {
		return err
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

// besideLibrary measures the same models with the linked library's kernels
// wherever it has one.
func (c *cli) besideLibrary(list []*driver.Config, vs []*report.Verdict) error {
	for _, x := range list {
		x.Kernels = option.CMSISNN
	}
	f, err := driver.Compile(list...)
	if err != nil {
		return err
	}
	ws, err := f.Profile(c.ctx)
	c.progress.done()
	if err != nil {
		return err
	}
	for i, w := range ws {
		vs[i].Beside(w)
	}
	return nil
}

// profile measures one firmware: of two models, two of one each, before and after.
func (c *cli) profile(args []string) error {
	if len(args) == 0 {
		return &driver.UsageError{Msg: "want a model, two to compare, or several in one firmware"}
	}
	for _, a := range args {
		if _, err := os.Stat(a); err != nil {
			return err
		}
	}
	list, err := c.models(args)
	if err != nil {
		return err
	}
	firmwares := [][]*driver.Config{list}
	compared := len(list) == 2 && !c.together
	if compared {
		firmwares = [][]*driver.Config{list[:1], list[1:]}
	}
	var vs []*report.Verdict
	var gates []driver.Gate
	var whole *report.FirmwareVerdict
	for _, list := range firmwares {
		f, err := driver.Compile(list...)
		if err != nil {
			return err
		}
		if n := len(f.Models[0].Report.DeadChannel); n > 0 && compared && !c.quiet {
			fmt.Fprintf(c.err, "nncc: note: %s: dead channels of %d values were removed, padding among them; "+
				"--dead-channels off --align never measures the model as it is\n", list[0].Model, n)
		}
		some, err := c.profiled(f, list)
		if err != nil {
			return err
		}
		whole = report.NewFirmwareVerdict(f.Report, some)
		gates, vs = append(gates, f.Looked()...), append(vs, some...)
	}
	if err := c.showProfile(vs, whole, compared); err != nil {
		return err
	}
	gate := driver.Exceeded(gates)
	if c.status == exitDiffer { // weighs more than a gate
		c.gate(gate)
		return nil
	}
	return gate
}

// profiled measures a firmware.
func (c *cli) profiled(f *driver.Firmware, list []*driver.Config) ([]*report.Verdict, error) {
	vs, err := f.Profile(c.ctx)
	c.progress.done()
	if err != nil {
		return nil, err
	}
	if gate := f.Gates(); gate != nil && !isGate(gate) {
		return nil, gate
	}
	c.checked(f, vs)
	if c.cfg.Out != "" { // one firmware: flagsFit
		if err := f.Write(c.cfg.Out); err != nil {
			return nil, err
		}
	}
	if err := c.writePage(pageOf(f)); err != nil {
		return nil, err
	}
	if list[0].CMSISLib != "" && list[0].Kernels == option.AllKernels {
		if err := c.besideLibrary(list, vs); err != nil {
			return nil, err
		}
	}
	if slices.ContainsFunc(vs, (*report.Verdict).Differs) {
		c.status = exitDiffer
	}
	return vs, nil
}

// showProfile prints profiles: of one model, of two, or of a firmware of several.
func (c *cli) showProfile(vs []*report.Verdict, whole *report.FirmwareVerdict, compared bool) error {
	several := len(vs) > 1 && !compared
	switch {
	case c.cfg.JSON && several:
		return c.json(whole)
	case c.cfg.JSON:
		return c.json(vs)
	case several:
		fmt.Fprint(c.out, report.ProfilesText(vs), whole.Summary())
	default:
		fmt.Fprint(c.out, report.ProfileText(vs))
	}
	return nil
}
