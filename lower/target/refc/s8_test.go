package refc_test

import (
	"fmt"
	"testing"
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

func TestMacS8(t *testing.T) {
	w := func(shape, q string) string { return "const %w : i8" + shape + " q(" + q + ") = rand 5\n" }
	var cases []kase
	conv := func(name, x, y, wt, bias, attrs, kernel string) {
		use := ""
		if bias != "" {
			bias, use = "const %b : i32"+bias+" = rand 6\n", ", %b"
		}
		cases = append(cases, kase{name: name, kernel: kernel,
			src: qnode([]string{"i8" + x + " q(0.05:-3)"}, wt+bias, "i8"+y+" q(0.4:5)", "Conv(%x, %w"+use+") {"+attrs+"}")})
	}
	conv("symmetric", "[1,3,6,5]", "[1,4,4,3]", w("[4,3,3,3]", "0.02:0"), "[4]", "", "nncc_conv2d_wzp_s8")
	conv("zero point", "[2,3,6,5]", "[2,4,6,5]", w("[4,3,3,3]", "0.02:7"), "", "pads=[1,1,1,1], act_min=0.0", "nncc_conv2d_wzp_s8")
	conv("per channel", "[1,4,6,5]", "[1,4,2,3]", w("[4,2,3,3]", "axis=0,0.02:7,0.01:0,0.03:-2,0.02:1"), "[4]", "group=2, strides=[2,1]", "nncc_conv2d_wzp_s8")
	conv("depthwise", "[1,3,6,5]", "[1,6,4,3]", w("[6,1,3,3]", "0.02:4"), "[6]", "group=3, act_max=3.0", "nncc_depthwise_conv2d_wzp_s8")
	conv("1-D", "[1,3,6]", "[1,4,4]", w("[4,3,3]", "0.02:4"), "[4]", "", "nncc_conv2d_wzp_s8")
	cases = append(cases,
		kase{name: "u8 weights", src: qnode([]string{"i8[1,3,6,5] q(0.05:-3)"}, "const %w : u8[4,3,3,3] q(0.02:130) = rand 5", "i8[1,4,4,3] q(0.4:5)", "Conv(%x, %w)")},
		kase{name: "run-time weights", src: qnode([]string{"i8[1,3,6,5] q(0.05:-3)", "i8[4,3,3,3] q(0.02:3)"}, "", "i8[1,4,4,3] q(0.4:5)", "Conv(%x, %y)")},
		kase{name: "gemm", src: qnode([]string{"i8[3,5] q(0.05:-3)"}, w("[4,5]", "0.02:3")+"const %b : i32[4] = rand 1", "i8[3,4] q(0.2:5)", "Gemm(%x, %w, %b) {transB=1}")},
		kase{name: "gemm per channel", src: qnode([]string{"i8[3,5] q(0.05:-3)"}, w("[5,3]", "axis=1,0.02:7,0.01:0,0.03:-2"), "i8[3,3] q(0.2:5)", "Gemm(%x, %w) {act_min=0.0}")},
		kase{name: "matmul", src: qnode([]string{"i8[2,3,5] q(0.05:-3)"}, w("[5,4]", "0.02:0"), "i8[2,3,4] q(0.2:5)", "MatMul(%x, %w)")},
		kase{name: "matmul dynamic", src: qnode([]string{"i8[2,3,5] q(0.05:-3)", "i8[2,5,4] q(0.04:3)"}, "", "i8[2,3,4] q(0.2:5)", "MatMul(%x, %y)")},
		kase{name: "matmul broadcast", src: qnode([]string{"i8[2,1,3,5] q(0.05:-3)", "i8[3,5,4] q(0.04:3)"}, "", "i8[2,3,3,4] q(0.2:5)", "MatMul(%x, %y)")},
		kase{name: "matmul const broadcast", src: qnode([]string{"i8[1,3,5] q(0.05:-3)"}, w("[3,5,4]", "0.02:0"), "i8[3,3,4] q(0.2:5)", "MatMul(%x, %w)")},
	)
	runCases(t, cases)
}

func TestAxisS8(t *testing.T) {
	var cases []kase
	add := func(order, x, out, consts, node string) {
		cases = append(cases, kase{name: node + " " + out + order, order: order, src: qnode([]string{x}, consts, out, node)})
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
	add("", "i8[2,3,4,5] q(0.05:-3)", "i8[2,3] q(0.02:1)", "const %a : i64[2] = {2,3}", "ReduceMean(%x, %a) {keepdims=0}")
	for _, q := range []string{"q(0.05:-3)", "q(0.11:4)"} {
		x := "i8[2,3,7,8] q(0.05:-3)"
		add("", x, "i8[2,3,1,1] "+q, "", "GlobalAveragePool(%x)")
		add("", x, "i8[2,3,1,1] "+q, "", "GlobalMaxPool(%x) {act_min=0.0}")
		add("", x, "i8[2,3,3,4] "+q, "", "AveragePool(%x) {kernel_shape=[2,2], strides=[2,2]}")
		add("", x, "i8[2,3,5,7] "+q, "", "AveragePool(%x) {kernel_shape=[2,2], dilations=[2,1], act_max=1.0}")
		add("", x, "i8[2,3,4,5] "+q, "", "AveragePool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,1], count_include_pad=1}")
		add("", x, "i8[2,3,4,5] "+q, "", "MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,2,1,1], act_min=0.0}")
		add("", x, "i8[2,3,5,7] "+q, "", "MaxPool(%x) {kernel_shape=[2,2], dilations=[2,1]}")
		add("", "i8[2,3,7] q(0.05:-3)", "i8[2,3,3] "+q, "", "AveragePool(%x) {kernel_shape=[3], strides=[2]}")
		add("", "i8[2,3,7,2,2] q(0.05:-3)", "i8[2,3,1,1,1] "+q, "", "GlobalAveragePool(%x)")
		for _, mode := range []string{"linear", "cubic", "nearest"} {
			add("", "i8[1,3,4,5] q(0.05:-3)", "i8[1,3,8,15] "+q, "const %s : f32[4] = {1,1,2,3}", fmt.Sprintf("Resize(%%x, -, %%s) {mode=%q}", mode))
			add("", "i8[1,3,4,5] q(0.05:-3)", "i8[1,3,7,4] "+q, "const %s : i64[4] = {1,3,7,4}", fmt.Sprintf("Resize(%%x, -, -, %%s) {mode=%q, coordinate_transformation_mode=\"align_corners\"}", mode))
		}
	}
	sb := "const %s : f32[4] = rand 1\nconst %b : f32[4] = rand 2"
	add("", "i8[2,3,4] q(0.05:-3)", "i8[2,3,4] q(0.02:1)", sb, "LayerNormalization(%x, %s, %b)")
	add("", "i8[2,3,4] q(0.05:-3)", "i8[2,3,4] q(0.02:1)", sb, "LayerNormalization(%x, %s)")
	add("", "i8[2,4,3,3] q(0.05:-3)", "i8[2,4,3,3] q(0.02:1)", sb, "InstanceNormalization(%x, %s, %b)")
	add("", "i8[2,4,3,3] q(0.05:-3)", "i8[2,4,3,3] q(0.02:1)", sb, "GroupNormalization(%x, %s, %b) {num_groups=2}")
	runCases(t, cases)
}
