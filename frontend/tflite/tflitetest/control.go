// SPDX-License-Identifier: Apache-2.0

package tflitetest

import "slices"

// Kinds of options.
const ifOptions, whileOptions = 92, 93

// control are operators that call graphs.
func control() []*Layer {
	types := []string{"f32", "i8"}
	return slices.Concat(
		layersOf("IF", types, func(l *Layer) {
			l.Called = []Graph{called(l.Type, "ADD", with(11)), called(l.Type, "RELU", options{})}
			l.do(with(ifOptions, 1, 2), []int32{l.input("bool", 1), l.in(2, 3)}, l.out(2, 3))
		}),
		layersOf("WHILE", types, func(l *Layer) {
			test, turn := newLayer("LESS", l.Type), newLayer("ADD", l.Type)
			test.in(2, 3)
			test.do(options{}, []int32{test.input("i32", 1), test.ints(3)}, test.output("bool", 1))
			x, count := turn.in(2, 3), turn.input("i32", 1)
			turn.do(with(11), []int32{x, turn.random(l.Type, 3)}, turn.out(2, 3))
			turn.do(with(11), []int32{count, turn.ints(1)}, turn.output("i32", 1))
			l.Called = []Graph{test.Graph, turn.Graph}
			l.do(with(whileOptions, 1, 2), []int32{l.in(2, 3), l.ints(0)}, l.out(2, 3), l.output("i32", 1))
		}))
}

// called is a graph of one operator, which gets its input as often as the operator has operands.
func called(typ, op string, o options) Graph {
	l := newLayer(op, typ)
	x := l.in(2, 3)
	in := []int32{x}
	if op == "ADD" {
		in = append(in, x)
	}
	l.do(o, in, l.out(2, 3))
	return l.Graph
}
