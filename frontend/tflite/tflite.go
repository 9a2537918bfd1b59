// SPDX-License-Identifier: Apache-2.0

// Package tflite reads TensorFlow Lite models: see package convert.
package tflite

import (
	"crypto/sha256"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite/convert"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/fail"
)

// Is reports that the bytes are those of a TensorFlow Lite file.
func Is(b []byte) bool { return model.Is(b) }

// Parse reads a model from memory.
func Parse(b []byte, lim onnx.Limits) (_ *onnx.Model, err error) {
	defer fail.Catch(&err)
	m := fail.Must(model.Parse(b, lim))
	p, source := fail.Must2(convert.New(m))
	return &onnx.Model{Proto: p, SHA256: sha256.Sum256(b), Limits: lim.OrDefault(), Source: source,
		Format: "TensorFlow Lite"}, nil
}

// Custom is an operator with a name of its own, and the constant that it reads first.
type Custom struct {
	Name string
	Data []byte
}

// CustomData are the operators of a name in a model's first graph; an error where there is none.
func CustomData(b []byte, name string) (out []Custom, err error) {
	defer fail.Catch(&err)
	m := fail.Must(model.Parse(b, onnx.Limits{}))
	for _, o := range m.Graphs[0].Ops {
		if o.Name == name && len(o.In) > 0 && o.In[0] != nil {
			out = append(out, Custom{o.String(), o.In[0].Data})
		}
	}
	fail.If(len(out) == 0, "no operator %s in the model", name)
	return out, nil
}
