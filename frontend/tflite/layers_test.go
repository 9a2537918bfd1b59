// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/interp"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestLayers: every layer is read, interpreted, and has results of the shapes and types
// that the file states.
func TestLayers(t *testing.T) {
	for i, l := range tflitetest.Layers() {
		t.Run(fmt.Sprintf("%s_%s_%d", l.Op, l.Type, i), func(t *testing.T) {
			m, err := tflite.Parse(l.Bytes(), onnx.Limits{})
			testenv.OK(t, err)
			g, err := onnx.OpenModel(m, onnx.ImportOptions{})
			testenv.OK(t, err)
			in := layerInputs(t, l, g, m)
			out, err := interp.Run(g, in, nil)
			testenv.OK(t, err)
			for k, o := range l.Outputs {
				want := l.Tensors[o]
				have := []int32{}
				for _, d := range out[k].Shape {
					have = append(have, int32(d))
				}
				if fmt.Sprint(have) != fmt.Sprint(append([]int32{}, want.Shape...)) ||
					tflitetest.Types[out[k].DType.String()] != want.Type {
					t.Errorf("result %d is %s, want %v", k, out[k], want.Shape)
				}
			}
		})
	}
}
