// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"fmt"

	"github.com/nncc/nncc/ir/tensor"
)

func casesNormF32() []kase {
	bn := "const %s : f32[3] = rand 1\nconst %b : f32[3] = rand 2\nconst %m : f32[3] = rand 3\nconst %v : f32[3] = " +
		"{0.5,1.5,2.0}"
	sb := "const %s : f32[4] = rand 1\nconst %b : f32[4] = rand 2"
	return []kase{
		{name: "bn", src: one(f32("[2,3,4,5]"), bn, "BatchNormalization(%x, %s, %b, %m, %v)")},
		{name: "bn 2-D", src: one(f32("[2,3]"), bn, "BatchNormalization(%x, %s, %b, %m, %v)")},
		{name: "bn 1-D", src: one(f32("[2,3,7]"), bn, "BatchNormalization(%x, %s, %b, %m, %v)")},
		{name: "layer", src: one(f32("[2,3,4]"), sb, "LayerNormalization(%x, %s, %b)"), tol: 5e-6},
		{name: "layer axis", src: one(f32("[2,3,4]"), sb, "LayerNormalization(%x, %s, %b) {axis=1}"), tol: 5e-6},
		{name: "layer run time", src: one([]string{"f32[2,3,4]", "f32[4]"}, "", "LayerNormalization(%x, %y)"),
			tol: 5e-6},
		{name: "rms", src: one(f32("[2,3,4]"), sb, "RMSNormalization(%x, %s)"), tol: 5e-6},
		{name: "instance", src: one(f32("[2,4,5,3]"), sb, "InstanceNormalization(%x, %s, %b)"), tol: 5e-6},
		{name: "group", src: one(f32("[2,4,5,3]"), sb, "GroupNormalization(%x, %s, %b) {num_groups=2}"), tol: 5e-6},
		{name: "lrn", src: one(f32("[2,7,5,3]"), "", "LRN(%x) {size=3, alpha=0.1}"), tol: 5e-6},
		{name: "mvn", src: one(f32("[2,3,5,3]"), "", "MeanVarianceNormalization(%x)"), tol: 5e-6},
		{name: "mvn axes", src: one(f32("[2,3,5,3]"), "", "MeanVarianceNormalization(%x) {axes=[-1]}"), tol: 5e-6},
	}
}

func casesResize() []kase {
	var cases []kase
	for _, mode := range []string{"nearest", "linear", "cubic"} {
		for _, coord := range []string{"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"} {
			for _, s := range []string{"{1,1,2,2}", "{1,1,0.6,1.7}"} {
				cases = append(cases, kase{name: mode + coord + s, tol: 3e-6,
					src: one(f32("[2,3,4,5]"), "const %s : f32[4] = "+s,
						fmt.Sprintf("Resize(%%x, -, %%s) {mode=%q, coordinate_transformation_mode=%q}", mode, coord))})
			}
		}
		cases = append(cases,
			kase{name: mode + " crop", src: one(f32("[1,3,4,5]"), "const %r : f32[4] = {0.2,-0.1,1.3,0.8}\nconst %s "+
				": i64[2] = {5,6}",
				fmt.Sprintf("Resize(%%x, %%r, -, %%s) {axes=[2,3], mode=%q, "+
					"coordinate_transformation_mode=\"tf_crop_and_resize\", extrapolation_value=9.5}", mode)),
				tol: 3e-6},
			kase{name: mode + " 1-D", src: one(f32("[1,3,5]"), "const %s : i64[3] = {1,3,9}",
				fmt.Sprintf("Resize(%%x, -, -, %%s) {mode=%q}", mode)), tol: 3e-6},
			kase{name: mode + " antialias", src: one(f32("[1,3,9,8]"), "const %s : i64[2] = {4,5}",
				fmt.Sprintf("Resize(%%x, -, -, %%s) {mode=%q, antialias=1, axes=[2,3]}", mode)), tol: 3e-6})
	}
	cases = append(cases, kase{name: "i8", src: "in %x : i8[1,3,4,5] q(0.1:3)\nconst %s : f32[4] = {1,1,2,2}\n%o : " +
		"i8[1,3,8,10] q(0.1:3) = Resize(%x, -, %s)\nout \"o\" = %o", kernel: "nncc_resize_nearest"})
	return cases
}

