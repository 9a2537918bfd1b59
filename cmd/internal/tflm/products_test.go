// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"math"
	"slices"
)

// fed makes the weights of a layer, input 1 of its operator, an input of the model, of one scale most
// often.
func fed(f func(l *layer)) func(l *layer) {
	return func(l *layer) {
		f(l)
		one := l.chance(0.7)
		in := l.Ops[0].In
		l.Inputs = append(l.Inputs, in[1])
		l.Tensors[in[1]].Data = nil
		for _, i := range in[1:] {
			if i >= 0 && len(l.Tensors[i].Scale) > 1 && one {
				l.Tensors[i].Scale = []float32{slices.Max(l.Tensors[i].Scale)}
				l.Tensors[i].Zero = l.Tensors[i].Zero[:1]
			}
		}
	}
}

// dynamic are layers with weights that are computed.
var dynamic = []drawer{
	{"CONV_2D", "i8 i16 f32", fed(convolution)},
	{"DEPTHWISE_CONV_2D", "i8 i16 f32", fed(depthwise)},
	{"TRANSPOSE_CONV", "i8 i16 f32", fed(transposedConvolution)},
	{"FULLY_CONNECTED", "i8 i16 f32", fed(fullyConnected)},
}

func fullyConnected(l *layer) {
	k, n := l.between(1, 40), l.between(1, 12)
	s := l.shape(3)
	s[len(s)-1] = k
	keep := len(s) > 1 && l.chance(0.5)
	x := l.input(l.dataType(), l.scale(2), s...)
	w, b, limit := l.weights(x, 0, n, k, n, k)
	out := []int32{int32(elems(s)) / k, n}
	if keep {
		out = append(slices.Clone(s[:len(s)-1]), n)
	}
	y := l.output(l.dataType(), limit, out...)
	l.do(8, []any{l.act(), int8(0), keep, false, l.sums()}, []int32{x, w, optional(l, b)}, y)
}

var products = []drawer{
	{"FULLY_CONNECTED", "i8 i16 f32", fullyConnected},
	{"BATCH_MATMUL", "i8 i16 f32", func(l *layer) {
		m, k, n := l.between(1, 6), l.between(1, 20), l.between(1, 6)
		batch := l.shape(2)
		adjX, adjY := l.chance(0.4), l.chance(0.4)
		of := func(swap bool, a, b int32) []int32 {
			if swap {
				a, b = b, a
			}
			return append(slices.Clone(batch), a, b)
		}
		x, y := l.in(of(adjX, m, k)...), l.in(of(adjY, k, n)...)
		z := l.output(l.typ, l.limit(x)*l.limit(y)/2*math.Sqrt(float64(k)), of(false, m, n)...)
		l.do(101, []any{adjX, adjY}, []int32{x, y}, z)
	}},
}
