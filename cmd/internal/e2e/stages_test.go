// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
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
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// digitsConfig is the demo model for a board.
func digitsConfig(board string) *driver.Config {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	c := config(filepath.Join(digits, "digits.onnx"), board)
	c.Calib = []string{filepath.Join(digits, "digits_calib.npz")}
	return c
}

// TestDumpsAreTheStages: --dump-ir writes the stages of the table that apply,
// in order, and nothing else; --max-ram runs the last of them once more.
func TestDumpsAreTheStages(t *testing.T) {
	for _, x := range []struct {
		name, board string
		set         func(c *driver.Config)
	}{
		{"m55", "cortex-m55", nil},
		{"float32", "cortex-m4", func(c *driver.Config) { c.Precision, c.Calib = option.Float32, nil }},
		{"plain", "cortex-m0plus", func(c *driver.Config) { c.Legalize, c.Fuse, c.DeadChannels = false, false, false }},
		{"accelerator", "mla-m55", nil},
		{"without", "cortex-m4", func(c *driver.Config) { c.Passes = []string{"bn-fold=off", "align=off"} }},
		{"small arena", "cortex-m4", func(c *driver.Config) { c.MaxRAM, c.Tries = "1", 2 }},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := digitsConfig(x.board)
			if x.set != nil {
				x.set(c)
			}
			c.DumpIR = filepath.Join(t.TempDir(), "dump")
			o := mustCompile(t, c)
			opt := testenv.Must(c.LowerOptions(o.Board, o.Float))(t)
			f := &lower.Facts{Options: opt, Quantised: lower.Quantised(o.Float)}
			want := lists.Map(lower.Table, func(s *lower.Stage) string { return s.Name })
			want = lists.Filter(want, func(name string) bool {
				return testenv.Must(lower.Find(name))(t).Applies(f) && !opt.Off[name]
			})
			if o.Lowered.Tiled != nil {
				behind := slices.IndexFunc(lower.Table, func(s *lower.Stage) bool { return s.Name == "stripes" }) + 1
				at := slices.IndexFunc(want, func(name string) bool {
					return slices.ContainsFunc(lower.Table[behind:],
						func(s *lower.Stage) bool { return s.Name == name })
				})
				want = append(append(want, "stripes"), want[at:]...)
			}
			got := dumped(t, c.DumpIR)
			testenv.Check(t, slices.Equal(got, want), "dumped\n%v\nstages that apply\n%v", got, want)
		})
	}
}

// dumped are the stages in a folder of --dump-ir, in order.
func dumped(t *testing.T, dir string) []string {
	t.Helper()
	es := testenv.Must(os.ReadDir(dir))(t)
	var names []string
	for _, e := range es {
		if name, ok := strings.CutSuffix(e.Name(), ".ir"); ok && !strings.HasSuffix(name, ".outputs") {
			_, stage, _ := strings.Cut(name, "-")
			names = append(names, stage)
		}
	}
	return names
}

// TestBisect: the demo model's stages do what they may; a wrong rewrite is found
// under the name of its stage.
func TestBisect(t *testing.T) {
	for _, board := range []string{"cortex-m55", "mla-m55"} {
		c := digitsConfig(board)
		b := testenv.Must(c.Bisect())(t)
		if b.Guilty != "" || b.Cases != driver.BisectCases {
			t.Errorf("%s: %s", board, b.Text())
		}
	}
	row := testenv.Must(lower.Find("decompose"))(t)
	right := row.Run
	defer func() { row.Run = right }()
	row.Run = func(s *lower.State) {
		for _, v := range constants(s.Graph) { // a wrong rewrite
			v.Const = tensor.New(v.Type.DType, v.Type.Shape)
		}
		right(s)
	}
	b, err := digitsConfig("cortex-m4").Bisect()
	if err != nil || !strings.HasSuffix(b.Guilty, "-decompose") ||
		!strings.Contains(b.Text(), b.Guilty+" is the first stage that does more than it may") {
		t.Errorf("guilty: %q (%v)", b.Guilty, err)
	}
}

