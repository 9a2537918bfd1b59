// SPDX-License-Identifier: Apache-2.0

// Package frontend reads models of any format.
package frontend

import (
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
)

// Load reads a model file; its content says which format it has. A TensorFlow Lite model
// declares its inputs and outputs as an ONNX model does.
func Load(path string, lim onnx.Limits) (*onnx.Model, error) {
	return onnx.Load(path, lim, onnx.Format{Is: tflite.Is, Parse: tflite.Parse})
}
