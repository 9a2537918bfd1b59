// SPDX-License-Identifier: Apache-2.0

package tflm

import "math"

// function draws a function of one tensor; limit is the range of its results for inputs of
// about [-x, x].
func function(kind byte, limit func(x float64) float64, fields ...any) func(l *layer) {
	return func(l *layer) {
		x := l.in(l.shape(4)...)
		y := l.output(l.typ, limit(l.limit(x)), l.Tensors[x].Shape...)
		l.do(kind, fields, []int32{x}, y)
	}
}

// positive is a function of numbers above 0.
func positive(f func(l *layer)) func(l *layer) {
	return func(l *layer) {
		l.least, l.most = 0.01, 9
		f(l)
		if l.typ == "i8" {
			l.Tensors[l.Inputs[0]].Zero = []int64{-128}
		}
	}
}

// fixed is a function of which results have a fixed quantisation.
func fixed(kind byte, scale8, scale16 float64, zero8 int64, fields ...any) func(l *layer) {
	return func(l *layer) {
		x := l.in(l.shape(4)...)
		if l.typ == "i16" && l.chance(0.5) {
			l.Tensors[x].Scale[0] = pick(l, float32(1./4096), 1./8192, 1./2048, 1./65536)
		}
		y := l.output(l.typ, 1, l.Tensors[x].Shape...)
		switch l.typ {
		case "i8":
			l.quantised(y, scale8, zero8)
		case "i16":
			l.quantised(y, scale16, 0)
		}
		l.do(kind, fields, []int32{x}, y)
	}
}

func line(x float64) float64  { return x }
func one(float64) float64     { return 1 }
func root(x float64) float64  { return math.Sqrt(x) }
func power(x float64) float64 { return x * x }

var functions = []drawer{
	{"ABS", "i8 f32 i16", function(78, line)},
	{"CEIL", "f32", function(0, line)},
	{"COS", "f32", function(0, one)},
	{"ELU", "i8 f32", function(0, line)},
	{"EXP", "f32", function(33, line)},
	{"FLOOR", "f32", function(0, line)},
	{"HARD_SWISH", "i8 f32", function(91, line)},
	{"LEAKY_RELU", "i8 f32 i16", func(l *layer) {
		x := l.in(l.shape(4)...)
		alpha := pick(l, 0.1, 0.3, 0.01, 1.5, 0.0)
		l.do(75, []any{alpha}, []int32{x}, l.output(l.typ, l.limit(x), l.Tensors[x].Shape...))
	}},
	{"LOG", "f32", positive(function(0, line))},
	{"LOGISTIC", "i8 f32 i16", fixed(0, 1./256, 1./32768, -128)},
	{"LOG_SOFTMAX", "i8 f32", fixed(36, 16./256, 1, 127)},
	{"NEG", "f32", function(42, line)},
	{"RELU", "i8 i16 f32", function(0, line)},
	{"RELU6", "i8 i16 f32", func(l *layer) {
		x := l.in(l.shape(4)...)
		l.do(0, nil, []int32{x}, l.same(x, l.Tensors[x].Shape...))
	}},
	{"ROUND", "f32", function(0, line)},
	{"RSQRT", "i8 f32", positive(function(0, one))},
	{"SIN", "f32", function(0, one)},
	{"SOFTMAX", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 30)
		x := l.in(s...)
		y, beta := l.output(l.typ, 1, s...), pick(l, 1.0, 1, 1, 0.5, 2)
		switch l.typ {
		case "i8":
			l.quantised(y, 1./256, -128)
		case "i16":
			l.quantised(y, 1./32768, 0)
		}
		l.do(9, []any{beta}, []int32{x}, y)
	}},
	{"SOFTMAX", "i8", func(l *layer) { // results of 16 bits
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 40)
		x := l.in(s...)
		y := l.quantised(l.output("i16", 1, s...), 1./65536, -32768)
		l.do(9, []any{pick(l, 1.0, 1, 0.5, 1.3)}, []int32{x}, y)
	}},
	{"SQRT", "f32", positive(function(0, root))},
	{"SQUARE", "f32", function(66, power)},
	{"TANH", "i8 f32 i16", fixed(0, 1./128, 1./32768, 0)},
	{"L2_NORMALIZATION", "i8 f32", func(l *layer) {
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 20)
		x := l.in(s...)
		y := l.quantised(l.output(l.typ, 1, s...), 1./128, 0)
		l.do(12, []any{int8(0)}, []int32{x}, y)
	}},
	{"QUANTIZE", "f32 u8 i8 i16 i32", func(l *layer) {
		l.wide = true
		to := map[string][]string{"f32": {"i8", "i16"}, "i8": {"i8", "u8", "i16", "i32"}, "i16": {"i8", "i16", "i32"},
			"i32": {"i8", "i16"}, "u8": {"i8"}}[l.typ]
		x := l.in(l.shape(4)...)
		y := l.output(pick(l, to...), l.limit(x), l.Tensors[x].Shape...)
		if l.typ == "f32" { // ties, and numbers beyond the type
			step := math.Exp2(float64(l.between(-12, 2)))
			l.quantised(y, step, l.Tensors[y].Zero[0])
			l.grid, l.most = step/2, l.limit(y)*pick(l, 0.1, 1, 3)
			l.least = -l.most
		}
		l.do(89, nil, []int32{x}, y)
	}},
	{"DEQUANTIZE", "i8 i16 u8", func(l *layer) {
		x := l.in(l.shape(4)...)
		l.do(38, nil, []int32{x}, l.output("f32", 1, l.Tensors[x].Shape...))
	}},
}
