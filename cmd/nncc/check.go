// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
)

func (c *cli) check(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	fs := fail.Must(c.cfg.CheckModel())
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
