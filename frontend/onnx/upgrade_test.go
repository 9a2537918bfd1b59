// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

// textModel is a model of an opset from the text of its graph and functions.
func textModel(t testing.TB, opset int, text string) *Model {
	t.Helper()
	m,
		err := Parse(fmt.Appendf(nil,
		`<ir_version: 8, opset_import: ["" : %d, "com.microsoft" : 1, "ai.onnx.ml" : 3, "local" : 1, "com.sigmastar" : 1,
			"darknet" : 1, "qonnx.custom_op.channels_last" : 1]> g %s`, opset, text), Limits{})
	testenv.Require(t, err == nil, "%v in\n%s", err, text)
	return m
}

// open checks and imports a model, which must be right.
func open(t testing.TB, m *Model, opt ImportOptions) *ir.Graph {
	t.Helper()
	g := testenv.Must(OpenModel(m, opt))(t)
	irtest.Verify(t, g)
	return g
}

// newest is the opset in which the expected forms are written.
const newest = 23

// TestUpgrades: nodes of old opsets mean what the newest form says. testdata/upgrades.txt has them: a name, the opset
// and what goes in and out, the old nodes, an arrow, the new ones.
func TestUpgrades(t *testing.T) {
	data := testenv.Must(os.ReadFile(filepath.Join("testdata", "upgrades.txt")))(t)
	for text := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n\n") {
		name, rest, _ := strings.Cut(text, "\n")
		head, nodes, _ := strings.Cut(rest, "\n")
		number, sig, _ := strings.Cut(head, " ")
		opset := testenv.Must(strconv.Atoi(number))(t)
		old, want, _ := strings.Cut(nodes, "\n->\n")
		t.Run(strings.TrimPrefix(name, "# "), func(t *testing.T) {
			a := open(t, textModel(t, opset, sig+" {"+old+"}"), ImportOptions{})
			b := open(t, textModel(t, newest, sig+" {"+want+"}"), ImportOptions{})
			in := irtest.Inputs(a, 5)
			got, want := irtest.Run(t, a, in), irtest.Run(t, b, in)
			for i := range want {
				if got[i].DType != want[i].DType || !slices.Equal(got[i].Shape, want[i].Shape) {
					t.Errorf("output %d is %s, want %s", i, got[i], want[i])
				} else if d := worst(got[i], want[i]); d > 1e-6 {
					t.Errorf("output %d differs by %.3g: %v, want %v", i, d, got[i].Floats(), want[i].Floats())
				}
			}
		})
	}
}

