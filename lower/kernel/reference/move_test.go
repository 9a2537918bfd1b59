// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"

	"github.com/nncc/nncc/ir/tensor"
)

func casesMovement() []kase {
	var cases []kase
	add := func(name, order, src string) {
		cases = append(cases, kase{name: name + order, order: order, src: src})
	}
	for _, order := range []string{"", "nhwc", "2013"} {
		for _, d := range []string{"i8", "f32", "i64", "f16"} {
			for axis := range 4 {
				a := []int{1, 3, 4, 5}
				a[axis]++
				add("concat "+d, order, one([]string{d + "[1,3,4,5]", d + shape(a...)},
					"const %k : "+d+"[1,3,4,5] = rand 9", fmt.Sprintf("Concat(%%x, %%y, %%k) {axis=%d}", axis)))
			}
			add("slice "+d, order, one([]string{d + "[2,3,6,7]"}, "const %s : i64[2] = {1,5}\nconst %e : i64[2] = "+
				"{3,0}\nconst %a : i64[2] = {1,3}\nconst %p : i64[2] = {1,-2}", "Slice(%x, %s, %e, %a, %p)"))
			add("slice crop "+d, order, one([]string{d + "[2,3,6,7]"}, "const %s : i64[2] = {2,1}\nconst %e : i64[2] "+
				"= {5,6}\nconst %a : i64[2] = {2,3}", "Slice(%x, %s, %e, %a)"))
			for _, m := range []string{"constant", "edge", "reflect", "wrap"} {
				add("pad "+m+d, order, one([]string{d + "[2,3,4,5]"}, "const %p : i64[8] = {0,1,2,-1,0,0,1,2}",
					fmt.Sprintf("Pad(%%x, %%p) {mode=%q}", m)))
			}
		}
		add("identity", order, one([]string{"i8[2,3,4,5]"}, "", "Identity(%x)"))
		add("pad value", order, one([]string{"f32[2,3,4,5]"}, "const %p : i64[4] = {1,1,0,2}\nconst %v : f32[] = "+
			"{-7.5}\nconst %a : i64[2] = {2,3}", "Pad(%x, %p, %v, %a)"))
		add("pad run-time value", order, one([]string{"i16[2,3,4,5]", "i16[]"},
			"const %p : i64[4] = {1,1,0,2}\nconst %a : i64[2] = {-2,3}", "Pad(%x, %p, %y, %a)"))
		for axis := range 4 {
			add("split", order, fmt.Sprintf("in %%x : i16[4,6,8,2]\n%%a, %%b = Split(%%x) {axis=%d}\nout \"a\" = "+
				"%%a\nout \"b\" = %%b", axis))
		}
		add("split sizes", order, "in %x : f32[1,6,1,1]\nconst %s : i64[3] = {1,2,3}\n%a, %b, %c = Split(%x, %s) "+
			"{axis=1}\n%d = Neg(%b)\nout \"a\" = %a\nout \"d\" = %d\nout \"c\" = %c")
	}
	add("transpose", "", "in %x : i8[2,3,4,5]\n%a = Transpose(%x) {perm=[2,0,3,1]}\nout \"a\" = %a")
	add("transpose default", "", "in %x : i64[2,3,4]\n%a = Transpose(%x)\nout \"a\" = %a")
	add("transpose twice", "nhwc", "in %x : i8[2,3,4,5]\n%a = Transpose(%x) {perm=[0,2,3,1]}\n%b = Identity(%a)\n%c "+
		"= Transpose(%b) {perm=[0,3,1,2]}\nout \"a\" = %c")
	add("reshape", "", "in %x : f32[2,3,4]\nconst %s : i64[2] = {6,4}\n%a = Reshape(%x, %s)\n%b = Neg(%a)\n%c = "+
		"Flatten(%b)\nout \"a\" = %c")
	add("squeeze", "", "in %x : f32[2,1,4]\nconst %s : i64[1] = {1}\n%a = Squeeze(%x, %s)\n%b = Unsqueeze(%a, "+
		"%s)\nout \"a\" = %b")
	add("conv flatten", "", "in %x : f32[1,2,5,5]\nconst %w : f32[3,2,3,3] = rand 1\n%c = Conv(%x, %w)\n%f = "+
		"Flatten(%c)\nout \"f\" = %f")
	add("concat views", "", "in %x : f32[1,8]\n%a = Neg(%x)\n%b = Exp(%x)\n%c = Concat(%a, %b) {axis=1}\nout \"c\" "+
		"= %c")
	add("slice view", "", "in %x : f32[8,4]\nconst %s : i64[1] = {2}\nconst %e : i64[1] = {5}\n%n = Neg(%x)\n%a = "+
		"Slice(%n, %s, %e)\n%b = Exp(%a)\nout \"b\" = %b")
	add("const reshape", "", "in %x : f32[2,3]\nconst %k : f32[6] = rand 4\nconst %s : i64[2] = {2,3}\n%a = "+
		"Reshape(%k, %s)\n%b = Add(%x, %a)\nout \"b\" = %b")
	add("dropout", "", "in %x : f32[2,3]\n%a, %m = Dropout(%x)\nout \"a\" = %a\nout \"m\" = %m")
	add("bitcast", "", one([]string{"f32[2,3]"}, "", "BitCast(%x) {to=6}"))
	return cases
}

