// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

func (c *cli) compile(args []string) (err error) {
	defer fail.Catch(&err)
	list := c.models(args)
	if c.cfg.StopAfter != "" {
		if len(list) > 1 {
			return c.model(args)
		}
		return c.stopAfter()
	}
	f := c.made(list)
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := f.OutDir()
	fail.Check(c.write(f, dir))
	if c.cfg.JSON {
		fail.Check(c.json(reportOf(f)))
		return gate
	}
	for i, r := range f.Reports() {
		what := dir
		if f.Several() {
			what = fmt.Sprintf("%s (%s)", r.Prefix, text.Line(list[i].Model))
		}
		fmt.Fprintf(c.out, "%s: %d steps for %s (%s), %s, weights %d bytes\n", what, len(r.Steps), r.Board,
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

func (c *cli) verify(args []string) (err error) {
	defer fail.Catch(&err)
	list := c.models(args)
	f := c.made(list)
	vs := fail.Must(f.Verify(c.ctx))
	c.remarks(f) // what sizes of the build say
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, vs)
	if c.cfg.Out != "" {
		fail.Check(c.write(f, c.cfg.Out))
	}
	c.progress.done()
	whole := report.NewFirmwareVerdict(f.Report, vs)
	fail.Check(c.showVerdict(whole))
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

func (c *cli) explain(args []string) (err error) {
	defer fail.Catch(&err)
	list := c.models(args)
	f, err := driver.Compile(list...)
	if err != nil {
		if len(list) > 1 {
			return err
		}
		return c.refused(err)
	}
	gate := f.Gates()
	if c.cfg.Out != "" {
		fail.Check(c.write(f, c.cfg.Out))
	}
	fail.Check(c.writePage(pageOf(f)))
	c.progress.done()
	if gate == nil || isGate(gate) {
		c.checked(f, nil)
	}
	if c.cfg.JSON {
		fail.Check(c.json(reportOf(f)))
		return gate
	}
	for i, o := range f.Models {
		if i > 0 {
			fmt.Fprintln(c.out)
		}
		if f.Several() {
			fmt.Fprintf(c.out, "== %s\n", o.Info.Prefix)
		}
		fmt.Fprint(c.out, o.Explain(c.verbose))
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

// besideLibrary measures the same models with the linked library's kernels
// wherever it has one.
func (c *cli) besideLibrary(list []*driver.Config, vs []*report.Verdict) (err error) {
	defer fail.Catch(&err)
	for _, x := range list {
		x.Kernels = option.CMSISNN
	}
	f := fail.Must(driver.Compile(list...))
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
func (c *cli) profile(args []string) (err error) {
	defer fail.Catch(&err)
	if len(args) == 0 {
		return &driver.UsageError{Msg: "want a model, two to compare, or several in one firmware"}
	}
	for _, a := range args {
		fail.Must(os.Stat(a))
	}
	list := c.models(args)
	if c.frontier {
		return c.ramFrontier(list[0])
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
		f := fail.Must(driver.Compile(list...))
		if n := len(f.Models[0].Report.DeadChannel); n > 0 && compared && !c.quiet {
			fmt.Fprintf(c.err, "nncc: note: %s: dead channels of %d values were removed, padding among them; "+
				"--dead-channels off --align never measures the model as it is\n", list[0].Model, n)
		}
		some := fail.Must(c.profiled(f, list))
		whole = report.NewFirmwareVerdict(f.Report, some)
		gates, vs = append(gates, f.Looked()...), append(vs, some...)
	}
	fail.Check(c.showProfile(vs, whole, compared))
	gate := driver.Exceeded(gates)
	if c.status == exitDiffer { // weighs more than a gate
		c.gate(gate)
		return nil
	}
	return gate
}

// ramFrontier prints what --max-ram can reach: programs that a search predicts, measured.
func (c *cli) ramFrontier(asked *driver.Config) (err error) {
	defer fail.Catch(&err)
	least := *asked
	least.MaxRAM, least.Tries = "1", 64 // not those near the budget alone
	f := fail.Must(driver.Compile(&least))
	o := f.Models[0]
	points := o.Lowered.Frontier
	if len(points) == 0 { // there was nothing to try
		points = []lower.Point{{RAMBytes: o.Lowered.Program.RAMBytes(), Optimize: least.Optimize,
			Kernels: least.Kernels}}
	}
	for i := range points {
		p, x := &points[i], *asked
		x.MaxRAM, x.Optimize, x.Kernels = strconv.Itoa(p.RAMBytes), p.Optimize, p.Kernels
		g := fail.Must(driver.Compile(&x))
		vs, err := g.Verify(c.ctx)
		c.progress.done()
		fail.Check(err)
		if vs[0].Differs() {
			c.status = exitDiffer
		}
		if p.ArenaBytes = g.Models[0].Lowered.Program.ArenaBytes; vs[0].Instructions > 0 { // else not counted
			p.Work = float64(vs[0].Instructions)
		}
	}
	m := &o.Report.Memory
	m.Frontier = report.NewFrontier(lower.Frontier(points))
	fail.Check(c.writePage(pageOf(f)))
	if c.cfg.JSON {
		return c.json(m.Frontier)
	}
	fmt.Fprint(c.out, m.FrontierText())
	return nil
}

// profiled measures a firmware.
func (c *cli) profiled(f *driver.Firmware, list []*driver.Config) (_ []*report.Verdict, err error) {
	defer fail.Catch(&err)
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
		fail.Check(c.write(f, c.cfg.Out))
	}
	fail.Check(c.writePage(pageOf(f)))
	if list[0].CMSISLib != "" && list[0].Kernels == option.AllKernels {
		fail.Check(c.besideLibrary(list, vs))
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

func (c *cli) run(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	var gate error
	if c.fs.Changed("max-segments") || c.fs.Changed("max-fallback") || c.fs.Changed("max-ram") ||
		c.fs.Changed("max-flash") {
		whole := c.cfg // gates are about a program with a plan of its memory
		o := fail.Must(whole.Compile())
		gate = o.Gates()
		if gate != nil && !isGate(gate) {
			return gate
		}
		c.cfg.Gates = whole.Gates
	}
	fail.Check(c.cfg.RunModel())
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
