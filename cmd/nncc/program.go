// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/lower/accel"
	"github.com/nncc/nncc/lower/accel/kinds"
)

// printers are the verbs that print program files: the extensions of these.
func printers() []string {
	var names []string
	for _, a := range kinds.Table {
		if f := a.Format(); f != nil {
			names = append(names, f.Ext)
		}
	}
	return names
}

// printer is the verb that prints program files of an accelerator.
func printer(f *accel.Format) *verb {
	run := func(c *cli, args []string) error {
		if len(args) != 1 {
			return &driver.UsageError{Msg: fmt.Sprintf(
				"one %s expected, got %d arguments; usage: nncc %s [--json] FILE.%s",
				f.What, len(args), f.Ext, f.Ext)}
		}
		data, err := files.Read(args[0], f.MaxBytes)
		if err != nil {
			return &driver.InputError{Err: err}
		}
		p, err := f.Decode(data)
		if err != nil {
			return &driver.InputError{Err: text.Errorf("%s: %w", args[0], err)}
		}
		if c.cfg.JSON {
			return c.json(p)
		}
		fmt.Fprint(c.out, p)
		return nil
	}
	return &verb{"FILE." + f.Ext, f.Doc, "nncc " + f.Ext + " model_segment_0." + f.Ext, tableFlags, run}
}