func casesSpaceAndRepeat() []kase {
	var cases []kase
	for _, order := range []string{"", "nhwc", "2013"} {
		for _, mode := range []string{"DCR", "CRD"} {
			cases = append(cases, kase{name: "d2s" + order + mode, order: order, src: one([]string{"i8[2,12,3,5]"}, "",
				fmt.Sprintf("DepthToSpace(%%x) {blocksize=2, mode=%q}", mode))}, kase{name: "s2d" + order + mode,
				order: order, src: one([]string{"f32[2,3,4,6]"}, "",
					fmt.Sprintf("SpaceToDepth(%%x) {blocksize=2, mode=%q}", mode))})
		}
		cases = append(cases, kase{name: "tile" + order, order: order, src: one([]string{"i16[2,3,4,5]"},
			"const %r : i64[4] = {1,2,3,2}", "Tile(%x, %r)")}, kase{name: "expand" + order, order: order,
			src: one([]string{"f32[2,1,4,1]"}, "const %r : i64[4] = {1,3,1,5}", "Expand(%x, %r)")})
	}
	cases = append(cases,
		kase{name: "expand rank", src: one([]string{"f32[3,1]"}, "const %r : i64[3] = {2,3,5}", "Expand(%x, %r)")},
		kase{name: "trilu", src: one([]string{"f32[2,3,4]"}, "const %k : i64[] = {1}", "Trilu(%x, %k)")},
		kase{name: "trilu lower", src: one([]string{"i8[4,3]"}, "", "Trilu(%x) {upper=0}")},
		kase{name: "shape", src: one([]string{"f32[2,3,4]"}, "", "Shape(%x)")},
		kase{name: "size", src: one([]string{"f32[2,3,4]"}, "", "Size(%x)")},
		kase{name: "eye", src: one([]string{"f32[3,4]"}, "", "EyeLike(%x) {k=1}")},
	)
	return cases
}

func casesIndex() []kase {
	x := func(shape ...int) *tensor.Dense {
		n := 1
		for _, d := range shape {
			n *= d
		}
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i)
		}
		return tensor.Of(shape, v)
	}
	i64 := func(shape []int, v ...int64) *tensor.Dense { return tensor.Of(shape, v) }
	i32 := func(shape []int, v ...int32) *tensor.Dense { return tensor.Of(shape, v) }
	in := func(d ...*tensor.Dense) []*tensor.Dense { return d }
	var cases []kase
	for _, order := range []string{"", "nhwc"} {
		cases = append(cases, kase{name: "gather const" + order, order: order, src: one(f32("[2,3,4,5]"),
			"const %i : i64[2] = {2,-3}", "Gather(%x, %i) {axis=1}")}, kase{name: "gather one" + order,
			order: order, src: one(f32("[2,3,4,5]"), "const %i : i64[1] = {-1}", "Gather(%x, %i) {axis=1}")},
			kase{name: "gather data" + order, order: order, src: one([]string{"i32[3]"},
				"const %d : f32[2,3,4,5] = rand 3", "Gather(%d, %x) {axis=2}"), in: in(i32([]int{3}, 1, -1, 0))})
	}
	cases = append(cases,
		kase{name: "gather scalar", src: one(f32("[4,5]"), "const %i : i64[] = {2}", "Gather(%x, %i)")},
		kase{name: "gather matrix", src: one([]string{"f32[4,5]", "i64[2,2]"}, "", "Gather(%x, %y) {axis=1}"),
			in: in(x(4, 5), i64([]int{2, 2}, 0, -1, 3, 2))},
		kase{name: "gather elements", src: one([]string{"f32[3,4]", "i64[2,4]"}, "", "GatherElements(%x, %y)"),
			in: in(x(3, 4), i64([]int{2, 4}, 0, 1, 2, -1, 1, 1, -3, 0))},
		kase{name: "gather nd", src: one([]string{"f32[2,3,4]", "i64[2,2,1]"}, "", "GatherND(%x, %y) {batch_dims=1}"),
			in: in(x(2, 3, 4), i64([]int{2, 2, 1}, 0, -1, 2, 1))},
		kase{name: "gather nd const", src: one([]string{"f32[2,3,4]"}, "const %i : i64[3,2] = {1,2,0,-1,1,0}",
			"GatherND(%x, %i)")},
		kase{name: "scatter elements", src: one([]string{"f32[3,4]", "i32[2,4]", "f32[2,4]"}, "",
			"ScatterElements(%x, %y, %z)"), in: in(x(3, 4), i32([]int{2, 4}, 0, 1, 2, -1, 1, 1, -3, 0), x(2, 4))},
		kase{name: "scatter nd", src: one([]string{"f32[3,4]", "f32[2,4]"}, "const %i : i64[2,1] = {2,0}",
			"ScatterND(%x, %i, %y)")},
	)
	return cases
}

