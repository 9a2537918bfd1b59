// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/fail"
)

func (c *cli) verify(args []string) (err error) {
	defer fail.Catch(&err)
	list := fail.Must(c.models(args))
	f := fail.Must(c.made(list))
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
