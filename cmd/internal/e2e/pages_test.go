// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/browser"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// branches is a network of blocks that split, pass each other and meet again; its names have about so many characters
// more.
func branches(blocks, more int) string {
	var b strings.Builder
	b.WriteString("(float[1,8,12,12] x) => (float[1,8,12,12] y) <float[8,8,3,3] w = {")
	for i := range 8 * 8 * 9 {
		fmt.Fprintf(&b, "%s%.2f", strings.Repeat(", ", min(i, 1)), float64(i*7919%41-20)/100)
	}
	b.WriteString("}> {\n")
	last := "x"
	for i := range blocks {
		n := fmt.Sprintf("%d_%s", i, strings.Repeat("functional", more/10))
		fmt.Fprintf(&b, "a%[1]s = Conv <pads = [1, 1, 1, 1]> (%[2]s, w)\nb%[1]s = Sigmoid (a%[1]s)\n"+
			"c%[1]s = Mul (a%[1]s, b%[1]s)\nd%[1]s = Conv <pads = [1, 1, 1, 1]> (c%[1]s, w)\n"+
			"e%[1]s = Add (d%[1]s, %[2]s)\n", n, last)
		last = "e" + n
	}
	b.WriteString("y = Relu (" + last + ")\n}")
	return b.String()
}

// TestPagesOfModels: the pages of compiled models can be read in Chromium, on a telephone, on a desk and on paper, in
// light and dark: no text overlaps another one or is cut. NNCC_LONG takes models of ../shared and hundreds of layers.
func TestPagesOfModels(t *testing.T) {
	b := browser.New(t, 1280, 900)
	list := map[string]*driver.Config{"digits": digitsConfig("cortex-m55"),
		"branches":   config(writeText(t, t.TempDir(), 13, branches(4, 0)), "mla-m55"),
		"long names": config(writeText(t, t.TempDir(), 13, branches(3, 200)), "cortex-m4")}
	if testenv.Long() {
		list["400 layers"] = config(writeText(t, t.TempDir(), 13, branches(130, 30)), "cortex-m4")
		for _, f := range sharedata.Glob("calib", "*.npz") {
			for _, board := range []string{"cortex-m55", "mla-m55"} {
				name := strings.TrimSuffix(filepath.Base(f), ".npz")
				c := config(filepath.Join(filepath.Dir(filepath.Dir(f)), "models", name+".onnx"), board)
				c.Calib = []string{f}
				list[name+" "+board] = c
			}
		}
	}
	for what, c := range list {
		o, err := c.Compile()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		path := filepath.Join(t.TempDir(), "page.html")
		require(t, os.WriteFile(path, o.Report.HTML(), 0o666))
		b.OpenFile(t, path)
		b.Wait(t, `document.documentElement.classList.contains("ready")`)
		for _, dark := range []bool{false, true} {
			b.Media(t, "", dark)
			for _, width := range browser.Sizes {
				b.Resize(t, width, 900)
				said := fmt.Sprintf("%s, %d pixels wide, dark %v", what, width, dark)
				b.Reads(t, said)
				b.Keep(t, strings.NewReplacer(" ", "-", ",", "").Replace("day-"+said))
			}
		}
		b.Media(t, "print", false)
		b.Resize(t, 718, 1000) // 19 cm
		b.Reads(t, what+" printed")
		b.Media(t, "", false)
	}
}

// evil is what a model could call its nodes to get out of the page.
const evil = `</td><script>alert(1)</script>"onload='x' {{.}} <!--`

