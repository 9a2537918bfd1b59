// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/conform"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// detection draws a model of DetectionPostprocess, of one class for each detection: TensorFlow
// Lite Micro writes those of more beyond its results.
func detection(seed uint64) *layer {
	l := draw(drawer{"TFLite_Detection_PostProcess", "f32", func(*layer) {}}, "f32", seed)
	boxes, classes, most := int(l.between(2, 60)), int(l.between(1, 6)), int(l.between(2, 12))
	o := tflitetest.DetectionOptions(most, classes, 1, pick(l, -3, 0, 0.5), pick(l, 0.05, 0.3, 0.6, 1))
	if l.chance(0.5) {
		o["use_regular_nms"] = true
		if l.chance(0.7) {
			o["detections_per_class"] = int(l.between(1, 20))
		}
	}
	if l.chance(0.3) {
		o["y_scale"], o["w_scale"] = pick(l, 1.7, 3, 0.9), pick(l, 1.1, 7)
	}
	x := l.tensor("f32", 1, int32(boxes), l.between(4, 6))
	s := l.tensor("f32", 1, int32(boxes), int32(classes)+l.between(0, 1))
	l.Inputs = []int32{x, s}
	anchors := l.tensor("f32", int32(boxes), 4)
	l.Tensors[anchors].Data = tflitetest.Anchors(l.rng, boxes)
	n := int32(most)
	for _, shape := range [][]int32{{1, n, 4}, {1, n}, {1, n}, {1}} {
		l.Outputs = append(l.Outputs, l.tensor("f32", shape...))
	}
	l.Ops = []tflitetest.Op{{Custom: l.op, In: []int32{x, s, anchors}, Out: l.Outputs, Bytes: tflitetest.Flex(o)}}
	return l
}

// detector draws a network that ends in DetectionPostprocess: a convolution of an image, one
// of boxes and one of scores of it, three of each at every place; float32, or int8 up to
// the boxes and scores.
func detector(typ string, seed uint64) *layer {
	l := draw(drawer{"TFLite_Detection_PostProcess", typ, func(*layer) {}}, typ, seed)
	h, w, c, classes := l.between(3, 8), l.between(3, 8), l.between(4, 20), l.between(2, 5)
	l.least, l.most = -0.5, 0.5
	weights := func(shape ...int32) int32 {
		return l.fill(l.quantised(l.tensor(typ, shape...), 0.02, 0))
	}
	step := func(name string, kind byte, fields []any, in []int32, out int32) int32 {
		l.op = name
		l.do(kind, fields, in, out)
		return out
	}
	float := func(x int32) int32 {
		if typ == "f32" {
			return x
		}
		return step("DEQUANTIZE", 38, nil, []int32{x}, l.tensor("f32", l.Tensors[x].Shape...))
	}
	value := func(shape ...int32) int32 { return l.quantised(l.tensor(typ, shape...), 0.1, 3) }
	x := value(1, h, w, 3)
	l.Inputs = []int32{x}
	body := step("CONV_2D", 1, []any{int8(0), int32(1), int32(1), int8(1), int32(1), int32(1)},
		[]int32{x, weights(c, 3, 3, 3), -1}, value(1, h, w, c))
	var heads []int32
	for _, n := range []int32{4, classes + 1} {
		y := step("CONV_2D", 1, []any{int8(0), int32(1), int32(1), int8(0), int32(1), int32(1)},
			[]int32{body, weights(3*n, 1, 1, c), -1}, value(1, h, w, 3*n))
		heads = append(heads, step("RESHAPE", 0, nil, []int32{y, l.ints(1, 3*h*w, n)}, value(1, 3*h*w, n)))
	}
	score := l.quantised(l.tensor(typ, l.Tensors[heads[1]].Shape...), 1./256, -128)
	heads[0], heads[1] = float(heads[0]), float(step("LOGISTIC", 0, nil, []int32{heads[1]}, score))
	anchors := l.tensor("f32", 3*h*w, 4)
	l.Tensors[anchors].Data = tflitetest.Anchors(l.rng, int(3*h*w))
	for _, shape := range [][]int32{{1, 10, 4}, {1, 10}, {1, 10}, {1}} {
		l.Outputs = append(l.Outputs, l.tensor("f32", shape...))
	}
	o := tflitetest.DetectionOptions(10, int(classes), 1, 0.3, 0.6)
	o["use_regular_nms"] = l.chance(0.5)
	l.Ops = append(l.Ops, tflitetest.Op{Custom: "TFLite_Detection_PostProcess", Bytes: tflitetest.Flex(o),
		In: append(heads, anchors), Out: l.Outputs})
	return l
}

