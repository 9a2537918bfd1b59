// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math"
	"slices"
)

var states = []drawer{
	{"SVDF", "i8 i16 f32", func(l *layer) {
		l.wide = true
		batch, n, rank := l.between(1, 2), l.between(1, 12), l.between(1, 3)
		units, memory := l.between(1, 5), l.between(1, 6)
		data, rows := "i8", l.typ
		if l.typ == "f32" {
			data = "f32"
		}
		x := l.input(data, l.scale(1), batch, n)
		f := l.fill(l.quantised(l.tensor(data, units*rank, n), l.scale(-8), 0))
		t := l.fill(l.quantised(l.tensor(rows, units*rank, memory), step(rows, 1)*l.scale(0), 0))
		s := l.tensor(rows, batch, units*rank*memory)
		l.Tensors[s].State = true
		b, act := l.tensor("i32", units), pick(l, int8(0), 1)
		if l.typ == "f32" {
			l.kinds[b], l.Tensors[b].Type = "f32", 0
		}
		l.fill(b)
		limit := l.limit(x) * l.limit(f) * math.Sqrt(float64(n)) / 2
		l.quantised(s, step(rows, limit), 0)
		y := l.output(data, limit*l.limit(t)*math.Sqrt(float64(memory*rank))/2, batch, units)
		if l.typ != "f32" {
			l.quantised(b, float64(l.Tensors[s].Scale[0]*l.Tensors[t].Scale[0]), 0)
			if act == 1 {
				l.Tensors[y].Zero[0] = -128
			}
		}
		l.do(6, []any{rank, act}, []int32{x, f, t, optional(l, b), s}, y)
	}},
	{"UNIDIRECTIONAL_SEQUENCE_LSTM", "i8 f32", recurrent},
}

func recurrent(l *layer) {
	l.wide = true
	batch, time, n, units := l.between(1, 2), l.between(1, 4), l.between(1, 8), l.between(1, 6)
	major := l.chance(0.5)
	shape := []int32{batch, time, n}
	if major {
		shape = []int32{time, batch, n}
	}
	in := slices.Repeat([]int32{-1}, 24)
	in[0] = l.input(l.typ, l.scale(1), shape...)
	scale := func(t int32) float64 {
		if s := l.Tensors[t].Scale; len(s) > 0 {
			return float64(s[0])
		}
		return 1
	}
	for k := range int32(4) {
		in[1+k] = l.fill(l.quantised(l.tensor(l.typ, units, n), l.scale(-8), 0))
		in[5+k] = l.fill(l.quantised(l.tensor(l.typ, units, units), l.scale(-8), 0))
		kind := "i32"
		if l.typ == "f32" {
			kind = "f32"
		}
		in[12+k] = l.fill(l.quantised(l.tensor(kind, units), scale(in[0])*scale(in[1+k]), 0))
	}
	cell := "i16"
	if l.typ == "f32" {
		cell = "f32"
	}
	in[18] = l.quantised(l.tensor(l.typ, batch, units), 1./128, pick(l, int64(0), 3, -7))
	power := pick(l, 11.0, 12, 10, 13)
	in[19] = l.quantised(l.tensor(cell, batch, units), math.Exp2(-power), 0)
	l.Tensors[in[18]].State, l.Tensors[in[19]].State = true, true
	y := l.same(in[18], append(slices.Clone(shape[:2]), units)...)
	l.kinds[y], l.Tensors[y].Type = l.typ, l.Tensors[in[0]].Type
	clip := pick(l, 0.0, 0, 10, 1.7, 0.3, math.Exp2(14-power))
	l.do(71, []any{int8(4), clip, pick(l, 0.0, 0.5), major}, in, y)
}
