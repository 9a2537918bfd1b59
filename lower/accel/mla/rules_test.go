// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/accel/mla"
)

// parse is the graph of a text without its frame.
func parse(t testing.TB, src string) *ir.Graph {
	t.Helper()
	g, err := ir.Parse("graph \"g\" {\n"+src+"\n}", op.Get)
	testenv.Require(t, err == nil, "%v\n%s", err, src)
	errs := g.Verify()
	testenv.Require(t, len(errs) <= 0, "%v\n%s", errs, src)
	return g
}

// judged are the reasons against the last node of a graph whose inputs and
// constants stand in front of the node; the result is %o.
func judged(t testing.TB, decl, node string, lim mla.Limits) []string {
	t.Helper()
	if !strings.HasPrefix(node, "%") {
		node = "%o = " + node
	}
	src := decl + "\n" + node + "\nout \"o\" = %o"
	g := parse(t, src)
	var out []string
	for _, r := range mla.CheckQuantised(g.Nodes[len(g.Nodes)-1], lim) {
		if r.Code != "MLA-FLOAT" {
			out = append(out, r.Code+": "+r.Text)
		}
	}
	return out
}

const (
	x4 = "in %x : f32[1,4,6,6]\n"
	q4 = "in %x : i8[1,4,6,6] q(0.05:-3)\n"
)

