// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/onnx/exporter"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// exported writes a graph, checks the model, reads it back, and compares both
// graphs' outputs on seeded inputs within tol.
func exported(t *testing.T, g *ir.Graph, opt ExportOptions, tol float64) (*pb.ModelProto, []byte, []*tensor.Dense,
	[]*tensor.Dense) {
	t.Helper()
	m, err := Export(g, opt)
	testenv.Require(t, err == nil, "%v\n%s", err, g)
	b := testenv.Must(Marshal(m))(t)
	again, _ := Export(g.Clone(), opt)
	c, _ := Marshal(again)
	testenv.Check(t, bytes.Equal(b, c), "two exports differ")
	p := testenv.Must(Parse(b, Limits{}))(t)
	for _, f := range Check(p) {
		t.Errorf("finding: %s", f.String())
	}
	back, err := Import(p, ImportOptions{Note: func(d *diag.Diag) { t.Errorf("note: %s", d) }})
	testenv.Require(t, err == nil, "import of the export: %v", err)
	testenv.Require(t, fmt.Sprint(back.OutNames) == fmt.Sprint(g.OutNames) && len(back.In) == len(g.In),
		"inputs and outputs %v %q became %v %q", g.In, g.OutNames, back.In, back.OutNames)
	for i, v := range g.In {
		if w := back.In[i]; w.Name != v.Name || w.Type.DType != v.Type.DType ||
			fmt.Sprint(w.Type.Shape) != fmt.Sprint(v.Type.Shape) {
			t.Errorf("input %s %s became %s %s", v, v.Type, w, w.Type)
		}
	}
	in := irtest.Inputs(g, 7)
	want, got := irtest.Run(t, g, in), irtest.Run(t, back, in)
	for i := range want {
		if got[i].DType != want[i].DType || fmt.Sprint(got[i].Shape) != fmt.Sprint(want[i].Shape) {
			t.Errorf("output %s is %s, want %s", g.OutNames[i], got[i], want[i])
		} else if d := worst(got[i], want[i]); d > tol {
			t.Errorf("output %s differs by %.3g", g.OutNames[i], d)
		}
	}
	return m, b, in, want
}

// Generated networks come back as they were, bit for bit, and ONNX Runtime
// computes the same.
func TestExportGenerated(t *testing.T) {
	q := newORT(t)
	for seed := range uint64(60) {
		g := irtest.Gen(seed, tensor.F32)
		m, b, in, want := exported(t, g, ExportOptions{}, 0)
		if v := m.OpsetImport[0].GetVersion(); v != exporter.OldestOpset || m.GetIrVersion() != 8 {
			t.Errorf("seed %d: opset %d, IR version %d", seed, v, m.GetIrVersion())
		}
		q.add(t, g.Name, b, g, in, want, 1e-4)
	}
	q.run(t)
	for seed := range uint64(10) {
		exported(t, irtest.Gen(seed, tensor.F64), ExportOptions{}, 0)
		exported(t, irtest.Gen(seed, tensor.F32), ExportOptions{Opset: 22}, 0)
	}
}

// Real models survive import, export and import.
func TestExportShared(t *testing.T) {
	q := newORT(t)
	files, _ := filepath.Glob(filepath.Join(shared(t, "models"), "*.onnx"))
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".onnx")
		t.Run(name, func(t *testing.T) {
			testenv.SkipIf(t, strings.HasSuffix(name, "_full"), "large")
			_, g, err := Open(f, Limits{}, ImportOptions{})
			testenv.OK(t, err)
			_, b, in, want := exported(t, g, ExportOptions{}, 0)
			tol := 1e-4
			if strings.Contains(name, "int8") || strings.Contains(name, "_q") || strings.Contains(name, "dynquant") {
				tol = 0.5 // seeded inputs saturate; one step early grows
			}
			q.add(t, name, b, g, in, want, tol)
		})
	}
	q.run(t)
}

// exportCase is a graph as IR text: an input %x and the constants of
// exportConsts are there already.
type exportCase struct {
	name, src string
	opset     int64
	ops       string  // operators written, in order
	tol       float64 // of the re-imported graph
}

const exportConsts = `
	in %x : f32[1,4,4,4]
	const %c4 : f32[4] = {0.5,-1,2,1}
	const %axes : i64[2] = {1,2}
	const %axis2 : i64[1] = {2}
	const %sizes : i64[2] = {1,3}
	const %eight : i64[1] = {8}
	const %ones : i64[2] = {1,1}
	const %index : i64[1,1,1,2] = {0,3}
	const %update : f32[1,1,1,2] = {5,6}
`

