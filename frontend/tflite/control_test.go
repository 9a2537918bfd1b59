// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
)

// TestCalls: what graphs may not do that operators call is refused, with the reason.
func TestCalls(t *testing.T) {
	of := func(op string) *tflitetest.Layer {
		for _, l := range tflitetest.Layers() {
			if l.Op == op && l.Type == "f32" {
				return l
			}
		}
		t.Fatalf("no layer of %s", op)
		return nil
	}
	branch := func(then int32) func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
		return func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
			fb.IfOptionsStart(b)
			fb.IfOptionsAddThenSubgraphIndex(b, then)
			fb.IfOptionsAddElseSubgraphIndex(b, 2)
			return fb.IfOptionsEnd(b)
		}
	}
	for _, c := range []struct {
		op, want string
		edit     func(l *tflitetest.Layer)
	}{
		{"IF", "calls graph 9", func(l *tflitetest.Layer) { l.Ops[0].Options = branch(9) }},
		{"IF", "calls graph 0", func(l *tflitetest.Layer) { l.Ops[0].Options = branch(0) }},
		{"IF", "calls itself", func(l *tflitetest.Layer) {
			g := l.Called[0]
			g.Ops, g.Inputs = l.Ops, l.Inputs
			g.Tensors, g.Outputs = l.Tensors, l.Outputs
			l.Called[0] = g
			l.Ops[0].In = append(l.Ops[0].In[:1:1], l.Ops[0].In...) // a graph that is called takes the condition, too
			l.Tensors[0].Shape = []int32{1}
		}},
		{"IF", "graph 1 takes f32[2 4]", func(l *tflitetest.Layer) { l.Called[0].Tensors[0].Shape = []int32{2, 4} }},
		{"IF", "takes 0 tensors", func(l *tflitetest.Layer) { l.Called[1].Inputs = nil }},
		{"IF", "keeps state", func(l *tflitetest.Layer) {
			l.Called[0].Tensors = append(l.Called[0].Tensors, tflitetest.Tensor{Name: "v", Type: 13})
			l.Called[0].Ops = append(l.Called[0].Ops, tflitetest.Op{Code: fb.CodeOf("VAR_HANDLE"), Out: []int32{2}})
		}},
		{"WHILE", "known at compile time", func(l *tflitetest.Layer) {
			l.Tensors[1].Data, l.Inputs = nil, []int32{0, 1}
		}},
		{"WHILE", "raises the limit", func(l *tflitetest.Layer) {
			l.Called[0].Tensors[2].Data = []byte{0, 0, 0, 0x7f}
		}},
	} {
		l := of(c.op)
		c.edit(l)
		m, err := tflite.Parse(l.Bytes(), onnx.Limits{})
		if err == nil {
			_, err = onnx.OpenModel(m, onnx.ImportOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %q: %v", c.op, c.want, err)
		} else {
			t.Log(err)
		}
	}
}
