// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
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
		cases = append(cases,
			kase{name: name + " 1-D", src: one(f32("[2,3,9]"), "", name+"(%x) {kernel_shape=[3], strides=[2], "+
				"pads=[1,1]}")})
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
