// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

func (c *cli) compile(args []string) {
	list := c.models(args)
	if c.cfg.StopAfter != "" {
		if len(list) > 1 {
			c.model(args) // one is wanted
		}
		c.stopAfter()
		return
	}
	f := c.made(list)
	gate := exceeded(f.Gates())
	c.checked(f, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := f.OutDir()
	fail.Check(c.write(f, dir))
	c.show(reportOf(f), func() string { return written(f, list, dir) })
	fail.Check(gate)
}

// written says what a folder has.
func written(f *driver.Firmware, list []*driver.Config, dir string) string {
	var b strings.Builder
	for i, r := range f.Reports() {
		what := dir
		if f.Several() {
			what = fmt.Sprintf("%s (%s)", r.Prefix, text.Line(list[i].Model))
		}
		fmt.Fprintf(&b, "%s: %d steps for %s (%s), %s, weights %d bytes\n", what, len(r.Steps), r.Board,
			r.PrecisionLayers.Text(r.Precision), r.Memory.RAMText(), r.Memory.WeightsBytes)
	}
	if f.Several() {
		m := f.Report.Memory
		fmt.Fprintf(&b, "%s: %d models, %s, weights %d bytes; include models.h\n", dir, len(list), m.RAMText(),
			m.WeightsBytes)
	}
	return b.String()
}

// stopAfter prints the graph behind a stage.
func (c *cli) stopAfter() {
	a := fail.Must(c.cfg.Stop())
	c.warnings()
	c.show(a, func() string { return a.Text })
}

func (c *cli) verify(args []string) {
	f := c.made(c.models(args))
	vs := fail.Must(f.Verify(c.ctx))
	c.remarks(f) // what sizes of the build say
	gate := exceeded(f.Gates())
	c.checked(f, vs)
	if c.cfg.Out != "" {
		fail.Check(c.write(f, c.cfg.Out))
	}
	c.progress.done()
	whole := report.NewFirmwareVerdict(f.Report, vs)
	if len(vs) == 1 {
		c.show(vs[0], vs[0].Text)
	} else {
		c.show(whole, whole.Lines)
	}
	c.differs(whole.Differs())
	c.end(gate)
}

// differs: something is not what nncc promises.
func (c *cli) differs(is bool) {
	if is {
		c.status = exitDiffer
	}
}

// end ends a verb with a gate's error or nil; what differs weighs more.
func (c *cli) end(gate error) {
	if c.status == exitDiffer {
		c.gate(gate)
		return
	}
	fail.Check(gate)
}

func (c *cli) explain(args []string) {
	list := c.models(args)
	f, err := driver.Compile(list...)
	if err != nil {
		if len(list) == 1 {
			c.refused(err)
		}
		fail.Check(err)
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
	c.show(reportOf(f), func() string {
		return strings.Join(lists.Map(f.Models, func(o *driver.Compiled) string {
			if f.Several() {
				return fmt.Sprintf("== %s\n%s", o.Info.Prefix, o.Explain(c.verbose))
			}
			return o.Explain(c.verbose)
		}), "\n")
	})
	fail.Check(gate)
}

// refused explains why a model cannot be compiled, node by node, where that is known.
func (c *cli) refused(err error) {
	if r := c.cfg.Refusals(err); r != nil {
		c.progress.done()
		c.show(r, r.Text)
		fail.Check(c.writePage(r.HTML))
	}
}

// besideLibrary measures the same models with the linked library's kernels
// wherever it has one.
func (c *cli) besideLibrary(list []*driver.Config, vs []*report.Verdict) {
	for _, x := range list {
		x.Kernels = option.CMSISNN
	}
	for i, w := range c.measured(fail.Must(driver.Compile(list...))) {
		vs[i].Beside(w)
	}
}

// measured is the profile of a firmware.
func (c *cli) measured(f *driver.Firmware) []*report.Verdict {
	vs, err := f.Profile(c.ctx)
	c.progress.done()
	return fail.Must(vs, err)
}

// profile measures one firmware: of two models, two of one each, before and after.
func (c *cli) profile(args []string) {
	if len(args) == 0 {
		wrong("want a model, two to compare, or several in one firmware")
	}
	for _, a := range args {
		fail.Must(os.Stat(a))
	}
	list := c.models(args)
	if c.frontier {
		c.ramFrontier(list[0])
		return
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
		some := c.profiled(f, list)
		whole = report.NewFirmwareVerdict(f.Report, some)
		gates, vs = append(gates, f.Looked()...), append(vs, some...)
	}
	if len(vs) > 1 && !compared {
		c.show(whole, func() string { return report.ProfilesText(vs) + whole.Summary() })
	} else {
		c.show(vs, func() string { return report.ProfileText(vs) })
	}
	c.end(driver.Exceeded(gates))
}

// ramFrontier prints what --max-ram can reach: programs that a search predicts, measured.
func (c *cli) ramFrontier(asked *driver.Config) {
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
		c.differs(vs[0].Differs())
		if p.ArenaBytes = g.Models[0].Lowered.Program.ArenaBytes; vs[0].Instructions > 0 { // else not counted
			p.Work = float64(vs[0].Instructions)
		}
	}
	m := &o.Report.Memory
	m.Frontier = report.NewFrontier(lower.Frontier(points))
	fail.Check(c.writePage(pageOf(f)))
	c.show(m.Frontier, m.FrontierText)
}

// profiled measures a firmware.
func (c *cli) profiled(f *driver.Firmware, list []*driver.Config) []*report.Verdict {
	vs := c.measured(f)
	_ = exceeded(f.Gates()) // told at the end
	c.checked(f, vs)
	if c.cfg.Out != "" { // one firmware: flagsFit
		fail.Check(c.write(f, c.cfg.Out))
	}
	fail.Check(c.writePage(pageOf(f)))
	if list[0].CMSISLib != "" && list[0].Kernels == option.AllKernels {
		c.besideLibrary(list, vs)
	}
	c.differs(slices.ContainsFunc(vs, (*report.Verdict).Differs))
	return vs
}

func (c *cli) run([]string) {
	var gate error
	if c.fs.Changed("max-segments") || c.fs.Changed("max-fallback") || c.fs.Changed("max-ram") ||
		c.fs.Changed("max-flash") {
		whole := c.cfg // gates are about a program with a plan of its memory
		gate = exceeded(fail.Must(whole.Compile()).Gates())
		c.cfg.Gates = whole.Gates
	}
	fail.Check(c.cfg.RunModel())
	c.checkedModel(filepath.Base(c.cfg.Model), &c.cfg, nil)
	c.warnings()
	c.progress.done()
	c.show(c.cfg.RunResult, func() string {
		s := ""
		if t := c.cfg.RunResult.Tensors; t != nil {
			s = t.Text() + fmt.Sprintf("wrote %s: %d files\n", text.Line(c.cfg.Tensors), len(t.Files))
		}
		for _, l := range c.cfg.Written {
			s += text.Line(l) + "\n"
		}
		return s
	})
	fail.Check(gate)
}
