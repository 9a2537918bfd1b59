package driver

import (
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
)

// exportBytes is the graph as an ONNX file.
func exportBytes(g *ir.Graph) ([]byte, error) {
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "nncc " + Version})
	if err != nil {
		return nil, err
	}
	return onnx.Marshal(m)
}
