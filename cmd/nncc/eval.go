// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/fail"
)

func evalFlags(c *cli, fs *pflag.FlagSet) {
	commonFlags(c, fs)
	f := &c.cfg.Eval
	fs.StringVar(&f.Data, "data", "", "samples: `PATH` of a .npy, .npz or folder, as for --calib")
	fs.StringVar(&f.Labels, "labels", "", "`FILE` of labels: .npy, .npz, .csv or .txt; whole numbers are classes, "+
		"numbers with a point values, words names of classes (default: an array called labels or y in --data)")
	fs.StringVar(&f.Classes, "classes", "", "`FILE` with the name of a class a line, in the order of "+
		"the model's scores")
	fs.StringVar(&f.Scores, "scores", "", "`OUTPUT[:AXIS]` that labels speak of (default: guessed, and said)")
	fs.IntVar(&f.TopK, "top-k", f.TopK, "also count labels among the `K` highest scores")
	fs.IntVar(&f.Qemu, "qemu", 0, "run `N` of the samples on the board's QEMU machine, too")
	fs.IntVar(&f.Sequence, "sequence", 0, "a model with state: state begins anew after `N` samples (default: never)")
	fs.StringVar(&f.MinTop1, "min-top1", "", "gate: least `SHARE` of labels that the program gets right, such as 0.97 "+
		"or 97%")
	fs.BoolVar(&c.cfg.JSON, "json", false, "print JSON")
}

// proposeFlags are those of a search for precisions.
func proposeFlags(c *cli, fs *pflag.FlagSet) {
	f := &c.cfg.Eval
	fs.StringVar(&f.Propose, "propose", "", "look for the cheapest precision of each layer that reaches --min-sqnr or "+
		"--min-top1, and write it as `FILE.yaml` for --layers-config")
	fs.StringVar(&f.MinSQNR, "min-sqnr", "", "gate: least SQNR of the program's outputs, in `DB`")
}

// propose takes the place of a verb with --sensitivity.
func (c *cli) propose(args []string) error {
	if err := c.model(args); err != nil {
		return err
	}
	p, err := c.cfg.ProposeLayers()
	if p == nil {
		return err
	}
	c.warnings()
	c.checkedModel(filepath.Base(c.cfg.Model), &c.cfg, nil)
	if c.cfg.JSON {
		return cmp.Or(c.json(p), err)
	}
	fmt.Fprint(c.out, report.ProposalText(p, c.cfg.Eval.Propose))
	return err
}

func (c *cli) eval(args []string) (err error) {
	defer fail.Catch(&err)
	fail.Check(c.model(args))
	r, err := c.cfg.Evaluate(c.ctx)
	var gate *driver.GateError
	if err != nil && !errors.As(err, &gate) {
		return err
	}
	c.warnings()
	c.evaluated(r)
	if c.cfg.JSON {
		fail.Check(c.json(r))
	} else {
		fmt.Fprint(c.out, r.Text())
		if r.Proposal != nil {
			fmt.Fprint(c.out, "\n"+report.ProposalText(r.Proposal, c.cfg.Eval.Propose))
		}
	}
	if r.Qemu != nil && r.Qemu.Mismatches > 0 { // weighs more than a gate
		c.gate(err)
		c.status = exitDiffer
		return nil
	}
	return err
}
