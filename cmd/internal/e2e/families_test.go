// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// listed is the parts that f gives for 0 to n-1, one behind the other.
func listed(n int, between string, f func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f(i)
	}
	return strings.Join(parts, between)
}

// weights are k numbers.
func weights(k int) string {
	return listed(k, ", ", func(i int) string { return fmt.Sprint(float64(i*37%19-9) / 40) })
}

// steps is a graph of one value of the given shape to which step is applied n
// times; consts is a list of initializers.
func steps(shape, consts, step string) func(n int) string {
	return func(n int) string {
		if consts != "" {
			consts = "<" + strings.Trim(consts, "<>") + ">"
		}
		return fmt.Sprintf(`(float[%s] x) => (float y) %s { `, shape, consts) + chain("x", "y", n, step) + `}`
	}
}

const image = "1, 4, 2, 2"

// families are models of about n nodes: chains of all kinds of operators, fans,
// skips, ladders, combs, many of everything.
var families = []struct {
	name  string
	build func(n int) string
}{
	{"convolutions", steps(image, "float[4, 4, 3, 3] w = {"+weights(144)+"}",
		`%[2]s = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (%[1]s, w)`)},
	{"pointwise", steps(image, "float[4, 4, 1, 1] w = {"+weights(16)+"}",
		`%[2]s = Conv <kernel_shape = [1, 1]> (%[1]s, w)`)},
	{"depthwise", steps(image, "float[4, 1, 3, 3] w = {"+weights(36)+"}",
		`%[2]s = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1], group = 4> (%[1]s, w)`)},
	{"odd channels", steps("1, 3, 4, 4", "float[3, 3, 1, 1] w = {"+weights(9)+"}",
		`%[2]s_c = Conv <kernel_shape = [1, 1]> (%[1]s, w) %[2]s = Relu (%[2]s_c)`)},
	{"residual", steps(image, "float[4, 4, 1, 1] w = {"+weights(16)+"}",
		`%[2]s_c = Conv (%[1]s, w) %[2]s_r = Add (%[2]s_c, %[1]s) %[2]s = Tanh (%[2]s_r)`)},
	{"matrices", steps("2, 4", "float[4, 4] w = {"+weights(16)+"}", `%[2]s = MatMul (%[1]s, w)`)},
	{"recurrent", steps("3, 1, 2", "float[1, 8, 2] w = {"+weights(16)+"}, int64[1] one = {1}",
		`%[2]s_l = LSTM <hidden_size = 2> (%[1]s, w, w) %[2]s = Squeeze (%[2]s_l, one)`)},
	{"normalisations", steps("2, 4", "float[4] s = {1, 1, 1, 1}", `%[2]s = LayerNormalization (%[1]s, s, s)`)},
	{"products", steps(image, "", `%[2]s = Mul (%[1]s, x)`)},
	{"scales", steps(image, "float[1, 4, 1, 1] k = {1, 0.9, 1.1, 0.8}", `%[2]s = Mul (%[1]s, k)`)},
	{"swishes", steps(image, "", `%[2]s_s = Sigmoid (%[1]s) %[2]s = Mul (%[1]s, %[2]s_s)`)},
	{"pools", steps(image, "", `%[2]s = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (%[1]s)`)},
	{"means",
		steps(image, "", `%[2]s_m = ReduceMean <keepdims = 1, axes = [2, 3]> (%[1]s) %[2]s = Sub (%[1]s, %[2]s_m)`)},
	{"masks", steps(image, "float z = {0}", `%[2]s_g = Greater (%[1]s, z) %[2]s = Where (%[2]s_g, %[1]s, x)`)},
	{"pads", steps("1, 8", "int64[4] p = {0, 0, 0, 1}, int64[1] one = {1}, int64[1] end = {99}",
		`%[2]s_p = Pad (%[1]s, p) %[2]s = Slice (%[2]s_p, one, end, one)`)},
	{"shapes", steps(image, "", `%[2]s_s = Shape (%[1]s) %[2]s_r = Reshape (%[1]s, %[2]s_s) %[2]s = Tanh (%[2]s_r)`)},
	{"quantised", steps(image, "float s = {0.02}, int8 z = {0}",
		`%[2]s_q = QuantizeLinear (%[1]s, s, z) %[2]s_d = DequantizeLinear (%[2]s_q, s, z) %[2]s = Tanh (%[2]s_d)`)},
	{"branches",
		steps(image, "float z = {0}",
			`%[2]s_m = ReduceMax <keepdims = 0> (%[1]s) %[2]s_c = Greater (%[2]s_m, z)
				%[2]s = If (%[2]s_c) <then_branch = t () => (p) { p = Relu (%[1]s) }, else_branch = e () => (q) {
				q = Neg (%[1]s) }>`)},
	{"short skips", skips(3)},
	{"ladder", func(n int) string {
		return `(float[1, 4] x) => (float y) { a0 = Relu (x) b0 = Tanh (x) ` + listed(n/2, " ", func(i int) string {
			return fmt.Sprintf("a%[2]d = Add (a%[1]d, b%[1]d) b%[2]d = Max (a%[1]d, b%[1]d)", i, i+1)
		}) + fmt.Sprintf(" y = Add (a%[1]d, b%[1]d) }", n/2)
	}},
	{"sum", func(n int) string {
		return `(float[1, 4] x) => (float y) { y = Sum (` + listed(n, ", ", func(int) string { return "x" }) + `) }`
	}},
	{"fan", func(n int) string {
		return `(float[1, 4] x) => (float y) { ` +
			listed(n, " ",
				func(i int) string { return fmt.Sprintf("t%d = %s (x)", i, []string{"Relu", "Tanh"}[i%2]) }) +
			` y = Sum (` + listed(n, ", ", func(i int) string { return fmt.Sprint("t", i) }) + `) }`
	}},
	{"comb", func(n int) string {
		return `(float[1, 4] x) => (float y) { ` +
			chain("x", "t", n/2, `%[2]s = Relu (%[1]s) %[2]s_o = Sigmoid (%[2]s)`) +
			` y = Concat <axis = 1> (` +
			listed(n/2-1, ", ", func(i int) string { return fmt.Sprintf("t_%d_o", i) }) + `) }`
	}},
	{"slices", func(n int) string {
		return fmt.Sprintf(`(float[1, %d] x) => (%s) <int64[1] a = {1}, %s> { %s }`, n+2,
			listed(n, ", ", func(i int) string { return fmt.Sprint("float s", i) }),
			listed(n+2, ", ", func(i int) string { return fmt.Sprintf("int64[1] k%[1]d = {%[1]d}", i) }),
			listed(n, " ", func(i int) string { return fmt.Sprintf("s%d = Slice (x, k%d, k%d, a)", i, i, i+2) }))
	}},
	{"split", func(n int) string {
		list := func(f string) string { return listed(n/2, ", ", func(i int) string { return fmt.Sprintf(f, i) }) }
		return fmt.Sprintf(`(float[1, %d] x) => (float y) { %s = Split <axis = 1> (x) %s y = Concat <axis = 1> (%s) }`,
			n/2, list("s%d"), listed(n/2, " ", func(i int) string {
				return fmt.Sprintf("r%d = %s (s%d)", i, []string{"Relu", "Tanh"}[i%2], i)
			}), list("r%d"))
	}},
	{"inputs", func(n int) string {
		return `(` + listed(n, ", ", func(i int) string { return fmt.Sprintf("float[1, 4] x%d", i) }) +
			`) => (float y) { ` +
			listed(n-1, " ", func(i int) string {
				return fmt.Sprintf("x%d_ = Add (x%d, %s)", i, i, []string{"x0", fmt.Sprintf("x%d_", i-1)}[min(i, 1)])
			}) + fmt.Sprintf(` y = Relu (x%d_) }`, n-2)
	}},
	{"unread inputs", func(n int) string {
		return `(float[1, 4] x, ` + listed(n, ", ", func(i int) string { return fmt.Sprintf("float[1, 4] x%d", i) }) +
			`) => (float y) { y = Relu (x) }`
	}},
	{"constants", func(n int) string {
		return `(float[1, 4] x) => (float y) { ` +
			chain("x", "y", n/2, `%[2]s_c = Constant <value = float[1] {0.25}> () %[2]s = Add (%[1]s, %[2]s_c)`) + `}`
	}},
	{"equal beginnings", outputsNamed(func(i int) string { return strings.Repeat("p", 60) + fmt.Sprint(i) })},
	{"loops", func(n int) string {
		return `(float[1, 4] x) => (float y) <int64 k = {2}, bool c = {1}> { ` +
			chain("x", "y", n/4,
				`%[2]s = Loop (k, c, %[1]s) <body = b (int64 i, bool d, float[1, 4] %[2]s_a) =>
				 (bool %[2]s_e, float[1, 4] %[2]s_b)
					{ %[2]s_e = Identity (d) %[2]s_b = Tanh (%[2]s_a) }>`) + `}`
	}},
}

