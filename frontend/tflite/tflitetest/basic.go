// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "strings"

// basics are layers of the usual operators.
func basics() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	for op, types := range map[string]string{"ABS": "f32 i8 i16", "CEIL": "f32", "COS": "f32", "ELU": "f32 i8",
		"EXP": "f32", "FLOOR": "f32", "HARD_SWISH": "f32 i8", "NEG": "f32", "RELU": "f32 i8 i16", "ROUND": "f32",
		"SIN": "f32", "SQUARE": "f32"} {
		layer(op, types, func(l *Layer) { l.do(with(0), []int32{l.in(2, 3, 5)}, l.rescaled(2, 3, 5)) })
	}
	layer("LEAKY_RELU", "f32 i8 i16", func(l *Layer) {
		l.do(with(75, 0.2), []int32{l.in(2, 15)}, l.rescaled(2, 15))
	})
	layer("RELU6", "f32 i8 i16", func(l *Layer) { l.do(with(0), []int32{l.in(2, 15)}, l.out(2, 15)) })
	for op, steps := range map[string][3]float32{"LOGISTIC": {1. / 256, -128, 1. / 32768},
		"TANH": {1. / 128, 0, 1. / 32768}, "SOFTMAX": {1. / 256, -128, 1. / 32768}} {
		layer(op, "f32 i8 i16", func(l *Layer) {
			x, y := l.in(3, 9), l.out(3, 9)
			switch l.Type {
			case "i8":
				l.scaled(y, steps[0], int64(steps[1]))
			case "i16":
				l.scaled(y, steps[2], 0)
			}
			l.do(with(9, 1.0), []int32{x}, y)
		})
	}
	pair := func(op string, kind byte, types string, fields ...any) {
		layer(op, types, func(l *Layer) {
			l.do(with(kind, fields...), []int32{l.in(2, 3, 5), l.in(3, 5)}, l.rescaled(2, 3, 5))
		})
	}
	pair("ADD", 11, "f32 i8 i16 i32", int8(0))
	pair("SUB", 28, "f32 i8 i16 i32", int8(0))
	pair("MUL", 21, "f32 i8 i16 i32", int8(1))
	pair("SQUARED_DIFFERENCE", 76, "f32 i8 i16 i32")
	layer("DIV", "f32 i8", func(l *Layer) {
		l.do(with(29, int8(0)), []int32{l.in(2, 15), l.random(l.Type, 15)}, l.rescaled(2, 15))
	})
	layer("PRELU", "f32 i8 i16", func(l *Layer) {
		typ := strings.Replace(l.Type, "i16", "i8", 1)
		l.do(with(0), []int32{l.in(2, 15), l.random(typ, 15)}, l.rescaled(2, 15))
	})
	for _, op := range []string{"MAXIMUM", "MINIMUM"} {
		layer(op, "f32 i8 i16 i32 i64", func(l *Layer) {
			l.do(with(39), []int32{l.in(2, 15), l.in(15)}, l.out(2, 15))
		})
	}
	for op, kind := range map[string]byte{"EQUAL": 53, "NOT_EQUAL": 54, "LESS": 41, "LESS_EQUAL": 46, "GREATER": 44,
		"GREATER_EQUAL": 45} {
		layer(op, "f32 i8 i32 i64", func(l *Layer) {
			l.do(with(kind), []int32{l.in(2, 15), l.in(15)}, l.output("bool", 2, 15))
		})
	}
	for _, op := range []string{"LOGICAL_AND", "LOGICAL_OR"} {
		layer(op, "bool", func(l *Layer) { l.do(with(0), []int32{l.in(15), l.in(15)}, l.out(15)) })
	}
	layer("LOGICAL_NOT", "bool", func(l *Layer) { l.do(with(0), []int32{l.in(15)}, l.out(15)) })
	for _, op := range []string{"MEAN", "SUM"} {
		layer(op, "f32 i8 i16", func(l *Layer) {
			l.do(with(27, true), []int32{l.in(2, 5, 3), l.ints(1)}, l.rescaled(2, 1, 3))
		})
	}
	for _, op := range []string{"REDUCE_MAX", "REDUCE_MIN"} {
		layer(op, "f32 i8", func(l *Layer) { l.do(with(27, false), []int32{l.in(2, 5, 3), l.ints(1)}, l.out(2, 3)) })
	}
	all = append(all, windows()...)
	return append(all, views()...)
}

