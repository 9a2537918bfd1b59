// SPDX-License-Identifier: Apache-2.0

package mla_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/accel/mla/lm"
)

// qnode is a graph of one quantised node: inputs x, y, z and constants as
// given, output type out.
func qnode(ins []string, consts, out, node string) string {
	s := ""
	for i, t := range ins {
		s += fmt.Sprintf("in %%%c : %s\n", "xyz"[i], t)
	}
	return s + consts + "\n%o : " + out + " = " + node + "\nout \"o\" = %o"
}

// nodes are graphs of one node for every operation and its variants.
func nodes() map[string]string {
	m := map[string]string{}
	x := "i8[1,6,7,5] q(0.05:-3)"
	w := func(shape, q string) string { return "const %w : i8" + shape + " q(" + q + ") = rand 5\n" }
	add := func(name string, ins []string, consts, out, node string) {
		if _, dup := m[name]; dup {
			panic(name)
		}
		m[name] = qnode(ins, consts, out, node)
	}
	bias := func(n int) string { return fmt.Sprintf("const %%b : i32[%d] = rand 6\n", n) }

	add("conv", []string{x}, w("[4,6,3,3]", "0.02:0")+bias(4), "i8[1,4,7,5] q(0.4:5)",
		"Conv(%x, %w, %b) {pads=[1,1,1,1], act_min=0.0}")
	add("conv no bias", []string{x}, w("[5,6,1,1]", "0.02:0"), "i8[1,5,7,5] q(0.4:5)", "Conv(%x, %w)")
	add("conv per channel", []string{x}, w("[4,6,3,2]", "axis=0,0.02:0,0.01:0,0.03:0,0.005:0")+bias(4),
		"i8[1,4,3,2] q(0.4:5)", "Conv(%x, %w, %b) {strides=[2,3], pads=[0,1,0,0]}")
	add("conv groups", []string{x}, w("[4,3,3,3]", "0.02:0")+bias(4), "i8[1,4,7,5] q(0.4:5)",
		"Conv(%x, %w, %b) {pads=[1,1,1,1], group=2}")
	add("conv dilation", []string{x}, w("[4,6,3,2]", "0.02:0")+bias(4), "i8[1,4,3,3] q(0.4:5)",
		"Conv(%x, %w, %b) {dilations=[2,2]}")
	add("conv batch", []string{"i8[3,6,7,5] q(0.05:-3)"}, w("[9,6,7,5]", "0.02:0")+bias(9), "i8[3,9,1,1] q(0.4:5)",
		"Conv(%x, %w, %b)")
	add("depthwise", []string{x}, w("[6,1,3,3]", "0.02:0")+bias(6), "i8[1,6,4,3] q(0.4:5)",
		"Conv(%x, %w, %b) {group=6, strides=[2,2], pads=[1,1,1,1]}")
	add("depthwise multiplier", []string{x}, w("[12,1,2,3]", "0.02:0")+bias(12), "i8[1,12,6,3] q(0.4:5)",
		"Conv(%x, %w, %b) {group=6, act_max=3.0}")
	add("deconv", []string{x}, w("[6,4,3,3]", "0.02:0")+bias(4), "i8[1,4,14,10] q(0.4:5)",
		"ConvTranspose(%x, %w, %b) {strides=[2,2], pads=[1,1,0,0]}")
	add("deconv wide", []string{x}, w("[6,4,2,2]", "axis=1,0.02:0,0.01:0,0.03:0,0.005:0"), "i8[1,4,27,18] q(0.4:5)",
		"ConvTranspose(%x, %w) {strides=[4,4], output_padding=[1,0]}")
	add("deconv groups", []string{x}, w("[6,2,3,2]", "0.02:0")+bias(4), "i8[1,4,15,10] q(0.4:5)",
		"ConvTranspose(%x, %w, %b) {strides=[2,2], group=2}")
	add("deconv depthwise", []string{x}, w("[6,1,4,4]", "0.02:0"), "i8[1,6,14,10] q(0.4:5)",
		"ConvTranspose(%x, %w) {strides=[2,2], pads=[1,1,1,1], group=6}")
	add("deconv dilated", []string{x}, w("[6,4,3,3]", "0.02:0"), "i8[1,4,11,9] q(0.4:5)",
		"ConvTranspose(%x, %w) {dilations=[2,2]}")
	add("deconv cropped", []string{x}, w("[6,4,2,2]", "0.02:0"), "i8[1,4,4,2] q(0.4:5)",
		"ConvTranspose(%x, %w) {pads=[2,2,2,2]}")

	add("matmul", []string{x, "i8[1,6,5,4] q(0.1:7)"}, "", "i8[1,6,7,4] q(0.4:5)", "MatMul(%x, %y)")
	add("matmul broadcast", []string{"i8[2,1,7,5] q(0.05:-3)", "i8[1,3,5,9] q(0.1:7)"}, "", "i8[2,3,7,9] q(0.4:5)",
		"MatMul(%x, %y)")
	add("matmul constant", []string{x}, w("[5,9]", "0.02:0"), "i8[1,6,7,9] q(0.4:5)", "MatMul(%x, %w)")
	add("matmul per column", []string{x}, w("[5,3]", "axis=1,0.02:0,0.01:0,0.03:0"), "i8[1,6,7,3] q(0.4:5)",
		"MatMul(%x, %w) {act_min=0.0}")
	add("matmul left constant", []string{x}, w("[6,4,7]", "0.02:0"), "i8[1,6,4,5] q(0.4:5)", "MatMul(%w, %x)")
	add("matmul rank 2", []string{"i8[3,5] q(0.05:-3)", "i8[5,4] q(0.05:3)"}, "", "i8[3,4] q(0.4:5)", "MatMul(%x, %y)")
	add("gemm", []string{"i8[3,5] q(0.05:-3)"}, w("[4,5]", "axis=0,0.02:0,0.01:0,0.03:0,0.005:0")+bias(4),
		"i8[3,4] q(0.2:5)", "Gemm(%x, %w, %b) {transB=1}")

	for _, op := range []string{"Add", "Sub", "Mul", "Div", "Min", "Max"} {
		for name, in := range map[string][]string{
			"":          {x, "i8[1,6,7,5] q(0.07:11)"},
			" one":      {x, "i8[1,1,1,1] q(0.07:11)"},
			" channels": {x, "i8[1,6,1,1] q(0.07:11)"},
			" space":    {"i8[1,1,7,5] q(0.07:11)", x},
			" both":     {"i8[1,6,1,5] q(0.07:11)", "i8[1,1,7,5] q(0.07:11)"},
			" equal":    {x, x},
		} {
			out := "i8[1,6,7,5] q(0.11:-20)"
			if name == " equal" {
				out = x
			}
			add(op+name, in, "", out, op+"(%x, %y)")
		}
		add(op+" constant", []string{x}, "const %c : i8[1,6,1,1] q(0.03:9) = rand 4", "i8[1,6,7,5] q(0.11:-20)",
			op+"(%x, %c)")
		add(op+" scalar", []string{x}, "const %c : i8[] q(0.03:9) = rand 4", "i8[1,6,7,5] q(0.11:-20)", op+"(%x, %c)")
		add(op+" left", []string{x}, "const %c : i8[7,1] q(0.03:9) = rand 4", "i8[1,6,7,5] q(0.11:-20)", op+"(%c, %x)")
	}
	add("Add clamped", []string{x, x}, "", "i8[1,6,7,5] q(0.11:-20)", "Add(%x, %y) {act_min=0.0, act_max=6.0}")
	add("Pow", []string{x}, "const %e : f32[] = {2}", "i8[1,6,7,5] q(0.11:-20)", "Pow(%x, %e)")
	add("PRelu", []string{x}, "const %s : f32[6,1,1] = {0.1,0.2,-0.5,1.5,0,0.25}", "i8[1,6,7,5] q(0.06:-20)",
		"PRelu(%x, %s)")
	add("PRelu one", []string{x}, "const %s : f32[1] = {0.1}", "i8[1,6,7,5] q(0.06:-20)", "PRelu(%x, %s)")
	for _, op := range []string{"Relu", "Sigmoid", "Tanh", "HardSwish", "HardSigmoid", "LeakyRelu", "Elu", "Gelu",
		"Erf", "Exp", "Log", "Sqrt", "Reciprocal", "Swish", "Softplus", "nncc.Requantize", "Identity"} {
		out := "i8[1,6,7,5] q(0.06:-20)"
		if op == "Identity" {
			out = x
		}
		add(op, []string{x}, "", out, op+"(%x)")
	}
	add("Clip", []string{x}, "const %a : f32[]={-1}\nconst %b : f32[]={2.5}", "i8[1,6,7,5] q(0.05:-3)",
		"Clip(%x, %a, %b)")
	add("unsigned", []string{x}, "", "u8[1,6,7,5] q(0.05:125)", "nncc.Requantize(%x)")

	add("AveragePool", []string{x}, "", "i8[1,6,3,2] q(0.05:-3)", "AveragePool(%x) {kernel_shape=[2,3], strides=[2,2]}")
	add("AveragePool padded", []string{x}, "", "i8[1,6,7,5] q(0.06:-3)",
		"AveragePool(%x) {kernel_shape=[3,3], pads=[1,1,1,1], count_include_pad=1}")
	add("AveragePool ceil", []string{x}, "", "i8[1,6,4,3] q(0.06:-3)",
		"AveragePool(%x) {kernel_shape=[2,2], strides=[2,2], ceil_mode=1}")
	add("MaxPool", []string{x}, "", "i8[1,6,4,3] q(0.05:-3)",
		"MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}")
	add("MaxPool rescaled", []string{x}, "", "i8[1,6,5,3] q(0.06:3)",
		"MaxPool(%x) {kernel_shape=[2,2], dilations=[2,2]}")
	add("GlobalAveragePool", []string{x}, "", "i8[1,6,1,1] q(0.03:-3)", "GlobalAveragePool(%x)")
	add("GlobalMaxPool", []string{x}, "", "i8[1,6,1,1] q(0.05:-3)", "GlobalMaxPool(%x)")

	for _, a := range []int{1, 2, 3} {
		add(fmt.Sprint("Softmax ", a), []string{x}, "", "i8[1,6,7,5] q(0.00390625:-128)",
			fmt.Sprintf("Softmax(%%x) {axis=%d}", a))
		add(fmt.Sprint("Softmax rescaled ", a), []string{x}, "", "i8[1,6,7,5] q(0.01:-128)",
			fmt.Sprintf("Softmax(%%x) {axis=%d}", a))
		add(fmt.Sprint("ArgMax ", a), []string{x}, "", []string{"", "i64[1,1,7,5]", "i64[1,6,1,5]", "i64[1,6,7,1]"}[a],
			fmt.Sprintf("ArgMax(%%x) {axis=%d}", a))
		add(fmt.Sprint("ArgMin ", a), []string{x}, "", []string{"", "i64[1,1,7,5]", "i64[1,6,1,5]", "i64[1,6,7,1]"}[a],
			fmt.Sprintf("ArgMin(%%x) {axis=%d, select_last_index=1}", a))
		shape := []string{"", "[1,1,7,5]", "[1,6,1,5]", "[1,6,7,1]"}[a]
		for _, op := range []string{"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"} {
			add(fmt.Sprint(op, a), []string{x}, fmt.Sprintf("const %%a : i64[1]={%d}", a), "i8"+shape+" q(0.11:4)",
				op+"(%x, %a)")
		}
	}
	add("ReduceMean space", []string{x}, "const %a : i64[2]={2,3}", "i8[1,6,1,1] q(0.05:-3)", "ReduceMean(%x, %a)")
	add("ReduceMean apart", []string{x}, "const %a : i64[2]={1,3}", "i8[1,1,7,1] q(0.05:4)", "ReduceMean(%x, %a)")
	add("LayerNormalization", []string{x}, "const %s : f32[5] = {1,0.5,-1,2,0.25}\nconst %b : f32[5] = "+
		"{0,0.5,-1,0.1,2}", "i8[1,6,7,5] q(0.03:4)", "LayerNormalization(%x, %s, %b)")
	add("LayerNormalization no bias", []string{x}, "const %s : f32[5] = {1,0.5,-1,2,0.25}", "i8[1,6,7,5] q(0.03:4)",
		"LayerNormalization(%x, %s)")
	add("InstanceNormalization", []string{x}, "const %s : f32[6] = {1,0.5,-1,2,0.25,1}\nconst %b : f32[6] = "+
		"{0,0.5,-1,0.1,2,0}", "i8[1,6,7,5] q(0.03:4)", "InstanceNormalization(%x, %s, %b)")
	add("BatchNormalization", []string{x}, "const %s : f32[6] = {1,0.5,-1,2,0.25,1}\nconst %v : f32[6] = "+
		"{1,0.5,0.1,2,0.25,1}", "i8[1,6,7,5] q(0.03:4)", "BatchNormalization(%x, %s, %s, %s, %v)")

	for a, s := range []string{"[2,6,7,5]", "[1,12,7,5]", "[1,6,14,5]", "[1,6,7,10]"} {
		add(fmt.Sprint("Concat ", a), []string{x, x}, "", "i8"+s+" q(0.05:-3)",
			fmt.Sprintf("Concat(%%x, %%y) {axis=%d}", a))
	}
	add("Concat constant", []string{x}, "const %c : i8[1,2,7,5] q(0.05:-3) = rand 4", "i8[1,8,7,5] q(0.05:-3)",
		"Concat(%x, %c) {axis=1}")
	sl := func(s, e, a, p int) string {
		return fmt.Sprintf("const %%s : i64[1]={%d}\nconst %%e : i64[1]={%d}\nconst %%a : i64[1]={%d}\nconst %%p : "+
			"i64[1]={%d}", s, e, a, p)
	}
	add("Slice channels", []string{x}, sl(1, 5, 1, 2), "i8[1,2,7,5] q(0.05:-3)", "Slice(%x, %s, %e, %a, %p)")
	add("Slice rows", []string{x}, sl(2, 6, 2, 1), "i8[1,6,4,5] q(0.05:-3)", "Slice(%x, %s, %e, %a, %p)")
	add("Slice backwards", []string{x}, sl(-1, -9, 3, -1), "i8[1,6,7,5] q(0.05:-3)", "Slice(%x, %s, %e, %a, %p)")
	add("Pad", []string{x}, "const %p : i64[8]={0,0,1,2,0,0,3,0}", "i8[1,6,11,7] q(0.05:-3)", "Pad(%x, %p)")
	add("Pad edge", []string{x}, "const %p : i64[8]={0,0,1,2,0,0,3,0}", "i8[1,6,11,7] q(0.05:-3)",
		"Pad(%x, %p) {mode=\"edge\"}")
	add("Pad reflect", []string{x}, "const %p : i64[8]={0,1,1,-2,0,0,3,0}", "i8[1,7,11,3] q(0.05:-3)",
		"Pad(%x, %p) {mode=\"reflect\"}")
	add("Transpose", []string{x}, "", "i8[1,5,6,7] q(0.05:-3)", "Transpose(%x) {perm=[0,3,1,2]}")
	add("Reshape", []string{x}, "const %s : i64[4]={1,14,3,5}", "i8[1,14,3,5] q(0.05:-3)", "Reshape(%x, %s)")
	add("Resize nearest", []string{x}, "const %s : f32[4]={1,1,2,3}", "i8[1,6,14,15] q(0.05:-3)",
		"Resize(%x, -, %s) {mode=\"nearest\"}")
	add("Resize linear", []string{x}, "const %s : f32[4]={1,1,2,2}", "i8[1,6,14,10] q(0.05:-3)",
		"Resize(%x, -, %s) {mode=\"linear\"}")
	add("Resize linear rescaled", []string{x}, "const %s : i64[4]={1,6,3,11}", "i8[1,6,3,11] q(0.06:3)",
		"Resize(%x, -, -, %s) {mode=\"linear\"}")
	add("DepthToSpace", []string{"i8[1,8,3,5] q(0.05:-3)"}, "", "i8[1,2,6,10] q(0.05:-3)",
		"DepthToSpace(%x) {blocksize=2}")
	add("SpaceToDepth", []string{"i8[1,2,6,4] q(0.05:-3)"}, "", "i8[1,8,3,2] q(0.05:-3)",
		"SpaceToDepth(%x) {blocksize=2}")
	add("Gather", []string{x}, "const %i : i64[3]={4,0,-1}", "i8[1,3,7,5] q(0.05:-3)", "Gather(%x, %i) {axis=1}")
	add("Gather one", []string{x}, "const %i : i64[1]={2}", "i8[1,6,1,5] q(0.05:-3)", "Gather(%x, %i) {axis=2}")
	add("Expand", []string{"i8[1,6,1,5] q(0.05:-3)"}, "const %s : i64[4]={1,6,4,5}", "i8[1,6,4,5] q(0.05:-3)",
		"Expand(%x, %s)")
	add("Tile", []string{x}, "const %s : i64[4]={1,2,1,3}", "i8[1,12,7,15] q(0.05:-3)", "Tile(%x, %s)")
	add("Trilu", []string{x}, "", "i8[1,6,7,5] q(0.05:-3)", "Trilu(%x)")
	add("Where", []string{"bool[1,6,7,5]", x, "i8[1,1,7,1] q(0.05:-3)"}, "", x, "Where(%x, %y, %z)")

	h := "bf16[1,6,7,5]"
	hw := func(shape string) string { return "const %w : bf16" + shape + " = rand 5\n" }
	hb := func(n int) string { return fmt.Sprintf("const %%b : f32[%d] = rand 6\n", n) }
	add("bf16 conv", []string{h}, hw("[4,6,3,3]")+hb(4), "bf16[1,4,7,5]",
		"Conv(%x, %w, %b) {pads=[1,1,1,1], act_min=0.0}")
	add("bf16 conv strided", []string{"bf16[2,6,7,5]"}, hw("[4,3,3,2]")+hb(4), "bf16[2,4,3,2]",
		"Conv(%x, %w, %b) {strides=[2,3], pads=[0,1,0,0], group=2, act_max=0.5}")
	add("bf16 conv dilated", []string{h}, hw("[4,6,3,2]"), "bf16[1,4,3,3]", "Conv(%x, %w) {dilations=[2,2]}")
	add("bf16 depthwise", []string{h}, hw("[12,1,3,3]")+hb(12), "bf16[1,12,4,3]",
		"Conv(%x, %w, %b) {group=6, strides=[2,2], pads=[1,1,1,1]}")
	add("bf16 deconv", []string{h}, hw("[6,4,3,3]")+hb(4), "bf16[1,4,14,10]",
		"ConvTranspose(%x, %w, %b) {strides=[2,2], pads=[1,1,0,0]}")
	add("bf16 deconv groups", []string{h}, hw("[6,2,3,2]")+hb(4), "bf16[1,4,15,10]",
		"ConvTranspose(%x, %w, %b) {strides=[2,2], group=2}")
	add("bf16 MaxPool", []string{h}, "", "bf16[1,6,4,3]",
		"MaxPool(%x) {kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1], act_max=0.4}")
	for _, op := range []string{"Add", "Sub", "Mul"} {
		add("bf16 "+op, []string{h, h}, "", h, op+"(%x, %y) {act_min=-0.5, act_max=0.5}")
		add("bf16 channels "+op, []string{h, "bf16[1,6,1,1]"}, "", h, op+"(%x, %y)")
		add("bf16 constant "+op, []string{h}, "const %c : bf16[1,6,1,1] = rand 4", h, op+"(%c, %x)")
	}
	for _, op := range []string{"Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Gelu", "Erf", "Exp",
		"Swish", "Identity"} {
		add("bf16 "+op, []string{h}, "", h, op+"(%x)")
	}
	add("bf16 Concat", []string{h, h}, "", "bf16[1,12,7,5]", "Concat(%x, %y) {axis=1}")
	add("bf16 Slice", []string{h}, sl(1, 5, 1, 2), "bf16[1,2,7,5]", "Slice(%x, %s, %e, %a, %p)")
	add("bf16 Transpose", []string{h}, "", "bf16[1,5,6,7]", "Transpose(%x) {perm=[0,3,1,2]}")
	add("bf16 Resize nearest", []string{h}, "const %s : f32[4]={1,1,2,3}", "bf16[1,6,14,15]",
		"Resize(%x, -, %s) {mode=\"nearest\"}")
	add("to bf16", []string{"f32[1,6,7,5]"}, "", h, "Cast(%x) {to=16}")
	add("from bf16", []string{h}, "", "f32[1,6,7,5]", "Cast(%x) {to=1}")
	border := "const %s : f32[] = {0.03}\nconst %z : i8[] = {-7}"
	add("quantise", []string{"f32[1,6,7,5]"}, border, "i8[1,6,7,5] q(0.03:-7)", "QuantizeLinear(%x, %s, %z)")
	add("dequantise", []string{"i8[1,6,7,5] q(0.03:-7)"}, border, "f32[1,6,7,5]", "DequantizeLinear(%x, %s, %z)")
	m["Dropout"] = "in %x : " + x + "\n%o : " + x + ", %m : bool[1,6,7,5] = Dropout(%x)\nout \"o\" = %o\nout \"m\" = %m"
	return m
}

func TestEveryOperation(t *testing.T) {
	var cases []*kase
	seen := map[lm.Opcode]bool{}
	all := nodes()
	for i, name := range sortedKeys(all) {
		k := compiled(t, name, parse(t, all[name]), uint64(i)+1)
		for _, c := range k.seg.Commands {
			seen[c.Op] = true
		}
		cases = append(cases, k)
	}
	for _, o := range lm.Ops() {
		testenv.Check(t, seen[o.Op], "no case has the operation %s", o.Name)
	}
	compare(t, cases)
}
