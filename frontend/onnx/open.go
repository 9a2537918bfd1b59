package onnx

import "github.com/nncc/nncc/ir"

// Open loads a model file, checks it and imports it: Load, Check and Import in
// one. The errors that Check and Import find come back as ImportErrors, all of
// them; Check's warnings go to opt.Note. The model is returned as soon as the
// file could be decoded, also beside an error.
func Open(path string, lim Limits, opt ImportOptions) (*Model, *ir.Graph, error) {
	m, err := Load(path, lim)
	if err != nil {
		return nil, nil, err
	}
	g, err := OpenModel(m, opt)
	return m, g, err
}

// OpenModel is Open for a model that is loaded.
func OpenModel(m *Model, opt ImportOptions) (*ir.Graph, error) {
	var errs ImportErrors
	for _, f := range Check(m, opt.Functions...) {
		switch {
		case f.Severity == Error:
			errs = append(errs, &f)
		case opt.Note != nil:
			opt.Note(f.Error())
		}
	}
	if len(errs) > 0 {
		return nil, errs
	}
	return Import(m, opt)
}
