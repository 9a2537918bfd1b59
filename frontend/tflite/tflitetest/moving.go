// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "strings"

// moving are layers that move elements.
func moving() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	layer("BATCH_TO_SPACE_ND", "f32 i8", func(l *Layer) {
		l.do(with(24), []int32{l.in(6, 3, 2, 4), l.ints(3, 2), l.intsOf([]int32{2, 2}, 1, 2, 0, 1)}, l.out(1, 6, 3, 4))
	})
	layer("SPACE_TO_BATCH_ND", "f32 i8", func(l *Layer) {
		l.do(with(25), []int32{l.in(2, 5, 3, 2), l.ints(3, 2), l.intsOf([]int32{2, 2}, 1, 0, 0, 1)}, l.out(12, 2, 2, 2))
	})
	layer("BROADCAST_ARGS", "i32 i64", func(l *Layer) {
		l.do(with(0), []int32{l.in(3), l.in(5)}, l.out(5))
	})
	layer("BROADCAST_TO", "f32 i8 i16 i32 i64", func(l *Layer) {
		l.do(with(104), []int32{l.in(3, 1), l.ints(2, 3, 4)}, l.out(2, 3, 4))
	})
	layer("DYNAMIC_UPDATE_SLICE", "f32 i8 i16 i32", func(l *Layer) {
		l.do(with(117), []int32{l.in(3, 5, 2), l.in(2, 3, 2), l.input("i32", 3)}, l.out(3, 5, 2))
	})
	layer("EMBEDDING_LOOKUP", "f32 i8", func(l *Layer) {
		l.limit = 7
		l.do(with(0), []int32{l.input("i32", 4), l.random(l.Type, 7, 3)}, l.out(4, 3))
	})
	layer("EMBEDDING_LOOKUP", "i8", func(l *Layer) {
		l.limit = 7
		l.do(with(0), []int32{l.input("i32", 4), l.scaled(l.random("i8", 7, 3), 0.02, 0)}, l.output("f32", 4, 3))
	})
	layer("FILL", "f32 i8 i16 i32 i64", func(l *Layer) {
		l.do(with(68), []int32{l.ints(2, 3), l.in()}, l.out(2, 3))
	})
	layer("GATHER", "f32 i8 i32", func(l *Layer) {
		l.do(with(23, 1), []int32{l.in(2, 5, 3), l.intsOf([]int32{2, 2}, 4, 0, 1, 1)}, l.out(2, 2, 2, 3))
	})
	layer("GATHER", "f32 i8 i32", func(l *Layer) {
		l.do(with(23, 2, 1), []int32{l.in(2, 3, 5), l.intsOf([]int32{2, 4}, 4, 0, 1, 1, 3, 2, 0, 4)}, l.out(2, 3, 4))
	})
	layer("GATHER", "f32 i8 i32", func(l *Layer) {
		l.limit = 3
		l.do(with(23, 0), []int32{l.random(l.Type, 3, 2), l.input("i32", 5)}, l.out(5, 2))
	})
	layer("GATHER_ND", "f32 i8 i32", func(l *Layer) {
		l.do(with(83), []int32{l.in(3, 4, 2), l.intsOf([]int32{3, 2}, 2, 3, 0, 1, 1, 1)}, l.out(3, 2))
	})
	layer("MIRROR_PAD", "f32 i8", func(l *Layer) { // REFLECT
		l.do(with(77, int8(0)), []int32{l.in(3, 4), l.intsOf([]int32{2, 2}, 2, 1, 3, 0)}, l.out(6, 7))
	})
	layer("MIRROR_PAD", "f32 i8", func(l *Layer) { // SYMMETRIC
		l.do(with(77, int8(1)), []int32{l.in(3, 4), l.intsOf([]int32{2, 2}, 3, 1, 2, 4)}, l.out(7, 10))
	})
	layer("REVERSE_V2", "f32 i8 i16 i32 i64 bool u8", func(l *Layer) {
		l.do(with(81), []int32{l.in(2, 3, 4), l.ints(1)}, l.out(2, 3, 4))
	})
	layer("SELECT_V2", "f32 i8 i16", func(l *Layer) {
		l.do(with(98), []int32{l.input("bool", 2, 1), l.in(2, 3), l.in(3)}, l.out(2, 3))
	})
	layer("SHAPE", "f32 i8", func(l *Layer) {
		x := l.in(2, 3, 4)
		l.do(with(55), []int32{x}, l.output("i32", 3))
		l.add("ABS", with(78), []int32{x}, l.out(2, 3, 4))
	})
	layer("STRIDED_SLICE", "f32 i8 i16 i32 bool", func(l *Layer) {
		l.do(with(32, 1, 2, 0, 0, 0), []int32{l.in(4, 5, 6), l.ints(9, 1, 5), l.ints(3, 0, 0), l.ints(2, 1, -2)},
			l.out(2, 4, 3))
	})
	layer("STRIDED_SLICE", "f32 i8", func(l *Layer) { // x[..., None, 1, 2:4]
		l.do(with(32, 0, 0, 1, 2, 4), []int32{l.in(2, 3, 4, 5), l.ints(0, 0, 1, 2), l.ints(0, 0, 2, 4),
			l.ints(1, 1, 1, 1)}, l.out(2, 3, 1, 2))
	})
	layer("TILE", "f32 i8 i32", func(l *Layer) {
		l.do(with(51), []int32{l.in(2, 3), l.ints(2, 3)}, l.out(4, 9))
	})
	layer("ZEROS_LIKE", "f32 i8 i32 i64", func(l *Layer) {
		x := l.in(2, 3)
		l.do(with(67), []int32{x}, l.out(2, 3))
		l.add("REVERSE_V2", with(81), []int32{x, l.ints(0)}, l.out(2, 3))
	})
	for _, to := range strings.Fields("f32 i8 i16 i32 bool") {
		layer("CAST", "f32 i8 i16 i32 u32 bool", func(l *Layer) {
			if l.Type != to {
				l.do(with(37), []int32{l.plain(l.in(3, 4))}, l.plain(l.output(to, 3, 4)))
			}
		})
	}
	layer("REDUCE_ALL", "bool", func(l *Layer) {
		l.do(with(27, true), []int32{l.in(2, 3, 4), l.ints(1)}, l.out(2, 1, 4))
	})
	return filled(all)
}

// filled are the layers that have an operator.
func filled(all []*Layer) []*Layer {
	n := 0
	for _, l := range all {
		if len(l.Ops) > 0 {
			all[n] = l
			n++
		}
	}
	return all[:n]
}
