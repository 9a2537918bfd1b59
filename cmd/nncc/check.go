// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
)

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
