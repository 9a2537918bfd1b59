// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
)

// drawer draws models of one operator in each of some types.
type drawer struct {
	op    string
	types string
	draw  func(l *layer)
}

// typesOf are its types.
func (d drawer) typesOf() []string { return strings.Fields(d.types) }

// drawers are all of them; an operator may have several.
var drawers = slices.Concat(stateless, states)

var stateless = slices.Concat(windows, products, dynamic, functions, pairs, reductions, moves, further)

// same length as a window's stride: what SAME and VALID make of a dimension.
func windowed(in, kernel, stride, dilation int32, valid bool) int32 {
	if valid {
		return (in - (kernel-1)*dilation - 1 + stride) / stride
	}
	return (in + stride - 1) / stride
}

var windows = []drawer{
	{"CONV_2D", "i8 i16 i4 f32", convolution},
	{"DEPTHWISE_CONV_2D", "i8 i16 i4 f32", depthwise},
	{"TRANSPOSE_CONV", "i8 i16 f32", transposedConvolution},
	{"AVERAGE_POOL_2D", "i8 i16 f32", pool},
	{"MAX_POOL_2D", "i8 i16 f32", pool},
	{"L2_POOL_2D", "f32", pool},
	{"RESIZE_BILINEAR", "i8 f32", func(l *layer) { l.resize(15) }},
	{"RESIZE_NEAREST_NEIGHBOR", "i8 i16 f32", func(l *layer) { l.resize(74) }},
}

// weights adds constant weights with a scale for each of n channels along an axis, or one
// for all, and a bias; it gives both, and the range of a sum of k products with an input.
func (l *layer) weights(x int32, axis int32, n, k int32, shape ...int32) (w, b int32, limit float64) {
	kind := map[string]string{"i8": "i8", "i16": "i8", "i4": "i4", "f32": "f32"}[l.typ]
	w = l.fill(l.tensor(kind, shape...))
	if l.typ == "f32" {
		b = l.fill(l.tensor("f32", n))
		return w, b, 1
	}
	scales := []float32{float32(l.scale(-8))}
	bits := 127.0
	if kind == "i4" {
		scales[0], bits = scales[0]*16, 7
	}
	if l.chance(0.7) {
		for range n - 1 {
			scales = append(scales, float32(l.scale(0))*scales[0])
		}
		if len(scales) > 1 && l.chance(0.1) { // channels of zeros
			scales[l.rng.IntN(len(scales))] = 0
		}
	}
	l.Tensors[w].Scale, l.Tensors[w].Zero, l.Tensors[w].Axis = scales, make([]int64, len(scales)), axis
	limit = l.limit(x) * float64(slices.Max(scales)) * bits / 2 * math.Sqrt(float64(k))
	if l.chance(0.15) { // multipliers above 1
		most := 16
		if l.typ == "i16" { // of which the products of 64 bits are taken to fit 32
			most = 8
		}
		limit /= math.Exp2(float64(l.between(2, most)))
	}
	b, large := l.bias(x, w, n)
	return w, b, max(limit, large)
}

// bias adds constants in the scale of input times weights; 64 bits for data of 16. large is the range of
// those beyond 32.
func (l *layer) bias(x, w, n int32) (b int32, large float64) {
	kind := "i32"
	if l.typ == "i16" {
		kind = "i64"
		if l.narrowSums() && l.chance(0.3) {
			kind = "i32"
		}
	}
	b = l.fill(l.tensor(kind, n))
	if bits := l.between(32, 45); kind == "i64" && l.chance(0.3) {
		for c := range n {
			v := int64(l.rng.Uint64()) >> (63 - bits)
			binary.LittleEndian.PutUint64(l.Tensors[b].Data[8*c:], uint64(v))
		}
		large = math.Ldexp(float64(l.Tensors[x].Scale[0]*slices.Max(l.Tensors[w].Scale)), int(bits))
	}
	for _, s := range l.Tensors[w].Scale {
		l.Tensors[b].Scale = append(l.Tensors[b].Scale, s*l.Tensors[x].Scale[0])
		l.Tensors[b].Zero = append(l.Tensors[b].Zero, 0)
	}
	return b, large
}

// narrowSums reports operators that have sums of 32 bits of data of 16.
func (l *layer) narrowSums() bool { return l.op == "CONV_2D" || l.op == "FULLY_CONNECTED" }

// sums is the type of biases in the options, by the format's number: float32, which says nothing, or
// int32 or int64.
func (l *layer) sums() int8 {
	if l.typ == "i16" {
		return pick(l, int8(0), 0, 2, 4)
	}
	return 0
}

// dataType is the type of data: weights of 4 bits have data of 8.
func (l *layer) dataType() string {
	if l.typ == "i4" {
		return "i8"
	}
	return l.typ
}

