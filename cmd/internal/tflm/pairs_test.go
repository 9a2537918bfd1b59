// SPDX-License-Identifier: Apache-2.0

package tflm

import "slices"

// pairOf draws an operator of two tensors, broadcast, one of them a constant sometimes.
func (l *layer) pairOf(limit func(x, y float64) float64, kind byte, fields ...any) {
	s := l.shape(4)
	a, b := slices.Clone(s), slices.Clone(s)
	if l.chance(0.4) {
		for i := range s {
			switch l.rng.IntN(4) {
			case 0:
				a[i] = 1
			case 1:
				b[i] = 1
			}
		}
		for i := range s {
			s[i] = max(a[i], b[i])
		}
	}
	x, y := l.in(a...), l.in(b...)
	if l.typ == "i16" && l.chance(0.3) {
		l.like(y, x)
	}
	if l.chance(0.3) {
		l.fill(y)
		l.Inputs = l.Inputs[:1]
	}
	var z int32
	if limit == nil {
		z = l.tensor("bool", s...)
		l.Outputs = append(l.Outputs, z)
	} else {
		z = l.output(l.typ, limit(l.limit(x), l.limit(y)), s...)
	}
	l.do(kind, fields, []int32{x, y}, z)
}

func arithmetic(kind byte, limit func(x, y float64) float64) func(l *layer) {
	return func(l *layer) { l.pairOf(limit, kind, l.act()) }
}

func comparison(kind byte) func(l *layer) { return func(l *layer) { l.pairOf(nil, kind) } }

func sum(x, y float64) float64     { return x + y }
func product(x, y float64) float64 { return x * y }

// common are operators of tensors that share a quantisation.
func common(kind byte) func(l *layer) {
	return func(l *layer) {
		l.pairOf(func(x, y float64) float64 { return max(x, y) }, kind)
		in := l.Ops[0].In
		l.like(in[1], in[0])
		l.like(l.Ops[0].Out[0], in[0])
	}
}

var pairs = []drawer{
	{"ADD", "i8 i16 f32 i32", arithmetic(11, sum)},
	{"SUB", "i16 f32 i8 i32", arithmetic(28, sum)},
	{"MUL", "i8 i16 f32 i32", arithmetic(21, product)},
	{"DIV", "i8 f32", func(l *layer) {
		l.least, l.most = 0.5, 9
		l.pairOf(func(x, y float64) float64 { return 8 * x / y }, 29, l.act())
		if l.typ == "i8" { // nothing is divided by zero
			l.Tensors[l.Ops[0].In[1]].Zero[0] = -128
			l.keepAway(l.Ops[0].In[1], -128)
		}
	}},
	{"MAXIMUM", "i8 i16 f32", common(39)},
	{"MINIMUM", "i8 i16 f32", common(39)},
	{"SQUARED_DIFFERENCE", "f32 i8 i16", func(l *layer) {
		l.pairOf(func(x, y float64) float64 { return (x + y) * (x + y) / 2 }, 76)
	}},
	{"PRELU", "f32 i8 i16", func(l *layer) {
		s := l.image(6)
		x := l.in(s...)
		kind := l.typ
		if kind == "i16" {
			kind = "i8"
		}
		a := l.fill(l.quantised(l.tensor(kind, 1, 1, s[3]), l.scale(-8), l.zero(kind)))
		l.do(0, nil, []int32{x, a}, l.output(l.typ, l.limit(x), s...))
	}},
	{"EQUAL", "f32 i32 i8", comparison(53)},
	{"NOT_EQUAL", "f32 i32 i8", comparison(54)},
	{"LESS", "f32 i32 i8", comparison(41)},
	{"LESS_EQUAL", "f32 i32 i8", comparison(46)},
	{"GREATER", "f32 i32 i8", comparison(44)},
	{"GREATER_EQUAL", "f32 i32 i8", comparison(45)},
	{"ADD_N", "i8 f32", func(l *layer) {
		s, n := l.shape(4), l.between(2, 4)
		var in []int32
		limit := 0.0
		for range n {
			in = append(in, l.in(s...))
			l.like(in[len(in)-1], in[0])
			limit += l.limit(in[0])
		}
		l.do(82, nil, in, l.output(l.typ, limit, s...))
	}},
}

// keepAway says that an operand has no element v.
func (l *layer) keepAway(t int32, v int8) {
	if d := l.Tensors[t].Data; d != nil {
		avoid(d, v)
		return
	}
	l.away = map[int32]int8{t: v}
}
