// SPDX-License-Identifier: Apache-2.0

// Package tflite reads TensorFlow Lite models. They become ONNX models, which everything
// behind it takes: see package convert.
package tflite

import (
	"crypto/sha256"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite/convert"
	"github.com/nncc/nncc/frontend/tflite/model"
)

// Is reports that the bytes are those of a TensorFlow Lite file.
func Is(b []byte) bool { return model.Is(b) }

// Parse reads a model from memory.
func Parse(b []byte, lim onnx.Limits) (*onnx.Model, error) {
	m, err := model.Parse(b, lim)
	if err != nil {
		return nil, err
	}
	p, state, err := convert.ONNX(m)
	if err != nil {
		return nil, err
	}
	return &onnx.Model{Proto: p, SHA256: sha256.Sum256(b), Limits: lim.OrDefault(), State: state,
		Format: "TensorFlow Lite"}, nil
}
