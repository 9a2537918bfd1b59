// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// drawn is a report about a network of n layers: a chain of residual blocks of four
// layers, each with everything that a page shows. Names end in the number of the layer.
func drawn(n int, name string) *report.Report {
	r := &report.Report{Schema: 1, Version: "1", Board: "cortex-m55", Precision: "int8",
		Model: report.Model{Name: name + ".onnx", Opset: map[string]int{"ai.onnx": 17}}, Graph: &report.Graph{},
		Calibration: &quant.Report{Source: "samples.npz", Samples: 16, HeldOut: 4, SQNR: 21},
		Warnings:    []string{"of " + name}, Notes: []string{"on " + name}, Gates: []string{"--max-ram 1: " + name},
		Memory: report.Memory{ArenaBytes: 40000, LowerBoundBytes: 30000, WeightsBytes: 1 << 20,
			Regions: []report.Region{{Name: "sram", Bytes: 65536, Used: 40000, Items: []report.Item{{What: "arena",
				Bytes: 40000}}}, {Name: "flash", Bytes: 1 << 19, Used: 1 << 20, Missing: 1 << 19,
				Items: []report.Item{{What: "weights", Bytes: 1 << 20}}}}}}
	r.Inputs = []report.IO{{Name: name, CName: "x", DType: "int8", Shape: []int{1, 3, 96, 96}}}
	tensor := func(name string) int {
		scale, zero, db, i := float32(0.0213), int32(-7), 30-float64(len(r.Graph.Tensors)%25), len(r.Graph.Tensors)
		r.Graph.Tensors = append(r.Graph.Tensors, report.Tensor{Name: name, DType: "int8", Shape: []int{1, 64, 24, 24},
			Layout: "NHWC", Scale: &scale, ZeroPoint: &zero, Bytes: 36864, SQNR: &db, Calibration: &i})
		r.Calibration.Layers = append(r.Calibration.Layers, quant.LayerReport{Name: name, Op: "Conv",
			Range: []float64{-2.5, 2.93}, Scale: 0.0213, Zero: -7, SQNR: db, Histogram: histogram(i)})
		return i
	}
	last := tensor(name)
	skip := last
	for i := range n {
		layer := fmt.Sprintf("%s/%d", name, i)
		op, in := "Conv", []int{last}
		if i%4 == 3 {
			op, in, skip = "Add", []int{last, skip}, last
		}
		out := tensor(layer)
		if i%4 == 3 {
			skip = out
		}
		last = out
		r.Graph.Nodes = append(r.Graph.Nodes, report.GraphNode{Name: layer, Op: op, Layer: i, In: in, Out: []int{out},
			MACs: int64(1000 * (i%7 + 1)), Consts: []report.Constant{{Name: layer + ".weight", DType: "int8",
				Shape: []int{64, 64, 3, 3}, Scales: 64, LeastScale: 0.01, MostScale: 0.2, Histogram: histogram(i)}}})
		r.Layers = append(r.Layers, newLayer(i, layer, op))
		r.Memory.Buffers = append(r.Memory.Buffers, report.Buffer{Name: layer, Bytes: 9000 + 100*(i%9),
			Offset: 10000 * (i % 4), First: i, Last: i + 1 + i%3})
		if i%9 == 0 {
			r.Rejections = append(r.Rejections, report.Rejection{Node: layer, Op: op, Target: "cmsis-nn/x",
				Reasons: []report.Reason{{Code: "SPATIAL", Text: "refused because of " + layer}}})
			r.Fallback = append(r.Fallback, report.Fallback{Node: layer, Op: op, Reasons: []string{"no kernel"}})
		}
	}
	return r
}

