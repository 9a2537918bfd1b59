// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"
)

// qnode is a graph of one quantised node: inputs x, y, ... and constants as
// given, output type out.
func qnode(ins []string, consts, out, node string) string {
	s := ""
	for i, t := range ins {
		s += fmt.Sprintf("in %%%c : %s\n", "xyz"[i], t)
	}
	return s + consts + "\n%o : " + out + " = " + node + "\nout \"o\" = %o"
}

func casesMacS8() []kase {
	w := func(shape, q string) string { return "const %w : i8" + shape + " q(" + q + ") = rand 5\n" }
	var cases []kase
	conv := func(name, x, y, wt, bias, attrs, kernel string) {
		use := ""
		if bias != "" {
			bias, use = "const %b : i32"+bias+" = rand 6\n", ", %b"
		}
		cases = append(cases, kase{name: name, kernel: kernel, src: qnode([]string{"i8" + x + " q(0.05:-3)"}, wt+bias,
			"i8"+y+" q(0.4:5)", "Conv(%x, %w"+use+") {"+attrs+"}")})
	}
	conv("symmetric", "[1,3,6,5]", "[1,4,4,3]", w("[4,3,3,3]", "0.02:0"), "[4]", "", "nncc_conv2d_wzp_s8")
	conv("zero point", "[2,3,6,5]", "[2,4,6,5]", w("[4,3,3,3]", "0.02:7"), "", "pads=[1,1,1,1], act_min=0.0",
		"nncc_conv2d_wzp_s8")
	conv("per channel", "[1,4,6,5]", "[1,4,2,3]", w("[4,2,3,3]", "axis=0,0.02:7,0.01:0,0.03:-2,0.02:1"), "[4]",
		"group=2, strides=[2,1]", "nncc_conv2d_wzp_s8")
	conv("depthwise", "[1,3,6,5]", "[1,6,4,3]", w("[6,1,3,3]", "0.02:4"), "[6]", "group=3, act_max=3.0",
		"nncc_depthwise_conv2d_wzp_s8")
	conv("1-D", "[1,3,6]", "[1,4,4]", w("[4,3,3]", "0.02:4"), "[4]", "", "nncc_conv2d_wzp_s8")
	cases = append(cases,
		kase{name: "u8 weights", src: qnode([]string{"i8[1,3,6,5] q(0.05:-3)"},
			"const %w : u8[4,3,3,3] q(0.02:130) = rand 5", "i8[1,4,4,3] q(0.4:5)", "Conv(%x, %w)")},
		kase{name: "run-time weights", src: qnode([]string{"i8[1,3,6,5] q(0.05:-3)", "i8[4,3,3,3] q(0.02:3)"}, "",
			"i8[1,4,4,3] q(0.4:5)", "Conv(%x, %y)")},
		kase{name: "gemm", src: qnode([]string{"i8[3,5] q(0.05:-3)"}, w("[4,5]", "0.02:3")+"const %b : i32[4] = rand 1",
			"i8[3,4] q(0.2:5)", "Gemm(%x, %w, %b) {transB=1}")},
		kase{name: "gemm per channel", src: qnode([]string{"i8[3,5] q(0.05:-3)"},
			w("[5,3]", "axis=1,0.02:7,0.01:0,0.03:-2"), "i8[3,3] q(0.2:5)", "Gemm(%x, %w) {act_min=0.0}")},
		kase{name: "matmul", src: qnode([]string{"i8[2,3,5] q(0.05:-3)"}, w("[5,4]", "0.02:0"), "i8[2,3,4] q(0.2:5)",
			"MatMul(%x, %w)")},
		kase{name: "matmul dynamic", src: qnode([]string{"i8[2,3,5] q(0.05:-3)", "i8[2,5,4] q(0.04:3)"}, "",
			"i8[2,3,4] q(0.2:5)", "MatMul(%x, %y)")},
		kase{name: "matmul broadcast", src: qnode([]string{"i8[2,1,3,5] q(0.05:-3)", "i8[3,5,4] q(0.04:3)"}, "",
			"i8[2,3,3,4] q(0.2:5)", "MatMul(%x, %y)")},
		kase{name: "matmul const broadcast", src: qnode([]string{"i8[1,3,5] q(0.05:-3)"}, w("[3,5,4]", "0.02:0"),
			"i8[3,3,4] q(0.2:5)", "MatMul(%x, %w)")},
	)
	return cases
}

