package driver

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

func interpret(g *ir.Graph, in []*tensor.Dense) ([]*tensor.Dense, error) {
	return interp.Run(g, in, nil)
}

// runFloat interprets the model as it is; symbolic dimensions are taken from
// the inputs' shapes.
func (c *Config) runFloat(dir string) error {
	m, err := onnx.Load(c.Model, c.Limits)
	if err != nil {
		return &InputError{err}
	}
	inits := map[string]bool{}
	for _, t := range m.Proto.GetGraph().GetInitializer() {
		inits[t.GetName()] = true
	}
	set, err := pairs("set", c.Set)
	if err != nil {
		return err
	}
	var names []string
	for _, vi := range m.Proto.GetGraph().GetInput() {
		if _, bound := set[vi.GetName()]; !inits[vi.GetName()] && !bound {
			names = append(names, vi.GetName())
		}
	}
	if len(c.States) > 0 || c.Stream != "" {
		return c.runFloatSteps(dir)
	}
	in, err := readInputs(c.Inputs, names, c.dataLimits())
	if err != nil {
		return err
	}
	shapes := map[string][]int{}
	for i, n := range names {
		shapes[n] = in[i].Shape
	}
	_, g, err := c.load(shapes)
	if err != nil {
		return err
	}
	for i, v := range g.In {
		if in[i], err = floatInput(in[i], v); err != nil {
			return err
		}
	}
	outs, err := interpret(g, in)
	if err != nil {
		return err
	}
	return c.writeOutputs(dir, outs, g.OutNames)
}

// floatInput brings user data to the type of an input of the float model.
func floatInput(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) {
	if d.DType != v.Type.DType {
		if d.DType.IsFloat() != v.Type.DType.IsFloat() {
			return nil, badInput("input %s is of type %s, got %s", v.Name, v.Type.DType.ONNXName(), d.DType.ONNXName())
		}
		d = d.Cast(v.Type.DType)
	}
	if !slices.Equal(d.Shape, v.Type.Shape) {
		return nil, badInput("input %s has shape %v, got %v", v.Name, v.Type.Shape, d.Shape)
	}
	return d, nil
}

// samples are the calibration samples, one tensor for every input.
func (c *Config) samples(in []*ir.Value) ([][]*tensor.Dense, error) {
	s, err := quant.ReadSamples(c.Calib, in, c.dataLimits())
	if err != nil {
		return nil, &InputError{err}
	}
	out := make([][]*tensor.Dense, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out, nil
}
