// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "strings"

// arithmetic are layers that compute.
func arithmetic() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	layer("ADD_N", "f32 i8", func(l *Layer) {
		l.do(with(82), []int32{l.in(2, 3, 4), l.in(2, 3, 4), l.in(2, 3, 4)}, l.rescaled(2, 3, 4))
	})
	layer("CUMSUM", "f32 i8", func(l *Layer) {
		l.do(with(102, true, false), []int32{l.in(2, 5, 3), l.scalar(1)}, l.rescaled(2, 5, 3))
	})
	layer("CUMSUM", "f32 i8", func(l *Layer) {
		l.do(with(102, false, true), []int32{l.in(2, 5, 3), l.scalar(-1)}, l.rescaled(2, 5, 3))
	})
	for _, op := range []string{"ARG_MAX", "ARG_MIN"} {
		layer(op, "f32 i8", func(l *Layer) {
			l.do(with(40, int8(2)), []int32{l.in(3, 5, 4), l.scalar(1)}, l.output("i32", 3, 4))
		})
	}
	layer("BATCH_MATMUL", "f32 i8 i16", func(l *Layer) {
		l.do(with(101, true, false), []int32{l.in(2, 5, 3), l.in(2, 5, 4)}, l.rescaled(2, 3, 4))
	})
	layer("FLOOR_DIV", "f32 i32", func(l *Layer) {
		l.do(with(65), []int32{l.in(2, 9), l.random(l.Type, 9)}, l.out(2, 9))
	})
	layer("FLOOR_MOD", "f32 i32", func(l *Layer) {
		l.do(with(72), []int32{l.in(2, 9), l.random(l.Type, 9)}, l.out(2, 9))
	})
	layer("L2_NORMALIZATION", "f32 i8", func(l *Layer) {
		y := l.out(3, 7)
		if l.Type == "i8" {
			l.scaled(y, 1./128, 0)
		}
		l.do(with(12, int8(0)), []int32{l.in(3, 7)}, y)
	})
	layer("L2_POOL_2D", "f32", func(l *Layer) {
		l.do(with(5, int8(0), 2, 1, 3, 2, int8(1)), []int32{l.in(1, 5, 6, 3)}, l.out(1, 5, 3, 3))
	})
	layer("LOG_SOFTMAX", "f32 i8", func(l *Layer) {
		y := l.out(4, 6)
		if l.Type == "i8" {
			l.scaled(y, 1./16, 127)
		}
		l.do(with(36), []int32{l.in(4, 6)}, y)
	})
	for _, where := range [][2]bool{{false, false}, {true, false}, {false, true}} {
		layer("RESIZE_BILINEAR", "f32 i8", func(l *Layer) {
			l.do(with(15, nil, nil, where[0], where[1]), []int32{l.in(1, 4, 3, 2), l.ints(7, 5)}, l.out(1, 7, 5, 2))
		})
		layer("RESIZE_NEAREST_NEIGHBOR", "f32 i8 i16", func(l *Layer) {
			l.do(with(74, where[0], where[1]), []int32{l.in(1, 4, 3, 2), l.ints(7, 6)}, l.out(1, 7, 6, 2))
		})
	}
	layer("RESIZE_NEAREST_NEIGHBOR", "f32 i8 i16", func(l *Layer) {
		l.do(with(74, false, false), []int32{l.in(1, 2, 3, 4), l.ints(4, 9)}, l.out(1, 4, 9, 4))
	})
	return all
}

// rescaled is a result of another quantisation than the inputs'.
func (l *Layer) rescaled(shape ...int32) int32 {
	y := l.out(shape...)
	switch l.Type {
	case "i8":
		l.scaled(y, 0.11, -5)
	case "i16":
		l.scaled(y, 0.0013, 0)
	}
	return y
}