func casesRecurrentF32() []kase {
	var cases []kase
	for _, op := range []struct {
		name  string
		gates int
		extra string
	}{{"LSTM", 4, ""}, {"GRU", 3, ""}, {"GRU", 3, ", linear_before_reset=1"}, {"RNN", 1, ""},
		{"LSTM", 4, ", input_forget=1, clip=0.5"}} {
		for _, dir := range []string{"forward", "reverse", "bidirectional"} {
			d := 1
			if dir == "bidirectional" {
				d = 2
			}
			w := fmt.Sprintf("const %%w : f32[%d,%d,4] = rand 1\nconst %%r : f32[%d,%d,3] = rand 2\nconst %%b : "+
				"f32[%d,%d] = rand 3\n", d, op.gates*3, d, op.gates*3, d, op.gates*6)
			for _, layout := range []int{0, 1} {
				x, h := "[5,2,4]", fmt.Sprintf("[%d,2,3]", d)
				if layout == 1 {
					x, h = "[2,5,4]", fmt.Sprintf("[2,%d,3]", d)
				}
				outs, names := "%o, %h", []string{"o", "h"}
				args := "%x, %w, %r, %b, -, %y"
				if op.name == "LSTM" {
					outs, names = "%o, %h, %c", []string{"o", "h", "c"}
					args += ", %y"
				}
				src := "in %x : f32" + x + "\nin %y : f32" + h + "\n" + w + outs + " = " + op.name + "(" + args +
					fmt.Sprintf(") {direction=%q, layout=%d, hidden_size=3%s}", dir, layout, op.extra)
				for _, n := range names {
					src += fmt.Sprintf("\nout %q = %%%s", n, n)
				}
				cases = append(cases, kase{name: fmt.Sprint(op, dir, layout), src: src, tol: 3e-6})
			}
		}
	}
	w := "const %w : f32[1,12,4] = rand 1\nconst %r : f32[1,12,3] = rand 2\nconst %b : f32[1,24] = rand 3\nconst %p " +
		": f32[1,9] = rand 4\nconst %l : i32[2] = {3,5}\n"
	cases = append(cases,
		kase{name: "peepholes and lengths", src: "in %x : f32[5,2,4]\n" + w +
			"%o = LSTM(%x, %w, %r, %b, %l, -, -, %p) {hidden_size=3}\nout \"o\" = %o", tol: 3e-6},
		kase{name: "activations", src: "in %x : f32[5,2,4]\n" + w +
			`%o = LSTM(%x, %w, %r) {hidden_size=3, activations=["HardSigmoid", "LeakyRelu", "ScaledTanh"], activation_alpha=[0.3,0.1,0.7], activation_beta=[0.4,0.9]}` + "\nout \"o\" = %o", tol: 3e-6},
		kase{name: "batch 1", src: "in %x : f32[1,5,4]\n" + w +
			"%o = LSTM(%x, %w, %r) {hidden_size=3, layout=1}\nout \"o\" = %o", tol: 3e-6},
	)
	return cases
}

func casesCast() []kase {
	codes := map[string]int{"f32": 1, "u8": 2, "i8": 3, "u16": 4, "i16": 5, "i32": 6, "i64": 7, "bool": 9, "u32": 12}
	var cases []kase
	for _, from := range []string{"f32", "u8", "i8", "u16", "i16", "i32", "i64", "bool", "u32"} {
		for _, to := range []string{"f32", "u8", "i8", "u16", "i16", "i32", "i64", "bool", "u32"} {
			cases = append(cases, kase{name: from + " to " + to, order: "nhwc", src: one([]string{from + "[2,3,4,5]"},
				"", fmt.Sprintf("Cast(%%x) {to=%d}", codes[to]))})
		}
	}
	cases = append(cases, kase{name: "cast like", src: one([]string{"f32[2,3,4]", "i32[7]"}, "", "CastLike(%x, %y)")},
		kase{name: "argmax to float",
			src: "in %x : f32[2,5]\n%a = ArgMax(%x) {axis=1}\n%b = Cast(%a) {to=1}\nout \"b\" = %b"})
	return cases
}

// casesNotInPlace: an operand that is part of the other one is read again.
func casesNotInPlace() []kase {
	slice := "const %s : i64[1] = {0}\nconst %e : i64[1] = {1}\n"
	return []kase{
		{name: "slice", src: "in %i : f32[4,8]\n" + slice +
			"%x = Neg(%i)\n%y = Slice(%x, %s, %e)\n%o = Add(%x, %y)\nout \"o\" = %o"},
		{name: "concat", src: "in %i : f32[1,8]\n%a = Neg(%i)\n%b = Exp(%i)\n%x = Concat(%a, %b) {axis=0}\n%o = " +
			"Sub(%x, %a)\nout \"o\" = %o"},
		{name: "transpose", src: "in %i : f32[4,4]\n%x = Neg(%i)\n%y = Transpose(%x)\n%o = Sub(%x, %y)\nout \"o\" = " +
			"%o"},
		{name: "gather", src: "in %i : i8[4,8] q(0.1:0)\nconst %k : i64[] = {0}\n%x : i8[4,8] q(0.1:0) = " +
			"Relu(%i)\n%y : i8[8] q(0.1:0) = Gather(%x, %k)\n%o : i8[4,8] q(0.2:0) = Sub(%x, %y)\nout \"o\" = %o"},
	}
}
