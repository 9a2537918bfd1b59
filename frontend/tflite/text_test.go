// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"encoding/binary"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestText: labels that a model chooses are numbers, and their texts those of the output; text of an input, and
// text that is computed with, are refused.
func TestText(t *testing.T) {
	const text = 5
	labels := func(list ...string) (b []byte) {
		at := 4 * (len(list) + 2)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(list)))
		for _, s := range append(list, "") {
			b = binary.LittleEndian.AppendUint32(b, uint32(at))
			at += len(s)
		}
		return append(b, strings.Join(list, "")...)
	}
	model := func(data []byte, code int32, first, second int32) []byte {
		return tflitetest.Graph{Tensors: []tflitetest.Tensor{{Name: "x", Type: i32, Shape: []int32{2}},
			{Name: "labels", Type: text, Shape: []int32{3}, Data: data}, {Name: "y", Type: text, Shape: []int32{2}},
			{Name: "t", Type: text, Shape: []int32{2}}}, Inputs: []int32{first}, Outputs: []int32{2},
			Ops: []tflitetest.Op{{Code: code, In: []int32{1, second}, Out: []int32{2}, Kind: 23,
				Options: func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
					fb.GatherOptionsStart(b)
					return fb.GatherOptionsEnd(b)
				}}}}.Bytes()
	}
	const gather, add = 36, 0
	whole := labels("cat", "dog", "")
	m := testenv.Must(tflite.Parse(model(whole, gather, 0, 0), onnx.Limits{}))(t)
	g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
	y := testenv.Must(interp.Run(g, []*tensor.Dense{tensor.Of([]int{2}, []int32{2, 1})}, nil))(t)
	testenv.Same(t, y[0].Int64s(), []int64{2, 1})
	testenv.Equal(t, strings.Join(m.Classes["y"], ","), "cat,dog,")
	for want, b := range map[string][]byte{"damaged": model(whole[:12], gather, 0, 0), "in front": model(whole, gather,
		3, 0),
		"has no data": model(nil, gather, 0, 0), "moves text": model(whole, add, 0, 1)} {
		m, err := tflite.Parse(b, onnx.Limits{})
		if err == nil {
			_, err = onnx.OpenModel(m, onnx.ImportOptions{})
		}
		testenv.Refused(t, err, want)
	}
	for n := range whole {
		_, err := tflite.Parse(model(whole[:n], gather, 0, 0), onnx.Limits{})
		testenv.Check(t, n <= 0 || n >= len(whole) || err != nil, "%d bytes of %d are read", n, len(whole))
	}
}