// cases has a node that the rule refuses with the given text, and one that all
// rules accept.
var cases = []struct {
	code, decl, node, want string // refused
	goodDecl, goodNode     string // accepted
}{
	{"MLA-OP", x4, "CumSumLike", "", "", ""}, // replaced below: needs a node of its own
	{"MLA-RANK-IN", "in %x : f32[1,2000]\nconst %s : i64[1]={0}\nconst %e : i64[1]={10}\nconst %a : i64[1]={1}",
		"Slice(%x, %s, %e, %a)", "Input is not 4D tensor (2D, [1,2000])",
		x4 + "const %s : i64[1]={0}\nconst %e : i64[1]={2}\nconst %a : i64[1]={1}", "Slice(%x, %s, %e, %a)"},
	{"MLA-RANK-OUT", x4 + "const %s : i64[2]={1,144}", "Reshape(%x, %s)", "Output is not 4D tensor (2D, [1,144])",
		x4 + "const %s : i64[4]={1,8,3,6}", "Reshape(%x, %s)"},
	{"MLA-EMPTY", "in %x : f32[1,0,6,6]", "Relu(%x)", "Tensor x is empty (4D, [1,0,6,6])", x4, "Relu(%x)"},
	{"MLA-BATCH", "in %x : f32[9,4,6,6]", "Relu(%x)", "Batch of x is 9, at most 8", "in %x : f32[8,4,6,6]", "Relu(%x)"},
	{"MLA-DTYPE", "in %x : i64[1,4,6,6]", "Relu(%x)", "Input x is int64, want int8", q4,
		"%o : i8[1,4,6,6] q(0.05:-3) = Relu(%x)"},
	{"MLA-QUANT", "in %x : i8[1,2,6,6] q(axis=1,0.05:0,0.1:0)", "%o : i8[1,2,6,6] q(0.05:-3) = Relu(%x)",
		"Input x is quantised along dimension 1", q4, "%o : i8[1,4,6,6] q(0.1:3) = Relu(%x)"},
	{"MLA-CONST", x4 + "in %w : f32[2,4,3,3]", "Conv(%x, %w)", "Input 1 (w) is computed at run time, want a constant",
		x4 + "const %w : f32[2,4,3,3] = rand 1", "Conv(%x, %w)"},
	{"MLA-OUTPUTS", x4, "%o, %m = MaxPool(%x) {kernel_shape=[2,2]}\n%p = Cast(%m) {to=1}\n%q = Add(%o, %p)\nout " +
		"\"q\" = %q", "", x4, "%o, %p = Split(%x) {axis=1}\nout \"p\" = %p"},

	{"MLA-CONV-GEOMETRY", "in %x : f32[1,4,6]\nconst %w : f32[2,4,3] = rand 1", "Conv(%x, %w)",
		"Convolution in 1 dimensions, want 2", x4 + "const %w : f32[2,4,3,3] = rand 1", "Conv(%x, %w)"},
	{"MLA-CONV-STRIDE", "in %x : f32[1,1,40,40]\nconst %w : f32[2,1,3,3] = rand 1", "Conv(%x, %w) {strides=[1,32]}",
		"Strides are [1 32], want 1 to 31", "in %x : f32[1,1,40,40]\nconst %w : f32[2,1,3,3] = rand 1",
		"Conv(%x, %w) {strides=[31,1]}"},
	{"MLA-CONV-DILATION", "in %x : f32[1,1,70,70]\nconst %w : f32[2,1,2,2] = rand 1", "Conv(%x, %w) {dilations=[64,1]}",
		"Dilations are [64 1], want 1 to 63", "in %x : f32[1,1,70,70]\nconst %w : f32[2,1,2,2] = rand 1",
		"Conv(%x, %w) {dilations=[63,1]}"},
	{"MLA-CONV-KERNEL", "in %x : f32[1,1,40,40]\nconst %w : f32[2,1,33,3] = rand 1", "Conv(%x, %w)",
		"Kernel is [33 3], want at most 32 in each dimension",
		"in %x : f32[1,1,40,40]\nconst %w : f32[2,1,32,32] = rand 1", "Conv(%x, %w)"},
	{"MLA-CONV-ALIGN", x4 + "const %w : f32[3,4,1,1] = rand 1", "Conv(%x, %w)",
		"Output has 3 channels, want a multiple of 2", x4 + "const %w : f32[6,4,1,1] = rand 1", "Conv(%x, %w)"},
	{"MLA-DECONV-DILATION", x4 + "const %w : f32[4,2,2,2] = rand 1", "ConvTranspose(%x, %w) {dilations=[2,1]}",
		"Dilations are [2 1], want 1", x4 + "const %w : f32[4,2,2,2] = rand 1", "ConvTranspose(%x, %w)"},
	{"MLA-DECONV-GROUP", x4 + "const %w : f32[4,2,2,2] = rand 1", "ConvTranspose(%x, %w) {group=2}",
		"Group is 2 for 4 input and 4 output channels", x4 + "const %w : f32[4,1,2,2] = rand 1",
		"ConvTranspose(%x, %w) {group=4}"},
	{"MLA-DECONV-STRIDE", x4 + "const %w : f32[4,2,2,2] = rand 1", "ConvTranspose(%x, %w) {strides=[3,2]}",
		"Strides are [3 2], want one of [1 2 4 8 16]", x4 + "const %w : f32[4,2,2,2] = rand 1",
		"ConvTranspose(%x, %w) {strides=[4,16]}"},
	{"MLA-DECONV-STRIDE", x4 + "const %w : f32[4,1,2,2] = rand 1", "ConvTranspose(%x, %w) {strides=[4,2], group=4}",
		"Strides are [4 2], want one of [1 2]", x4 + "const %w : f32[4,1,2,2] = rand 1",
		"ConvTranspose(%x, %w) {strides=[2,2], group=4}"},
	{"MLA-WEIGHTS", q4 + "const %w : i8[2,4,3,3] q(0.02:7) = rand 1", "%o : i8[1,2,4,4] q(0.4:1) = Conv(%x, %w)",
		"Weights w have zero point 7 in channel 0, want 0", q4 + "const %w : i8[2,4,3,3] q(0.02:0) = rand 1",
		"%o : i8[1,2,4,4] q(0.4:1) = Conv(%x, %w)"},
	{"MLA-SCALES", q4 + "const %w : i8[2,4,3,3] q(0.02:0) = rand 1\nconst %b : i32[2] q(0.5:0) = rand 2",
		"%o : i8[1,2,4,4] q(0.4:1) = Conv(%x, %w, %b)", "Not an integer operator: the bias",
		q4 + "in %y : i8[1,4,6,6] q(0.1:4)", "%o : i8[1,4,6,6] q(0.4:1) = MatMul(%x, %y)"},
	{"MLA-MATMUL", x4 + "const %w : f32[6] = rand 1", "MatMul(%x, %w)", "Operand 1 is not a matrix (1D, [6])",
		x4 + "const %w : f32[6,3] = rand 1", "MatMul(%x, %w)"},
	{"MLA-MATMUL-WEIGHTS", q4 + "const %w : i8[6,3] q(0.02:5) = rand 1", "%o : i8[1,4,6,3] q(0.4:1) = MatMul(%x, %w)",
		"Right side w has zero point 5", q4 + "const %w : i8[6,3] q(0.02:0) = rand 1",
		"%o : i8[1,4,6,3] q(0.4:1) = MatMul(%x, %w)"},

	{"MLA-POOL-DILATION", x4, "MaxPool(%x) {kernel_shape=[2,2], dilations=[2,1]}", "Dilations are [2 1], want 1", x4,
		"MaxPool(%x) {kernel_shape=[2,2], strides=[2,2]}"},
	{"MLA-POOL-CEIL", x4, "AveragePool(%x) {kernel_shape=[2,2], ceil_mode=1}", "ceil_mode is 1, want 0", x4,
		"AveragePool(%x) {kernel_shape=[2,2]}"},
	{"MLA-POOL-SIZE", "in %x : f32[1,1,130,2]", "MaxPool(%x) {kernel_shape=[128,1]}",
		"Window is [128 1], want less than 128", "in %x : f32[1,1,130,2]", "MaxPool(%x) {kernel_shape=[127,1]}"},
	{"MLA-POOL-PAD", x4, "AveragePool(%x) {kernel_shape=[3,3], pads=[0,1,0,0]}",
		"count_include_pad is 0 with pads [0 1] [0 0], want 1", x4,
		"AveragePool(%x) {kernel_shape=[3,3], pads=[0,1,0,0], count_include_pad=1}"},
	{"MLA-REDUCE-KEEP", x4 + "const %a : i64[2]={2,3}", "ReduceMean(%x, %a) {keepdims=0}", "keepdims is 0, want 1",
		x4 + "const %a : i64[2]={2,3}", "ReduceMean(%x, %a)"},
	{"MLA-REDUCE-AXES", x4 + "const %a : i64[1]={1}", "ReduceMean(%x, %a)", "Axes are [1], want dimensions 2 to 3",
		x4 + "const %a : i64[1]={1}", "ReduceMax(%x, %a)"},
	{"MLA-REDUCE-SIZE", "in %x : f32[1,1,128,2]\nconst %a : i64[1]={2}", "ReduceSum(%x, %a)",
		"Dimension 2 has size 128, want less than 128", "in %x : f32[1,1,128,2]\nconst %a : i64[2]={2,3}",
		"ReduceSum(%x, %a)"},
	{"MLA-PAD-MODE", x4 + "const %p : i64[8]={0,0,1,1,0,0,1,1}", "Pad(%x, %p) {mode=\"edge\"}",
		"Pad mode is edge, want constant", x4 + "const %p : i64[8]={0,0,1,1,0,0,1,1}", "Pad(%x, %p)"},
	{"MLA-PAD-VALUE", x4 + "const %p : i64[8]={0,0,1,1,0,0,1,1}\nconst %v : f32[]={1.5}", "Pad(%x, %p, %v)",
		"Pad value is 1.5, want 0", x4 + "const %p : i64[8]={0,0,1,1,0,0,1,1}\nconst %v : f32[]={0}",
		"Pad(%x, %p, %v)"},
	{"MLA-PAD-AXES", x4 + "const %p : i64[8]={0,1,0,0,0,0,0,0}", "Pad(%x, %p)",
		"Pad extends dimension 1 (channels) by 1 and 0", q4 + "const %p : i64[8]={0,0,1,0,0,0,0,2}",
		"%o : i8[1,4,7,8] q(0.05:-3) = Pad(%x, %p)"},
	{"MLA-RESIZE-MODE", x4 + "const %s : f32[4]={1,1,2,2}", "Resize(%x, -, %s) {mode=\"cubic\"}",
		"Resize mode is cubic, want nearest or linear", x4 + "const %s : f32[4]={1,1,2,2}",
		"Resize(%x, -, %s) {coordinate_transformation_mode=\"asymmetric\"}"},
	{"MLA-RESIZE-COORDINATES", x4 + "const %s : f32[4]={1,1,2,2}",
		"Resize(%x, -, %s) {mode=\"linear\", coordinate_transformation_mode=\"align_corners\"}",
		"Resize coordinates are align_corners, want half_pixel", x4 + "const %s : f32[4]={1,1,2,2}",
		"Resize(%x, -, %s) {mode=\"linear\"}"},
	{"MLA-RESIZE-AXES", x4 + "const %s : f32[4]={1,2,2,2}", "Resize(%x, -, %s)",
		"Resize changes batch or channels (4D, [1,4,6,6] to 4D, [1,8,12,12])", x4 + "const %s : f32[4]={1,1,1,3}",
		"Resize(%x, -, %s)"},
	{"MLA-RESIZE-ANTIALIAS", x4 + "const %s : f32[4]={1,1,0.5,0.5}", "Resize(%x, -, %s) {mode=\"linear\", antialias=1}",
		"antialias is 1, want 0", x4 + "const %s : f32[4]={1,1,0.5,0.5}", "Resize(%x, -, %s) {mode=\"linear\"}"},

	{"MLA-CONCAT", x4 + "in %y : f32[1,4,6,6]", "Concat(%x, %y) {axis=0}", "Concat is along the batch (axis 0)",
		x4 + "in %y : f32[1,4,6,6]", "Concat(%x, %y) {axis=-1}"},
	{"MLA-SPLIT", "in %x : f32[2,4,6,6]", "%o, %p = Split(%x) {axis=0}\nout \"p\" = %p",
		"Split is along the batch (axis 0)", x4, "%o, %p = Split(%x) {axis=2}\nout \"p\" = %p"},
	{"MLA-GATHER", x4 + "const %i : i64[2]={0,0}", "Gather(%x, %i) {axis=0}", "Gather is along the batch (axis 0)",
		x4 + "const %i : i64[3]={2,0,-1}", "Gather(%x, %i) {axis=1}"},
	{"MLA-GATHER", x4 + "const %i : i64[2,1]={0,0}", "Gather(%x, %i) {axis=1}", "Indices are 2D, want 0D or 1D",
		x4 + "const %i : i64[1]={2}", "Gather(%x, %i) {axis=1}"},
	{"MLA-SLICE-STEP", x4 + "const %s : i64[1]={5}\nconst %e : i64[1]={0}\nconst %a : i64[1]={3}\nconst %p : " +
		"i64[1]={-1}", "Slice(%x, %s, %e, %a, %p)", "Slice step is -1 along dimension 3",
		x4 + "const %s : i64[1]={0}\nconst %e : i64[1]={6}\nconst %a : i64[1]={3}\nconst %p : i64[1]={2}",
		"Slice(%x, %s, %e, %a, %p)"},
	{"MLA-SLICE-BATCH", "in %x : f32[3,4,6,6]\nconst %s : i64[1]={1}\nconst %e : i64[1]={3}\nconst %a : i64[1]={0}",
		"Slice(%x, %s, %e, %a)", "Slice takes 2 of a batch of 3, want all",
		"in %x : f32[3,4,6,6]\nconst %s : i64[1]={1}\nconst %e : i64[1]={3}\nconst %a : i64[1]={1}",
		"Slice(%x, %s, %e, %a)"},
	{"MLA-TRANSPOSE", x4, "Transpose(%x) {perm=[1,0,2,3]}", "Transpose [1 0 2 3] moves the batch", x4,
		"Transpose(%x) {perm=[0,3,1,2]}"},
	{"MLA-RESHAPE-ZERO", x4 + "const %s : i64[4]={1,8,3,6}", "Reshape(%x, %s) {allowzero=1}", "allowzero is 1, want 0",
		x4 + "const %s : i64[4]={1,8,-1,6}", "Reshape(%x, %s)"},
	{"MLA-RESHAPE-BATCH", x4 + "const %s : i64[4]={2,2,6,6}", "Reshape(%x, %s)",
		"Reshape from 4D, [1,4,6,6] to 4D, [2,2,6,6] changes the batch", x4 + "const %s : i64[4]={1,1,24,6}",
		"Reshape(%x, %s)"},
	{"MLA-EXPAND", x4 + "const %s : i64[4]={5,4,6,6}", "Expand(%x, %s)", "Expand repeats the batch 5 times",
		"in %x : f32[1,4,1,6]\nconst %s : i64[4]={1,4,6,6}", "Expand(%x, %s)"},

	{"MLA-BROADCAST", "in %x : f32[3,4,6,6]\nin %y : f32[1,4,6,6]", "Add(%x, %y)",
		"Input 1 (4D, [1,4,6,6]) is broadcast to a batch of 3", "in %x : f32[3,4,6,6]\nconst %y : f32[4,1,1] = rand 1",
		"Add(%x, %y)"},
	{"MLA-CLIP", x4 + "const %a : f32[1]={0}\nin %b : f32[]", "Clip(%x, %a, %b)", "", x4 + "const %a : f32[]={0}",
		"Clip(%x, %a)"},
	{"MLA-GELU", x4, "Gelu(%x) {approximate=\"tanh\"}", "Gelu approximation is tanh, want none", x4, "Gelu(%x)"},
	{"MLA-POW", x4 + "const %e : f32[]={4}", "Pow(%x, %e)", "Pow exponent is 4, want 0.5, -0.5, 2 or 3",
		x4 + "const %e : f32[]={-0.5}", "Pow(%x, %e)"},
	{"MLA-POW", x4 + "const %e : f32[6]={2,3,2,3,2,3}", "Pow(%x, %e)", "Pow has exponents that differ",
		x4 + "const %e : f32[1]={3}", "Pow(%x, %e)"},
	{"MLA-PRELU", x4 + "const %s : f32[6]=rand 1", "PRelu(%x, %s)", "Slope s (1D, [6]) varies along dimension 3",
		x4 + "const %s : f32[4,1,1]=rand 1", "PRelu(%x, %s)"},
	{"MLA-SOFTMAX", x4, "Softmax(%x) {axis=2}", "Softmax axis is 2, want the channels: 1, or 3", x4,
		"Softmax(%x) {axis=-1}"},
	{"MLA-SOFTMAX-LEN", "in %x : f32[1,65,1,1]", "Softmax(%x) {axis=1}", "Softmax is over 65 elements, at most 64",
		"in %x : f32[1,64,1,1]", "Softmax(%x) {axis=1}"},
	{"MLA-ARGMAX", x4, "ArgMax(%x) {axis=2}", "ArgMax axis is 2, want the channels", x4, "ArgMax(%x) {axis=1}"},
	{"MLA-LAYERNORM", x4 + "const %s : f32[6,6] = rand 1", "LayerNormalization(%x, %s) {axis=2}",
		"LayerNormalization is from axis 2 on", x4 + "const %s : f32[6] = rand 1", "LayerNormalization(%x, %s)"},
	{"MLA-NORM-CONST", x4, "", "", "", ""}, // replaced below
}

