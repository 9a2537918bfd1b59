// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// The precision of layers: --precision and --weights for all of them,
// --layers-config for single ones.

// checkPrecision validates the combination of flags.
func (c *Config) checkPrecision() error {
	fixed := c.FixedWeights != "" || c.FixedActs != ""
	switch {
	case c.Weights == option.Int4Weights && c.Precision == option.Int16x8:
		return usage("--weights int4 goes with int8 data: leave --precision int16x8 out, or name the layers in a " +
			"--layers-config file")
	case c.Weights == option.Int4Weights && c.unquantised():
		return usage("--weights int4 goes with int8 data, not with --precision %s", c.Precision)
	case fixed && (c.Weights == option.Int4Weights || c.Precision == option.Int16x8 || c.LayersConfig != ""):
		return usage("--fixed-point-weights and --fixed-point-activations choose the numbers themselves; they do " +
			"not go with --weights int4, --precision int16x8 or --layers-config")
	}
	return nil
}

// unquantised: the flags ask for a program in float.
func (c *Config) unquantised() bool {
	return c.Precision.Float()
}

// precisionIsFixed refuses flags that a quantised model leaves no choice about.
func (c *Config) precisionIsFixed() error {
	for _, f := range []struct {
		set  bool
		flag string
	}{{c.Precision == option.Int16x8, "--precision int16x8"}, {c.Weights == option.Int4Weights, "--weights int4"},
		{c.LayersConfig != "", "--layers-config"}, {c.Sensitivity, "--sensitivity"}} {
		if f.set {
			return badInput("%s is quantised already: its own precision is kept bit for bit; %s takes the float model",
				c.Model, f.flag)
		}
	}
	return nil
}

// baseLayer is the precision of all layers that no file names.
func (c *Config) baseLayer() quant.Layer {
	switch {
	case c.Precision == option.Int16x8:
		return quant.Int16x8
	case c.unquantised():
		return quant.Float
	case c.Weights == option.Int4Weights:
		return quant.Int4
	}
	return quant.Int8
}

// layerPrecision is the precision of every layer as the flags and the file say;
// nil: int8.
func (c *Config) layerPrecision(g *ir.Graph) (func(n *ir.Node) quant.Layer, error) {
	base := c.baseLayer()
	c.layers = nil
	if c.LayersConfig == "" {
		if base == quant.Int8 {
			return nil, nil // and a target with a wider format may choose
		}
		return func(*ir.Node) quant.Layer { return base }, nil
	}
	var names []string
	for _, n := range g.Nodes {
		names = append(append(names, n.Origin...), n.Name)
	}
	f, err := quant.ReadLayers(c.LayersConfig, names)
	if err != nil {
		return nil, &InputError{err}
	}
	if f.Default != nil {
		base = *f.Default
	}
	c.layers = f
	return func(n *ir.Node) quant.Layer { return f.Layer(n, base) }, nil
}

// layersDone reports what the file asked for in vain, once a model is quantised.
func (c *Config) layersDone() error {
	if c.layers == nil {
		return nil
	}
	c.layers.Vain(func(pattern, why string) { c.warn("quantize", "layers-config", pattern, "%s", why) })
	if err := c.layers.Err(); err != nil {
		return &InputError{err}
	}
	return nil
}