// windows are layers with weights, and pools.
func windows() []*Layer {
	var all []*Layer
	layer := func(op string, fill func(l *Layer)) {
		all = append(all, layersOf(op, []string{"f32", "i8", "i16"}, fill)...)
	}
	weights := func(l *Layer, shape ...int32) int32 {
		if l.Type == "f32" {
			return l.random("f32", shape...)
		}
		return l.scaled(l.random("i8", shape...), 0.02, 0)
	}
	wide := func(l *Layer, shape ...int32) int32 {
		y := l.out(shape...)
		switch l.Type {
		case "i8":
			l.scaled(y, 0.3, 4)
		case "i16":
			l.scaled(y, 0.01, 0)
		}
		return y
	}
	layer("CONV_2D", func(l *Layer) {
		l.do(with(1, int8(0), 2, 1, int8(1), 1, 1), []int32{l.in(1, 5, 6, 3), weights(l, 4, 3, 3, 3), -1},
			wide(l, 1, 5, 3, 4))
	})
	layer("DEPTHWISE_CONV_2D", func(l *Layer) {
		l.do(with(2, int8(1), 1, 1, 2, int8(0), 1, 1), []int32{l.in(1, 5, 6, 3), weights(l, 1, 3, 3, 6), -1},
			wide(l, 1, 3, 4, 6))
	})
	layer("TRANSPOSE_CONV", func(l *Layer) {
		l.do(with(49, int8(0), 2, 2), []int32{l.ints(1, 6, 8, 2), weights(l, 2, 3, 3, 3), l.in(1, 3, 4, 3)},
			wide(l, 1, 6, 8, 2))
	})
	layer("FULLY_CONNECTED", func(l *Layer) {
		l.do(with(8, int8(0)), []int32{l.in(2, 9), weights(l, 4, 9), -1}, wide(l, 2, 4))
	})
	for _, op := range []string{"AVERAGE_POOL_2D", "MAX_POOL_2D"} {
		layer(op, func(l *Layer) {
			l.do(with(5, int8(0), 2, 1, 3, 2, int8(0)), []int32{l.in(1, 5, 6, 3)}, l.out(1, 5, 3, 3))
		})
	}
	return all
}

// views are layers that give elements another shape or place.
func views() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	const most = "f32 i8 i16 i32"
	layer("CONCATENATION", most+" bool", func(l *Layer) {
		l.do(with(10, 1, int8(0)), []int32{l.in(2, 3), l.in(2, 4)}, l.out(2, 7))
	})
	layer("DEPTH_TO_SPACE", "f32 i8", func(l *Layer) {
		l.do(with(94, 2), []int32{l.in(1, 2, 3, 8)}, l.out(1, 4, 6, 2))
	})
	layer("SPACE_TO_DEPTH", "f32 i8", func(l *Layer) {
		l.do(with(19, 2), []int32{l.in(1, 4, 6, 2)}, l.out(1, 2, 3, 8))
	})
	layer("EXPAND_DIMS", most, func(l *Layer) { l.do(with(52), []int32{l.in(2, 3), l.ints(1)}, l.out(2, 1, 3)) })
	layer("SQUEEZE", most, func(l *Layer) { l.do(with(30), []int32{l.in(2, 1, 3)}, l.out(2, 3)) })
	layer("RESHAPE", most, func(l *Layer) { l.do(with(17), []int32{l.in(2, 6), l.ints(3, 4)}, l.out(3, 4)) })
	layer("PACK", most+" i64", func(l *Layer) { l.do(with(59, 2, 1), []int32{l.in(2, 3), l.in(2, 3)}, l.out(2, 2, 3)) })
	layer("UNPACK", most, func(l *Layer) { l.do(with(64, 2, 0), []int32{l.in(2, 3)}, l.out(3), l.out(3)) })
	layer("PAD", most, func(l *Layer) {
		l.do(with(22), []int32{l.in(2, 3), l.intsOf([]int32{2, 2}, 1, 0, 2, 1)}, l.out(3, 6))
	})
	layer("PADV2", "f32 i8 i16", func(l *Layer) {
		l.do(with(43), []int32{l.in(2, 3), l.intsOf([]int32{2, 2}, 1, 0, 2, 1), l.random(l.Type)}, l.out(3, 6))
	})
	layer("SLICE", most+" bool", func(l *Layer) {
		l.do(with(48), []int32{l.in(4, 5), l.ints(1, 2), l.ints(2, -1)}, l.out(2, 3))
	})
	layer("SPLIT", most, func(l *Layer) {
		l.do(with(35, 2), []int32{l.scalar(1), l.in(2, 6)}, l.out(2, 3), l.out(2, 3))
	})
	layer("SPLIT_V", most, func(l *Layer) {
		l.do(with(79, 2), []int32{l.in(2, 6), l.ints(2, 4), l.scalar(1)}, l.out(2, 2), l.out(2, 4))
	})
	layer("TRANSPOSE", "f32 i8 i16", func(l *Layer) {
		l.do(with(26), []int32{l.in(2, 3, 4), l.ints(2, 0, 1)}, l.out(4, 2, 3))
	})
	for _, to := range []string{"i8", "i16"} {
		layer("QUANTIZE", "f32 i8 i16 i32", func(l *Layer) {
			x := l.in(2, 9)
			if l.Type == "i32" {
				l.scaled(x, 0.001, 0)
			}
			y := l.output(to, 2, 9)
			l.scaled(y, l.Tensors[y].Scale[0]*1.7, 0)
			l.do(with(89), []int32{x}, y)
		})
	}
	layer("DEQUANTIZE", "i8 i16", func(l *Layer) { l.do(with(38), []int32{l.in(2, 9)}, l.output("f32", 2, 9)) })
	return all
}
