// SPDX-License-Identifier: Apache-2.0

package data_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/frontend/data"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/tensor"
)

// model is one input of 3 x height x width and outputs of shapes.
type shapedModel struct {
	in    []*ir.Value
	names []string
	types []ir.Type
}

func modelOf(width, height int, outs map[string][]int, order ...string) *shapedModel {
	m := &shapedModel{in: []*ir.Value{{Name: "x", Type: ir.Type{DType: tensor.F32, Shape: []int{1, 3, height, width}}}}}
	for _, n := range order {
		m.names = append(m.names, n)
		m.types = append(m.types, ir.Type{DType: tensor.F32, Shape: outs[n]})
	}
	return m
}

func resolve(t *testing.T, m *shapedModel, values ...string) (*data.Post, error) {
	t.Helper()
	s := &data.Spec{}
	if err := s.ParseOutputs(values); err != nil {
		return nil, err
	}
	return s.Outputs.Resolve(m.in, m.names, m.types)
}

// said is what was found, in short.
func said(b *postprocess.Boxes) string {
	out := fmt.Sprintf("coding %d scores %d classes %d of %d all %v iou %.2f", b.Coding, b.Scores, b.Labels(),
		b.Classes, b.AllLabels, b.IoU)
	for _, m := range b.Maps {
		out += fmt.Sprintf("\n%dx%dx%d stride %g,%g box %v score %v", m.Cols, m.Rows, m.Anchors, m.StrideX, m.StrideY,
			m.Box, m.Score)
		for name, f := range map[string]postprocess.Field{"size": m.Size} {
			if f.Output >= 0 {
				out += fmt.Sprintf(" %s %v", name, f)
			}
		}
		if m.Object.Output >= 0 {
			out += fmt.Sprintf(" object %v", m.Object)
		}
		if m.Label.Output >= 0 {
			out += fmt.Sprintf(" label %v", m.Label)
		}
		if len(m.Table) > 0 {
			out += fmt.Sprintf(" table %d %v", len(m.Table), m.Table[:2])
		}
	}
	return out
}

