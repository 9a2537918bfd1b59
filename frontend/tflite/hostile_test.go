// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"math"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
)

// TestHostile: files that say what cannot be are refused with a reason that names it; none
// panics, and none takes memory for what it only says.
func TestHostile(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	options := func(kind byte, fields ...int32) func(g *tflitetest.Graph) {
		return func(g *tflitetest.Graph) {
			g.Ops[0].Kind, g.Ops[0].Options = kind, func(b *flatbuffers.Builder) flatbuffers.UOffsetT {
				b.StartObject(len(fields))
				for i, f := range fields {
					b.PrependInt32Slot(i, f, 0)
				}
				return b.EndObject()
			}
		}
	}
	for _, c := range []struct {
		what, want string
		edit       func(g *tflitetest.Graph)
	}{
		{"a huge input", "too large; the limit is", func(g *tflitetest.Graph) {
			g.Tensors[0].Shape = []int32{1 << 20, 1 << 20, 1 << 20, 3}
		}},
		{"an input of as many elements as an int32 counts", "--limit tensor=N", func(g *tflitetest.Graph) {
			g.Tensors[0].Shape = []int32{1, 26754, 26754, 3}
		}},
		{"many dimensions", "rank 9", func(g *tflitetest.Graph) { g.Tensors[0].Shape = make([]int32, 9) }},
		{"negative dimensions of weights", "its data have 108 bytes", func(g *tflitetest.Graph) {
			g.Tensors[1].Shape = []int32{4, -3, 3, 3}
		}},
		{"a window as large as numbers get", "want 1 to 32767", func(g *tflitetest.Graph) {
			g.Tensors[1].Shape, g.Tensors[1].Data, g.Tensors[1].Scale = []int32{1, 1, 1 << 20, 1}, nil, []float32{1}
			g.Tensors[1].Zero = []int64{0}
		}},
		{"strides below 0", "stride", options(1, 0, -1, -1)},
		{"dilations as large as numbers get", "dilation", options(1, 0, 1, 1, 0, math.MaxInt32, math.MaxInt32)},
		{"an unknown padding", "padding 7", options(1, 7, 1, 1)},
		{"options of a pool", "of kind 5", options(5, 0, 1, 1, 2, 2)},
		{"an unknown activation", "activation 99", options(1, 0, 1, 1, 99)},
		{"scales that are no numbers", "positive scale", func(g *tflitetest.Graph) { g.Tensors[0].Scale[0] = nan }},
		{"scales without end", "positive scale", func(g *tflitetest.Graph) { g.Tensors[0].Scale[0] = inf }},
		{"one scale of 0", "positive scale", func(g *tflitetest.Graph) { g.Tensors[0].Scale[0] = 0 }},
		{"a zero point beyond the type", "-128 to 127", func(g *tflitetest.Graph) { g.Tensors[0].Zero[0] = 128 }},
		{"a zero point beyond all types", "-128 to 127", func(g *tflitetest.Graph) {
			g.Tensors[0].Zero[0] = math.MinInt64
		}},
		{"more zero points than scales", "1 scales and 3 zero points", func(g *tflitetest.Graph) {
			g.Tensors[0].Zero = []int64{1, 2, 3}
		}},
		{"scales along no dimension", "dimension -1", func(g *tflitetest.Graph) { g.Tensors[1].Axis = -1 }},
		{"scales along a far dimension", "dimension 2147483647", func(g *tflitetest.Graph) {
			g.Tensors[1].Axis = math.MaxInt32
		}},
		{"an operator that reads what it makes", "before LOGISTIC (operator 1) makes it", func(g *tflitetest.Graph) {
			g.Ops[1].In[0] = g.Ops[1].Out[0]
		}},
		{"operators in a circle", "[1 2], want [batch", func(g *tflitetest.Graph) { g.Ops[0].In[0] = g.Ops[2].Out[0] }},
		{"two operators that make one tensor", "defined once", func(g *tflitetest.Graph) {
			g.Ops[1].Out[0] = g.Ops[0].Out[0]
		}},
		{"an operator that makes a constant", "the file has data", func(g *tflitetest.Graph) { g.Ops[0].Out[0] = 1 }},
		{"an operator that makes an input", "defined once", func(g *tflitetest.Graph) { g.Ops[1].Out[0] = 0 }},
		{"an input twice", "want each input once", func(g *tflitetest.Graph) { g.Inputs = []int32{0, 0} }},
		{"a constant as input", "no operator makes it", func(g *tflitetest.Graph) { g.Inputs = []int32{1} }},
	} {
		g := network()
		c.edit(&g)
		m, err := tflite.Parse(g.Bytes(), onnx.Limits{})
		if err == nil {
			_, err = onnx.OpenModel(m, onnx.ImportOptions{})
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want a reason with %q", c.what, err, c.want)
		} else {
			t.Logf("%s: %v", c.what, err)
		}
	}
}