// Control flow that is known at compile time disappears; a condition that is not
// selects between the results.
func TestControlFlow(t *testing.T) {
	const x = "(float[2] x) => (float y) "
	for _, c := range []struct {
		name, text string
		want       func(x []float64) []float64
		nodes      int // of the graph
	}{
		{"If, then",
			x +
				`{ c = Constant <value = bool {1}> () y = If (c) <then_branch = a () => (p) { p = Add (x, x) },
					else_branch = b () => (p) { p = Neg (x) }> }`,
			func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1]} }, 1},
		{"If, else, captured twice",
			x +
				`{ c = Constant <value = bool[1] {0}> () d = Neg (x) y = If (c) <then_branch = a () => (p) { p = Add (x, x) },
			else_branch = b () => (p) { k = Constant <value = bool {1}> ()
			p = If (k) <then_branch = e () => (q) { q = Mul (d, x) },
				else_branch = f () => (q) { q = Identity (x) }> }> }`,
			func(x []float64) []float64 { return []float64{-x[0] * x[0], -x[1] * x[1]} }, 2},
		{"If, an outer value as result",
			x +
				`{ c = Constant <value = bool {1}> () d = Neg (x)
					y = If (c) <then_branch = a () => (d) { }, else_branch = b () => (x) { }> }`,
			func(x []float64) []float64 { return []float64{-x[0], -x[1]} }, 1},
		{"If at run time",
			x + `{ z = Constant <value_float = 0.0> () s = ReduceSum <keepdims = 0> (x) c = Greater (s, z)
			y = If (c) <then_branch = a () => (p) { p = Add (x, x) }, else_branch = b () => (p) { p = Neg (x) }> }`,
			func(x []float64) []float64 {
				if x[0]+x[1] > 0 {
					return []float64{2 * x[0], 2 * x[1]}
				}
				return []float64{-x[0], -x[1]}
			}, 5},
		{"Loop by count",
			x +
				`{ n = Constant <value_int = 3> () y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { f = Cast
					<to = 1> (i) w = Add (v, f) }> }`,
			func(x []float64) []float64 { return []float64{x[0] + 3, x[1] + 3} }, 3},
		{"Loop by condition",
			x +
				`{ y = Loop ("", "", x) <body = b (int64 i, bool c, float v) => (d, w) { k = Constant <value_int = 1> ()
					d = Less (i, k) w = Add (v, v) }> }`,
			func(x []float64) []float64 { return []float64{4 * x[0], 4 * x[1]} }, 2},
		{"Loop until a condition at run time",
			x +
				`{ n = Constant <value_int = 4> () l = Constant <value_float = 10.0> ()
					y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (d, w) { w = Add (v, v)
					s = ReduceSum <keepdims = 0> (w) d = Less (s, l) }> }`,
			func(x []float64) []float64 {
				f := 1.0
				for k := 0; k < 4 && (k == 0 || f*(x[0]+x[1]) < 10); k++ {
					f *= 2
				}
				return []float64{f * x[0], f * x[1]}
			}, 15},
		{"Loop that may not run",
			x +
				`{ n = Constant <value_int = 2> () z = Constant <value_float = 0.0> () s = ReduceSum <keepdims = 0> (x)
					c = Greater (s, z) y = Loop (n, c, x) <body = b (int64 i, bool c, float v) => (c, w) { w = Add (v,
						v) }> }`,
			func(x []float64) []float64 {
				if x[0]+x[1] > 0 {
					return []float64{4 * x[0], 4 * x[1]}
				}
				return x
			}, 6},
		{"Loop with results of every trip",
			`(float[2] x) => (float y) { n = Constant <value_int = 2> ()
				l, s = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w, u) { w = Add (v,
					x) u = Identity (w) }> 
			f = Constant <value_ints = [4]> () y = Reshape (s, f) }`,
			func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1], 3 * x[0], 3 * x[1]} }, 8},
		{"Loop that never runs",
			x +
				`{ n = Constant <value_int = 0> () y = Loop (n, "", x) <
					body = b (int64 i, bool c, float v) => (c, w) { w = Add (v, v) }> }`,
			func(x []float64) []float64 { return x }, 0},
		{"Scan",
			x +
				`{ z = Constant <value = float {1}> () l, y = Scan (z, x) <num_scan_inputs = 1,
					body = b (float s, float e) => (t,
					u) { t = Mul (s, e) u = Identity (t) }> }`,
			func(x []float64) []float64 { return []float64{x[0], x[0] * x[1]} }, 9},
		{"Scan, backwards",
			x +
				`{ z = Constant <value = float {0}> () l, y = Scan (z, x) <num_scan_inputs = 1,
					scan_input_directions = [1], scan_output_directions = [1], body = b (float s, float e) => (t, u) { t = Add (s,
						e) u = Identity (t) }> }`,
			func(x []float64) []float64 { return []float64{x[0] + x[1], x[1]} }, 9},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := open(t, textModel(t, 13, c.text), ImportOptions{})
			for _, v := range [][]float64{{1.5, 2}, {-3, 1}} {
				out := irtest.Run(t, g, []*tensor.Dense{tensor.FromFloats(tensor.F32, []int{2}, v)})
				testenv.Same(t, out[0].Floats(), c.want(v), "of %v", v)
			}
			testenv.Check(t, len(g.Nodes) == c.nodes, "%d nodes, want %d:\n%s", len(g.Nodes), c.nodes, g)
		})
	}
}

