// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/ir/fail"
)

func (c *cli) explain(args []string) (err error) {
	defer fail.Catch(&err)
	list := fail.Must(c.models(args))
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
