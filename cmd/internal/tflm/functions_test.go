// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

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

// TestOperators compares the layers of every operator, and those between sums, with
// TensorFlow Lite Micro, where it takes them.
func TestOperators(t *testing.T) {
	program := testenv.Get("NNCC_TFLM_RUN")
	testenv.SkipIf(t, program == "", "NNCC_TFLM_RUN names no program that runs TensorFlow Lite Micro")
	for i, l := range tflitetest.Layers() {
		for k, x := range []*tflitetest.Layer{l, l.Amid()} {
			if x == nil {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%d.%d", x.Op, x.Type, i, k), func(t *testing.T) { compareOperator(t, program, x) })
		}
	}
}

func compareOperator(t *testing.T, program string, l *tflitetest.Layer) {
	path, in, want, err := referenceOf(t, program, l.Bytes(), l.Data)
	if err != nil {
		t.Skipf("refused by TensorFlow Lite Micro: %v", err)
	}
	testenv.Equal(t, differ(testenv.Must(program1(path, in))(t), want), "")
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
