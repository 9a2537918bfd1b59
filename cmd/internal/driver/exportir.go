// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
)

// exportBytes is the graph as an ONNX file. custom lets operators of nncc's own
// that have no ONNX form through, under their own domain: for looking at dumps.
func exportBytes(g *ir.Graph, custom bool) ([]byte, error) {
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "nncc", Version: Version, Custom: custom})
	if err != nil {
		return nil, err
	}
	return onnx.Marshal(m)
}
