// SPDX-License-Identifier: Apache-2.0

package tflite_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/tflite"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
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
		{"as many scales as no dimension has", "3 scales of a tensor of shape [2 36]", func(g *tflitetest.Graph) {
			g.Tensors[5].Scale, g.Tensors[5].Zero = []float32{1, 1, 1}, []int64{0, 0, 0}
		}},
		{"scales along another dimension", "2 scales", func(g *tflitetest.Graph) {
			g.Tensors[0].Shape, g.Tensors[0].Scale, g.Tensors[0].Axis = []int32{1, 5, 2, 3}, []float32{1, 2}, -1
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
		errs := g.Verify()
		testenv.Require(t, len(errs) <= 0, "%v", errs)
	})
}

// FuzzNumbers: options of custom operators.
func FuzzNumbers(f *testing.F) {
	f.Add(tflitetest.Flex(map[string]int{"frame_size": 7, "T": 9, "prefill": -1}))
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := fb.ReadNumbers(b)
		testenv.Check(t, err != nil || len(v) <= len(b), "%d options of %d bytes", len(v), len(b))
	})
}

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

// TestLayers: every layer is read, interpreted, and has results of the shapes and types
// that the file states.
func TestLayers(t *testing.T) {
	for i, l := range tflitetest.Layers() {
		t.Run(fmt.Sprintf("%s_%s_%d", l.Op, l.Type, i), func(t *testing.T) {
			m := testenv.Must(tflite.Parse(l.Bytes(), onnx.Limits{}))(t)
			g := testenv.Must(onnx.OpenModel(m, onnx.ImportOptions{}))(t)
			in := layerInputs(t, l, g, m)
			out := testenv.Must(interp.Run(g, in, nil))(t)
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
