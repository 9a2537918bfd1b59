// SPDX-License-Identifier: Apache-2.0

// Package tflite reads TensorFlow Lite models: see package convert.
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
	p, source, err := convert.New(m)
	if err != nil {
		return nil, err
	}
	return &onnx.Model{Proto: p, SHA256: sha256.Sum256(b), Limits: lim.OrDefault(), Source: source,
		Format: "TensorFlow Lite"}, nil
}
