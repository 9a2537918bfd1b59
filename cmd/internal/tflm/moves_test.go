// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"encoding/binary"
	"slices"
)

// plainMove draws an operator that keeps the quantisation of its first input: f gives the shape of the
// result, the options, and the other inputs.
func plainMove(f func(l *layer, x int32, s []int32) (out []int32, kind byte, fields []any,
	more []int32)) func(l *layer) {
	return func(l *layer) {
		s := l.shape(4)
		x := l.in(s...)
		out, kind, fields, more := f(l, x, s)
		l.do(kind, fields, append([]int32{x}, more...), l.same(x, out...))
	}
}

// longs adds a constant list of int64.
func (l *layer) longs(v ...int32) int32 {
	t := l.tensor("i64", int32(len(v)))
	l.Tensors[t].Data = []byte{}
	for _, x := range v {
		l.Tensors[t].Data = binary.LittleEndian.AppendUint64(l.Tensors[t].Data, uint64(int64(x)))
	}
	return t
}

var moves = []drawer{
	{"CONCATENATION", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		at := l.rng.IntN(len(s))
		var in []int32
		out := slices.Clone(s)
		out[at] = 0
		for range l.between(1, 4) {
			part := slices.Clone(s)
			part[at] = l.between(1, 5)
			out[at] += part[at]
			in = append(in, l.in(part...))
			l.like(in[len(in)-1], in[0])
		}
		axis := int32(at)
		if l.chance(0.3) {
			axis -= int32(len(s))
		}
		l.do(10, []any{axis, int8(0)}, in, l.same(in[0], out...))
	}},
	{"PAD", "i8 i16 f32", func(l *layer) { l.pad(22) }},
	{"PADV2", "i8 i16 f32", func(l *layer) { l.pad(43) }},
	{"SPLIT", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		at, n := l.rng.IntN(len(s)), l.between(1, 4)
		part := slices.Clone(s)
		s[at] *= n
		x := l.in(s...)
		in := []int32{l.scalar(int32(at)), x}
		var out []int32
		for range n {
			out = append(out, l.same(x, part...))
		}
		l.do(35, []any{n}, in, out...)
	}},
	{"TRANSPOSE", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		var perm, out []int32
		for _, i := range l.rng.Perm(len(s)) {
			perm, out = append(perm, int32(i)), append(out, s[i])
		}
		x := l.in(s...)
		l.do(26, nil, []int32{x, l.ints(perm...)}, l.same(x, out...))
	}},
}

func (l *layer) pad(kind byte) {
	s := l.shape(4)
	x := l.in(s...)
	var pads []int32
	out := slices.Clone(s)
	for i := range s {
		a, b := l.between(0, 2), l.between(0, 3)
		pads, out[i] = append(pads, a, b), out[i]+a+b
	}
	in := []int32{x, l.intsOf([]int32{int32(len(s)), 2}, pads...)}
	if kind == 43 {
		in = append(in, l.fill(l.like(l.tensor(l.typ, 1), x)))
	}
	l.do(kind, nil, in, l.same(x, out...))
}

