// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/lower"
)

// QuantizeModel legalises, quantises and exports the QDQ graph.
func (c *Config) QuantizeModel() (_ *Rewritten, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	if c.unquantised() && c.LayersConfig == "" {
		return nil, usage("quantize --precision %s: there is nothing to quantise", c.Precision)
	}
	_, g := fail.Must2(c.load(nil))
	r := &Rewritten{Form: lower.NewForm(), config: c}
	r.nodes[0] = len(g.Nodes)
	if lower.Quantised(g) {
		return nil, badInput("%s is quantised already", c.Model)
	}
	q := fail.Must(c.quantOptionsOf(g))
	made, err := lower.Quantise(g, q, c.Legalize)
	c.Diags.Add(made.Diags...)
	if err != nil {
		return nil, err
	}
	fail.Check(c.layersDone())
	r.Calibration, r.Precision = made.Calibration, made.Precision
	r.Rewrites = append(r.Rewrites, made.Rewrites...)
	r.nodes[1] = len(made.Graph.Nodes)
	return r, r.export(made.Graph)
}

// RankLayers quantises one layer of the model at a time (--sensitivity).
func (c *Config) RankLayers() (_ *lower.Sensitivity, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	if c.unquantised() && c.LayersConfig == "" {
		return nil, usage("--sensitivity ranks quantised layers; it does not go with --precision %s", c.Precision)
	}
	_, g := fail.Must2(c.load(nil))
	if lower.Quantised(g) {
		return nil, c.precisionIsFixed()
	}
	q := fail.Must(c.quantOptionsOf(g))
	s, notes, err := lower.RankLayers(g, q, c.Legalize, func(done, all int) { c.note("layer %d of %d", done+1, all) })
	c.Diags.Add(notes...)
	if err != nil {
		return nil, err
	}
	fail.Check(c.layersDone())
	return s, c.strictly()
}
