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
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/cmd/internal/conform"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// same length as a window's stride: what SAME and VALID make of a dimension.
func windowed(in, kernel, stride, dilation int32, valid bool) int32 {
	if valid {
		return (in - (kernel-1)*dilation - 1 + stride) / stride
	}
	return (in + stride - 1) / stride
}

var windows = []drawer{
	{"CONV_2D", "i8 i16 i4 f32", convolution},
	{"DEPTHWISE_CONV_2D", "i8 i16 i4 f32", depthwise},
	{"TRANSPOSE_CONV", "i8 i16 f32", transposedConvolution},
	{"AVERAGE_POOL_2D", "i8 i16 f32", pool},
	{"MAX_POOL_2D", "i8 i16 f32", pool},
	{"L2_POOL_2D", "f32", pool},
	{"RESIZE_BILINEAR", "i8 f32", func(l *layer) { l.resize(15) }},
	{"RESIZE_NEAREST_NEIGHBOR", "i8 i16 f32", func(l *layer) { l.resize(74) }},
}

// weights adds constant weights with a scale for each of n channels along an axis, or one
// for all, and a bias; it gives both, and the range of a sum of k products with an input.
func (l *layer) weights(x int32, axis int32, n, k int32, shape ...int32) (w, b int32, limit float64) {
	kind := map[string]string{"i8": "i8", "i16": "i8", "i4": "i4", "f32": "f32"}[l.typ]
	w = l.fill(l.tensor(kind, shape...))
	if l.typ == "f32" {
		b = l.fill(l.tensor("f32", n))
		return w, b, 1
	}
	scales := []float32{float32(l.scale(-8))}
	bits := 127.0
	if kind == "i4" {
		scales[0], bits = scales[0]*16, 7
	}
	if l.chance(0.7) {
		for range n - 1 {
			scales = append(scales, float32(l.scale(0))*scales[0])
		}
		if len(scales) > 1 && l.chance(0.1) { // channels of zeros
			scales[l.rng.IntN(len(scales))] = 0
		}
	}
	l.Tensors[w].Scale, l.Tensors[w].Zero, l.Tensors[w].Axis = scales, make([]int64, len(scales)), axis
	limit = l.limit(x) * float64(slices.Max(scales)) * bits / 2 * math.Sqrt(float64(k))
	if l.chance(0.15) { // multipliers above 1
		most := 16
		if l.typ == "i16" { // of which the products of 64 bits are taken to fit 32
			most = 8
		}
		limit /= math.Exp2(float64(l.between(2, most)))
	}
	b, large := l.bias(x, w, n)
	return w, b, max(limit, large)
}

// bias adds constants in the scale of input times weights; 64 bits for data of 16. large is the range of
// those beyond 32.
func (l *layer) bias(x, w, n int32) (b int32, large float64) {
	kind := "i32"
	if l.typ == "i16" {
		kind = "i64"
		if l.narrowSums() && l.chance(0.3) {
			kind = "i32"
		}
	}
	b = l.fill(l.tensor(kind, n))
	if bits := l.between(32, 45); kind == "i64" && l.chance(0.3) {
		for c := range n {
			v := int64(l.rng.Uint64()) >> (63 - bits)
			binary.LittleEndian.PutUint64(l.Tensors[b].Data[8*c:], uint64(v))
		}
		large = math.Ldexp(float64(l.Tensors[x].Scale[0]*slices.Max(l.Tensors[w].Scale)), int(bits))
	}
	for _, s := range l.Tensors[w].Scale {
		l.Tensors[b].Scale = append(l.Tensors[b].Scale, s*l.Tensors[x].Scale[0])
		l.Tensors[b].Zero = append(l.Tensors[b].Zero, 0)
	}
	return b, large
}

// narrowSums reports operators that have sums of 32 bits of data of 16.
func (l *layer) narrowSums() bool { return l.op == "CONV_2D" || l.op == "FULLY_CONNECTED" }

// sums is the type of biases in the options, by the format's number: float32, which says nothing, or
// int32 or int64.
func (l *layer) sums() int8 {
	if l.typ == "i16" {
		return pick(l, int8(0), 0, 2, 4)
	}
	return 0
}

// dataType is the type of data: weights of 4 bits have data of 8.
func (l *layer) dataType() string {
	if l.typ == "i4" {
		return "i8"
	}
	return l.typ
}

func (l *layer) windowOf(h, w int32) (kh, kw, sh, sw, dh, dw int32, valid bool) {
	valid = l.chance(0.5)
	kh, kw, sh, sw, dh, dw = l.between(1, 4), l.between(1, 4), l.between(1, 3), l.between(1, 3), 1, 1
	if l.chance(0.2) {
		sh, sw = l.between(1, 7), l.between(1, 7)
	}
	if l.chance(0.3) {
		dh, dw = l.between(1, 2), l.between(1, 5)
	}
	if valid {
		kh, kw = min(kh, h), min(kw, w)
		if (kh-1)*dh >= h || (kw-1)*dw >= w {
			dh, dw = 1, 1
		}
	}
	return kh, kw, sh, sw, dh, dw, valid
}