// further are operators that take elements from elsewhere.
var further = []drawer{
	{"SLICE", "i8 i16 f32 i32", plainMove(func(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
		begin, size, out := make([]int32, len(s)), make([]int32, len(s)), make([]int32, len(s))
		for i, d := range s {
			begin[i] = l.between(0, int(d)-1)
			out[i] = l.between(1, int(d-begin[i]))
			if size[i] = out[i]; out[i] == d-begin[i] && l.chance(0.5) {
				size[i] = -1
			}
		}
		if l.chance(0.3) {
			return out, 48, nil, []int32{l.longs(begin...), l.longs(size...)}
		}
		return out, 48, nil, []int32{l.ints(begin...), l.ints(size...)}
	})},
	{"STRIDED_SLICE", "i8 i16 f32 i32", plainMove(stridedSlice)},
	{"REVERSE_V2", "i8 i16 f32 i32", plainMove(func(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
		axis := l.between(-len(s), len(s)-1)
		return s, 81, nil, []int32{l.ints(axis)}
	})},
	{"BROADCAST_TO", "i8 i16 f32 i32", plainMove(func(l *layer, x int32, s []int32) ([]int32, byte, []any, []int32) {
		out := slices.Clone(s)
		for i := range s {
			if l.chance(0.4) {
				out[i], l.Tensors[x].Shape[i] = l.between(1, 5), 1
			}
		}
		for len(out) < 5 && l.chance(0.4) {
			out = append([]int32{l.between(1, 3)}, out...)
		}
		return out, 104, nil, []int32{l.ints(out...)}
	})},
	{"GATHER", "i8 f32", plainMove(func(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
		axis := l.rng.IntN(len(s))
		at := make([]int32, l.between(1, 5))
		for i := range at {
			at[i] = l.between(0, int(s[axis])-1)
		}
		shape := []int32{int32(len(at))}
		if len(at)%2 == 0 && l.chance(0.5) {
			shape = []int32{2, int32(len(at) / 2)}
		}
		out := slices.Concat(s[:axis], shape, s[axis+1:])
		given := int32(axis)
		if l.chance(0.3) {
			given -= int32(len(s))
		}
		return out, 23, []any{given, int32(0)}, []int32{l.intsOf(shape, at...)}
	})},
	{"GATHER_ND", "i8 f32", plainMove(func(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
		depth, rows := l.between(1, len(s)), l.between(1, 4)
		var at []int32
		for range rows {
			for k := range depth {
				at = append(at, l.between(0, int(s[k])-1))
			}
		}
		return append([]int32{rows}, s[depth:]...), 83, nil, []int32{l.intsOf([]int32{rows, depth}, at...)}
	})},
	{"MIRROR_PAD", "i8 f32", plainMove(func(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
		mode := pick(l, int8(0), 1)
		var pads []int32
		out := slices.Clone(s)
		for i, d := range s {
			most := int(d) - 1 + int(mode)
			a, b := l.between(0, most), l.between(0, most)
			pads, out[i] = append(pads, a, b), out[i]+a+b
		}
		return out, 77, []any{mode}, []int32{l.intsOf([]int32{int32(len(s)), 2}, pads...)}
	})},
	{"PACK", "i8 i16 f32 i32", func(l *layer) {
		s, n := l.shape(4), l.between(1, 4)
		at := l.rng.IntN(len(s) + 1)
		var in []int32
		for range n {
			in = append(in, l.in(s...))
			l.like(in[len(in)-1], in[0])
		}
		axis := int32(at)
		if l.chance(0.3) {
			axis -= int32(len(s) + 1)
		}
		l.do(59, []any{n, axis}, in, l.same(in[0], slices.Insert(slices.Clone(s), at, n)...))
	}},
	{"UNPACK", "i8 i16 f32 i32", func(l *layer) {
		s := l.shape(4)
		if len(s) == 1 {
			s = append(s, 3)
		}
		at := l.rng.IntN(len(s))
		x, axis := l.in(s...), int32(at)
		if l.chance(0.3) {
			axis -= int32(len(s))
		}
		var out []int32
		for range s[at] {
			out = append(out, l.same(x, slices.Delete(slices.Clone(s), at, at+1)...))
		}
		l.do(64, []any{s[at], axis}, []int32{x}, out...)
	}},
	{"SPLIT_V", "i8 i16 f32 i32", func(l *layer) {
		s := l.shape(4)
		at := l.rng.IntN(len(s))
		var sizes []int32
		s[at] = 0
		for range l.between(1, 4) {
			sizes = append(sizes, l.between(1, 4))
			s[at] += sizes[len(sizes)-1]
		}
		x := l.in(s...)
		var out []int32
		for _, n := range sizes {
			part := slices.Clone(s)
			part[at] = n
			out = append(out, l.same(x, part...))
		}
		given := slices.Clone(sizes)
		if l.chance(0.3) {
			given[l.rng.IntN(len(given))] = -1
		}
		l.do(79, []any{int32(len(sizes))}, []int32{x, l.ints(given...), l.scalar(int32(at))}, out...)
	}},
	{"DEPTH_TO_SPACE", "i8 f32", func(l *layer) {
		s, b := l.image(4), l.between(1, 3)
		x := l.in(s[0], s[1], s[2], s[3]*b*b)
		l.do(94, []any{b}, []int32{x}, l.same(x, s[0], s[1]*b, s[2]*b, s[3]))
	}},
	{"SPACE_TO_DEPTH", "i8 f32", func(l *layer) {
		s, b := l.image(4), l.between(1, 3)
		x := l.in(s[0], s[1]*b, s[2]*b, s[3])
		l.do(19, []any{b}, []int32{x}, l.same(x, s[0], s[1], s[2], s[3]*b*b))
	}},
	{"SPACE_TO_BATCH_ND", "i8 f32", func(l *layer) {
		s, bh, bw := l.image(4), l.between(1, 3), l.between(1, 3)
		top, left := l.between(0, 2), l.between(0, 2)
		bottom, right := bh-1-(s[1]+top+bh-1)%bh, bw-1-(s[2]+left+bw-1)%bw
		x := l.in(s...)
		l.do(25, nil, []int32{x, l.ints(bh, bw), l.intsOf([]int32{2, 2}, top, bottom, left, right)},
			l.same(x, s[0]*bh*bw, (s[1]+top+bottom)/bh, (s[2]+left+right)/bw, s[3]))
	}},
	{"BATCH_TO_SPACE_ND", "i8 f32", func(l *layer) {
		s, bh, bw := l.image(4), l.between(1, 3), l.between(1, 3)
		h, w := s[1]*bh, s[2]*bw
		top, left := l.between(0, int(h-1)/2), l.between(0, int(w-1)/2)
		bottom, right := l.between(0, int(h-1)/2), l.between(0, int(w-1)/2)
		x := l.in(s[0]*bh*bw, s[1], s[2], s[3])
		l.do(24, nil, []int32{x, l.ints(bh, bw), l.intsOf([]int32{2, 2}, top, bottom, left, right)},
			l.same(x, s[0], h-top-bottom, w-left-right, s[3]))
	}},
	{"SELECT_V2", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		at := func() []int32 {
			v := slices.Clone(s)
			for i := range v {
				if l.chance(0.2) {
					v[i] = 1
				}
			}
			return v
		}
		c := l.tensor("bool", at()...)
		l.Inputs = append(l.Inputs, c)
		a := l.in(at()...)
		b := l.like(l.in(s...), a)
		l.do(98, nil, []int32{c, a, b}, l.same(a, s...))
	}},
	{"ARG_MAX", "i8 f32", argument},
	{"ARG_MIN", "i8 f32", argument},
	{"CUMSUM", "i8 f32", func(l *layer) {
		s := l.shape(4)
		x := l.in(s...)
		y := l.output(l.typ, l.limit(x)*2, s...)
		axis := l.between(-len(s), len(s)-1)
		l.do(102, []any{l.chance(0.5), l.chance(0.5)}, []int32{x, l.scalar(axis)}, y)
	}},
	{"FLOOR_DIV", "f32", func(l *layer) { l.pairOf(sum, 65) }},
	{"FLOOR_MOD", "f32", func(l *layer) { l.pairOf(sum, 72) }},
	{"MAXIMUM", "i32 i64", func(l *layer) { l.pairOf(sum, 39) }},
	{"MINIMUM", "i32 i64", func(l *layer) { l.pairOf(sum, 39) }},
	{"CAST", "f32 i8 i16 i32 bool", func(l *layer) {
		s := l.shape(4)
		x := l.tensor(l.typ, s...)
		y := l.tensor(pick(l, "f32", "i8", "i16", "i32", "bool"), s...)
		l.Inputs, l.Outputs = []int32{x}, []int32{y}
		l.do(37, nil, []int32{x}, y)
	}},
	{"EMBEDDING_LOOKUP", "i8 f32", func(l *layer) {
		rows, row, n := l.between(1, 5), l.between(1, 6), l.between(1, 5)
		var at []int32
		for range n {
			at = append(at, l.between(0, int(rows)-1))
		}
		w := l.fill(l.quantised(l.tensor(l.typ, rows, row), 0.03, 0))
		y := l.tensor("f32", n, row)
		if l.typ == "i8" && l.chance(0.5) {
			l.kinds[y], l.Tensors[y].Type = "i8", types["i8"].code
			l.like(y, w)
		}
		x := l.tensor("i32", n)
		l.Tensors[x].Data = l.Tensors[l.ints(at...)].Data
		l.Outputs = []int32{y}
		l.do(0, nil, []int32{x, w}, y)
	}},
}