func (l *layer) windowOf(h, w int32) (kh, kw, sh, sw, dh, dw int32, valid bool) {
	valid = l.chance(0.5)
	kh, kw, sh, sw, dh, dw = l.between(1, 4), l.between(1, 4), l.between(1, 3), l.between(1, 3), 1, 1
	if l.chance(0.2) {
		sh, sw = l.between(1, 7), l.between(1, 7)
	}
	if l.chance(0.3) {
		dh, dw = l.between(1, 2), l.between(1, 5)
	}
	if valid {
		kh, kw = min(kh, h), min(kw, w)
		if (kh-1)*dh >= h || (kw-1)*dw >= w {
			dh, dw = 1, 1
		}
	}
	return kh, kw, sh, sw, dh, dw, valid
}

func padding(valid bool) int8 {
	if valid {
		return 1
	}
	return 0
}

func optional(l *layer, b int32) int32 {
	if l.chance(0.2) {
		return -1
	}
	return b
}

func convolution(l *layer) {
	s := l.image(9)
	groups := int32(1)
	if l.typ != "i4" && l.chance(0.3) {
		groups = l.between(2, 3)
		s[3] *= groups
	}
	kh, kw, sh, sw, dh, dw, valid := l.windowOf(s[1], s[2])
	n := groups * l.between(1, 6)
	x := l.input(l.dataType(), l.scale(2), s...)
	w, b, limit := l.weights(x, 0, n, kh*kw*s[3]/groups, n, kh, kw, s[3]/groups)
	y := l.output(l.dataType(), limit, s[0], windowed(s[1], kh, sh, dh, valid), windowed(s[2], kw, sw, dw, valid), n)
	l.do(1, []any{padding(valid), sw, sh, l.act(), dw, dh, l.sums()}, []int32{x, w, optional(l, b)}, y)
}

func depthwise(l *layer) {
	s := l.image(9)
	multiplier := int32(1)
	if l.chance(0.4) {
		multiplier = l.between(2, 4)
	}
	kh, kw, sh, sw, dh, dw, valid := l.windowOf(s[1], s[2])
	if l.typ == "i8" || l.typ == "i16" {
		sw = sh
	}
	n := s[3] * multiplier
	x := l.input(l.dataType(), l.scale(2), s...)
	w, b, limit := l.weights(x, 3, n, kh*kw, 1, kh, kw, n)
	y := l.output(l.dataType(), limit, s[0], windowed(s[1], kh, sh, dh, valid), windowed(s[2], kw, sw, dw, valid), n)
	l.do(2, []any{padding(valid), sw, sh, multiplier, l.act(), dw, dh}, []int32{x, w, optional(l, b)}, y)
}

func transposedConvolution(l *layer) {
	s := l.image(6)
	kh, kw, sh, sw, valid := l.between(1, 4), l.between(1, 4), l.between(1, 3), l.between(1, 3), l.chance(0.5)
	n := l.between(1, 6)
	h, wd := s[1]*sh, s[2]*sw
	if valid {
		h, wd = h+max(kh-sh, 0), wd+max(kw-sw, 0)
	}
	x := l.input(l.typ, l.scale(2), s...)
	w, b, limit := l.weights(x, 0, n, kh*kw*s[3], n, kh, kw, s[3])
	y := l.output(l.typ, limit, s[0], h, wd, n)
	in := []int32{l.ints(s[0], h, wd, n), w, x}
	if l.chance(0.7) {
		in = append(in, b)
	}
	l.do(49, []any{padding(valid), sw, sh, l.act()}, in, y)
}

func pool(l *layer) {
	s := l.image(20)
	kh, kw, sh, sw, _, _, valid := l.windowOf(s[1], s[2])
	x := l.in(s...)
	y := l.same(x, s[0], windowed(s[1], kh, sh, 1, valid), windowed(s[2], kw, sw, 1, valid), s[3])
	l.do(5, []any{padding(valid), sw, sh, kw, kh, l.act()}, []int32{x}, y)
}

func (l *layer) resize(kind byte) {
	s := l.image(8)
	x, h, w := l.in(s...), l.between(1, 12), l.between(1, 12)
	align := l.chance(0.3)
	half := !align && l.chance(0.4)
	fields := []any{align, half}
	if kind == 15 {
		fields = []any{nil, nil, align, half}
	}
	l.do(kind, fields, []int32{x, l.ints(h, w)}, l.same(x, s[0], h, w, s[3]))
}

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

// function draws a function of one tensor; limit is the range of its results for inputs of
// about [-x, x].
func function(kind byte, limit func(x float64) float64, fields ...any) func(l *layer) {
	return func(l *layer) {
		x := l.in(l.shape(4)...)
		y := l.output(l.typ, limit(l.limit(x)), l.Tensors[x].Shape...)
		l.do(kind, fields, []int32{x}, y)
	}
}

// positive is a function of numbers above 0.
func positive(f func(l *layer)) func(l *layer) {
	return func(l *layer) {
		l.least, l.most = 0.01, 9
		f(l)
		if l.typ == "i8" {
			l.Tensors[l.Inputs[0]].Zero = []int64{-128}
		}
	}
}