func padding(valid bool) int8 {
	if valid {
		return 1
	}
	return 0
}

func optional(l *layer, b int32) int32 {
	if l.chance(0.2) {
		return -1
	}
	return b
}

func convolution(l *layer) {
	s := l.image(9)
	groups := int32(1)
	if l.typ != "i4" && l.chance(0.3) {
		groups = l.between(2, 3)
		s[3] *= groups
	}
	kh, kw, sh, sw, dh, dw, valid := l.windowOf(s[1], s[2])
	n := groups * l.between(1, 6)
	x := l.input(l.dataType(), l.scale(2), s...)
	w, b, limit := l.weights(x, 0, n, kh*kw*s[3]/groups, n, kh, kw, s[3]/groups)
	y := l.output(l.dataType(), limit, s[0], windowed(s[1], kh, sh, dh, valid), windowed(s[2], kw, sw, dw, valid), n)
	l.do(1, []any{padding(valid), sw, sh, l.act(), dw, dh, l.sums()}, []int32{x, w, optional(l, b)}, y)
}

func depthwise(l *layer) {
	s := l.image(9)
	multiplier := int32(1)
	if l.chance(0.4) {
		multiplier = l.between(2, 4)
	}
	kh, kw, sh, sw, dh, dw, valid := l.windowOf(s[1], s[2])
	if l.typ == "i8" || l.typ == "i16" {
		sw = sh
	}
	n := s[3] * multiplier
	x := l.input(l.dataType(), l.scale(2), s...)
	w, b, limit := l.weights(x, 3, n, kh*kw, 1, kh, kw, n)
	y := l.output(l.dataType(), limit, s[0], windowed(s[1], kh, sh, dh, valid), windowed(s[2], kw, sw, dw, valid), n)
	l.do(2, []any{padding(valid), sw, sh, multiplier, l.act(), dw, dh}, []int32{x, w, optional(l, b)}, y)
}

func transposedConvolution(l *layer) {
	s := l.image(6)
	kh, kw, sh, sw, valid := l.between(1, 4), l.between(1, 4), l.between(1, 3), l.between(1, 3), l.chance(0.5)
	n := l.between(1, 6)
	h, wd := s[1]*sh, s[2]*sw
	if valid {
		h, wd = h+max(kh-sh, 0), wd+max(kw-sw, 0)
	}
	x := l.input(l.typ, l.scale(2), s...)
	w, b, limit := l.weights(x, 0, n, kh*kw*s[3], n, kh, kw, s[3])
	y := l.output(l.typ, limit, s[0], h, wd, n)
	in := []int32{l.ints(s[0], h, wd, n), w, x}
	if l.chance(0.7) {
		in = append(in, b)
	}
	l.do(49, []any{padding(valid), sw, sh, l.act()}, in, y)
}

func pool(l *layer) {
	s := l.image(20)
	kh, kw, sh, sw, _, _, valid := l.windowOf(s[1], s[2])
	x := l.in(s...)
	y := l.same(x, s[0], windowed(s[1], kh, sh, 1, valid), windowed(s[2], kw, sw, 1, valid), s[3])
	l.do(5, []any{padding(valid), sw, sh, kw, kh, l.act()}, []int32{x}, y)
}

func (l *layer) resize(kind byte) {
	s := l.image(8)
	x, h, w := l.in(s...), l.between(1, 12), l.between(1, 12)
	align := l.chance(0.3)
	half := !align && l.chance(0.4)
	fields := []any{align, half}
	if kind == 15 {
		fields = []any{nil, nil, align, half}
	}
	l.do(kind, fields, []int32{x, l.ints(h, w)}, l.same(x, s[0], h, w, s[3]))
}

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
	testenv.SkipIf(t, program == "", "NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
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
		testenv.Require(t, err == nil, "seed %d: %v", seed, err)
		n := int(have[0][3].Float(0))
		found += n
		why := detectedElse(have[0], want, n)
		testenv.Check(t, why == "", "seed %d: %s\n%s", seed, why, l)
	}
	t.Logf("%d of %d models, %d detections", accepted, count, found)
	testenv.Check(t, accepted >= count/2 && found != 0, "too few")
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
		spec := testenv.Must(boards.Load(target))(t)
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
		testenv.OK(t, conform.RunLayers(context.Background(), all, spec, func(i int, err error) {
			testenv.Check(t, err == nil, "%s: seed %d: %v", target, from+i, err)
		}))
	}
}
