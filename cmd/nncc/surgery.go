// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/surgery"
	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

func surgeryFlags(c *cli, fs *pflag.FlagSet) {
	fs.StringP("file", "f", "", "the script: `FILE.yaml`")
	fs.Bool("steps", false, "list the steps that a script may have")
	fs.StringVar(&c.cfg.Out, "out", "", "`FILE.onnx` to write (default: the model's name with -surgery, in the "+
		"current folder)")
	fs.StringArrayVar(&c.cfg.Inputs, "input", nil,
		"inputs to compare with: `NAME=FILE.npy`, FILE.npy in graph order, or one .npz (repeatable)")
	fs.IntVar(&c.cfg.Cases, "cases", 3, "`N` inputs that a comparison runs, seeded ones behind those given")
	fs.StringArrayVar(&c.cfg.Dims, "dim", nil, "size of a symbolic dimension in comparisons: `NAME=N` (repeatable)")
	fs.StringArrayVar(&c.cfg.Functions, "functions", nil, "`FILE` of ONNX functions for custom operators (repeatable)")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
	limitFlag(c, fs)
	quietFlag(c, fs)
}

func (c *cli) surgery(args []string) (err error) {
	defer fail.Catch(&err)
	if list, _ := c.fs.GetBool("steps"); list {
		return c.surgerySteps()
	}
	switch len(args) {
	case 0:
	case 1:
		c.cfg.Model = args[0]
	default:
		return &driver.UsageError{Msg: fmt.Sprintf("one model expected, got %d arguments: %s", len(args),
			strings.Join(args, " "))}
	}
	c.showProgress()
	script, _ := c.fs.GetString("file")
	s := fail.Must(c.cfg.Surgery(script))
	c.warnings()
	path := c.cfg.Out
	if path == "" {
		path = named(c.cfg.Model) + "-surgery.onnx" // here, as legalize
	} else if err := onnxFile(path); err != nil {
		return err
	}
	if s.Differs == nil {
		fail.Check(s.Write(path))
	} else {
		c.status = exitDiffer
		fmt.Fprintf(c.err, "nncc: %v\nnncc: nothing is written\n", s.Differs)
	}
	if c.cfg.JSON {
		return c.json(s)
	}
	fmt.Fprint(c.out, s.Text())
	if s.Differs == nil {
		fmt.Fprintf(c.out, "wrote %s (%d bytes)\n", text.Line(path), s.Bytes())
		for _, f := range s.Files {
			fmt.Fprintf(c.out, "wrote %s beside it\n", text.Line(f))
		}
	}
	return nil
}

// surgerySteps prints what a script may have.
func (c *cli) surgerySteps() error {
	t := surgery.StepTable()
	if c.cfg.JSON {
		return c.json(t)
	}
	for _, s := range t {
		fmt.Fprintf(c.out, "%s\n    %s\n", s.Name, s.Doc)
		if len(s.Keys) > 0 {
			fmt.Fprintf(c.out, "    keys: %s\n", strings.Join(s.Keys, ", "))
		}
		fmt.Fprintf(c.out, "    - %s\n", s.Example)
	}
	return nil
}