// TestHeads: predictions are found in outputs as exporters write them.
func TestHeads(t *testing.T) {
	anchors := "boxes.anchors=1,2,3,4,5,6,7,8"
	for _, c := range []struct {
		name   string
		m      *shapedModel
		values string
		want   string
	}{
		{"decoded, channels first", modelOf(64, 32, map[string][]int{"y": {1, 9, 42}}, "y"), "boxes.head=yolov8",
			"coding 1 scores 0 classes 5 of 5 all false iou 0.45\n" +
				"42x1x1 stride 0,0 box {0 0 0 1 0 42} score {0 168 0 1 0 42}"},
		{"decoded, channels last", modelOf(64, 32, map[string][]int{"y": {1, 42, 9}}, "y"), "boxes.head=yolov5",
			"coding 1 scores 0 classes 4 of 4 all false iou 0.45\n" +
				"42x1x1 stride 0,0 box {0 0 0 9 0 1} score {0 5 0 9 0 1} object {0 4 0 9 0 1}"},
		{"decoded, with masks", modelOf(64, 32, map[string][]int{"y": {1, 16, 42}}, "y"),
			"boxes.head=yolov8 boxes.classes=5",
			"coding 1 scores 0 classes 5 of 5 all false iou 0.45\n" +
				"42x1x1 stride 0,0 box {0 0 0 1 0 42} score {0 168 0 1 0 42}"},
		{"distances, one behind the other", modelOf(64, 32, map[string][]int{"y": {1, 19, 42}}, "y"),
			"boxes.head=yolov8 boxes.bins=4 boxes.strides=8,16,32",
			"coding 5 scores 1 classes 3 of 3 all false iou 0.45\n" +
				"8x4x1 stride 8,8 box {0 0 8 1 32 42} score {0 672 8 1 32 42}\n" +
				"4x2x1 stride 16,16 box {0 32 4 1 8 42} score {0 704 4 1 8 42}\n" +
				"2x1x1 stride 32,32 box {0 40 2 1 2 42} score {0 712 2 1 2 42}"},
		{"anchors in channels", modelOf(64, 32, map[string][]int{"a": {1, 14, 4, 8}, "b": {1, 14, 2, 4}}, "a", "b"),
			"boxes.head=yolov5 boxes.from=a,b " + anchors,
			"coding 2 scores 1 classes 2 of 2 all false iou 0.45\n" +
				"8x4x2 stride 8,8 box {0 0 8 1 224 32} score {0 160 8 1 224 32} " +
				"object {0 128 8 1 224 32} table 4 [1 2]\n" +
				"4x2x2 stride 16,16 box {1 0 4 1 56 8} score {1 40 4 1 56 8} object {1 32 4 1 56 8} table 4 [5 6]"},
		{"anchors on an axis", modelOf(64, 32, map[string][]int{"a": {1, 2, 4, 8, 7}, "b": {1, 2, 2, 4, 7}}, "a", "b"),
			"boxes.head=yolov3 boxes.from=a,b " + anchors,
			"coding 3 scores 1 classes 2 of 2 all false iou 0.45\n" +
				"8x4x2 stride 8,8 box {0 0 56 7 224 1} score {0 5 56 7 224 1} object {0 4 56 7 224 1} table 4 [1 2]\n" +
				"4x2x2 stride 16,16 box {1 0 28 7 56 1} score {1 5 28 7 56 1} object {1 4 28 7 56 1} table 4 [5 6]"},
		{"prior boxes", modelOf(64, 32, map[string][]int{"b": {1, 10, 4}, "s": {1, 10, 3}}, "b", "s"),
			"boxes.head=ssd boxes.boxes=b boxes.scores=s boxes.grids=2x2,1x1 boxes.scales=0.2,0.9 boxes.aspects=1,2",
			"coding 6 scores 2 classes 2 of 3 all false iou 0.45\n" +
				"10x1x1 stride 0,0 box {0 0 0 4 0 1} score {1 0 0 3 0 1} table 40 [16 8]"},
		{"prior boxes of maps", modelOf(64, 32, map[string][]int{"b": {1, 8, 2, 4}, "s": {1, 6, 2, 4}}, "b", "s"),
			"boxes.head=ssd boxes.boxes=b boxes.scores=s boxes.grids=4x2 boxes.scales=0.2 boxes.aspects=1,2",
			"coding 6 scores 2 classes 2 of 3 all false iou 0.45\n" +
				"4x2x2 stride 0,0 box {0 0 4 1 32 8} score {1 0 4 1 24 8} table 64 [8 8]"},
		{"a heat map", modelOf(64, 32, map[string][]int{"h": {1, 3, 8, 16}, "o": {1, 2, 8, 16}, "w": {1, 2, 8, 16}},
			"h", "o", "w"), "boxes.head=centernet boxes.scores=h boxes.boxes=o boxes.sizes=w",
			"coding 7 scores 1 classes 3 of 3 all true iou 0.45\n" +
				"16x8x1 stride 4,4 box {1 0 16 1 0 128} score {0 0 16 1 0 128} size {2 0 16 1 0 128}"},
		{"rows", modelOf(64, 32, map[string][]int{"y": {1, 30, 6}}, "y"), "boxes.head=rows",
			"coding 0 scores 0 classes 1 of 1 all false iou 2.00\n" +
				"30x1x1 stride 0,0 box {0 0 0 6 0 1} score {0 4 0 6 0 1} label {0 5 0 6 0 1}"},
		{"rows apart", modelOf(64, 32, map[string][]int{"b": {1, 10, 4}, "c": {1, 10}, "s": {1, 10}, "n": {1}}, "b",
			"c", "s", "n"), "boxes.head=rows boxes.boxes=b boxes.scores=s boxes.classes-from=c boxes.box=yxyx " +
			"boxes.unit=fraction",
			"coding 0 scores 0 classes 1 of 1 all false iou 2.00\n" +
				"10x1x1 stride 0,0 box {0 0 0 4 0 1} score {2 0 0 1 0 0} label {1 0 0 1 0 0}"},
		{"maps of one channel", modelOf(64, 32, map[string][]int{"a": {1, 4, 4, 8}, "b": {1, 4, 2, 4},
			"s": {1, 1, 4, 8}, "r": {1, 1, 2, 4}, "o": {1, 1, 4, 8}, "p": {1, 1, 2, 4}}, "a", "b", "s", "r", "o", "p"),
			"boxes.head=yolox boxes.boxes=a,b boxes.scores=s,r boxes.objects=o,p boxes.layout=nchw",
			"coding 4 scores 1 classes 1 of 1 all false iou 0.45\n" +
				"8x4x1 stride 8,8 box {0 0 8 1 0 32} score {2 0 8 1 0 0} object {4 0 8 1 0 0}\n" +
				"4x2x1 stride 16,16 box {1 0 4 1 0 8} score {3 0 4 1 0 0} object {5 0 4 1 0 0}"},
		{"channels last by the shape", modelOf(64, 32, map[string][]int{"y": {1, 4, 8, 8}}, "y"),
			"boxes.head=yolox",
			"coding 4 scores 1 classes 3 of 3 all false iou 0.45\n" +
				"8x4x1 stride 8,8 box {0 0 64 8 0 1} score {0 5 64 8 0 1} object {0 4 64 8 0 1}"},
	} {
		p, err := resolve(t, c.m, strings.Fields(c.values)...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := said(p.Boxes); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestOutputsRefused: what is wrong is said by name, with what was meant.
func TestOutputsRefused(t *testing.T) {
	m := modelOf(64, 32, map[string][]int{"y": {1, 9, 42}, "z": {1, 3}, "b0": {1, 4, 4, 8}, "b1": {1, 4, 2, 4},
		"s0": {1, 3, 4, 8}, "s1": {1, 3, 2, 4}, "s2": {1, 5, 2, 4}, "o0": {1, 1, 4, 8}, "o1": {1, 1, 2, 4}},
		"y", "z", "b0", "b1", "s0", "s1", "s2", "o0", "o1")
	const apart = "boxes.head=yolox boxes.boxes=b0,b1 boxes.objects=o0,o1 "
	_, err := resolve(t, m, strings.Fields(apart+"boxes.scores=s0,s1")...)
	testenv.Check(t, err == nil, "%v", err)
	for _, c := range []struct{ values, want string }{
		{"boxes.haed=yolov8", "did you mean head?"},
		{"box.head=yolov8", "did you mean boxes.head?"},
		{"head=yolov8", "did you mean boxes.head?"},
		{"boxes.head=yolov9", "want one of yolov3"},
		{"boxes.threshold=2", "from 0 to 1"},
		{"boxes.iou=x", "from 0 to 1"},
		{"boxes.candidates=0", "from 1 to 4096"},
		{"boxes.head=yolov8 boxes.candidates=10", "most: 100 are given"},
		{"boxes.iou=0.5", "head is missing: want one of yolov3"},
		{"boxes.head=yolov8", "from is missing"},
		{"boxes.head=yolov8 boxes.from=x", "no output x"},
		{"boxes.head=yolov8 boxes.from=yy", "did you mean y?"},
		{"boxes.head=yolov8 boxes.from=y boxes.classes=7", "want 11"},
		{"boxes.head=yolov5 boxes.box=raw boxes.from=y", "anchors: 0 numbers"},
		{"boxes.head=yolov8 boxes.from=y boxes.strides=8,16 boxes.bins=1", "make 40 predictions"},
		{"boxes.head=ssd boxes.boxes=z", "scores is missing"},
		{"boxes.head=yolov8 boxes.from=y boxes.anchors=1,2", "anchors: head yolov8 knows none; take it out"},
		{"boxes.head=rows boxes.from=y boxes.priors=p boxes.anchors=1,2", "priors, anchors: head rows knows none"},
		{"boxes.head=ssd boxes.boxes=y boxes.scores=z", "want 4"},
		{"boxes.head=centernet boxes.boxes=y boxes.scores=z", "sizes is missing"},
		{"boxes.head=yolov8 boxes.from=y boxes.unit=fraction boxes.box=raw", "unit: fraction"},
		{apart + "boxes.scores=s0,s2", "output s2 of shape 1x5x2x4 has 5 values for a prediction; want 3"},
		{apart + "boxes.scores=s2,s0", "output s2 has 4 x 2 cells"},
		{apart + "boxes.scores=s0", "1 outputs"},
		{apart + "boxes.scores=s0,s1 boxes.classes=5", "5"},
		{"classes.top=2", "from: which output"},
		{"classes.from=y", "want one value for each class"},
		{"classes.from=z classes.threshold=0.1,0.2", "2 numbers; want one, or 3"},
		{"keywords.from=z keywords.ignore=3", "ignore: 3"},
		{"keywords.window=0", "from 1 to 1000"},
		{"nothing", "want FILE.yaml or KIND.KEY=VALUE"},
	} {
		testenv.Refused(t, testenv.Err(resolve(t, m, strings.Fields(c.values)...)), c.want)
	}
}

// TestOutputsFile: one file declares inputs and outputs, for both flags.
func TestOutputsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "all.yaml")
	text := "image:\n  scale: 1\noutputs:\n  boxes:\n    head: yolov8\n    from: [y]\n    threshold: 0.5\n" +
		"  classes:\n    from: z\n"
	testenv.OK(t, os.WriteFile(path, []byte(text), 0o666))
	s, err := data.Parse([]string{path})
	if err != nil || s.Outputs.Boxes.Threshold[0] != 0.5 || s.Outputs.Classes.From != "z" || s.All.Image.Scale != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	s = &data.Spec{}
	if err := s.ParseOutputs([]string{path, "boxes.threshold=0.25"}); err != nil ||
		s.Outputs.Boxes.Threshold[0] != 0.25 || s.Outputs.Boxes.Head != "yolov8" {
		t.Errorf("%+v, %v", s, err)
	}
	for text, want := range map[string]string{
		"outputs: 3":                              "outputs: want keys",
		"outputs:\n  boxs: 1":                     "did you mean boxes?",
		"outputs:\n  boxes:\n    head: {a: b}":    "want a word",
		"outputs:\n  boxes:\n    iou: [[[1]]]":    "want numbers or words",
		"outputs:\n  boxes:\n    a: 1\n    a: 2":  "a is there twice",
		"outputs:\n  keywords:\n    widow: 3":     "did you mean window?",
		"outputs:\n  boxes: 5":                    "boxes: want keys",
		"outputs:\n  boxes:\n    anchors: [a, b]": "want numbers",
	} {
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o666))
		testenv.Refused(t, testenv.Err(data.Parse([]string{path})), want)
	}
}