// Functions are expanded: attributes, defaults, absent inputs, nesting, their
// own opsets, subgraphs; names say where a node came from.
func TestFunctions(t *testing.T) {
	m := textModel(t, 13, `(float[2] x) => (float y, float z) {
	  [call] y = local.Scaled <by = 3.0> (x)
	  z = local.Scaled <by = 2.0> (y, x)
	}
	<domain: "local", opset_import: ["" : 9, "local" : 1]>
	Scaled <by, most: float = 100.0> (a, b) => (c) {
	  f = Constant <value = float {1}> ()
	  s = local.Sum <flag = 0> (a, b)
	  k = local.Value <v: float = @by> ()
	  t = Mul (s, k)
	  c = Clip <min = -100.0, max: float = @most> (t)
	}
	<domain: "local", opset_import: ["" : 13]>
	Value <v> () => (k) { k = Constant <value_float: float = @v> () }
	<domain: "local", opset_import: ["" : 13, "local" : 1]>
	Sum <flag> (a, b) => (c) {
	  i = Constant <value_int: int = @flag> ()
	  j = Cast <to = 9> (i)
	  c = If (j) <then_branch = p () => (d) { d = Neg (a) }, else_branch = q () => (d) { d = Sum (a) }>
	}`)
	g := open(t, m, ImportOptions{})
	out := irtest.Run(t, g, []*tensor.Dense{tensor.FromFloats(tensor.F32, []int{2}, []float64{1, 50})})
	testenv.Same(t, out[0].Floats(), []float64{3, 100}, "y")
	testenv.Same(t, out[1].Floats(), []float64{6, 100}, "z")
	if g.Nodes[1].Origin[0] != "call/Mul_3" || g.Out[0].Name != "y" {
		t.Errorf("names %q, %s", g.Nodes[1].Origin, g.Out[0])
	}
}

// The shipped library: both orders of Reorg, and the way back.
func TestReorg(t *testing.T) {
	sig := "(float[2,4,4,6] x) => (float y, float z, float d)"
	g := open(t, textModel(t, 13, sig+` {
	  y = com.sigmastar.Reorg <stride = 2> (x)
	  z = com.sigmastar.Reorg <stride = 2, reverse = 1> (y)
	  d = darknet.Reorg <stride = 2> (x)
	}`), ImportOptions{})
	w := open(t, textModel(t, 13, sig+` {
	  y = SpaceToDepth <blocksize = 2> (x)
	  z = Identity (x)
	  a = Constant <value_ints = [2, 1, 4, 2, 6, 2]> ()
	  b = Reshape (x, a)
	  c = Transpose <perm = [0, 3, 5, 1, 2, 4]> (b)
	  e = Constant <value_ints = [2, 16, 2, 3]> ()
	  d = Reshape (c, e)
	}`), ImportOptions{})
	testenv.Check(t, irtest.Count(g, "If") <= 0 && irtest.Count(g, "Shape") <= 0, "not folded:\n%s", g)
	in := irtest.Inputs(g, 1)
	got, want := irtest.Run(t, g, in), irtest.Run(t, w, in)
	for i := range want {
		testenv.Check(t, tensor.Equal(got[i], want[i]), "%s differs", g.OutNames[i])
	}
}

// TestEarlyAttributes: an attribute that ONNX Runtime passes over does so here.
func TestEarlyAttributes(t *testing.T) {
	g := open(t, textModel(t, 12, `(float[2,3] x) => (float y) { s = Constant <value_floats = [1.0, 2.0, 3.0]> ()
		y = LayerNormalization <axis = -1, flux = 1.0> (x, s) }`), ImportOptions{})
	testenv.Equal(t, irtest.Count(g, "LayerNormalization"), 1, "nodes LayerNormalization")
}