func newLayer(i int, name, op string) report.Layer {
	instructions, cycles := uint64(1000+(i*7919)%5000), 1500+(i*7919)%9000
	l := report.Layer{Name: name, Op: op, Kernel: "nncc_helium_convolve_s8", Library: "nncc-helium",
		Route: "nncc_helium_matmul_k3_relu_s8", ONNXNodes: []string{name, name + "/Relu"},
		MACs: int64(1000 * (i%7 + 1)), WeightBytes: 512 * (i % 5), MovedBytes: 1000 + i,
		ScratchBytes: i % 3 * 100, Instructions: &instructions,
		Cycles: &cycles}
	if i%9 == 0 {
		l.Library, l.Kernel, l.Route = "nncc", "nncc_convolve_s8", ""
	}
	return l
}

func histogram(i int) *quant.Histogram {
	const digits = "02468ACEGIKMOQSUWYacegikmoqsuwz"
	at := i % len(digits)
	return &quant.Histogram{Low: -3, High: 3, Bins: digits[at:] + digits[:at], Most: 999, Zeros: 0.25, Clipped: 0.003}
}

// long is a name of 200 characters, as Keras makes them.
var long = "StatefulPartitionedCall/" + strings.Repeat("functional_1/block_with_a_long_name_expand_BN/", 4)[:176]

// whole is a page with what is packed in it.
func whole(t *testing.T, page []byte) string {
	t.Helper()
	m := regexp.MustCompile(`id="packed">([^<]*)<`).FindSubmatch(page)
	if m == nil {
		return string(page)
	}
	b, err := base64.StdEncoding.DecodeString(string(m[1]))
	if err == nil {
		b, err = io.ReadAll(flate.NewReader(bytes.NewReader(b)))
	}
	var packed struct{ Nodes string }
	if err == nil {
		err = json.Unmarshal(b, &packed)
	}
	testenv.OK(t, err)
	return string(page) + packed.Nodes
}

// TestPageIsWhole: pages are the same each time and small; what is linked is there, and
// nothing is loaded from elsewhere.
func TestPageIsWhole(t *testing.T) {
	for _, r := range []*report.Report{{}, drawn(1, "one"), drawn(400, "model"), drawn(30, long)} {
		page := r.HTML()
		testenv.Check(t, bytes.Equal(page, r.HTML()), "%s: two pages differ", r.Model.Name)
		if most := 45_000 + 1200*len(r.Layers); len(page) > most && r.Model.Name != long+".onnx" {
			t.Errorf("%s: %d bytes for %d layers, want at most %d", r.Model.Name, len(page), len(r.Layers), most)
		}
		text := whole(t, page)
		ids := map[string]int{}
		for _, m := range regexp.MustCompile(` id="?([^" >]*)[" >]`).FindAllStringSubmatch(text, -1) {
			ids[m[1]]++
		}
		for id, n := range ids {
			testenv.Check(t, n <= 1, "%s: %d elements are called %s", r.Model.Name, n, id)
		}
		for _, m := range regexp.MustCompile(` href="?([^" >]*)[" >]`).FindAllStringSubmatch(text, -1) {
			if to := m[1]; !strings.HasPrefix(to, "#") || ids[to[1:]] == 0 && !strings.HasPrefix(to, "#i") &&
				!strings.HasPrefix(to, "#o") {
				t.Errorf("%s: a link to %s", r.Model.Name, to)
			}
		}
		for _, bad := range []string{" src=", "http:", "https:", " style=", "@import", "eval(", "innerHTML"} {
			testenv.Check(t, !strings.Contains(text, bad), "%s: %q in the page", r.Model.Name, bad)
		}
	}
}

// TestCutPage: of a graph that is larger than the page, what is left out is said, no value that a layer left out reads
// is called an output, and no link leads to what is not there.
func TestCutPage(t *testing.T) {
	const views, hidden = 40, 60
	r := drawn(1500+hidden, "large")
	first := slices.Repeat([]report.GraphNode{{Name: "view", Op: "Reshape", Layer: -1}}, views)
	r.Graph.Nodes = append(first, r.Graph.Nodes...)
	page := whole(t, r.HTML())
	want := fmt.Sprintf("%d nodes are not drawn", views+hidden)
	testenv.Check(t, strings.Contains(page, want), "the page does not say %q", want)
	n := strings.Count(page, "<title>output ")
	testenv.Check(t, n <= 1, "%d boxes are called outputs, the model has one", n)
	for _, m := range regexp.MustCompile(` href="?#(n[0-9]+)[" >]`).FindAllStringSubmatch(page, -1) {
		testenv.Require(t, strings.Contains(page, " id="+m[1]+" ") || strings.Contains(page, " id="+m[1]+">"),
			"a link to %s, which is not on the page", m[1])
	}
}

