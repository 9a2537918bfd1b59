// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"path/filepath"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
)

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

// Explain is the table of the verb explain.
func (o *Compiled) Explain() string { return o.Report.Explain(&o.Subject) }