// limits of the test: what is unlimited by default has a value.
func limits() mla.Limits {
	l := mla.Defaults()
	l.MaxBatch, l.ConvKernel, l.ChannelAlign, l.SoftmaxLen = 8, 32, 1, 64
	return l
}

func TestRules(t *testing.T) {
	refused, accepted := map[string]bool{}, map[string]bool{}
	for _, c := range cases {
		lim := limits()
		if c.code == "MLA-CONV-ALIGN" {
			lim.ChannelAlign = 2
		}
		switch c.code {
		case "MLA-OP":
			c.node, c.want, c.goodDecl, c.goodNode = "Sin(%x)", "Unsupported operator Sin", x4, "Exp(%x)"
		case "MLA-CLIP": // bounds of several elements are no ONNX, but the rule does not rely on it
			g := parse(t, x4+"const %a : f32[]={0}\n%o = Clip(%x, %a)\nout \"o\" = %o")
			n := g.Nodes[0]
			v := g.AddConst("many", ir.Rand(1, n.In[1].Type.DType, []int{2}))
			g.SetInput(n, 1, v)
			check(t, "MLA-CLIP", reasons(n, lim), "Bound many has 2 elements, want 1")
			refused[c.code] = true
			c.node = ""
		case "MLA-NORM-CONST":
			g := parse(t, x4+"const %s : f32[6] = rand 1\n%o = LayerNormalization(%x, %s)\nout \"o\" = %o")
			n := g.Nodes[0]
			g.SetInput(n, 1, g.AddConst("few", ir.Rand(1, n.In[1].Type.DType, []int{3})))
			check(t, c.code, reasons(n, lim), "Input 1 (few) has shape [3], want 6 values")
			refused[c.code] = true
			c.node, c.goodDecl, c.goodNode = "", x4+"const %s : f32[4] = rand 1", "InstanceNormalization(%x, %s, %s)"
		case "MLA-OUTPUTS":
			g := parse(t, c.decl+c.node+"\nout \"o\" = %o")
			check(t, c.code, reasons(g.Nodes[0], lim), "Output 1 (m) is asked for")
			refused[c.code] = true
			c.node = ""
		}
		if c.node != "" {
			check(t, c.code, judged(t, c.decl, c.node, lim), c.want)
			refused[c.code] = true
		}
		r := judged(t, c.goodDecl, c.goodNode, lim)
		testenv.Check(t, len(r) <= 0, "%s: %s is refused: %v", c.code, c.goodNode, r)
		accepted[c.code] = true
	}
	for _, r := range mla.Rules() {
		testenv.Check(t, refused[r.Code] && accepted[r.Code], "%s: refused %v, accepted %v in this test, want both",
			r.Code, refused[r.Code], accepted[r.Code])
		testenv.Check(t, r.Doc != "", "%s has no doc", r.Code)
	}
}