// TestSharedWeights: a sum that counts what layers share at each of them says so.
func TestSharedWeights(t *testing.T) {
	for _, c := range []struct {
		weights int
		said    bool
	}{{512 * 10, false}, {512*10 - 1, true}} {
		r := drawn(5, "shared")
		r.Memory.WeightsBytes = c.weights
		testenv.Equal(t, strings.Contains(string(r.HTML()), "shared ones at each layer"), c.said,
			"layers of 5120 bytes in a model of %d: said", c.weights)
	}
}

// TestPrinted: on paper the drawing of hundreds of layers goes over pages, its texts large
// enough to be read, and is as wide as the paper at most.
func TestPrinted(t *testing.T) {
	const paper = 718 // 19 cm at 96 pixels an inch
	b := browser.New(t, paper, 1000)
	b.Print(t)
	for _, layers := range []int{5, 400} {
		open(t, b, drawn(layers, "model").HTML())
		b.Reads(t, "printed")
		if px := browser.Value[float64](t, b, `document.querySelector("#drawing a.box text").getBoundingClientRect()
			.height`); px < 5 || px > 25 {
			t.Errorf("%d layers: texts are %.1f pixels high", layers, px)
		}
		if cut := browser.Value[bool](t, b, `(() => { const d = document.querySelector("#drawing")
			.getBoundingClientRect(); for (let e = document.querySelector("#drawing").parentElement; e.id != "graph";
			e = e.parentElement) { const r = e.getBoundingClientRect(); if (r.height + 1 < d.height &&
			getComputedStyle(e).overflow != "visible") return true; } return false; })()`); cut {
			t.Errorf("%d layers: the drawing is cut", layers)
		}
		b.Keep(t, "day-print-"+map[int]string{5: "5", 400: "400"}[layers])
	}
}

// TestLongNamesOnThePage: names of hundreds of characters are shortened where they stand
// beside others, and whole where their node is described.
func TestLongNamesOnThePage(t *testing.T) {
	name := strings.Repeat("functional_1/conv2d/Conv2D;", 20)
	page := whole(t, drawn(30, name).HTML())
	n := strings.Count(page, name)
	testenv.Check(t, n != 0 && n <= 30*6, "the name is %d times in the page of 30 layers", n)
	testenv.Check(t, strings.Contains(page, "<dt>name<dd>"+name), "no description has the whole name")
}

// TestFrontier: a program that needs no less than a faster one is left out; a memory's room, without what else lies
// there, stands between the programs that fit it and those that do not.
func TestFrontier(t *testing.T) {
	m := report.Memory{Regions: []report.Region{{Name: "tcm", Bytes: 700, Holds: []string{"arena"},
		Items: []report.Item{{What: "stack", Bytes: 100}, {What: "arena", Bytes: 500}}}, {Name: "flash", Bytes: 400}}}
	m.Frontier = report.NewFrontier(lower.Frontier([]lower.Point{{ArenaBytes: 480, RAMBytes: 500, Work: 9},
		{ArenaBytes: 980, RAMBytes: 1000, Work: 4}, {ArenaBytes: 990, RAMBytes: 1010, Work: 5},
		{ArenaBytes: 300, RAMBytes: 320, Work: 12, Optimize: option.Size, Kernels: option.OwnKernels}}))
	testenv.Equal(t, m.FrontierText(), ` arena bytes   instructions  flags
         980              4  --optimize speed --max-ram 1000
         600 ---- tcm
         480              9  --optimize speed --max-ram 500
         300             12  --kernels nncc --optimize size --max-ram 320
`, "text")
}
