// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/report"
)

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
		if err := c.write(f, c.cfg.Out); err != nil {
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
