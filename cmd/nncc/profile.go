// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower/option"
)

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
	list := fail.Must(c.models(args))
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
