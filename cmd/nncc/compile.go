// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/nncc/nncc/frontend/text"
)

func (c *cli) compile(args []string) error {
	list, err := c.models(args)
	if err != nil {
		return err
	}
	if c.cfg.StopAfter != "" {
		if len(list) > 1 {
			return c.model(args)
		}
		return c.stopAfter()
	}
	f, err := c.made(list)
	if err != nil {
		return err
	}
	gate := f.Gates()
	if gate != nil && !isGate(gate) {
		return gate
	}
	c.checked(f, nil)
	// The folder is written also beyond a gate: it is whole, and its report.json
	// is what a CI job shows.
	dir := f.OutDir()
	if err := c.write(f, dir); err != nil {
		return err
	}
	if c.cfg.JSON {
		if err := c.json(reportOf(f)); err != nil {
			return err
		}
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