func shape(d ...int) string {
	s := "["
	for i, x := range d {
		if i > 0 {
			s += ","
		}
		s += fmt.Sprint(x)
	}
	return s + "]"
}

func casesBorders() []kase {
	all := make([]int8, 256)
	for i := range all {
		all[i] = int8(i - 128)
	}
	every := []*tensor.Dense{tensor.Of([]int{256}, all)}
	var cases []kase
	for _, order := range []string{"", "nhwc"} {
		for _, d := range []string{"i8", "u8", "i16"} {
			cases = append(cases,
				kase{name: "quantize " + d + order, order: order,
					src: one(f32("[2,3,4,5]"), "const %s : f32[] = {0.013}\nconst %z : "+d+"[] = {3}",
						"QuantizeLinear(%x, %s, %z)")},
				kase{name: "quantize axis " + d + order, order: order,
					src: one(f32("[2,3,4,5]"), "const %s : f32[3] = {0.013,0.5,0.02}\nconst %z : "+d+"[3] = {3,0,7}",
						"QuantizeLinear(%x, %s, %z)")},
				kase{name: "dequantize axis " + d + order, order: order, src: one([]string{d + "[2,3,4,5]"},
					"const %s : f32[3] = {0.013,0.5,0.02}\nconst %z : "+d+"[3] = {3,0,7}",
					"DequantizeLinear(%x, %s, %z)")})
		}
		cases = append(cases, kase{name: "dequantize i32", order: order, src: one([]string{"i32[2,3,4,5]"},
			"const %s : f32[1] = {0.25}", "DequantizeLinear(%x, %s)")})
	}
	q := func(t string, s string) string { return "in %x : " + t + "[256] q(" + s + ")\n" }
	for _, node := range []string{"Sigmoid(%x)", "Tanh(%x)", "Relu(%x)", "LeakyRelu(%x)", "Elu(%x)", "HardSwish(%x)",
		"Erf(%x)", "Exp(%x)", "Sqrt(%x)", "Gelu(%x)", "Reciprocal(%x)",
		"Clip(%x, %k)", "Sub(%x, %k)", "Sub(%k, %x)", "Div(%x, %k)", "Div(%k, %x)", "Pow(%x, %k)", "PRelu(%x, %k)",
		"Add(%x, %i)", "Mul(%i, %x)", "Max(%x, %k)", "nncc.Requantize(%x)"} {
		cases = append(cases, kase{name: "table " + node, in: every, kernel: "nncc_lut_s8",
			src: q("i8", "0.05:-3") + "const %k : f32[] = {1.5}\nconst %i : i8[] q(0.1:4) = {20}\n%o : i8[256] " +
				"q(0.03:7) = " + node + "\nout \"o\" = %o"})
	}
	cases = append(cases,
		kase{name: "i8 to u8 same", kernel: "nncc_convert_s8_u8", src: q("i8", "0.05:-128") +
			"%o : u8[256] q(0.05:0) = nncc.Requantize(%x)\nout \"o\" = %o"},
		kase{name: "u8 to i8 same", kernel: "nncc_convert_s8_u8", src: q("u8", "0.05:3") +
			"%o : i8[256] q(0.05:-125) = nncc.Requantize(%x)\nout \"o\" = %o"},
		kase{name: "u8 to i8", kernel: "nncc_lut_s8", src: q("u8", "0.05:3") +
			"%o : i8[256] q(0.04:-125) = nncc.Requantize(%x)\nout \"o\" = %o"},
		kase{name: "compare const", kernel: "nncc_lut_s8", src: q("i8", "0.05:-128") +
			"const %k : f32[] = {4.0}\n%o = Less(%x, %k)\nout \"o\" = %o"},
		kase{name: "pad zero point", src: "in %x : i8[1,3,4,5] q(0.1:-7)\nconst %p : i64[8] = {0,0,1,1,0,0,1,1}\n%o " +
			": i8[1,3,6,7] q(0.1:-7) = Pad(%x, %p)\nout \"o\" = %o"},
		kase{name: "pad float value", src: "in %x : i8[1,3,4,5] q(0.1:-7)\nconst %p : i64[8] = " +
			"{0,0,1,1,0,0,1,1}\nconst %v : f32[] = {0.5}\n%o : i8[1,3,6,7] q(0.1:-7) = Pad(%x, %p, %v)\nout \"o\" = " +
			"%o"},
	)
	return cases
}