func reasons(n *ir.Node, lim mla.Limits) []string {
	var out []string
	for _, r := range mla.CheckLegality(n, lim) {
		out = append(out, r.Code+": "+r.Text)
	}
	return out
}

func check(t *testing.T, code string, got []string, want string) {
	t.Helper()
	for _, s := range got {
		if strings.HasPrefix(s, code+": ") && strings.Contains(s, want) {
			return
		}
	}
	t.Errorf("%s: reasons %q, want one with %q", code, got, want)
}

// TestAllReasons: a node is told everything that is wrong with it.
func TestAllReasons(t *testing.T) {
	got := judged(t, "in %x : f32[1,39576]\nconst %w : f32[39576,4] = rand 1", "Gemm(%x, %w)", mla.Defaults())
	want := []string{"MLA-OP: Unsupported operator Gemm: it runs as a convolution",
		"MLA-RANK-IN: Input is not 4D tensor (2D, [1,39576])", "MLA-RANK-OUT: Output is not 4D tensor (2D, [1,4])"}
	testenv.Check(t, reflect.DeepEqual(got, want), "got %q\nwant %q", got, want)
	g := parse(t, x4+"%o = Relu(%x)\nout \"o\" = %o")
	n := g.Nodes[0]
	r := mla.CheckLegality(n, mla.Defaults())
	testenv.Check(t, len(r) <= 0, "float: %v", r)
	if r := mla.CheckQuantised(n, mla.Defaults()); len(r) != 2 || r[0].Code != "MLA-FLOAT" {
		t.Errorf("float at the end: %v", r)
	}
}

