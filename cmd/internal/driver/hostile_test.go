// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/bug"
)

// hostile are models that must be refused, in ONNX's text syntax: the graph
// (header and body), what the message has to name, and the opset where it is
// not 17. Their tensors, shapes and attributes lie in the ways that crash or
// exhaust importers.
var hostile = []struct {
	name, text, want string
	opset            int
}{
	// Sizes.
	{"negative dimension", `(float[-2, 4] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	{"product of 2^64", `(float[4294967296, 4294967296] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	{"product wraps to a small number", `(float[2097152, 2097152, 4194305] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	{"zero times too much", `(float[0, 4611686018427387904] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	{"input beyond any RAM", `(float[1, 3, 65536, 65536] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	{"value beyond any RAM",
		`(float[1, 1, 8, 8] x) => (float y) { s = Constant <value_floats = [1.0, 1.0, 4096.0, 4096.0]> ()
			big = Resize (x, "", s) y = GlobalAveragePool (big) }`, `Resize "Resize_1"`, 0},
	{"tile wraps",
		`(float[1, 4] x) => (float y) { s = Constant <value_ints = [4611686018427387904, 4]> () y = Tile (x, s) }`,
		`Tile "Tile_1"`, 0},
	{"negative tile", `(float[1, 4] x) => (float y) { s = Constant <value_ints = [-1, 4]> () y = Tile (x, s) }`,
		`Tile "Tile_1"`, 0},
	{"reshape to too much",
		`(float[1, 4] x) => (float y) { s = Constant <value_ints = [4611686018427387904, -1]> () y = Reshape (x, s) }`,
		`Reshape "Reshape_1"`, 0},
	{"reshape with two unknowns",
		`(float[1, 4] x) => (float y) { s = Constant <value_ints = [-1, -1]> () y = Reshape (x, s) }`,
		`Reshape "Reshape_1"`, 0},
	{"pad to too much",
		`(float[1, 4] x) => (float y) { p = Constant <value_ints = [0, 4611686018427387904, 0, 4611686018427387904]> ()
			y = Pad (x, p) }`, `Pad "Pad_1"`, 0},
	{"pads that cut away more than there is",
		`(float[1, 4] x) => (float y) { p = Constant <value_ints = [0, -3, 0, -3]> () y = Pad (x, p) }`, `Pad "Pad_1"`,
		0},
	{"every concatenation doubles", `(float[1, 4] x) => (float y) { ` +
		chain("x", "y", 60, `%[2]s = Concat <axis = 0> (%[1]s, %[1]s)`) + ` }`, `Concat "`, 0},
	{"work beyond patience",
		`(float[1, 64, 128, 128] x, float[64, 64, 65, 65] w) => (float y) { y = Conv <pads = [32, 32, 32, 32]> (x, w) }`,
		`Conv "Conv_0"`, 0},
	{"window beyond patience",
		`(float[1, 8, 512, 512] x) => (float y) { y = MaxPool <kernel_shape = [1001, 1001], pads = [500, 500, 500,
			500]> (x) }`, `MaxPool "MaxPool_0"`, 0},
	// Constants computed at compile time.
	{"constant of a shape",
		`(float[4] x) => (float y) { s = Constant <value_ints = [65536, 65536]> () k = ConstantOfShape (s)
			r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1"`, 0},
	{"constant just within one tensor",
		`(float[4] x) => (float y) { s = Constant <value_ints = [268435456]> () k = ConstantOfShape (s)
			r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`, `ConstantOfShape "ConstantOfShape_1"`, 0},
	{"expanded constant",
		`(float[4] x) => (float y) { s = Constant <value_ints = [2147483648]> () o = Constant <value_floats = [1.0]> ()
			k = Expand (o, s) r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`, `Expand "Expand_2"`, 0},
	{"long range",
		`(float[4] x) => (float y) { a = Constant <value_int = 0> () b = Constant <value_int = 4611686018427387904> ()
			c = Constant <value_int = 1> () k = Range (a, b, c) r = ReduceSum <keepdims = 0> (k) f = Cast <to = 1> (r)
			y = Add (x, f) }`, `Range "Range_3"`, 0},
	{"range in steps of nothing",
		`(float[4] x) => (float y) { a = Constant <value_float = 0.0> () b = Constant <value_float = 1.0> ()
			k = Range (a, b, a) r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`, `Range "Range_2"`, 0},
	{"constant doubled 60 times", `(float[4] x) => (float y) { k = Constant <value_floats = [1.0]> () ` +
		chain("k", "d", 60, `%[2]s = Concat <axis = 0> (%[1]s, %[1]s)`) +
		` r = ReduceSum <keepdims = 0> (d) y = Add (x, r) }`, `Concat "`, 0},
	{"product of large constants",
		`(float[4] x) => (float y) { s = Constant <value_ints = [3000, 3000]> () k = ConstantOfShape (s) m = MatMul (k, k)
			r = ReduceSum <keepdims = 0> (m) y = Add (x, r) }`, `MatMul "MatMul_2"`, 0},
	{"window function without end",
		`(float[4] x) => (float y) { n = Constant <value_int = 1099511627776> () k = HannWindow (n)
			r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`, `HannWindow "HannWindow_1"`, 0},
	{"random numbers without end",
		`(float[4] x) => (float y) { k = RandomNormal <shape = [1048576, 1048576]> () r = ReduceSum <keepdims = 0> (k)
			y = Add (x, r) }`, `RandomNormal "RandomNormal_0"`, 0},
	{"sum over all products",
		`(float[8, 8] x) => (float y) { y = Einsum <equation = "ab,cd,ef,gh,ij,kl,mn,op->abcdefghijklmnop"> (x, x, x, x, x, x,
			x, x) }`, `Einsum "Einsum_0"`, 0},
	{"a hot element of 2^40",
		`(int64[4] i) => (float y) { d = Constant <value_int = 1099511627776> () v = Constant <value_floats = [0.0, 1.0]> ()
			y = OneHot (i, d, v) }`, `OneHot "OneHot_2"`, 0},
	{"transform of 2^40 values",
		`(float[1, 16, 1] x) => (float y) { n = Constant <value_int = 1099511627776> () y = DFT <axis = 1> (x, n) }`,
		`DFT "DFT_1"`, 0},
	{"range in steps of almost nothing",
		`(float[4] x) => (float y) { a = Constant <value_float = 0.0> () b = Constant <value_float = 1.0> ()
			c = Constant <value_float = 1e-38> () k = Range (a, b, c) r = ReduceSum <keepdims = 0> (k) y = Add (x, r) }`,
		`Range "Range_3"`, 0},
	{"draws without end", `(float[1, 4] x) => (int32 y) { y = Multinomial <sample_size = 2147483647> (x) }`,
		`Multinomial "Multinomial_0"`, 0},
	{"coordinates without end",
		`(float[1, 4, 8, 8] x) => (float y) { r = Constant <value = float[1, 4] {0, 0, 1, 1}> ()
			b = Constant <value_ints = [0]> () y = RoiAlign <output_height = 2147483648, output_width = 2147483648> (x, r, b) }`,
		`RoiAlign "RoiAlign_2"`, 0},
	// Control flow and functions.
	{"loop of 2^31 trips",
		`(float[2] x) => (float y) { n = Constant <value_int = 2147483648> ()
			y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { w = Relu (v) }> }`, `Loop "Loop_1"`, 0},
	{"loop without an end",
		`(float[2] x) => (float y) { t = Constant <value = bool {1}> ()
			y = Loop ("", t, x) <body = b (int64 i, bool c, float v) => (c, w) { w = Relu (v) }> }`, `Loop "Loop_1"`, 0},
	{"loops in loops",
		`(float[2] x) => (float y) { n = Constant <value_int = 4000> ()
			y = Loop (n, "", x) <body = o (int64 i, bool c, float v) => (c, w) { w = Loop (n, "", v) <body = p (int64 j, bool d,
			float s) => (d, u) { u = Add (s, s) }> }> }`, `Loop_1`, 0},
	{"scan with more inputs than there are",
		`(float[3, 4] x) => (float y) { y = Scan <num_scan_inputs = 4611686018427387904, body = b (float[4] v) => (w) {
			w = Relu (v) }> (x) }`, `Scan "Scan_0"`, 0},
	{"branches of other shapes",
		`(float[1, 4] x, bool[] c) => (float y) { y = If (c) <then_branch = t () => (a) { a = Relu (x) },
			else_branch = e () => (b) { b = Transpose (x) }> }`, `If "If_0"`, 0},
	{"function that calls itself", "(float[2] x) => (float y) { y = local.F (x) }\n<domain: \"local\", " +
		"opset_import: [\"\" : 17, \"local\" : 1]> F (a) => (b) { b = local.F (a) }", `F`, 0},
	{"functions that call each other", "(float[2] x) => (float y) { y = local.F (x) }\n<domain: \"local\", " +
		"opset_import: [\"\" : 17, \"local\" : 1]> F (a) => (b) { b = local.G (a) }\n<domain: \"local\", " +
		"opset_import: [\"\" : 17, \"local\" : 1]> G (a) => (b) { b = local.F (a) }", `F`, 0},
	// Structure.
	{"cycle", `(float[2] x) => (float y) { a = Relu (b) b = Neg (a) y = Add (x, b) }`, `"b"`, 0},
	{"node that reads itself", `(float[2] x) => (float y) { y = Add (x, y) }`, `"y"`, 0},
	{"value of two nodes", `(float[2] x) => (float y) { y = Relu (x) y = Neg (x) }`, `"y"`, 0},
	{"node that writes an input", `(float[2] x) => (float x) { x = Relu (x) }`, `"x"`, 0},
	{"node that writes a constant", `(float[2] x) => (float y) <float[2] k = {1, 2}> { k = Relu (x) y = Add (x, k) }`,
		`"k"`, 0},
	{"value from nowhere", `(float[2] x) => (float y) { y = Add (x, ghost) }`, `"ghost"`, 0},
	{"two inputs of one name", `(float[2] x, float[2] x) => (float y) { y = Relu (x) }`, `"x"`, 0},
	// Attributes.
	{"attribute of another type",
		`(float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float y) { y = Conv <strides = "two"> (x, w) }`, `strides`, 0},
	{"group 0", `(float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float y) { y = Conv <group = 0> (x, w) }`, `group`, 0},
	{"dilation beyond all bounds",
		`(float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float y) { y = Conv <dilations = [4611686018427387904, 1]> (x, w) }`,
		`dilations`, 0},
	{"least integer as padding",
		`(float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float y) { y = Conv <pads = [-9223372036854775808, 0, 0, 0]> (x,
			w) }`, `pads`, 0},
	{"axis beyond the rank", `(float[1, 4] x) => (float y) { y = Softmax <axis = -9> (x) }`, `axis`, 0},
	{"block of 0", `(float[1, 4, 2, 2] x) => (float y) { y = DepthToSpace <blocksize = 0> (x) }`, `blocksize`, 0},
	{"block beyond all bounds",
		`(float[1, 4, 2, 2] x) => (float y) { y = SpaceToDepth <blocksize = 4611686018427387904> (x) }`, `blocksize`,
		0},
	{"type without a number", `(float[1, 4] x) => (float y) { y = Cast <to = 99> (x) }`, `99`, 0},
	{"transposed output beyond all bounds",
		`(float[1, 2, 5, 5] x, float[2, 2, 3, 3] w) => (float y) { y = ConvTranspose <strides = [100000, 100000]> (x, w) }`,
		`ConvTranspose "ConvTranspose_0"`, 0},
	{"index outside",
		`(float[1, 4] x) => (float y) { k = Constant <value_ints = [-9223372036854775808]> () y = Gather <axis = 1> (x, k) }`,
		`Gather "Gather_1"`, 0},
	{"slice in steps of nothing",
		`(float[1, 4] x) => (float y) { a = Constant <value_ints = [0]> () b = Constant <value_ints = [4]> ()
			c = Constant <value_ints = [1]> () y = Slice (x, a, b, c, a) }`, `Slice "Slice_3"`, 0},
	{"k beyond all bounds",
		`(float[1, 4] x) => (float y, int64 i) { k = Constant <value_ints = [4611686018427387904]> () y, i = TopK (x, k) }`,
		`TopK "TopK_1"`, 0},
	// Numbers.
	{"scale that is not a number",
		`(float[1, 4] x) => (float y) <float s = {nan}, int8 z = {0}> { q = QuantizeLinear (x, s, z)
			y = DequantizeLinear (q, s, z) }`, `"s"`, 0},
	{"weights that are not numbers",
		`(float[1, 2] x) => (float y) <float[2, 2] w = {nan, 1, 1, 1}> { y = MatMul (x, w) }`, `constant w`, 0},
	{"negative scale",
		`(float[1, 4] x) => (float y) <float s = {-1.0}, int8 z = {0}> { q = QuantizeLinear (x, s, z)
			y = DequantizeLinear (q, s, z) }`, `"s"`, 0},
	{"division by a constant of zeros at compile time",
		`(int32[2] x) => (int32 y) <int32[2] a = {1, 2}, int32[2] b = {1, 0}> { d = Div (a, b) y = Add (x, d) }`,
		`Div "Div_0"`, 0},
	{"negative variance",
		`(float[1, 2, 4, 4] x) => (float y) <float[2] k = {1, 1}, float[2] v = {-1, 1}> { y = BatchNormalization (x, k, k, k,
			v) }`, `BatchNormalization "BatchNormalization_0"`, 0},
}

// chain writes n nodes, each made by a format of its input and output.
func chain(from, to string, n int, format string) string {
	var b strings.Builder
	for i := range n {
		out := fmt.Sprintf("%s_%d", to, i)
		if i == n-1 {
			out = to
		}
		fmt.Fprintf(&b, format+" ", from, out)
		from = out
	}
	return b.String()
}

// TestHostile: models that lie end in an error about the fault that names node
// or tensor; they leave nothing behind and take little memory.
func TestHostile(t *testing.T) {
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			if c.opset == 0 {
				c.opset = 17
			}
			dir := t.TempDir()
			cfg := config(writeText(t, dir, c.opset, c.text), "cortex-m55")
			cfg.Out = filepath.Join(dir, "out")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := cfg.Compile()
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("it took %d MiB", n>>20)
			}
			if err == nil {
				t.Fatal("no error")
			}
			var tool *run.ToolError
			if msg := err.Error(); errors.As(err, &tool) || bug.Is(err) ||
				!strings.Contains(strings.ReplaceAll(msg, dir, ""), c.want) || len(msg) > 4000 {
				t.Errorf("error %.2000q, want one that names %s", msg, c.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// writeText writes a model in ONNX's text syntax: the graph and functions behind it.
func writeText(t *testing.T, dir string, opset int, text string) string {
	t.Helper()
	p := filepath.Join(dir, "model.onnx")
	if err := os.WriteFile(p, fmt.Appendf(nil, `<ir_version: 8, opset_import: ["" : %d, "local" : 1]> g %s`, opset,
		text), 0o666); err != nil {
		t.Fatal(err)
	}
	return p
}