// constants are the float weights of g.
func constants(g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	for _, n := range g.Nodes {
		if v := n.Input(1); v != nil && v.Const != nil && v.Type.DType == tensor.F32 && n.Op.MACs != nil {
			out = append(out, v)
		}
	}
	return out
}

// kindsOfNets are networks of a kind by seed, and how many nodes of each may
// compute outside of its one segment. The figures only fall.
var kindsOfNets = []struct {
	name    string
	net     func(seed uint64) *ir.Graph
	seeds   uint64
	outside int
}{
	{"detector", func(seed uint64) *ir.Graph { g, _ := irtest.Detector(seed, tensor.F32); return g }, 2, 0},
	{"voice", func(seed uint64) *ir.Graph { return irtest.Voice(seed, tensor.F32) }, 1, 0},
	{"enhancer", func(seed uint64) *ir.Graph { return irtest.Enhancer(seed, tensor.F32) }, 1, 0},
}

// TestSegmentsOfKinds: networks of each kind run in one segment, and the
// simulator computes what the interpreter does. NNCC_LONG takes ten times as
// many.
func TestSegmentsOfKinds(t *testing.T) {
	for _, k := range kindsOfNets {
		n := k.seeds
		if testenv.Long() {
			n *= 10
		}
		for seed := range n {
			c := driver.Defaults()
			c.Board, c.Name, c.Cases, c.Precision = "mla-host", "net", 1, option.Int8
			o := compileNet(t, k.net(seed), &c)
			if s, n := len(o.Report.Segments), o.Report.ComputeFallback(); s != 1 || n > k.outside {
				t.Errorf("%s %d: %d segments, %d nodes outside, want 1 and at most %d", k.name, seed, s, n, k.outside)
			}
			figuresAddUp(t, o.Report)
			v := mustVerify(t, o)
			if v.Differs() {
				t.Errorf("%s %d\n%s", k.name, seed, v.Text())
			}
		}
	}
}

// TestOptimize: code bytes fall and instructions rise from speed to balanced to
// size, results are the interpreter's each time, and the three are not one
// program.
func TestOptimize(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, m := range []struct{ path, calib string }{
		{filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")},
		{sharedata.Find("models", "kws_int8.onnx"), ""},
	} {
		if m.path == "" {
			t.Log("a reference model is not there")
			continue
		}
		for _, board := range []string{"cortex-m4", "cortex-m55"} {
			t.Run(filepath.Base(m.path)+"/"+board, func(t *testing.T) {
				var code, kernels []int
				var instructions []uint64
				for _, goal := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
					c := config(m.path, board)
					c.Optimize, c.Cases = goal, 1
					if m.calib != "" {
						c.Calib = []string{m.calib}
					}
					o := mustCompile(t, c)
					v := mustVerify(t, o)
					testenv.Require(t, v.Mismatches <= 0,
						"--optimize %s: %d mismatches (%s)", goal, v.Mismatches, v.Failure)
					code, instructions = append(code, int(v.TextBytes)), append(instructions, v.Instructions)
					kernels = append(kernels, o.Report.Optimize.KernelBytes)
					t.Logf("--optimize %s: %d bytes of code (kernels %d by the table), %d instructions (%d predicted "+
						"for %d layers)", goal, code[len(code)-1], kernels[len(kernels)-1], v.Instructions,
						o.Report.Optimize.Instructions, o.Report.Optimize.PricedLayers)
				}
				testenv.Check(t, code[2] <= code[1] && code[1] <= code[0] && code[2] != code[0],
					"bytes of code for speed, balanced, size: %v, want them to fall", code)
				rise := func(a, b uint64) bool { return 100*a <= 101*b } // predictions are no better
				testenv.Check(t, rise(instructions[0], instructions[1]) && rise(instructions[1], instructions[2]),
					"instructions for speed, balanced, size: %v, want them to rise", instructions)
			})
		}
	}
}