func casesAxisS8() []kase {
	var cases []kase
	add := func(order, x, out, consts, node string) {
		cases = append(cases, kase{name: node + " " + out + order, order: order, src: qnode([]string{x}, consts, out,
			node)})
	}
	for _, order := range []string{"", "nhwc", "2013"} {
		x := "i8[2,3,4,5] q(0.05:-3)"
		for _, op := range []string{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"} {
			for _, q := range []string{"q(0.05:-3)", "q(0.11:4)"} {
				add(order, x, "i8[2,3,1,1] "+q, "const %a : i64[2] = {2,3}", op+"(%x, %a)")
				add(order, x, "i8[2,1,4,1] "+q, "const %a : i64[2] = {1,3}", op+"(%x, %a)")
			}
		}
		add(order, x, "i64[2,1,4,5]", "", "ArgMax(%x) {axis=1}")
		add(order, x, "i64[2,3,1,5]", "", "ArgMin(%x) {axis=2, select_last_index=1}")
		for _, axis := range []string{"1", "-1"} {
			add(order, x, "i8[2,3,4,5] q(0.00390625:-128)", "", "Softmax(%x) {axis="+axis+"}")
			add(order, x, "i8[2,3,4,5] q(0.0042:-100)", "", "Softmax(%x) {axis="+axis+"}")
		}
	}
	add("", "i8[2,3,4,5] q(0.05:-3)", "i8[2,3] q(0.02:1)", "const %a : i64[2] = {2,3}",
		"ReduceMean(%x, %a) {keepdims=0}")
	for _, q := range []string{"q(0.05:-3)", "q(0.11:4)"} {
		x := "i8[2,3,7,8] q(0.05:-3)"
		add("", x, "i8[2,3,1,1] "+q, "", "GlobalAveragePool(%x)")
		add("", x, "i8[2,3,1,1] "+q, "", "GlobalMaxPool(%x) {act_min=0.0}")
		add("", x, "i8[2,3,3,4] "+q, "", "AveragePool(%x) {kernel_shape=[2,2], strides=[2,2]}")
		add("", x, "i8[2,3,5,7] "+q, "", "AveragePool(%x) {kernel_shape=[2,2], dilations=[2,1], act_max=1.0}")
		add("", x, "i8[2,3,4,5] "+q, "", "AveragePool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,1], "+
			"count_include_pad=1}")
		add("", x, "i8[2,3,4,5] "+q, "", "MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,1], act_min=0.0}")
		add("", x, "i8[2,3,5,7] "+q, "", "MaxPool(%x) {kernel_shape=[2,2], dilations=[2,1]}")
		add("", "i8[2,3,7] q(0.05:-3)", "i8[2,3,3] "+q, "", "AveragePool(%x) {kernel_shape=[3], strides=[2]}")
		add("", "i8[2,3,7,2,2] q(0.05:-3)", "i8[2,3,1,1,1] "+q, "", "GlobalAveragePool(%x)")
		for _, mode := range []string{"linear", "cubic", "nearest"} {
			add("", "i8[1,3,4,5] q(0.05:-3)", "i8[1,3,8,15] "+q, "const %s : f32[4] = {1,1,2,3}",
				fmt.Sprintf("Resize(%%x, -, %%s) {mode=%q}", mode))
			add("", "i8[1,3,4,5] q(0.05:-3)", "i8[1,3,7,4] "+q, "const %s : i64[4] = {1,3,7,4}",
				fmt.Sprintf("Resize(%%x, -, -, %%s) {mode=%q, coordinate_transformation_mode=\"align_corners\"}", mode))
		}
	}
	sb := "const %s : f32[4] = rand 1\nconst %b : f32[4] = rand 2"
	add("", "i8[2,3,4] q(0.05:-3)", "i8[2,3,4] q(0.02:1)", sb, "LayerNormalization(%x, %s, %b)")
	add("", "i8[2,3,4] q(0.05:-3)", "i8[2,3,4] q(0.02:1)", sb, "LayerNormalization(%x, %s)")
	add("", "i8[2,4,3,3] q(0.05:-3)", "i8[2,4,3,3] q(0.02:1)", sb, "InstanceNormalization(%x, %s, %b)")
	add("", "i8[2,4,3,3] q(0.05:-3)", "i8[2,4,3,3] q(0.02:1)", sb, "GroupNormalization(%x, %s, %b) {num_groups=2}")
	return cases
}

