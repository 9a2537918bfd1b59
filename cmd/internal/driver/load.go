// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend"
	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// load reads and imports the model. shapes (by input name) may be nil. The model's values
// are those of the graph alone.
func (c *Config) load(shapes map[string][]int) (_ *onnx.Model, _ *ir.Graph, err error) {
	defer fail.Catch(&err)
	m := input(frontend.Load(c.Model, c.Limits))
	c.read = append(c.read, m.ExternalFiles()...)
	c.source = m
	g, err := c.importModel(m, shapes)
	if err != nil {
		diag.In(err).From("import")
		return nil, nil, &InputError{err}
	}
	m.Release()
	if c.quantises() {
		err = quant.FreeWeights(g)
	}
	return m, g, err
}

// quantises: the flags ask for a quantisation of the activations, too, where a model has
// one of its weights.
func (c *Config) quantises() bool {
	return len(c.Calib) > 0 && !c.unquantised() || c.Precision == option.Int8 || c.Precision == option.Int16x8 ||
		c.Weights == option.Int4Weights || c.LayersConfig != "" || c.Sensitivity || c.Eval.Propose != ""
}

func (c *Config) modelAndBoard() (_ *boards.Spec, _ *ir.Graph, err error) {
	defer fail.Catch(&err)
	fail.Check(c.Check())
	spec := fail.Must(c.board())
	_, g, err := c.load(nil)
	return spec, g, err
}

func (c *Config) importModel(m *onnx.Model, shapes map[string][]int) (*ir.Graph, error) {
	opt, err := c.importOptions(shapes)
	if err != nil {
		return nil, err
	}
	return onnx.OpenModel(m, opt)
}

func (c *Config) importOptions(shapes map[string][]int) (_ onnx.ImportOptions, err error) {
	defer fail.Catch(&err)
	dims := fail.Must(c.dims())
	set := fail.Must(pairs("set", c.Set))
	opt := onnx.ImportOptions{Dims: dims, Shapes: shapes, Set: map[string]*tensor.Dense{},
		Note: func(d *diag.Diag) { c.Diags.Add(diag.List{d}.From("import")...) }}
	for k, v := range set {
		d := fail.Must(constant(k, v, c.dataLimits()))
		opt.Set[k] = d
	}
	return opt, c.functions(&opt)
}

func (c *Config) functions(opt *onnx.ImportOptions) error {
	for _, f := range c.Functions {
		fs, err := onnx.LoadFunctions(f, c.Limits)
		if err != nil {
			return err
		}
		opt.Functions = append(opt.Functions, fs...)
	}
	return nil
}

// constant reads the VALUE of --set: a number, which fills the input, numbers
// with commas between them, or a .npy file. The importer brings it to the
// input's type and checks its shape.
func constant(name, v string, lim npz.Limits) (*tensor.Dense, error) {
	if d := numbers(v); d != nil {
		return d, nil
	}
	d, err := npz.ReadTensor(v, lim)
	if err != nil {
		return nil, usage("--set %s=%s: want a number, numbers with commas between them, or a .npy file (%v)", name, v,
			err)
	}
	return d, nil
}

// numbers reads 3, 0.5 or 1,2,3; nil for anything else. They are integers
// unless one is not.
func numbers(v string) *tensor.Dense {
	var ints []int64
	var floats []float64
	for _, s := range strings.Split(v, ",") {
		s = strings.TrimSpace(s)
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil
		}
		floats = append(floats, f)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			ints = append(ints, i)
		}
	}
	shape := []int{len(floats)}
	if len(floats) == 1 {
		shape = nil
	}
	if len(ints) == len(floats) {
		return tensor.Of(shape, ints)
	}
	return tensor.Of(shape, floats)
}

func (c *Config) dataLimits() npz.Limits { return npz.Limits{Bytes: c.Limits.DataBytes} }

// CheckModel is the verb check: all that there is to say about the model.
func (c *Config) CheckModel() (_ diag.List, err error) {
	defer fail.Catch(&err)
	m := input(frontend.Load(c.Model, c.Limits))
	c.source = m
	var opt onnx.ImportOptions
	fail.Check(asInput(c.functions(&opt)))
	fs := onnx.Check(m, opt.Functions...)
	if fs.Count(diag.Error) > 0 {
		return fs, nil
	}
	// Shapes, types and values: what the importer finds.
	opt = fail.Must(c.importOptions(nil))
	opt.Declared = func(f *diag.Diag) { fs = append(fs, f) }
	if _, err := onnx.OpenModel(m, opt); err != nil {
		more := onnx.ImportFindings(err)
		if more == nil {
			return nil, err
		}
		fs = append(fs, more...)
	}
	return fs, nil
}

// Format is that of the model, once it is loaded.
func (c *Config) Format() string {
	if c.source == nil || c.source.Format == "" {
		return "ONNX"
	}
	return c.source.Format
}

// Finding is a line of check --json.
type Finding struct {
	Severity diag.Severity `json:"severity"`
	Code     string        `json:"code"`
	Where    string        `json:"where"`
	Node     string        `json:"node,omitempty"`
	Tensor   string        `json:"tensor,omitempty"`
	Found    string        `json:"found"`
	Want     string        `json:"want,omitempty"`
	Do       string        `json:"do,omitempty"`
}

// Findings are diagnostics as check --json prints them.
func Findings(l diag.List) []Finding {
	out := []Finding{}
	for _, d := range l {
		out = append(out, Finding{d.Severity, d.Code, d.Node, d.Name, d.Tensor, d.Msg, d.Want, d.Hint})
	}
	return out
}

// Refusals explains an error of Compile; nil where it is not about nodes.
func (c *Config) Refusals(err error) *report.Refusals {
	return report.NewRefusals(filepath.Base(c.Model), modelName(c.Board),
		func() (*onnx.Model, error) { return frontend.Load(c.Model, c.Limits) }, err)
}

// Explain is the table of the verb explain; all: with kernels that cost more.
func (o *Compiled) Explain(all bool) string { return o.Report.Explain(&o.Subject, all) }
