package driver

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/npz"
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
	m, err := onnx.Load(c.Model, onnx.Limits{})
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
	in, err := readInputs(c.Inputs, names)
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
		d := in[i]
		if d.DType != v.Type.DType {
			if d.DType.IsFloat() != v.Type.DType.IsFloat() {
				return &InputError{fmt.Errorf("input %s is of type %s, got %s", v.Name, v.Type.DType.ONNXName(), d.DType.ONNXName())}
			}
			d = d.Cast(v.Type.DType)
		}
		if !slices.Equal(d.Shape, v.Type.Shape) {
			return &InputError{fmt.Errorf("input %s has shape %v, got %v", v.Name, v.Type.Shape, d.Shape)}
		}
		in[i] = d
	}
	outs, err := interpret(g, in)
	if err != nil {
		return err
	}
	return c.writeOutputs(dir, outs, g)
}

// samples are the calibration samples, one tensor for every input of g.
func (c *Config) samples(g *ir.Graph) ([][]*tensor.Dense, error) {
	s, err := quant.ReadSamples(c.Calib, g.In, npz.Limits{})
	if err != nil {
		return nil, &InputError{err}
	}
	out := make([][]*tensor.Dense, len(s))
	for i := range s {
		out[i] = s[i]
	}
	return out, nil
}