// skips are values that are added to the one a few nodes before.
func skips(k int) func(n int) string {
	return func(n int) string {
		return `(float[1, 4] x) => (float y) { ` + listed(n, " ", func(i int) string {
			from, old := "x", "x"
			if i > 0 {
				from = fmt.Sprint("v", i-1)
			}
			if i >= k {
				old = fmt.Sprint("v", i-k)
			}
			return fmt.Sprintf("v%d = Add (%s, %s)", i, from, old)
		}) + fmt.Sprintf(" y = Relu (v%d) }", n-1)
	}
}

// outputsNamed are n outputs with these names.
func outputsNamed(name func(i int) string) func(n int) string {
	return func(n int) string {
		return `(float[1, 4] x) => (` + listed(n, ", ", func(i int) string { return "float " + name(i) }) + `) { ` +
			listed(n, " ", func(i int) string {
				return name(i) + []string{" = Relu (x)", " = Tanh (x)", " = Sigmoid (x)"}[i%3]
			}) + ` }`
	}
}

// TestWorkOfNothing: what the limit of nodes does not see has a budget: empty
// iterations within each other, copies of functions that hold nothing, and
// evaluations whose work is not their size.
func TestWorkOfNothing(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty loops", `(float[2] x) => (float y) <int64 k = {4096}, bool c = {1}> {
			y = Loop (k, c, x) <body = b (int64 i, bool d, float[2] a) => (bool d, float[2] e) {
				e = Loop (k, c, a) <body = b2 (int64 i2, bool d2, float[2] a2) => (bool d2, float[2] a2) { }> }> }`,
			"a copy of its subgraph"},
		{"determinant",
			`(float[1] x) => (float y) <int64[2] s = {2000, 2000}> { m = ConstantOfShape <value = float[1] {2}> (s) d = Det (m)
				y = Add (x, d) }`, "Det"},
		{"products",
			`(float[1] x) => (float y) <int64[2] s = {120, 120}> { m = ConstantOfShape <value = float[1] {2}> (s)
				d = Einsum <equation = "ij,jk,kl->"> (m, m, m) y = Add (x, d) }`, "Einsum"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := writeText(t, t.TempDir(), 17, c.text)
			m, err := onnx.Load(path, onnx.Limits{})
			require(t, err)
			if _, err = onnx.OpenModel(m, onnx.ImportOptions{}); err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "--limit fold-work=N") {
				t.Errorf("error %.300v, want one about %s with the flag", err, c.want)
			}
		})
	}
}

// TestSameBytes: one model gives the same files on any number of processors,
// from any folder.
func TestSameBytes(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	abs := testenv.Must(filepath.Abs(digits))(t)
	other := t.TempDir()
	b := testenv.Must(os.ReadFile(filepath.Join(digits, "digits.onnx")))(t)
	require(t, os.WriteFile(filepath.Join(other, "digits.onnx"), b, 0o666))
	gen := func(dir string, procs int) map[string][]byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		c := config(filepath.Join(dir, "digits.onnx"), "cortex-m55")
		c.Calib = []string{filepath.Join(abs, "digits_calib.npz")}
		o := mustCompile(t, c)
		m := map[string][]byte{"report.json": o.Report.JSON(), "report.html": o.Report.HTML()}
		for _, f := range o.Files {
			m[f.Path] = f.Data
		}
		return m
	}
	want := gen(digits, runtime.NumCPU())
	for _, procs := range []int{1, 3} {
		got := gen(other, procs)
		testenv.Require(t, len(got) == len(want), "%d files, were %d", len(got), len(want))
		for p, b := range want {
			testenv.Check(t, bytes.Equal(b, got[p]), "%s differs with %d processors", p, procs)
		}
	}
}

// big are models of about n nodes that have grown passes quadratic: text of
// the graph and constants.
var big = []struct {
	name  string
	build func(n int) string
}{
	{"chain", func(n int) string {
		return `(float[1, 16] x) => (float y) { ` + chain("x", "y", n, `%[2]s = Sigmoid (%[1]s)`) + `}`
	}},
	{"diamonds", func(n int) string {
		return `(float[1, 16] x) => (float y) { ` +
			chain("x", "y", n/3, `%[2]s_a = Relu (%[1]s) %[2]s_b = Neg (%[1]s) %[2]s = Add (%[2]s_a, %[2]s_b)`) + `}`
	}},
	{"views", func(n int) string {
		return `(float[1, 16] x) => (float y) <int64[3] a = {1, 4, 4}, int64[2] b = {1, 16}> { ` +
			chain("x", "z", n/4,
				`%[2]s_a = Reshape (%[1]s, a) %[2]s_b = Transpose <perm = [0, 2, 1]> (%[2]s_a) %[2]s_c = Identity (%[2]s_b)
					%[2]s = Reshape (%[2]s_c, b)`) + ` y = Relu (z) }`
	}},
	{"concatenation", func(n int) string {
		var nodes, list strings.Builder
		for i := range n {
			fmt.Fprintf(&nodes, "t%d = %s (x) ", i, []string{"Relu", "Neg", "Sigmoid"}[i%3])
			fmt.Fprintf(&list, ", t%d", i)
		}
		return `(float[1, 4] x) => (float y) { ` + nodes.String() + ` y = Concat <axis = 1> (` +
			list.String()[2:] + `) }`
	}},
	{"readers", func(n int) string {
		return `(float[1, 4] x) => (float y) <float[1, 4] k = {1, 2, 3, 4}> { s = Sigmoid (x) ` +
			chain("s", "y", n/2, `%[2]s_m = Mul (s, k) %[2]s = Sub (%[1]s, %[2]s_m)`) + `}`
	}},
	{"outputs", func(n int) string {
		var nodes, list strings.Builder
		for i := range n {
			fmt.Fprintf(&nodes, "y%d = %s (x) ", i, []string{"Relu", "Neg", "Sigmoid"}[i%3])
			fmt.Fprintf(&list, ", float y%d", i)
		}
		return `(float[1, 4] x) => (` + list.String()[2:] + `) { ` + nodes.String() + ` }`
	}},
	{"long skips", func(n int) string {
		var down, up strings.Builder
		for i := range n / 2 {
			fmt.Fprintf(&down, "a%d = Tanh (a%d) ", i+1, i)
			fmt.Fprintf(&up, "b%d = Add (b%d, a%d) ", n/2-i-1, n/2-i, n/2-i)
		}
		return fmt.Sprintf(`(float[1, 4] x) => (float y) { a0 = Neg (x) %s b%d = Relu (a%d) %s y = Relu (b0) }`, &down,
			n/2, n/2, &up)
	}},
}

// scaled are the configurations that the models are compiled for.
var scaled = []struct {
	name, board string
	change      func(*driver.Config)
}{
	{"m55", "cortex-m55", func(*driver.Config) {}},
	{"m4", "cortex-m4", func(*driver.Config) {}},
	{"mla", "mla-m55", func(*driver.Config) {}},
	{"host", "host", func(*driver.Config) {}},
	{"int16x8", "cortex-m55", func(c *driver.Config) { c.Precision = option.Int16x8 }},
	{"float32", "cortex-m55", func(c *driver.Config) { c.Precision = option.Float32 }},
}

// TestScaling: what a compilation allocates, which is what it visits and
// copies, grows about as the model does. Four times the nodes take about four
// times the memory; what goes through the graph for each node takes sixteen.
// NNCC_LONG compiles 1,000 and 8,000 nodes of each for several boards and
// precisions instead, and compares the processor's time.
func TestScaling(t *testing.T) {
	if testenv.Long() {
		grow(t)
		return
	}
	const most = 5.5
	for i, c := range append(slices.Clone(big), families...) {
		t.Run(c.name, func(t *testing.T) {
			n := 120
			if i >= len(big) { // many kinds, a smaller sample of each
				n = 40
			}
			cost := func(n int) float64 {
				cfg := config(writeText(t, t.TempDir(), 17, c.build(n)), "cortex-m55")
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				_, err := cfg.Compile()
				testenv.Require(t, err == nil, "%.300v", err)
				runtime.ReadMemStats(&after)
				return float64(after.TotalAlloc - before.TotalAlloc)
			}
			cost(n) // tables that are made once
			small, large := cost(n), cost(4*n)
			t.Logf("%.1f and %.1f MB", small/1e6, large/1e6)
			if large > most*small {
				t.Errorf("%d nodes take %.1f MB, %d nodes %.1f MB: %.1f times as much", n, small/1e6, 4*n, large/1e6,
					large/small)
			}
		})
	}
}

// grow is the long form: eight times the nodes may take 14 times the time.
func grow(t *testing.T) {
	const n, most = 1000, 14.0
	user := func() float64 {
		var r syscall.Rusage
		require(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
		return float64(r.Utime.Sec) + float64(r.Utime.Usec)/1e6
	}
	for _, s := range scaled {
		for _, c := range append(slices.Clone(big), families...) {
			t.Run(s.name+"/"+c.name, func(t *testing.T) {
				cost := func(n int) float64 {
					cfg := config(writeText(t, t.TempDir(), 17, c.build(n)), s.board)
					s.change(cfg)
					runtime.GC()
					before := user()
					_, err := cfg.Compile()
					testenv.Require(t, err == nil, "does not compile: %.200v", err)
					return user() - before
				}
				small, large := max(0.2, cost(n)), cost(8*n)
				t.Logf("%.2f s and %.2f s: %.1f times", small, large, large/small)
				if large > most*small {
					t.Errorf("%d nodes take %.1f s, %d nodes %.1f s: %.1f times as long", n, small, 8*n, large,
						large/small)
				}
			})
		}
	}
}

// TestTooManyNodes: beyond the limit a model is refused at once, and the
// message says how to go on.
func TestTooManyNodes(t *testing.T) {
	cfg := config(writeText(t, t.TempDir(), 17, big[0].build(20_001)), "cortex-m55")
	testenv.Refused(t, testenv.Err(cfg.Compile()), "too many nodes", "--limit nodes=N")
}
