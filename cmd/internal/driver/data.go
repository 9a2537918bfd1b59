package driver

import (
	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// readSpec reads --preprocess, once.
func (c *Config) readSpec() error {
	if c.spec != nil {
		return nil
	}
	var err error
	c.spec, err = data.Parse(c.Preprocess)
	return asInput(err)
}

// dataOptions say how files become inputs; what is what the files are, for messages.
func (c *Config) dataOptions(what string) data.Options {
	return data.Options{What: what, Spec: c.spec, Limits: c.dataLimits()}
}

// calibration reads --calib for all inputs of a float graph.
func (c *Config) calibration(g *ir.Graph, bindings []state.Binding) ([]quant.Sample, error) {
	s, said, err := state.Calibration(c.Calib, g, bindings, c.dataOptions(""))
	c.Diags.Add(said.From("data")...)
	return s, asInput(err)
}