// TestScaleWithoutOperation: a quantisation that no operation computes with is a reason, before
// a segment is made of the node.
func TestScaleWithoutOperation(t *testing.T) {
	softmax := func(scale string) []string {
		return judged(t, "in %x : i8[1,56,1,1] q("+scale+":-128)",
			"%o : i8[1,56,1,1] q("+scale+":-128) = Softmax(%x) {axis=1}", mla.Defaults())
	}
	if got := softmax("0.00001"); len(got) != 1 || !strings.HasPrefix(got[0], "MLA-OPERATION: No operation") ||
		!strings.Contains(got[0], "a scale is too small") {
		t.Errorf("%q", got)
	}
	got := softmax("0.00390625")
	testenv.Check(t, len(got) <= 0, "refused: %q", got)
}

func TestParseLimits(t *testing.T) {
	l, err := mla.ParseLimits(map[string]any{"conv_stride": 7, "deconv_strides": []any{1, 3},
		"channel_align": uint64(16), "pool_window": 64.0})
	if err != nil || l.ConvStride != 7 || fmt.Sprint(l.DeconvStrides) != "[1 3]" || l.ChannelAlign != 16 ||
		l.PoolWindow != 64 || l.ConvDilation != 63 {
		t.Errorf("%+v, %v", l, err)
	}
	if l, err := mla.ParseLimits(nil); err != nil || !reflect.DeepEqual(l, mla.Defaults()) {
		t.Errorf("%+v, %v", l, err)
	}
	for _, bad := range []map[string]any{{"conv_strides": 1}, {"conv_stride": "2"}, {"conv_stride": 0},
		{"deconv_strides": 2}, {"deconv_strides": []any{}},
		{"deconv_strides": []any{0}}, {"channel_align": 1.5}, {"softmax_len": 5000}} {
		testenv.Check(t, testenv.Err(mla.ParseLimits(bad)) != nil, "%v is accepted", bad)
	}
	testenv.Check(t, len(mla.New(mla.Defaults()).Params()) == 12,
		"%d parameters documented", len(mla.New(mla.Defaults()).Params()))
}
