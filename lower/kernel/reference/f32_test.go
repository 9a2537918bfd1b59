// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// one is a graph of one node with inputs %x, %y, ... of the given types.
func one(types []string, consts, node string) string {
	s := ""
	for i, t := range types {
		s += fmt.Sprintf("in %%%c : %s\n", "xyzuvw"[i], t)
	}
	return s + consts + "\n%o = " + node + "\nout \"o\" = %o"
}

func f32(shape string) []string { return []string{"f32" + shape} }

func casesUnaryF32() []kase {
	var cases []kase
	for _, d := range op.All() {
		if d == op.IsNaN || d == op.Identity || d.C != nil && d.Scalar != nil && d.Quant == ir.QFloat {
			name := strings.TrimPrefix(d.Domain+"."+d.Name, ".")
			cases = append(cases, kase{name: name, src: one(f32("[2,3,4,5]"), "", name+"(%x)"), tol: 3e-6})
		}
	}
	cases = append(cases,
		kase{name: "Clip", src: one(f32("[7]"), "const %lo : f32[] = {-0.5}\nconst %hi : f32[] = {0.25}",
			"Clip(%x, %lo, %hi)")},
		kase{name: "Clip max", src: one(f32("[7]"), "const %hi : f32[] = {0.25}", "Clip(%x, -, %hi)")},
		kase{name: "Clip run time", src: one([]string{"f32[2,3]", "f32[]", "f32[]"}, "", "Clip(%x, %y, %z)")},
		kase{name: "Gelu tanh", src: one(f32("[9]"), "", `Gelu(%x) {approximate="tanh"}`)},
		kase{name: "Elu attr", src: one(f32("[9]"), "", `Elu(%x) {alpha=0.3}`)},
		kase{name: "scalar", src: one(f32("[]"), "", `Tanh(%x)`)},
		kase{name: "Not", src: one([]string{"bool[2,3]"}, "", `Not(%x)`), kernel: "nncc_lut_s8"},
		kase{name: "chain", src: "in %x : f32[4,4]\n%a = Exp(%x)\n%b = Neg(%a)\n%c = Tanh(%b)\nout \"c\" = %c\nout " +
			"\"a\" = %a"},
	)
	return cases
}