// joined is a network of joined channels: a split whose pieces are joined again
// with what was computed of one (of 5 and of 8 channels), and branches side by
// side.
//
//go:embed testdata/joined.ir
var joined string

// TestJoinedChannels: no copies of channels that are joined or split, but of one map on Cortex-M4, which
// lies over what it copies: the arena has 2,528 bytes for 2,704. The same results on every core.
func TestJoinedChannels(t *testing.T) {
	path := modelFile(t, joined)
	for board, want := range map[string]string{"cortex-m55": "", "cortex-m4": "branches", "cortex-m0plus": ""} {
		t.Run(board, func(t *testing.T) {
			c := config(path, board)
			c.Cases, c.Layers = 2, true
			o := mustCompile(t, c)
			copied := ""
			for i, s := range o.Lowered.Program.Steps {
				switch o.Lowered.Schedule.Nodes[i].Op {
				case op.Concat, op.Split:
					copied += s.Name
				}
			}
			testenv.Equal(t, copied, want, "copied")
			v := mustVerify(t, c)
			testenv.Check(t, v.Mismatches <= 0, "%d mismatches: %s", v.Mismatches, v.Failure)
		})
	}
}

// TestInPlace: a pointwise convolution with as many outputs as inputs is written over its
// input, which its kernel reads two pixels at a time: odd numbers of them, channels that fill no
// word, one chain for each, and a sum with its own input.
func TestInPlace(t *testing.T) {
	d := &drawnNetwork{t: t, g: ir.New("chains")}
	want := map[string]bool{}
	for i, s := range []struct {
		c, h, w int
		sum     bool
	}{{16, 7, 9, false}, {5, 3, 3, false}, {33, 4, 5, false}, {8, 1, 3, true}, {12, 5, 5, true}} {
		x := d.g.AddInput(fmt.Sprintf("x%d", i), ir.T(tensor.F32, 1, s.c, s.h, s.w))
		pool := ir.Attrs{"kernel_shape": ir.Ints(1, 3), "pads": ir.Ints(0, 1, 0, 1)}
		x = d.add(op.MaxPool, fmt.Sprintf("pool%d", i), pool, x)
		for k := range 3 {
			name := fmt.Sprintf("conv%d_%d", i, k)
			y := d.conv(name, x, s.c, 1)
			if k == 1 && s.sum {
				y = d.add(op.Add, name+"_sum", nil, y, x)
			} else {
				want[name] = true
			}
			x = y
		}
		d.g.AddOutput(fmt.Sprintf("y%d", i), d.add(op.MaxPool, fmt.Sprintf("last%d", i), pool, x))
	}
	model := graphFile(t, d.g)
	for _, board := range []string{"cortex-m4", "cortex-m33", "cortex-m0plus"} {
		t.Run(board, func(t *testing.T) {
			c := config(model, board)
			v := mustVerify(t, c)
			testenv.Require(t, v.Mismatches <= 0, "%d mismatches: %s", v.Mismatches, v.Failure)
			o := mustCompile(t, c)
			p, over := o.Lowered.Program, 0
			for _, s := range p.Steps {
				if !want[s.Name] {
					continue
				}
				if p.Buffers[s.Out[0]].Offset != p.Buffers[s.In[0].Buffer].Offset {
					t.Errorf("%s is at %d, its input at %d", s.Name, p.Buffers[s.Out[0]].Offset,
						p.Buffers[s.In[0].Buffer].Offset)
				}
				over++
			}
			testenv.Check(t, over == len(want), "%d of %d convolutions are steps of their own", over, len(want))
		})
	}
}

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
	testenv.Equal(t, strings.Count(page, "<script"), 1+strings.Count(page, `<script type="text/plain" id="packed">`),
		"scripts")
	page = withoutOwn(string(spdx.Strip([]byte(page))))
	for _, bad := range []string{"<script", "<!--", "%!", "0x", `"onload`} {
		if at := strings.Index(page, bad); at >= 0 {
			t.Errorf("%q in the page: ...%s", bad, page[max(at-60, 0):min(at+60, len(page))])
		}
	}
	for _, want := range []string{"1,234", "0.5 \u00d7 (q &#43; 128)", "<span class=dim>5,600</span>",
		"&lt;/td&gt;&lt;script&gt;"} {
		testenv.Check(t, strings.Contains(page, want), "the page lacks %q", want)
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
	testenv.Check(t, len(open) <= 0, "%v are not closed", open)
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
	testenv.Check(t, len(page) <= 2<<20 && strings.Contains(page, "8,500 more layers are in report.json"),
		"a page of %d bytes", len(page))
	balanced(t, page)
}

