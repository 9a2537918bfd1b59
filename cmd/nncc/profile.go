// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/lower/option"
)

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
		if err := c.write(f, c.cfg.Out); err != nil {
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
