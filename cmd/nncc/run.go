// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

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