func casesBinaryS8() []kase {
	var cases []kase
	add := func(order string, ins []string, consts, out, node, kernel string) {
		cases = append(cases, kase{name: fmt.Sprint(node, ins, consts, order), order: order,
			src: qnode(ins, consts, out, node), route: kernel})
	}
	a, full := "i8[2,3,4,5] q(0.05:-3)", "i8[2,3,4,5] q(0.11:4)"
	for _, order := range []string{"", "nhwc", "2013"} {
		for _, b := range []string{"i8[2,3,4,5] q(0.07:2)", "i8[3,1,1] q(0.07:2)", "i8[2,1,4,1] q(0.07:2)",
			"i8[1] q(0.07:2)"} {
			in := []string{a, b}
			if order == "2013" && b != "i8[3,1,1] q(0.07:2)" {
				continue // tables are searched for every case: a sample will do
			}
			add(order, in, "", full, "Sub(%x, %y)", "nncc_sum_s8")
			add(order, in, "", full, "Sub(%x, %y) {act_min=0.0}", "nncc_sum_s8")
			add(order, in, "", full, "Div(%x, %y)", "nncc_div_s8")
			add(order, in, "", full, "Div(%x, %y) {act_max=2.0}", "nncc_div_s8")
			add(order, in, "", full, "Add(%x, %y)", "arm_elementwise_add_s8")
			add(order, in, "", full, "Mul(%x, %y) {act_min=0.0}", "arm_elementwise_mul_s8")
			add(order, in, "", full, "Min(%x, %y)", "nncc_binary_s8")
			add(order, in, "", full, "Max(%x, %y)", "nncc_binary_s8")
			add(order, in, "", full, "PRelu(%x, %y)", "nncc_binary_s8")
			add(order, in, "", full, "Sum(%x, %y)", "nncc_sum_s8")
			add(order, in, "", full, "Mean(%x, %y)", "nncc_sum_s8")
			for _, c := range []string{"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"} {
				if order != "" {
					break
				}
				add(order, in, "", "bool[2,3,4,5]", c+"(%x, %y)", "")
			}
		}
		k := "const %k : i8[2,3,4,5] q(0.06:1) = rand 8"
		add(order, []string{a}, k, full, "Sub(%x, %k)", "nncc_sum_s8")
		add(order, []string{a}, k, full, "Sub(%k, %x)", "nncc_sum_s8")
		add(order, []string{a}, k, full, "Div(%k, %x)", "nncc_div_s8")
		add(order, []string{a}, "const %k : f32[4,5] = {0.5,1,2,3,0.5,1,2,3,0.5,1,2,3,0.5,1,2,3,0.5,1,2,-3}", full,
			"Div(%x, %k)", "nncc_lut2_s8")
		add(order, []string{a}, "const %k : f32[4,5] = rand 3", full, "Pow(%x, %k)", "nncc_lut2_s8")
		add(order, []string{a}, "const %k : f32[2,3,1,1] = rand 3", full, "Add(%x, %k)", "nncc_lut2_s8")
		add(order, []string{"i8[2,3,4,5] q(0.05:-3)", "i8[3,1,1] q(0.05:-3)", "i8[5] q(0.05:-3)"}, "",
			"i8[2,3,4,5] q(0.05:-3)", "Max(%x, %y, %z)", "nncc_binary_s8")
		add(order, []string{"u8[2,3,4,5] q(0.05:100)"}, "const %k : f32[2,3,1,1] = rand 3", full, "Sub(%k, %x)",
			"nncc_lut2_s8")
	}
	add("", []string{a, "i8[2,3,4,5] q(0.01:-100)"}, "", full, "Pow(%x, %y)", "nncc_lut2_s8")
	add("", []string{"i8[2,3,4,5] q(0.05:0)", "i8[2,3,4,5] q(0.05:0)"}, "", "i8[2,3,4,5] q(0.05:0)", "Div(%x, %y)",
		"nncc_div_s8")
	ch := "const %k : f32[3,1,1] = {0.7,-1.3,0.05}"
	for _, op := range []string{"Add(%x, %k)", "Sub(%x, %k)", "Sub(%k, %x)", "Mul(%x, %k)", "Div(%x, %k)"} {
		add("", []string{a}, ch, full, op, "nncc_channel_lines_s8")
	}
	add("", []string{a}, ch, full, "PRelu(%x, %k)", "nncc_channel_lines_s8")
	add("", []string{"i8[2,3,4,5] q(0.05:-128)"}, ch, full, "PRelu(%x, %k)", "nncc_channel_lines_s8")
	add("", []string{"i8[2,3,4,5] q(0.05:127)"}, ch, full, "PRelu(%x, %k)", "nncc_channel_lines_s8")
	add("", []string{a}, ch, full, "Min(%x, %k)", "nncc_lut2_s8")
	add("", []string{a}, ch, "bool[2,3,4,5]", "Less(%x, %k)", "nncc_lut2_s8")
	add("", []string{a}, "const %k : i8[3,1,1] q(0.02:-9) = rand 3", full, "Mul(%x, %k)", "")
	add("", []string{a}, "const %k : i8[3,1,1] q(0.02:-9) = rand 3", full, "Add(%x, %k)", "")
	add("", []string{a}, "const %k : f32[5] = rand 3", full, "Mul(%x, %k)", "nncc_channel_lines_s8")
	add("", []string{"i8[4,6] q(0.05:-3)"}, "const %k : f32[6] = rand 3", "i8[4,6] q(0.11:4)", "Add(%x, %k)",
		"nncc_channel_lines_s8")
	bn := "const %s : f32[3] = rand 1\nconst %b : f32[3] = rand 2\nconst %m : f32[3] = rand 3\nconst %v : f32[3] = " +
		"{0.5,1.5,2.0}"
	add("", []string{a}, bn, full, "BatchNormalization(%x, %s, %b, %m, %v)", "nncc_channel_lines_s8")
	add("", []string{"i8[5,3] q(0.05:-3)"}, bn, "i8[5,3] q(0.11:4)", "BatchNormalization(%x, %s, %b, %m, %v)",
		"nncc_channel_lines_s8")
	return cases
}
