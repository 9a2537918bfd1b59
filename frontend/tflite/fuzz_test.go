// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
)

// FuzzParse: whatever bytes a file has, it is refused or becomes a graph.
func FuzzParse(f *testing.F) {
	f.Add(network().Bytes())
	for _, l := range tflitetest.Layers() {
		f.Add(l.Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<16 {
			return
		}
		m, err := tflite.Parse(b, onnx.Limits{})
		if err != nil {
			return
		}
		g, err := onnx.OpenModel(m, onnx.ImportOptions{})
		if err != nil {
			return
		}
		if errs := g.Verify(); len(errs) > 0 {
			t.Fatal(errs)
		}
	})
}

// FuzzNumbers: options of custom operators.
func FuzzNumbers(f *testing.F) {
	f.Add(tflitetest.Flex(map[string]int{"frame_size": 7, "T": 9, "prefill": -1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := fb.ReadNumbers(b); err == nil && len(v) > len(b) {
			t.Errorf("%d options of %d bytes", len(v), len(b))
		}
	})
}
