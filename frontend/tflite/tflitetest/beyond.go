// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"encoding/binary"
	"math"
	"strings"
)

// beyond are layers of operators that TensorFlow Lite has and TensorFlow Lite Micro has not.
func beyond() []*Layer {
	var all []*Layer
	layer := func(op, types string, fill func(l *Layer)) {
		all = append(all, layersOf(op, strings.Fields(types), fill)...)
	}
	layer("ATAN2", "f32", func(l *Layer) { l.do(with(121), []int32{l.in(3, 5), l.in(3, 5)}, l.out(3, 5)) })
	layer("GELU", "f32 i8", func(l *Layer) { l.do(with(116, false), []int32{l.in(3, 5)}, l.rescaled(3, 5)) })
	layer("GELU", "f32 i8", func(l *Layer) { l.do(with(116, true), []int32{l.in(3, 5)}, l.rescaled(3, 5)) })
	layer("ONE_HOT", "f32 i32", func(l *Layer) {
		l.limit = 6 // of which 5 is outside
		l.do(with(61, 1), []int32{l.input("i32", 3, 2), l.scalar(5), l.random(l.Type), l.random(l.Type)},
			l.out(3, 5, 2))
	})
	layer("POW", "f32", func(l *Layer) {
		l.do(with(56), []int32{l.floats([]int32{3}, 0.5, 2, 3), l.in(4, 3)}, l.out(4, 3))
	})
	layer("REDUCE_ANY", "bool", func(l *Layer) {
		l.do(with(27, false), []int32{l.in(4, 3), l.ints(1)}, l.out(4))
	})
	layer("REDUCE_PROD", "f32", func(l *Layer) {
		l.do(with(27, true), []int32{l.in(4, 3), l.ints(1)}, l.out(4, 1))
	})
	layer("REVERSE_SEQUENCE", "f32 i8 i32", func(l *Layer) {
		l.do(with(87, 2, 1), []int32{l.in(2, 3, 4), l.ints(4, 1, 2)}, l.out(2, 3, 4))
	})
	layer("SCATTER_ND", "f32 i32", func(l *Layer) {
		l.do(with(97), []int32{l.intsOf([]int32{3, 1}, 4, 0, 4), l.in(3, 2), l.ints(5, 2)}, l.out(5, 2))
	})
	layer("SELECT", "f32 i8 i32", func(l *Layer) {
		l.do(with(47), []int32{l.input("bool", 3), l.in(3, 4), l.in(3, 4)}, l.out(3, 4))
	})
	layer("SIGN", "f32", func(l *Layer) { l.do(with(123), []int32{l.in(3, 5)}, l.out(3, 5)) })
	layer("TOPK_V2", "f32 i8 i32", func(l *Layer) {
		l.do(with(34), []int32{l.in(2, 7), l.scalar(3)}, l.out(2, 3), l.output("i32", 2, 3))
	})
	for i, op := range []string{"NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5"} {
		layer(op, "f32", func(l *Layer) {
			boxes := l.floats([]int32{4, 4}, 0, 0, 1, 1, 0, 0.1, 1, 1.1, 0, 2, 1, 3, 0, 2, 1, 2.9)
			in := []int32{boxes, l.in(4), l.scalar(5), l.floats(nil, 0.5), l.floats(nil, -2)}
			out := []int32{l.output("i32", 5), l.output("i32")}
			if i > 0 {
				in, out = append(in, l.floats(nil, 0)), []int32{out[0], l.out(5), out[1]}
				l.Outputs = out
			}
			l.do(with(0), in, out...)
		})
	}
	layer("STABLEHLO_COMPOSITE", "f32 i8", func(l *Layer) {
		l.Called = []Graph{called(l.Type, "ADD", with(11))}
		l.do(with(21, nil, 1), []int32{l.in(2, 3)}, l.out(2, 3))
		l.Ops[0].Second = true
	})
	return all
}

// floats adds a constant of float32.
func (l *Layer) floats(shape []int32, v ...float32) int32 {
	i := l.tensor("f32", shape...)
	l.Tensors[i].Data = []byte{}
	for _, x := range v {
		l.Tensors[i].Data = binary.LittleEndian.AppendUint32(l.Tensors[i].Data, math.Float32bits(x))
	}
	return i
}
