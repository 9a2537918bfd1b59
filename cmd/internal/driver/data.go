// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/verify"
)

// readSpec reads --preprocess, once.
func (c *Config) readSpec() error {
	if c.spec != nil {
		return nil
	}
	var err error
	if c.spec, err = data.Parse(c.Preprocess); err == nil {
		err = c.spec.ParseOutputs(c.Postprocess)
	}
	return asInput(err)
}

// dataOptions say how files become inputs; what is what the files are, for messages.
func (c *Config) dataOptions(what string) data.Options {
	return data.Options{What: what, Spec: c.spec, Limits: c.dataLimits()}
}

// inferences reads --input for inputs of a model; every: all samples of a folder, and those
// of arrays that hold several.
func (c *Config) inferences(ins []*ir.Value, every bool) ([][]*tensor.Dense, error) {
	if err := c.readSpec(); err != nil {
		return nil, err
	}
	o := c.dataOptions("")
	o.Every, o.Split = every, every
	list, from, said, err := data.Inputs(c.Inputs, ins, o)
	c.RunResult.Samples = from
	c.Diags.Add(append(said, c.spec.Idle()...).From("data")...)
	return list, asInput(err)
}

// single is the one inference of a list.
func single(list [][]*tensor.Dense, err error) ([]*tensor.Dense, error) {
	if err != nil {
		return nil, err
	}
	if len(list) != 1 {
		return nil, badInput("--input: %d samples; want one (verify takes several)", len(list))
	}
	return list[0], nil
}

// firmwareInferences reads --input for inputs of a firmware.
func (c *Config) firmwareInferences(ins []*ir.Value) ([][]*tensor.Dense, error) {
	list, err := c.inferences(ins, false)
	for k := range list {
		for i, d := range list[k] {
			if s := data.LooksLike(ins[i], d.Shape); s != "" {
				return nil, badInput("input %s has shape %v, got %v%s", ins[i].Name, ins[i].Type.Shape, d.Shape, s)
			}
		}
		if err == nil {
			list[k], err = verify.Inputs(list[k], ins)
		}
	}
	return list, asInput(err)
}

// calibration reads --calib for all inputs of a float graph.
func (c *Config) calibration(g *ir.Graph, bindings []state.Binding) ([]quant.Sample, error) {
	s, said, err := state.Calibration(c.Calib, g, bindings, c.dataOptions(""))
	c.Diags.Add(said.From("data")...)
	return s, asInput(err)
}
