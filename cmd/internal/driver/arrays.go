package driver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

func readNpy(path string, lim npz.Limits) (*tensor.Dense, error) {
	a, err := npz.ReadNpyFile(path, lim)
	if err != nil {
		return nil, err
	}
	return npz.ToTensor(a)
}

// readInputs reads --input flags for the inputs of g: NAME=FILE.npy, FILE.npy
// in graph order, or one .npz with the inputs' names (or input_0, input_1...).
func readInputs(args, names []string, lim npz.Limits) ([]*tensor.Dense, error) {
	out := make([]*tensor.Dense, len(names))
	next := 0
	at := map[string][]int{} // the inputs that an array of this name is for
	for i, n := range names {
		at[n] = append(at[n], i)
		if s := fmt.Sprintf("input_%d", i); s != n {
			at[s] = append(at[s], i)
		}
	}
	for _, a := range args {
		name, file := "", a
		if k, v, ok := strings.Cut(a, "="); ok && slices.Contains(names, k) {
			name, file = k, v
		} else if ok && !exists(a) {
			return nil, badInput("--input %s: the model has no input %q; inputs: %s", a, k, strings.Join(names, ", "))
		}
		if strings.HasSuffix(file, ".npz") {
			es, err := npz.ReadNpzNamed(file, lim, func(s string) bool { return len(at[s]) > 0 })
			if err != nil {
				return nil, &InputError{err}
			}
			for _, e := range es {
				for _, i := range at[e.Name] {
					if out[i], err = npz.ToTensor(e.Array); err != nil {
						return nil, &InputError{err}
					}
				}
			}
			continue
		}
		d, err := readNpy(file, lim)
		if err != nil {
			return nil, badInput("--input %s%w", strings.TrimSuffix(a, file), err)
		}
		i := slices.Index(names, name)
		if name == "" {
			for next < len(out) && out[next] != nil {
				next++
			}
			if next == len(out) {
				return nil, badInput("--input %s: the model has only %d inputs (%s)", a, len(names),
					strings.Join(names, ", "))
			}
			i = next
		}
		out[i] = d
	}
	var missing []string
	for i, d := range out {
		if d == nil {
			missing = append(missing, names[i])
		}
	}
	if len(missing) > 0 {
		return nil, badInput("no --input for %s; want --input NAME=FILE.npy for each input, or one .npz",
			strings.Join(missing, ", "))
	}
	return out, nil
}

func exists(p string) bool { _, err := os.Stat(p); return err == nil }

// firmwareInput brings user data to the type of a firmware input: floats are
// quantised as ONNX QuantizeLinear does, data of the firmware's type pass.
func firmwareInput(d *tensor.Dense, v *ir.Value) (*tensor.Dense, error) {
	t := v.Type
	if d.Len() != t.Elems() || len(d.Shape) > 0 && !slices.Equal(d.Shape, t.Shape) && !squeezedEqual(d.Shape, t.Shape) {
		return nil, badInput("input %s has shape %v, got %v", v.Name, t.Shape, d.Shape)
	}
	d = d.Reshaped(t.Shape)
	switch {
	case d.DType == t.DType:
		return d, nil
	case t.Quant != nil && d.DType.IsFloat():
		return ir.QuantiseEven(d.Cast(tensor.F32), t), nil
	case t.Quant == nil && t.DType.IsFloat() && d.DType.IsFloat(), t.Quant == nil && !t.DType.IsFloat():
		return d.Cast(t.DType), nil
	}
	return nil, badInput("input %s is of type %s, got %s: want that or float", v.Name, t.DType, d.DType)
}

// squeezedEqual compares shapes without dimensions of size 1.
func squeezedEqual(a, b []int) bool {
	f := func(s []int) (o []int) {
		for _, d := range s {
			if d != 1 {
				o = append(o, d)
			}
		}
		return
	}
	return slices.Equal(f(a), f(b))
}

// dequantised is a firmware output as float32 where it stands for reals.
func dequantised(d *tensor.Dense, t ir.Type) *tensor.Dense {
	if t.Quant == nil {
		return d
	}
	out := tensor.New(tensor.F32, d.Shape)
	y := out.Data.([]float32)
	for i := range y {
		y[i] = float32(d.Int(i)-int64(t.Quant.ZeroAt(0))) * t.Quant.ScaleAt(0)
	}
	return out
}

// runReport is run.json beside the outputs of a run: what they are.
type runReport struct {
	Generator string      `json:"generator"`
	Version   string      `json:"version"`
	Model     string      `json:"model"`
	Board     string      `json:"board,omitempty"`
	Outputs   []runOutput `json:"outputs"`
	Files     []string    `json:"files"`
}

type runOutput struct {
	File  string `json:"file"`
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// writeOutputs writes output_0.npy, output_1.npy, ... and run.json as the
// folder dir and notes them.
func (c *Config) writeOutputs(dir string, outs []*tensor.Dense, names []string) error {
	if err := c.strictly(); err != nil {
		return err
	}
	r := runReport{Generator: "nncc", Version: Version, Model: filepath.Base(c.Model), Board: c.Board,
		Outputs: []runOutput{}, Files: []string{runManifest}}
	var files []codegen.File
	for i, d := range outs {
		name := fmt.Sprintf("output_%d.npy", i)
		var b bytes.Buffer
		if err := npz.WriteNpy(&b, npz.FromTensor(d)); err != nil {
			return err
		}
		files = append(files, codegen.File{Path: name, Data: b.Bytes()})
		r.Outputs = append(r.Outputs, runOutput{name, names[i], d.DType.ONNXName(), append([]int{}, d.Shape...)})
		r.Files = append(r.Files, name)
		c.Written = append(c.Written, fmt.Sprintf("wrote %s: %s, %s%v", filepath.Join(dir, name), names[i], d.DType,
			d.Shape))
	}
	return writeFolder(dir, runManifest, append(files, codegen.File{Path: runManifest, Data: toJSON(r)}))
}