func argument(l *layer) {
	s := l.shape(4)
	x, at := l.in(s...), l.rng.IntN(len(s))
	y := l.tensor("i32", slices.Delete(slices.Clone(s), at, at+1)...)
	l.Outputs = []int32{y}
	axis := int32(at)
	if l.chance(0.3) {
		axis -= int32(len(s))
	}
	l.do(40, []any{int8(2)}, []int32{x, l.scalar(axis)}, y)
}

// stridedSlice draws begins and ends within and beyond the tensor, with masks.
func stridedSlice(l *layer, _ int32, s []int32) ([]int32, byte, []any, []int32) {
	var begin, end, stride, out []int32
	var masks [5]int32 // begin, end, ellipsis, new axis, shrink axis
	for i, d := range s {
		b, e, st := l.between(-int(d)-1, int(d)), l.between(-int(d)-1, int(d)+1), pick(l, int32(1), 1, 2, 3, -1, -2)
		beginAll, endAll := l.chance(0.3), l.chance(0.3)
		if l.chance(0.15) {
			b = l.between(-int(d), int(d)-1)
			masks[4] |= 1 << i
			begin, end, stride = append(begin, b), append(end, b+1), append(stride, 1)
			continue
		}
		if beginAll {
			masks[0] |= 1 << i
		}
		if endAll {
			masks[1] |= 1 << i
		}
		begin, end, stride = append(begin, b), append(end, e), append(stride, st)
		out = append(out, int32(len(walked(b, e, st, d, beginAll, endAll))))
	}
	if slices.Contains(out, 0) { // from the beginning to the end
		for i := range s {
			if masks[4]>>i&1 == 0 {
				masks[0], masks[1] = masks[0]|1<<i, masks[1]|1<<i
			}
		}
		out = nil
		for i, d := range s {
			if masks[4]>>i&1 == 0 {
				out = append(out, int32(len(walked(0, 0, stride[i], d, true, true))))
			}
		}
	}
	return out, 32, []any{masks[0], masks[1], masks[2], masks[3], masks[4]},
		[]int32{l.ints(begin...), l.ints(end...), l.ints(stride...)}
}

// walked are the indices of a slice of d elements.
func walked(begin, end, stride, d int32, beginAll, endAll bool) (at []int32) {
	least, most := int32(0), d
	if stride < 0 {
		least, most = -1, d-1
	}
	within := func(v int32) int32 {
		if v < 0 {
			v += d
		}
		return min(max(v, least), most)
	}
	begin, end = within(begin), within(end)
	if beginAll {
		if begin = 0; stride < 0 {
			begin = d - 1
		}
	}
	if endAll {
		if end = d; stride < 0 {
			end = -1
		}
	}
	for i := begin; stride > 0 && i < end || stride < 0 && i > end; i += stride {
		at = append(at, i)
	}
	return at
}
