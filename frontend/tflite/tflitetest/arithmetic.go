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
