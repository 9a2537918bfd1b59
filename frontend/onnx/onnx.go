// SPDX-License-Identifier: Apache-2.0

// Package onnx is the entry to what reads and writes ONNX models: the names that other
// folders use. The work is done in the packages below it, each of which imports those
// before it only: schema, pb, functions, model, check, build, upgrade, expand, importer;
// exporter is the way back.
package onnx

import (
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/check"
	"github.com/nncc/nncc/frontend/onnx/exporter"
	"github.com/nncc/nncc/frontend/onnx/importer"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

type (
	// Model is a loaded ONNX model.
	Model = model.Model
	// Format reads models of another format as ONNX models.
	Format = model.Format
	// Limits bound what a model may ask for.
	Limits = model.Limits
	// ImportOptions say how a model becomes a graph.
	ImportOptions = importer.Options
	// ImportErrors are all reasons why a model cannot become a graph.
	ImportErrors = importer.Errors
	// ExportOptions say how a graph becomes a model.
	ExportOptions = exporter.Options
)

// DefaultLimits suit models for microcontrollers with a wide margin.
var DefaultLimits = model.DefaultLimits

// LimitsDoc lists the limits, what they bound and their defaults.
func LimitsDoc() string { return model.LimitsDoc() }

// Load reads a model file. External data is looked for below the file's folder.
func Load(path string, lim Limits, others ...Format) (*Model, error) {
	return model.Load(path, lim, others...)
}

// Parse decodes a model from memory, in the binary form or in ONNX's text syntax.
func Parse(b []byte, lim Limits) (*Model, error) { return model.Parse(b, lim) }

// TensorData decodes a constant, with external data from below dir.
func TensorData(t *pb.TensorProto, dir string, lim Limits) (*tensor.Dense, error) {
	return model.TensorData(t, dir, lim)
}

// ParseTensor decodes a serialised TensorProto, the form of ONNX's test vectors, and
// gives its name.
func ParseTensor(b []byte, lim Limits) (*tensor.Dense, string, error) {
	return model.ParseTensor(b, lim)
}

// Check reports everything that is wrong with a model without computing shapes; libs are
// functions beside the model's own and those that nncc ships. Models of other formats are
// checked as they are read and imported.
func Check(m *Model, libs ...*pb.FunctionProto) diag.List {
	if m.Source != nil {
		return nil
	}
	return check.Model(m, libs...)
}

// Import turns a model into a graph; the error is an ImportErrors.
func Import(m *Model, opt ImportOptions) (*ir.Graph, error) { return importer.Import(m, opt) }

// ImportFindings are the errors of Import as findings; nil where err is none of those.
func ImportFindings(err error) diag.List { return importer.Findings(err) }

// Export writes a graph as an ONNX model.
func Export(g *ir.Graph, opt ExportOptions) (*pb.ModelProto, error) { return exporter.Export(g, opt) }

// Marshal gives the bytes of a model file: the same for the same model.
func Marshal(m *pb.ModelProto) ([]byte, error) { return exporter.Marshal(m) }

// Open loads a model file, checks it and imports it: Load, Check and Import in
// one. The errors that Check and Import find come back as ImportErrors, all of
// them; Check's warnings go to opt.Note. The model is returned as soon as the
// file could be decoded, also beside an error.
func Open(path string, lim Limits, opt ImportOptions) (_ *Model, _ *ir.Graph, err error) {
	defer fail.Catch(&err)
	m := fail.Must(Load(path, lim))
	g, err := OpenModel(m, opt)
	return m, g, err
}

// OpenModel is Open for a model that is loaded.
func OpenModel(m *Model, opt ImportOptions) (*ir.Graph, error) {
	findings := Check(m, opt.Functions...)
	for _, f := range findings {
		if f.Severity != diag.Error && opt.Note != nil {
			opt.Note(diag.Warnf(f.Code, f.Node, "%s", f.Full()))
		}
	}
	if err := asError(findings); err != nil {
		return nil, err
	}
	return Import(m, opt)
}

// LoadFunctions reads a library of functions for ImportOptions.Functions: an ONNX
// model whose functions are taken, or functions in ONNX's text syntax. The error is an
// ImportErrors where the file could be read but its functions have faults.
func LoadFunctions(path string, lim Limits) (_ []*pb.FunctionProto, err error) {
	defer fail.Catch(&err)
	fs := fail.Must(model.LoadFunctions(path, lim))
	if err := asError(check.Functions(fs, lim)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return fs, nil
}

// asError are the errors among findings, nil where there are none.
func asError(findings diag.List) error {
	var errs ImportErrors
	for _, f := range findings {
		if f.Severity == diag.Error {
			errs = append(errs, f)
		}
	}
	if len(errs) == 0 {
		return nil
	}
	return errs
}