// TestHTMLEscapes: text from a model stays text, wherever it stands.
func TestHTMLEscapes(t *testing.T) {
	n, ratio := uint64(1234), float32(0.5)
	zero := int32(-128)
	predicted := 5600
	r := &report.Report{
		Model:    report.Model{Name: evil, Producer: evil, Opset: map[string]int{evil: 13, "": 1}},
		Warnings: []string{evil}, Notes: []string{evil},
		Inputs: []report.IO{{Name: evil, CName: "x", Shape: []int{1}, Scale: &ratio, ZeroPoint: &zero}},
		States: []report.State{{Input: evil, Output: evil}},
		Layers: []report.Layer{{Name: evil, Op: evil, Kernel: evil, Route: "r" + evil, RouteReason: evil,
			ONNXNodes: []string{evil, evil}, Out: []string{evil}, MACs: 7, Instructions: &n,
			Candidates: []report.Candidate{{Kernel: evil, Instructions: &predicted}, {Kernel: evil, Unknown: evil}}}},
		Fallback: []report.Fallback{{Node: evil, Op: evil, Reasons: []string{evil, evil}}},
		Rejections: []report.Rejection{{Node: evil, Op: evil, Target: evil,
			Reasons: []report.Reason{{Code: evil, Text: evil}}}},
		Graph: &report.Graph{Nodes: []report.GraphNode{{Name: evil, Op: evil, In: []int{0, 7}, Out: []int{1}, Layer: 0,
			Consts: []report.Constant{{Name: evil, DType: evil,
				Histogram: &quant.Histogram{High: 1, Bins: "0z" + evil}}}},
			{Name: evil, Op: evil, In: []int{1, 0}, Out: []int{-1}, Layer: 9}},
			Tensors: []report.Tensor{{Name: evil, DType: evil, Scale: &ratio}, {Name: evil, Layout: evil}}},
		Gates: []string{evil}, Board: evil, Version: evil,
		Fusion: []report.Fusion{{Kind: "none", Nodes: []string{evil}, Reason: evil},
			{Kind: evil, Nodes: []string{evil}, MaxError: 0.5}},
		Code: &report.Code{Measured: report.Measured{Instructions: n}},
		Memory: report.Memory{ArenaBytes: 64, LowerBoundBytes: 32,
			Buffers: []report.Buffer{{Name: evil, Bytes: 64, AliasOf: evil, First: -1, Last: 9}}},
	}
	page := string(r.HTML())
	if n := strings.Count(page, "<script"); n != 1+strings.Count(page, `<script type="text/plain" id="packed">`) {
		t.Errorf("%d scripts", n)
	}
	page = withoutOwn(string(spdx.Strip([]byte(page))))
	for _, bad := range []string{"<script", "<!--", "%!", "0x", `"onload`} {
		if at := strings.Index(page, bad); at >= 0 {
			t.Errorf("%q in the page: ...%s", bad, page[max(at-60, 0):min(at+60, len(page))])
		}
	}
	for _, want := range []string{"1,234", "0.5 \u00d7 (q &#43; 128)", "<span class=dim>5,600</span>",
		"&lt;/td&gt;&lt;script&gt;"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	balanced(t, page)
}

// withoutOwn is a page without its own style, script and what is packed for it.
func withoutOwn(page string) string {
	own := regexp.MustCompile(`(?s)<style>.*?</style>|<script( type="text/plain" id="packed")?>.*?</script>`)
	return own.ReplaceAllString(page, "")
}

// mayStayOpen are elements whose end HTML lets away.
const mayStayOpen = "li dt dd p td th tr"

// balanced checks that every element that was opened is closed, in order.
func balanced(t *testing.T, page string) {
	t.Helper()
	page = withoutOwn(page)
	var open []string
	for _, m := range regexp.MustCompile(`<(/?)([a-z][a-z0-9]*)[^<>]*?(/?)>`).FindAllStringSubmatch(page, -1) {
		switch name := m[2]; {
		case slices.Contains(strings.Fields(mayStayOpen), name):
		case name == "meta" || name == "br" || name == "input" || m[3] == "/":
		case m[1] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v", name, open)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v are not closed", open)
	}
}

// TestHTMLOfEmptyAndLarge: a program without steps has a page, and one of a huge
// program stays small enough to open.
func TestHTMLOfEmptyAndLarge(t *testing.T) {
	balanced(t, string((&report.Report{}).HTML()))
	r := &report.Report{Memory: report.Memory{ArenaBytes: 1 << 20, LowerBoundBytes: 1 << 19}}
	for i := range 10000 {
		name := fmt.Sprintf("node_%d", i)
		r.Layers = append(r.Layers, report.Layer{Name: name, Op: "Relu", Kernel: "nncc_relu_s8", MACs: int64(i)})
		r.Memory.Buffers = append(r.Memory.Buffers, report.Buffer{Name: name, Offset: i, Bytes: 16, First: i,
			Last: i + 1})
		r.Rejections = append(r.Rejections, report.Rejection{Node: name, Target: "x"})
	}
	page := string(r.HTML())
	if len(page) > 2<<20 || !strings.Contains(page, "8,500 more layers are in report.json") {
		t.Errorf("a page of %d bytes", len(page))
	}
	balanced(t, page)
}

// TestStagePage: the page of --dump-ir draws every stage, says what changed,
// needs nothing from elsewhere, and names stay text.
func TestStagePage(t *testing.T) {
	c := digitsConfig("cortex-m55")
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	o := mustCompile(t, c)
	b, err := os.ReadFile(filepath.Join(c.DumpIR, "index.html"))
	require(t, err)
	page := string(b)
	if n := strings.Count(page, "<section"); n != len(dumped(t, c.DumpIR)) {
		t.Errorf("%d columns, %d stages", n, len(dumped(t, c.DumpIR)))
	}
	for _, want := range []string{"-calibrate</h2>", `class="row mac`, "altered", " gone",
		o.Lowered.Low[o.Lowered.Graph.Nodes[0]].Kernel} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if at := regexp.MustCompile(`https?:|src=|@import|url\(`).FindString(page); at != "" {
		t.Errorf("the page needs something else: %s", at)
	}
	balanced(t, regexp.MustCompile(`(?s)<script>.*</script>|<!DOCTYPE html>|<input[^>]*>`).ReplaceAllString(page, ""))
}

// figuresAddUp: what a report says of the whole is what it says of the parts.
func figuresAddUp(t *testing.T, r *report.Report) {
	t.Helper()
	io, weights := 0, 0
	for _, x := range r.Inputs {
		io += x.Bytes
	}
	for _, x := range r.Outputs {
		io += x.Bytes
	}
	if io != r.Memory.IOBytes {
		t.Errorf("inputs and outputs have %d bytes, io_bytes are %d", io, r.Memory.IOBytes)
	}
	var macs, placed int64
	for i := range r.Layers {
		weights += r.Layers[i].WeightBytes // what two layers share stands at both
		macs += r.Layers[i].MACs
	}
	for i := range r.Segments {
		placed += r.Segments[i].MACs
	}
	for i := range r.Fallback {
		placed += r.Fallback[i].MACs
	}
	if weights < r.Memory.WeightsBytes {
		t.Errorf("layers have %d bytes of weights, the model %d", weights, r.Memory.WeightsBytes)
	}
	if macs != placed {
		t.Errorf("layers have %d MACs, segments and what is outside %d", macs, placed)
	}
}
