// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math"
	"slices"
)

// axes draws the dimensions that a reduction takes, none twice.
func (l *layer) axes(rank int) []int32 {
	var v []int32
	for i := range rank {
		if l.chance(0.5) {
			if l.chance(0.3) {
				i -= rank
			}
			v = append(v, int32(i))
		}
	}
	if len(v) == 0 {
		v = []int32{int32(l.rng.IntN(rank))}
	}
	return v
}

// reduction draws one; same keeps the input's quantisation.
func reduction(same bool) func(l *layer) {
	return func(l *layer) {
		s := l.shape(4)
		axes, keep := l.axes(len(s)), l.chance(0.5)
		var out []int32
		n := 1
		for i, d := range s {
			switch {
			case !slices.Contains(axes, int32(i)) && !slices.Contains(axes, int32(i-len(s))):
				out = append(out, d)
			case keep:
				out, n = append(out, 1), n*int(d)
			default:
				n *= int(d)
			}
		}
		x := l.in(s...)
		y := l.output(l.typ, l.limit(x), out...)
		switch {
		case same || l.chance(0.3):
			l.like(y, x)
		case l.op == "SUM":
			l.quantised(y, step(l.typ, l.limit(x)*math.Sqrt(float64(n))), l.zero(l.typ))
		}
		l.do(27, []any{keep}, []int32{x, l.ints(axes...)}, y)
	}
}

var reductions = []drawer{
	{"MEAN", "f32 i8 i16", reduction(false)},
	{"MEAN", "f32 i8 i16", func(l *layer) { // over height and width
		s, keep := l.image(12), l.chance(0.5)
		x := l.in(s...)
		out := []int32{s[0], s[3]}
		if keep {
			out = []int32{s[0], 1, 1, s[3]}
		}
		l.do(27, []any{keep}, []int32{x, l.ints(1, 2)}, l.output(l.typ, l.limit(x), out...))
	}},
	{"SUM", "f32 i8 i16", reduction(false)},
	{"REDUCE_MAX", "i8 f32", reduction(true)},
	{"REDUCE_MIN", "i8 f32", reduction(true)},
}