func casesBinaryF32() []kase {
	var cases []kase
	shapes := [][2]string{
		{"[2,3,4,5]", "[2,3,4,5]"}, {"[2,3,4,5]", "[3,1,1]"}, {"[2,3,4,5]", "[5]"}, {"[2,1,4,1]", "[3,1,5]"},
		{"[2,3,4,5]", "[]"}, {"[1]", "[2,3,4,5]"}, {"[2,3,1,1]", "[2,3,4,5]"}, {"[]", "[]"},
	}
	for _, name := range []string{"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum", "Mean", "Equal", "Less",
		"LessOrEqual", "Greater", "GreaterOrEqual"} {
		for i, s := range shapes {
			if name != "Sub" && name != "Less" && i > 2 {
				continue
			}
			for _, order := range []string{"", "nhwc", "2013"} {
				cases = append(cases, kase{name: fmt.Sprint(name, s, order), order: order,
					src: one([]string{"f32" + s[0], "f32" + s[1]}, "", name+"(%x, %y)")})
			}
			cases = append(cases, kase{name: fmt.Sprint(name, s, " const"), order: "nhwc",
				src: one([]string{"f32" + s[0]}, "const %k : f32"+s[1]+" = rand 7", name+"(%x, %k)")})
		}
	}
	cases = append(cases,
		kase{name: "Add act", src: one([]string{"f32[3,4]", "f32[3,4]"}, "", "Add(%x, %y) {act_min=0.0, act_max=0.5}")},
		kase{name: "Max 3", src: one([]string{"f32[3,4]", "f32[4]", "f32[3,1]"}, "", "Max(%x, %y, %z)")},
		kase{name: "Mean 3", src: one([]string{"f32[3,4]", "f32[4]", "f32[3,1]"}, "", "Mean(%x, %y, %z)")},
		kase{name: "Max 1", src: one([]string{"f32[3,4]"}, "", "Max(%x)")},
		kase{name: "PRelu", order: "nhwc", src: one([]string{"f32[2,3,4,5]"}, "const %k : f32[3,1,1] = rand 7",
			"PRelu(%x, %k)")},
		kase{name: "Pow", src: one([]string{"f32[2,3]"}, "const %k : f32[] = {2}", "Pow(%x, %k)")},
		kase{name: "Mod", src: one([]string{"f32[2,3]", "f32[3]"}, "", "Mod(%x, %y) {fmod=1}"), tol: 1e-5},
		kase{name: "x+x", src: one([]string{"f32[2,3]"}, "", "Add(%x, %x)")},
		kase{name: "Where", order: "nhwc", src: one([]string{"bool[4,5]", "f32[2,3,4,5]", "f32[3,1,1]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where, one condition", src: one([]string{"bool[1]", "f32[3,40]", "f32[3,40]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where, conditions of rows", src: one([]string{"bool[8,1]", "i8[8,19]", "i8[]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where, conditions of rows, i16", src: one([]string{"bool[8,1]", "i16[1]", "i16[8,19]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where, bytes", src: one([]string{"bool[8,19]", "i8[8,19]", "i8[8,19]"}, "", "Where(%x, %y, %z)")},
		kase{name: "Where, bytes or one", src: one([]string{"bool[8,19]", "i8[1]", "i8[8,19]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where, one byte or others", src: one([]string{"bool[8,19]", "i8[8,19]", "i8[1]"}, "",
			"Where(%x, %y, %z)")},
		kase{name: "Where i64", src: one([]string{"bool[4]", "i64[3,4]", "i64[]"}, "", "Where(%x, %y, %z)")},
		kase{name: "Equal i64", src: one([]string{"i64[3,4]", "i64[4]"}, "", "Equal(%x, %y)")},
		kase{name: "And", src: one([]string{"bool[3,4]", "bool[4]"}, "", "And(%x, %y)")},
		kase{name: "Xor", order: "nhwc", src: one([]string{"bool[2,3,4,5]", "bool[3,1,1]"}, "", "Xor(%x, %y)")},
		kase{name: "Or", src: one([]string{"bool[3,4]", "bool[4]"}, "", "Or(%x, %y)")},
	)
	return cases
}

func casesConvF32() []kase {
	conv := func(name, x, w, attrs string, bias int, op string) kase {
		b, use := "", ""
		if bias > 0 {
			b, use = fmt.Sprintf("\nconst %%b : f32[%d] = rand 3", bias), ", %b"
		}
		return kase{name: op + " " + name, src: one(f32(x), "const %w : f32"+w+" = rand 5"+b, op+"(%x, %w"+use+") {"+
			attrs+"}"), tol: 3e-6}
	}
	return []kase{
		conv("plain", "[1,3,8,7]", "[5,3,3,3]", "", 5, "Conv"),
		conv("pads", "[2,3,8,7]", "[5,3,3,2]", "pads=[1,0,2,1], strides=[2,1], act_min=0.0", 0, "Conv"),
		conv("groups", "[1,6,8,7]", "[4,3,3,3]", "group=2, dilations=[2,1]", 4, "Conv"),
		conv("depthwise", "[1,5,8,7]", "[10,1,3,3]", "group=5, pads=[1,1,1,1], act_min=0.0, act_max=6.0", 10, "Conv"),
		conv("depthwise dilated", "[1,5,8,7]", "[5,1,3,3]", "group=5, dilations=[1,2]", 0, "Conv"),
		conv("one channel", "[1,1,8,7]", "[4,1,3,3]", `auto_pad="SAME_UPPER", strides=[2,2]`, 4, "Conv"),
		conv("1-D", "[2,3,9]", "[4,3,3]", "pads=[1,2], strides=[2]", 4, "Conv"),
		conv("1-D depthwise", "[1,3,9]", "[3,1,3]", "group=3", 0, "Conv"),
		conv("1x1", "[1,7,3,3]", "[9,7,1,1]", "", 9, "Conv"),
		conv("plain", "[1,3,4,5]", "[3,4,3,3]", "", 4, "ConvTranspose"),
		conv("stride", "[1,4,4,5]", "[4,3,3,2]", "strides=[2,3], pads=[1,0,1,1], output_padding=[1,0], act_min=0.0", 0,
			"ConvTranspose"),
		conv("groups", "[2,4,4,5]", "[4,3,3,3]", "group=2, dilations=[2,1], strides=[2,1]", 6, "ConvTranspose"),
		conv("1-D", "[1,3,5]", "[3,2,4]", "strides=[2]", 2, "ConvTranspose"),
		{name: "run-time weights", src: one([]string{"f32[1,3,6,6]", "f32[4,3,3,3]", "f32[4]"}, "", "Conv(%x, %y, %z)"),
			tol: 3e-6},
		{name: "run-time depthwise", src: one([]string{"f32[1,3,6,6]", "f32[3,1,3,3]"}, "", "Conv(%x, %y) {group=3}"),
			tol: 3e-6},
		{name: "run-time transposed", src: one([]string{"f32[1,4,6,6]", "f32[4,3,3,3]"}, "",
			"ConvTranspose(%x, %y) {group=2}"), tol: 3e-6},
		{name: "two", src: "in %x : f32[1,3,8,8]\nconst %w : f32[4,3,3,3] = rand 1\nconst %v : f32[4,1,3,3] = rand " +
			"2\n%a = Conv(%x, %w)\n%b = Relu(%a)\n%c = Conv(%b, %v) {group=4}\n%d = Add(%c, %c)\nout \"d\" = %d",
			tol: 3e-6},
	}
}

func casesPoolF32() []kase {
	var cases []kase
	for _, name := range []string{"MaxPool", "AveragePool", "LpPool"} {
		for _, a := range []string{
			"kernel_shape=[2,3], strides=[2,2]", "kernel_shape=[3,3], pads=[1,1,1,0]",
			"kernel_shape=[3,2], strides=[2,2], ceil_mode=1",
			"kernel_shape=[2,2], dilations=[2,1]", `kernel_shape=[3,3], auto_pad="SAME_LOWER", strides=[2,2]`,
		} {
			cases = append(cases, kase{name: name + " " + a, src: one(f32("[2,3,7,8]"), "", name+"(%x) {"+a+"}")})
		}
		cases = append(cases, kase{name: name + " 1-D", src: one(f32("[2,3,9]"), "",
			name+"(%x) {kernel_shape=[3], strides=[2], pads=[1,1]}")})
	}
	cases = append(cases,
		kase{name: "count pad", src: one(f32("[1,3,7,8]"), "", "AveragePool(%x) {kernel_shape=[3,3], "+
			"pads=[1,2,1,1], count_include_pad=1, strides=[2,2], ceil_mode=1}")},
		kase{name: "act", src: one(f32("[1,3,7,8]"), "", "MaxPool(%x) {kernel_shape=[2,2], act_min=0.0, act_max=1.0}")},
		kase{name: "LpPool p", src: one(f32("[1,3,7,8]"), "", "LpPool(%x) {kernel_shape=[2,2], p=3}")},
		kase{name: "LpPool p1", src: one(f32("[1,3,7,8]"), "", "LpPool(%x) {kernel_shape=[2,2], p=1}")},
	)
	for _, name := range []string{"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"} {
		cases = append(cases, kase{name: name, src: one(f32("[2,3,4,5]"), "", name+"(%x)")},
			kase{name: name + " 3-D", src: one(f32("[2,3,2,2,3]"), "", name+"(%x)")})
	}
	return cases
}

func casesMatrixF32() []kase {
	mat := func(name string, types []string, consts, node string) kase {
		return kase{name: name, src: one(types, consts, node), tol: 3e-6}
	}
	return []kase{
		mat("gemm", f32("[3,5]"), "const %w : f32[5,4] = rand 1\nconst %b : f32[4] = rand 2", "Gemm(%x, %w, %b)"),
		mat("gemm transB", f32("[3,5]"), "const %w : f32[4,5] = rand 1\nconst %b : f32[1,4] = rand 2",
			"Gemm(%x, %w, %b) {transB=1, alpha=0.5, beta=2.0, act_min=0.0}"),
		mat("gemm scalar", f32("[3,5]"), "const %w : f32[4,5] = rand 1\nconst %b : f32[] = rand 2",
			"Gemm(%x, %w, %b) {transB=1}"),
		mat("gemm rows", f32("[3,5]"), "const %w : f32[4,5] = rand 1\nconst %b : f32[3,1] = rand 2",
			"Gemm(%x, %w, %b) {transB=1, beta=0.5}"),
		mat("gemm transA", f32("[5,3]"), "const %w : f32[5,4] = rand 1", "Gemm(%x, %w) {transA=1, alpha=2.0}"),
		mat("gemm run time", []string{"f32[5,3]", "f32[4,5]", "f32[3,4]"}, "",
			"Gemm(%x, %y, %z) {transA=1, transB=1, alpha=2.0, beta=0.5, act_max=1.0}"),
		mat("gemm run time B", []string{"f32[2,5]", "f32[4,5]", "f32[4]"}, "", "Gemm(%x, %y, %z) {transB=1}"),
		mat("matmul", f32("[2,3,5]"), "const %w : f32[5,4] = rand 1", "MatMul(%x, %w) {act_min=0.0}"),
		mat("matmul run time", []string{"f32[2,3,5]", "f32[2,5,4]"}, "", "MatMul(%x, %y) {act_min=0.0}"),
		mat("matmul broadcast", []string{"f32[2,1,3,5]", "f32[4,5,2]"}, "", "MatMul(%x, %y)"),
		mat("matmul broadcast const", f32("[3,5]"), "const %w : f32[4,5,2] = rand 3", "MatMul(%x, %w)"),
		mat("matmul const left", f32("[5,4]"), "const %w : f32[3,5] = rand 3", "MatMul(%w, %x)"),
		mat("matmul vectors", []string{"f32[5]", "f32[5]"}, "", "MatMul(%x, %y)"),
		mat("matmul row", []string{"f32[5]"}, "const %w : f32[5,3] = rand 3", "MatMul(%x, %w)"),
		mat("matmul column", []string{"f32[4,5]"}, "const %w : f32[5] = rand 3", "MatMul(%x, %w)"),
	}
}

func casesAxisF32() []kase {
	var cases []kase
	add := func(name, order, attrs string) {
		cases = append(cases, kase{name: name + order + attrs, order: order,
			src: one(f32("[2,3,4,5]"), "", name+"(%x) {"+attrs+"}")})
	}
	for _, order := range []string{"", "nhwc", "3120"} {
		for _, axis := range []string{"axis=1", "axis=-1", "axis=2"} {
			for _, name := range []string{"Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "ArgMax", "ArgMin"} {
				add(name, order, axis)
			}
		}
		add("ArgMax", order, "axis=1, select_last_index=1")
		add("LpNormalization", order, "axis=1, p=1")
		cases = append(cases, kase{name: "CumSum" + order, order: order,
			src: one(f32("[2,3,4,5]"), "const %a : i64[] = {1}", "CumSum(%x, %a) {exclusive=1, reverse=1}")})
	}
	add("ArgMax", "", "axis=1, keepdims=0")
	for _, name := range []string{"Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "SumSquare", "LogSum", "LogSumExp"} {
		x := "%x"
		pre := ""
		if name == "LogSum" {
			pre, x = "\n%p = Abs(%x)", "%p"
		}
		for _, order := range []string{"", "nhwc"} {
			for _, axes := range []string{"[2] = {2,3}", "[1] = {1}", "[2] = {1,3}", "[2] = {0,2}"} {
				for _, keep := range []string{"1", "0"} {
					if keep == "0" && order != "" || name != "Sum" && name != "Mean" &&
						(axes != "[2] = {2,3}" || keep == "0") {
						continue
					}
					cases = append(cases, kase{name: "Reduce" + name + order + axes + keep, order: order, tol: 3e-6,
						src: one(f32("[2,3,4,5]"), "const %a : i64"+axes+pre, "Reduce"+name+"("+x+", %a) {keepdims="+
							keep+"}")})
				}
			}
		}
		cases = append(cases, kase{name: "Reduce" + name + " all", src: one(f32("[2,3,4]"), pre, "Reduce"+name+"("+x+
			")"), tol: 3e-6})
	}
	cases = append(cases, kase{name: "noop", src: one(f32("[2,3,4]"), "", "ReduceSum(%x) {noop_with_empty_axes=1}")})
	return cases
}

// spectra draws layers of all lengths up to most that keep says, as one graph.
func spectra(rng *rand.Rand, most int, keep func(n int) bool) string {
	modes := []string{"constant", "reflect", "edge"}
	types := []string{"f32[%d,%d]", "i8[%d,%d] q(0.02:-7)", "i16[%d,%d] q(0.001:0)"}
	var b strings.Builder
	for n := 2; n <= most; n++ {
		if !qref.FFTLength(n) || !keep(n) {
			continue
		}
		lead := rng.IntN(2) * rng.IntN(n)
		window := []int{n - lead, 1 + rng.IntN(n-lead)}[rng.IntN(2)]
		pad, over, step := rng.IntN(2)*rng.IntN(n), rng.IntN(n), 1+rng.IntN(n)
		samples := max(pad, over) + 1 + rng.IntN(3*n)
		frames := min(5, max(1, (samples+over-n+pad)/step+1))
		bins := []int{n/2 + 1, 1 + rng.IntN(n), n}[rng.IntN(3)]
		fmt.Fprintf(&b, "in %%x%d : %s\nconst %%w%d : f32[%d] = rand %d\n", n,
			fmt.Sprintf(types[rng.IntN(3)], 1+rng.IntN(2), samples), n, window, n)
		fmt.Fprintf(&b, "%%o%d = nncc.Spectrum(%%x%d, %%w%d) {length=%d, frames=%d, step=%d, lead=%d, bins=%d, "+
			"pad=%d, mode=%q, power=%d, fixed=%d}\nout \"o%d\" = %%o%d\n", n, n, n, n, frames, step, lead, bins, pad,
			modes[rng.IntN(3)], rng.IntN(2), rng.IntN(2), n, n)
	}
	return b.String()
}

// TestSpectrum: the C gives the interpreter's bits, on the host for lengths of every kind.
func TestSpectrum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	host := kase{name: "all lengths", tol: -1, kernel: "nncc_spectrum",
		src: spectra(rng, 1024, func(n int) bool { return n < 40 || testenv.Long() || rng.IntN(8) == 0 })}
	runCases(t, []kase{host})
}

// casesSparse: filter banks and scattered weights, with and without a background.
func casesSparse() []kase {
	var cases []kase
	for i, c := range []struct {
		rows, in, out, run int
		background         string
	}{
		{5, 40, 7, 4, "0"}, {4, 65, 9, 1, "0.25"}, {9, 33, 12, 6, "-0.5"}, {1, 128, 20, 11, "0"},
		{3, 64, 6, 0, "0.125"},
	} {
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		w := make([]string, c.in*c.out)
		for j := range w {
			w[j] = c.background
		}
		for o := range c.out {
			at := rng.IntN(c.in - c.run + 1)
			for k := range c.run {
				w[o*c.in+at+k] = fmt.Sprintf("%.4f", rng.NormFloat64())
			}
		}
		src := one([]string{fmt.Sprintf("f32[%d,%d]", c.rows, c.in)}, fmt.Sprintf("const %%w : f32[%d,%d] = {%s}\n"+
			"const %%b : f32[%d] = rand 2", c.out, c.in, strings.Join(w, ","), c.out),
			`Gemm(%x, %w, %b) {transB=1, act_min=-0.75}`)
		cases = append(cases, kase{name: fmt.Sprint("sparse ", c), tol: 3e-6, kernel: "nncc_sparse_f32", src: src})
	}
	return cases
}

// arguments are where the forms of functions are compared: near the ends, at
// and around whole numbers, at attributes' defaults.
func arguments() []float32 {
	x := []float32{0, 0.5, -0.5, 0.2, 0.01, 1e-3, -1e-3, 1e-20, -90, 90, -40, 40, 3.4e38, -3.4e38}
	for v := float32(-12); v <= 12; v += 0.0625 {
		x = append(x, v)
	}
	return x
}

// TestElementForms: the C forms of every operator that has them, in float and in
// double, give what its function in Go gives.
func TestElementForms(t *testing.T) {
	cc := testenv.Tool(t, "cc", "gcc")
	type form struct {
		n     *ir.Node
		float bool
	}
	var forms []form
	var src bytes.Buffer
	fmt.Fprint(&src, "#include <stdio.h>\n#include \"nncc_element_f32.h\"\n#include \"nncc_loops.h\"\nint "+
		"main(void)\n{\n    float in[2];\n    double y;\n")
	fmt.Fprint(&src, "    while (fread(in, sizeof in, 1, stdin) == 1) {\n")
	pairs := 0
	for _, d := range op.All() {
		form1, names := d.C, []string{"x"}
		if d.Pair != nil && d != op.Mean { // of Mean, it is the sum
			form1, names = d.Pair, []string{"a", "b"}
			pairs++
		}
		if form1 == nil || len(names) == 1 && (d.Scalar == nil || d.Quant != ir.QFloat) || d.Quant == ir.QNone {
			continue
		}
		for _, n := range variants(d) {
			attr := func(name string) string { return fmt.Sprintf("((t)%.17g)", n.Float(name)) }
			c := form1(n)
			for _, f := range []struct{ ctype, text string }{{"float", kernel.Float32(c)}, {"double", c.F64}} {
				fmt.Fprintf(&src, "        { typedef %s t;\n", f.ctype)
				for i, x := range names {
					fmt.Fprintf(&src, "            const t %s = in[%d];\n", x, i)
				}
				fmt.Fprintf(&src, "            y = (t)(%s);\n            fwrite(&y, sizeof y, 1, stdout); }\n",
					kernel.Written(f.text, attr))
				forms = append(forms, form{n, f.ctype == "float"})
			}
		}
	}
	if pairs < 15 {
		t.Errorf("%d operators of two operands", pairs)
	}
	src.WriteString("    }\n    return 0;\n}\n")
	dir := t.TempDir()
	file, exe := filepath.Join(dir, "forms.c"), filepath.Join(dir, "forms")
	testenv.OK(t, os.WriteFile(file, src.Bytes(), 0o644))
	runtime := filepath.Join(dir, "runtime")
	testenv.OK(t, runtimec.WriteTree(runtime))
	args := []string{"-std=c99", "-Wall", "-Werror", "-I", filepath.Join(runtime, "include", "nncc"), "-I",
		filepath.Join(runtime, "src", "nncc"), "-o", exe, file}
	called := map[string]bool{}
	for _, f := range regexp.MustCompile(`nncc_\w+_f64`).FindAllString(src.String(), -1) {
		if !called[f] {
			called[f] = true
			args = append(args, filepath.Join(runtime, "src", "nncc", f+".c"))
		}
	}
	if msg, err := exec.Command(cc, append(args, "-lm")...).CombinedOutput(); err != nil {
		t.Fatalf("cc: %v\n%s", err, msg)
	}
	var xs [][2]float32
	for i, all := 0, arguments(); i < len(all); i++ {
		xs = append(xs, [2]float32{all[i], all[(7*i+3)%len(all)]}, [2]float32{all[i], all[i]})
	}
	var in, out bytes.Buffer
	binary.Write(&in, binary.LittleEndian, xs)
	cmd := exec.Command(exe)
	cmd.Stdin, cmd.Stdout = &in, &out
	testenv.OK(t, cmd.Run())
	failed := map[*ir.Node]bool{}
	for _, x := range xs {
		for _, f := range forms {
			var got float64
			testenv.OK(t, binary.Read(&out, binary.LittleEndian, &got))
			want, tol := inGo(t, f.n, f.float, x), 1e-12
			if f.float {
				tol = 2e-6
			}
			ok := got == want || got != got && want != want || math.Abs(got-want) <= tol*math.Abs(want)+tol/6
			if !ok && !failed[f.n] {
				failed[f.n] = true
				t.Errorf("%s %v at %g: C gives %g, Go %g (float %v)", f.n.Op.Name, f.n.Attrs, x, got, want, f.float)
			}
		}
	}
}

// inGo is what the interpreter computes of one number, or of two.
func inGo(t *testing.T, n *ir.Node, float bool, x [2]float32) float64 {
	t.Helper()
	if n.Op.Scalar != nil {
		y := n.Op.Scalar(n, float64(x[0]))
		if float {
			y = float64(float32(y))
		}
		return y
	}
	var in []*tensor.Dense
	for _, v := range x {
		d := tensor.Of([]int{1}, []float64{float64(v)})
		if float {
			d = d.Cast(tensor.F32)
		}
		in = append(in, d)
	}
	y, err := n.Op.Eval(n, in)
	testenv.OK(t, err)
	return y[0].Float(0)
}

// variants are nodes of an operator with its default attributes, others, and
// every value of an attribute that is a choice.
func variants(d *ir.OpDef) []*ir.Node {
	plain, other := &ir.Node{Op: d}, &ir.Node{Op: d}
	for i, a := range d.Attrs {
		if a.Kind == ir.AttrFloat && !strings.HasPrefix(a.Name, "act_") { // forms are without activations
			other.SetAttr(a.Name, ir.Float(0.375+0.25*float32(i)))
		}
	}
	out := []*ir.Node{plain, other}
	if d == op.Gelu {
		out = append(out, &ir.Node{Op: d, Attrs: ir.Attrs{"approximate": ir.Str("tanh")}})
	}
	return out
}