// TestStagePage: the page of --dump-ir draws every stage, says what changed,
// needs nothing from elsewhere, and names stay text.
func TestStagePage(t *testing.T) {
	c := digitsConfig("cortex-m55")
	c.DumpIR = filepath.Join(t.TempDir(), "dump")
	o := mustCompile(t, c)
	b := testenv.Must(os.ReadFile(filepath.Join(c.DumpIR, "index.html")))(t)
	page := string(b)
	testenv.Equal(t, strings.Count(page, "<section"), len(dumped(t, c.DumpIR)), "columns, stages")
	for _, want := range []string{"-calibrate</h2>", `class="row mac`, "altered", " gone",
		o.Lowered.Low[o.Lowered.Graph.Nodes[0]].Kernel} {
		testenv.Check(t, strings.Contains(page, want), "the page lacks %q", want)
	}
	testenv.Equal(t, regexp.MustCompile(`https?:|src=|@import|url\(`).FindString(page), "",
		"the page needs something else")
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
	testenv.Check(t, io == r.Memory.IOBytes, "inputs and outputs have %d bytes, io_bytes are %d", io,
		r.Memory.IOBytes)
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
	testenv.Check(t, weights >= r.Memory.WeightsBytes, "layers have %d bytes of weights, the model %d", weights,
		r.Memory.WeightsBytes)
	testenv.Check(t, macs == placed, "layers have %d MACs, segments and what is outside %d", macs, placed)
}

// TestPlansCutNothing: what plans of the arena put between layers is neither outside of a
// segment nor between two, within a budget, too.
func TestPlansCutNothing(t *testing.T) {
	planned := map[string]bool{}
	for _, board := range []string{"cortex-m55", "cortex-m4"} {
		for _, channels := range []int{8, 12, 16} {
			text := fmt.Sprintf(`graph "g" {
  in %%x : f32[1,3,48,48]
  const %%v : f32[%[1]d,3,3,3] = rand 1
  const %%w : f32[%[1]d,%[1]d,3,3] = rand 2
  %%a = Conv(%%x, %%v) {pads=[1,1,1,1]}
  %%b = Conv(%%a, %%w) {pads=[1,1,1,1], strides=[2,2]}
  %%y = MaxPool(%%b) {kernel_shape=[2,2], strides=[2,2]}
  out "y" = %%y
}`, channels)
			for _, ram := range []string{"", "24K"} {
				c := driver.Defaults()
				c.Board, c.Precision, c.MaxRAM = board, option.Int8, ram
				o := compileNet(t, irtest.Parse(t, text), &c)
				for _, n := range o.Lowered.Schedule.Nodes {
					if n.Op.Planned {
						planned[n.Op.Name] = true
					}
				}
				if r := o.Report; len(r.Segments) != 1 || r.ComputeFallback() > 0 {
					t.Errorf("%s, %d channels, %q of RAM: %s", board, channels, ram, r.SegmentsText())
				}
			}
		}
	}
	testenv.Check(t, len(planned) >= 2, "plans put in %v, want rows and planes", planned)
}