// fixed is a function of which results have a fixed quantisation.
func fixed(kind byte, scale8, scale16 float64, zero8 int64, fields ...any) func(l *layer) {
	return func(l *layer) {
		x := l.in(l.shape(4)...)
		if l.typ == "i16" && l.chance(0.5) {
			l.Tensors[x].Scale[0] = pick(l, float32(1./4096), 1./8192, 1./2048, 1./65536)
		}
		y := l.output(l.typ, 1, l.Tensors[x].Shape...)
		switch l.typ {
		case "i8":
			l.quantised(y, scale8, zero8)
		case "i16":
			l.quantised(y, scale16, 0)
		}
		l.do(kind, fields, []int32{x}, y)
	}
}

func line(x float64) float64  { return x }
func one(float64) float64     { return 1 }
func root(x float64) float64  { return math.Sqrt(x) }
func power(x float64) float64 { return x * x }

var functions = []drawer{
	{"ABS", "i8 f32 i16", function(78, line)},
	{"CEIL", "f32", function(0, line)},
	{"COS", "f32", function(0, one)},
	{"ELU", "i8 f32", function(0, line)},
	{"EXP", "f32", function(33, line)},
	{"FLOOR", "f32", function(0, line)},
	{"HARD_SWISH", "i8 f32", function(91, line)},
	{"LEAKY_RELU", "i8 f32 i16", func(l *layer) {
		x := l.in(l.shape(4)...)
		alpha := pick(l, 0.1, 0.3, 0.01, 1.5, 0.0)
		l.do(75, []any{alpha}, []int32{x}, l.output(l.typ, l.limit(x), l.Tensors[x].Shape...))
	}},
	{"LOG", "f32", positive(function(0, line))},
	{"LOGISTIC", "i8 f32 i16", fixed(0, 1./256, 1./32768, -128)},
	{"LOG_SOFTMAX", "i8 f32", fixed(36, 16./256, 1, 127)},
	{"NEG", "f32", function(42, line)},
	{"RELU", "i8 i16 f32", function(0, line)},
	{"RELU6", "i8 i16 f32", func(l *layer) {
		x := l.in(l.shape(4)...)
		l.do(0, nil, []int32{x}, l.same(x, l.Tensors[x].Shape...))
	}},
	{"ROUND", "f32", function(0, line)},
	{"RSQRT", "i8 f32", positive(function(0, one))},
	{"SIN", "f32", function(0, one)},
	{"SOFTMAX", "i8 i16 f32", func(l *layer) {
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 30)
		x := l.in(s...)
		y, beta := l.output(l.typ, 1, s...), pick(l, 1.0, 1, 1, 0.5, 2)
		switch l.typ {
		case "i8":
			l.quantised(y, 1./256, -128)
		case "i16":
			l.quantised(y, 1./32768, 0)
		}
		l.do(9, []any{beta}, []int32{x}, y)
	}},
	{"SOFTMAX", "i8", func(l *layer) { // results of 16 bits
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 40)
		x := l.in(s...)
		y := l.quantised(l.output("i16", 1, s...), 1./65536, -32768)
		l.do(9, []any{pick(l, 1.0, 1, 0.5, 1.3)}, []int32{x}, y)
	}},
	{"SQRT", "f32", positive(function(0, root))},
	{"SQUARE", "f32", function(66, power)},
	{"TANH", "i8 f32 i16", fixed(0, 1./128, 1./32768, 0)},
	{"L2_NORMALIZATION", "i8 f32", func(l *layer) {
		s := l.shape(4)
		s[len(s)-1] = l.between(1, 20)
		x := l.in(s...)
		y := l.quantised(l.output(l.typ, 1, s...), 1./128, 0)
		l.do(12, []any{int8(0)}, []int32{x}, y)
	}},
	{"QUANTIZE", "f32 u8 i8 i16 i32", func(l *layer) {
		l.wide = true
		to := map[string][]string{"f32": {"i8", "i16"}, "i8": {"i8", "u8", "i16", "i32"}, "i16": {"i8", "i16", "i32"},
			"i32": {"i8", "i16"}, "u8": {"i8"}}[l.typ]
		x := l.in(l.shape(4)...)
		y := l.output(pick(l, to...), l.limit(x), l.Tensors[x].Shape...)
		if l.typ == "f32" { // ties, and numbers beyond the type
			step := math.Exp2(float64(l.between(-12, 2)))
			l.quantised(y, step, l.Tensors[y].Zero[0])
			l.grid, l.most = step/2, l.limit(y)*pick(l, 0.1, 1, 3)
			l.least = -l.most
		}
		l.do(89, nil, []int32{x}, y)
	}},
	{"DEQUANTIZE", "i8 i16 u8", func(l *layer) {
		x := l.in(l.shape(4)...)
		l.do(38, nil, []int32{x}, l.output("f32", 1, l.Tensors[x].Shape...))
	}},
}

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
