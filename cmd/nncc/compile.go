// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir/fail"
)

func (c *cli) compile(args []string) (err error) {
	defer fail.Catch(&err)
	list := fail.Must(c.models(args))
	if c.cfg.StopAfter != "" {
		if len(list) > 1 {
			return c.model(args)
		}
		return c.stopAfter()
	}
	f := fail.Must(c.made(list))
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := f.OutDir()
	fail.Check(c.write(f, dir))
	if c.cfg.JSON {
		fail.Check(c.json(reportOf(f)))
		return gate
	}
	for i, r := range f.Reports() {
		what := dir
		if f.Several() {
			what = fmt.Sprintf("%s (%s)", r.Prefix, text.Line(list[i].Model))
		}
		fmt.Fprintf(c.out, "%s: %d steps for %s (%s), %s, weights %d bytes\n", what, len(r.Layers), r.Board,
			r.PrecisionLayers.Text(r.Precision), r.Memory.RAMText(), r.Memory.WeightsBytes)
	}
	if f.Several() {
		m := f.Report.Memory
		fmt.Fprintf(c.out, "%s: %d models, %s, weights %d bytes; include models.h\n", dir, len(list), m.RAMText(),
			m.WeightsBytes)
	}
	return gate
}

// stopAfter prints the graph behind a stage.
func (c *cli) stopAfter() error {
	a, err := c.cfg.Stop()
	if err != nil {
		return err
	}
	c.warnings()
	if c.cfg.JSON {
		return c.json(a)
	}
	fmt.Fprint(c.out, a.Text)
	return nil
}
