// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/runtime_c/spdx"
)

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