// ties makes the scores, input 1, few different numbers.
func ties(l *layer, in [][]byte) {
	for i := 0; l.chance(0.6) && i < len(in[1]); i += 4 {
		v := math.Float32frombits(binary.LittleEndian.Uint32(in[1][i:]))
		binary.LittleEndian.PutUint32(in[1][i:], math.Float32bits(float32(math.Round(float64(v)))))
	}
}

// TestDetections: what is detected is what TensorFlow Lite Micro detects, bit for bit.
func TestDetections(t *testing.T) {
	program := testenv.Get("NNCC_TFLM_RUN")
	if program == "" {
		t.Skip("NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
	}
	from, count := testenv.Range(t, 60)
	accepted, found := 0, 0
	for seed := from; seed < from+count; seed++ {
		l := detection(uint64(seed))
		if seed%4 == 0 {
			l = detector("i8", uint64(seed))
		}
		path := filepath.Join(t.TempDir(), "net.tflite")
		testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
		in := l.inputs()
		if len(in) > 1 {
			ties(l, in)
		}
		cmd := exec.Command(program, path, "1")
		cmd.Stdin = bytes.NewReader(bytes.Join(in, nil))
		want, err := cmd.Output()
		if err != nil {
			continue // of boxes without an area it detects nothing
		}
		accepted++
		have, err := program1(path, [][][]byte{in})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		n := int(have[0][3].Float(0))
		found += n
		if why := detectedElse(have[0], want, n); why != "" {
			t.Errorf("seed %d: %s\n%s", seed, why, l)
		}
	}
	t.Logf("%d of %d models, %d detections", accepted, count, found)
	if accepted < count/2 || found == 0 {
		t.Error("too few")
	}
}

// detectedElse compares the rows of n detections; what lies behind them is not defined.
func detectedElse(have []*tensor.Dense, want []byte, n int) string {
	for i, d := range have {
		b := d.Bytes()
		rows := len(b)
		if i < 3 {
			rows = n * len(b) / d.Shape[1]
		}
		if !bytes.Equal(b[:rows], want[:rows]) {
			return fmt.Sprintf("result %d: %v, want %x", i, d, want[:rows])
		}
		want = want[len(b):]
	}
	return ""
}

// TestDetectionPrograms: firmware detects what the interpreter does, bit for bit.
func TestDetectionPrograms(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	targets := []string{"host", "cortex-m4"}
	if testenv.Long() {
		targets = append(targets, "cortex-m55", "cortex-m0plus")
	}
	from, count := testenv.Range(t, 8)
	for _, target := range testenv.Boards(targets...) {
		spec, err := boards.Load(target)
		testenv.OK(t, err)
		var all []*tflitetest.Layer
		for seed := from; seed < from+count; seed++ {
			l := detection(uint64(seed))
			switch seed % 4 {
			case 0:
				l = detector("i8", uint64(seed))
			case 1:
				l = detector("f32", uint64(seed))
			}
			all = append(all, &tflitetest.Layer{Op: l.op, Type: l.typ, Graph: l.Graph, Given: l.inputs()})
		}
		if err := conform.RunLayers(context.Background(), all, spec, func(i int, err error) {
			if err != nil {
				t.Errorf("%s: seed %d: %v", target, from+i, err)
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
}
