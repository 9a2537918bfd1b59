package driver

import (
	"strconv"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// load reads and imports the model. shapes (by input name) may be nil.
func (c *Config) load(shapes map[string][]int) (*onnx.Model, *ir.Graph, error) {
	m, err := onnx.Load(c.Model, onnx.Limits{})
	if err != nil {
		return nil, nil, &InputError{err}
	}
	g, err := c.importModel(m, shapes)
	if err != nil {
		return nil, nil, &InputError{err}
	}
	return m, g, nil
}

func (c *Config) importModel(m *onnx.Model, shapes map[string][]int) (*ir.Graph, error) {
	dims, err := c.dims()
	if err != nil {
		return nil, err
	}
	set, err := pairs("set", c.Set)
	if err != nil {
		return nil, err
	}
	opt := onnx.ImportOptions{Dims: dims, Shapes: shapes, Set: map[string]*tensor.Dense{}, Note: c.remark}
	for k, v := range set {
		d, err := constant(k, v)
		if err != nil {
			return nil, err
		}
		opt.Set[k] = d
	}
	for _, f := range c.Functions {
		fs, err := onnx.LoadFunctions(f, onnx.Limits{})
		if err != nil {
			return nil, err
		}
		opt.Functions = append(opt.Functions, fs...)
	}
	return onnx.OpenModel(m, opt)
}

// constant reads the VALUE of --set: a number, or a .npy file.
func constant(name, v string) (*tensor.Dense, error) {
	if i, err := strconv.ParseInt(v, 10, 64); err == nil {
		return tensor.Scalar(i), nil
	}
	if f, err := strconv.ParseFloat(v, 64); err == nil {
		return tensor.Scalar(f), nil
	}
	d, err := readNpy(v)
	if err != nil {
		return nil, usage("--set %s=%s: want a number or a .npy file (%v)", name, v, err)
	}
	return d, nil
}