// TestPriorFiles: tables of prior boxes, in the order of the box's numbers.
func TestPriorFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "p.csv")
	must := func(text string) {
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o666))
	}
	m := modelOf(64, 32, map[string][]int{"b": {1, 2, 4}, "s": {1, 2, 3}}, "b", "s")
	values := []string{"boxes.head=ssd", "boxes.boxes=b", "boxes.scores=s", "boxes.box=yxhw", "boxes.priors=" + path}
	must("0.5, 0.25, 0.1, 0.2\n0.5,0.5,1,1\n")
	p, err := resolve(t, m, values...)
	if err != nil || p.Boxes.Maps[0].Table[0] != 16 || p.Boxes.Maps[0].Table[1] != 16 || p.Boxes.Maps[0].Table[2] !=
		float32(0.2*64) || !p.Boxes.YFirst {
		t.Errorf("%+v, %v", p, err)
	}
	for text, want := range map[string]string{"1,2,3\n": "number of fields", "1,2,3,x\n": `row 1 has "x"`,
		"nan,1,1,1\n": "number 0 is NaN", "1,1,1,1\n": "1 prior boxes, and the outputs have 2"} {
		must(text)
		testenv.Refused(t, testenv.Err(resolve(t, m, values...)), want)
	}
}

// FuzzOutputs: no file and no shape of outputs ends in a panic; what is taken reads
// predictions within the outputs.
func FuzzOutputs(f *testing.F) {
	f.Add("outputs:\n  boxes:\n    head: yolov8\n    from: y\n", 9, 42, 1)
	f.Add("outputs:\n  boxes:\n    head: yolov5\n    from: y\n    anchors: [1,2,3,4]\n    box: raw", 14, 4, 8)
	f.Add("outputs:\n  boxes:\n    head: ssd\n    boxes: y\n    scores: y\n    grids: 2x2\n    scales: 1", 4, 4, 1)
	f.Add("outputs:\n  boxes: {head: centernet, boxes: y, scores: y, sizes: y}", 2, 4, 8)
	f.Add("outputs:\n  boxes: {head: rows, boxes: y, scores: y, classes-from: y}", 2, 4, 8)
	f.Add("outputs:\n  boxes: {head: yolox, from: y, strides: [8, 16]}", 7, 40, 1)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, a, b, c int) {
		if min(a, b, c) < 1 || max(a, b, c) > 64 {
			return
		}
		path := filepath.Join(dir, "f.yaml")
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o666))
		s := &data.Spec{}
		if s.ParseOutputs([]string{path}) != nil {
			return
		}
		shape := []int{1, a, b, c}
		if c == 1 {
			shape = shape[:3]
		}
		m := modelOf(64, 32, map[string][]int{"y": shape}, "y")
		p, err := s.Outputs.Resolve(m.in, m.names, m.types)
		if err != nil || p.Boxes == nil {
			return
		}
		p.Boxes.Of([][]float32{make([]float32, a*b*c)})
	})
}