var exportCases = []exportCase{
	{"activation to Relu", `%y = Add(%x, %x) {act_min=0.0}`, 13, "Add Relu", 0},
	{"activation to Clip", `%y = Add(%x, %x) {act_min=0.0, act_max=1.5}`, 13, "Add Clip", 0},
	{"upper bound only", `%y = Mul(%x, %x) {act_max=0.5}`, 13, "Mul Clip", 0},
	{"relayout", `%y = nncc.Relayout(%x)`, 13, "Identity", 0},
	{"swish", `%y = Swish(%x) {alpha=1.5}`, 13, "Mul Sigmoid Mul", 1e-6},
	{"gelu", `%y = Gelu(%x)`, 13, "Div Erf Add Mul Mul", 1e-6},
	{"gelu by tanh", `%y = Gelu(%x) {approximate="tanh"}`, 13, "Mul Mul Mul Add Mul Tanh Add Mul Mul", 1e-6},
	{"hardswish", `%y = HardSwish(%x)`, 13, "HardSigmoid Mul", 1e-6},
	{"mish", `%y = Mish(%x)`, 13, "Softplus Tanh Mul", 1e-6},
	{"layer norm", `%y = LayerNormalization(%x, %c4)`, 17, "LayerNormalization", 0},
	{"rms norm", `%y = RMSNormalization(%x, %c4)`, 13, "Mul ReduceMean Add Sqrt Div Mul", 1e-6},
	{"group norm", `%y = GroupNormalization(%x, %c4, %c4) {num_groups=2}`, 13,
		"Reshape InstanceNormalization Reshape Reshape Mul Reshape Add", 1e-5},
	{"reduce", `%y = ReduceMean(%x, %axes)`, 13, "ReduceMean", 0},
	{"reduce all", `%y = ReduceMax(%x) {keepdims=0}`, 13, "ReduceMax", 0},
	{"space to depth", `%y = SpaceToDepth(%x) {blocksize=2, mode="CRD"}`, 13, "Reshape Transpose Reshape", 0},
	{"trilu", `%y = Trilu(%x)`, 14, "Trilu", 0},
	{"split", `%y, %z = Split(%x, %sizes) {axis=1}`, 13, "Split", 0},
	{"even split", `%y, %z = Split(%x) {axis=1, num_outputs=2}`, 13, "Split", 0},
	{"resize sizes", `%y = Resize(%x, -, -, %eight) {axes=[2]}`, 13, "Resize", 0},
	{"pad axes", `%y = Pad(%x, %ones, -, %axis2)`, 13, "Pad", 0},
	{"pad wrap", `%y = Pad(%x, %ones, -, %axis2) {mode="wrap"}`, 19, "Pad", 0},
	{"max pool indices", `%y, %z = MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}`, 13, "MaxPool", 0},
	{"scatter", `%y = ScatterElements(%x, %index, %update) {axis=3, reduction="none"}`, 13, "ScatterElements", 0},
	{"scatter add", `%y = ScatterElements(%x, %index, %update) {axis=3, reduction="add"}`, 16, "ScatterElements", 0},
	{"scatter max", `%y = ScatterElements(%x, %index, %update) {axis=3, reduction="max"}`, 18, "ScatterElements", 0},
	{"default attributes", `%y = AveragePool(%x) {kernel_shape=[2,2], dilations=[1,1]}`, 13, "AveragePool", 0},
	{"cast", `%y = Cast(%x) {to=7, saturate=1}`, 13, "Cast", 0},
}

func TestExportOperators(t *testing.T) {
	q := newORT(t)
	for _, c := range exportCases {
		t.Run(c.name, func(t *testing.T) {
			src := `graph "net" {` + exportConsts + c.src + "\nout \"y\" = %y\n"
			if strings.Contains(c.src, "%z =") {
				src += "out \"z\" = %z\n"
			}
			g := irtest.Parse(t, src+"}")
			m, b, in, want := exported(t, g, ExportOptions{}, c.tol)
			testenv.Equal(t, m.OpsetImport[0].GetVersion(), c.opset, "opset")
			ops := lists.Map(m.Graph.Node, func(n *pb.NodeProto) string { return n.GetOpType() })
			testenv.Equal(t, strings.Join(ops, " "), c.ops, "written as")
			q.add(t, c.name, b, g, in, want, 1e-5)
			// In the newest opset, too, mostly as the operator itself.
			exported(t, g, ExportOptions{Opset: 25}, c.tol)
		})
	}
	q.run(t)
}

// TestExportDetections: boxes of detectors are written in ONNX's operators, for classes
// that compete and that do not, with more classes a detection and rows that stay empty.
func TestExportDetections(t *testing.T) {
	q := newORT(t)
	var anchors []string
	for i := range 4 * 30 {
		anchors = append(anchors, fmt.Sprintf("0.%d", 13+i*37%83))
	}
	for i, attrs := range []string{
		"max_detections=5, classes=3, iou_threshold=0.5, score_threshold=0.2",
		"max_detections=40, classes=3, iou_threshold=0.3, score_threshold=-9.0",
		"max_detections=6, classes=2, max_classes=3, iou_threshold=0.9",
		"max_detections=6, classes=3, max_classes=2, iou_threshold=0.9",
		"max_detections=7, classes=3, per_class=2, iou_threshold=0.5",
		"max_detections=9, classes=2, per_class=100, max_classes=2, iou_threshold=0.4, score_threshold=0.5",
	} {
		name := fmt.Sprint("detections ", i)
		t.Run(name, func(t *testing.T) {
			g := irtest.Parse(t, fmt.Sprintf(`graph "net" {
				in %%x : f32[1,30,5]
				in %%s : f32[1,30,3]
				const %%a : f32[30,4] = {%s}
				%%b, %%c, %%v, %%n = nncc.Detections(%%x, %%s, %%a) {%s, scale=[3.0,3.0,5.0,5.0]}
				out "b" = %%b
				out "c" = %%c
				out "v" = %%v
				out "n" = %%n
			}`, strings.Join(anchors, ","), attrs))
			_, b, in, want := exported(t, g, ExportOptions{}, 1e-5)
			q.add(t, name, b, g, in, want, 1e-5)
		})
	}
	q.run(t)
}
