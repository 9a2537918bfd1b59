// SPDX-License-Identifier: Apache-2.0

package tflm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// types are element types with the format's numbers and their sizes in bytes.
var types = map[string]struct {
	code int8
	size int
}{"f32": {0, 4}, "i32": {2, 4}, "u8": {3, 1}, "i64": {4, 8}, "bool": {6, 1}, "i16": {7, 2}, "i8": {9, 1}, "i4": {17, 1}}

// codes are the builtin operators by name.
var codes = func() map[string]int32 {
	m := map[string]int32{}
	for i := range int32(256) {
		m[fb.OperatorName(i)] = i
	}
	return m
}()

// layer is a model of one operator being drawn.
type layer struct {
	tflitetest.Graph
	op, typ string
	rng     *rand.Rand
	kinds   []string // element types of the tensors
	wide    bool     // int32 is quantised, too
	// least and most bound float inputs; 0, 0 is -4 to 4. Where grid is not 0 they are multiples of it.
	least, most, grid float64
	away              map[int32]int8 // inputs and what none of their elements may be
}

func draw(d drawer, typ string, seed uint64) *layer {
	h := seed
	for _, c := range d.op + typ {
		h = h*1099511628211 + uint64(c)
	}
	l := &layer{op: d.op, typ: typ, rng: rand.New(rand.NewPCG(h, 7))}
	d.draw(l)
	return l
}

// pick is one of some values.
func pick[T any](l *layer, v ...T) T { return v[l.rng.IntN(len(v))] }

// between is a number of [a, b].
func (l *layer) between(a, b int) int32 { return int32(a + l.rng.IntN(b-a+1)) }

func (l *layer) chance(p float64) bool { return l.rng.Float64() < p }

// tensor adds a tensor.
func (l *layer) tensor(typ string, shape ...int32) int32 {
	l.Tensors = append(l.Tensors, tflitetest.Tensor{Name: fmt.Sprintf("t%d", len(l.Tensors)), Type: types[typ].code,
		Shape: shape})
	l.kinds = append(l.kinds, typ)
	return int32(len(l.Tensors) - 1)
}

// scale is one of a wide range about a power of two.
func (l *layer) scale(power float64) float64 { return math.Exp2(power + 6*l.rng.Float64() - 3) }

// zero is a zero point; those of 16 bits are 0.
func (l *layer) zero(typ string) int64 {
	switch typ {
	case "i8":
		return pick(l, int64(-128), 127, 0, int64(l.rng.IntN(256)-128), int64(l.rng.IntN(41)-20))
	case "u8":
		return int64(l.rng.IntN(256))
	}
	return 0
}

// quantised gives a tensor a scale and a zero point, where it has integers.
func (l *layer) quantised(t int32, scale float64, zero int64) int32 {
	if k := l.kinds[t]; k != "f32" && k != "bool" && k != "i64" && (k != "i32" || l.wide) {
		l.Tensors[t].Scale, l.Tensors[t].Zero = []float32{float32(scale)}, []int64{zero}
	}
	return t
}

// step is a scale for values of about [-range, range].
func step(typ string, limit float64) float64 {
	switch typ {
	case "i16":
		return limit / 32768
	case "i32":
		return limit / (1 << 20)
	}
	return limit / 128
}

// input adds an input that holds values of about [-limit, limit].
func (l *layer) input(typ string, limit float64, shape ...int32) int32 {
	t := l.quantised(l.tensor(typ, shape...), step(typ, limit)*(0.5+l.rng.Float64()), l.zero(typ))
	l.Inputs = append(l.Inputs, t)
	return t
}

// in is an input of the layer's type, of a random range.
func (l *layer) in(shape ...int32) int32 { return l.input(l.typ, l.scale(2), shape...) }

// output adds a result that holds values of about [-limit, limit].
func (l *layer) output(typ string, limit float64, shape ...int32) int32 {
	t := l.quantised(l.tensor(typ, shape...), step(typ, limit)*(0.5+l.rng.Float64()), l.zero(typ))
	l.Outputs = append(l.Outputs, t)
	return t
}

// limit is the range of a tensor.
func (l *layer) limit(t int32) float64 {
	if s := l.Tensors[t].Scale; len(s) > 0 {
		return float64(s[0]) / step(l.kinds[t], 1)
	}
	return 4
}

// like gives tensor t the quantisation of tensor of.
func (l *layer) like(t, of int32) int32 {
	l.Tensors[t].Scale, l.Tensors[t].Zero = l.Tensors[of].Scale, l.Tensors[of].Zero
	return t
}

// same adds a result with the quantisation of a tensor.
func (l *layer) same(of int32, shape ...int32) int32 {
	return l.like(l.output(l.kinds[of], 1, shape...), of)
}

func elems(shape []int32) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}

// fill makes a tensor a constant of random elements.
func (l *layer) fill(t int32) int32 {
	n := elems(l.Tensors[t].Shape)
	if l.kinds[t] == "i4" {
		l.Tensors[t].Data = l.data("u8", (n+1)/2)
		return t
	}
	l.Tensors[t].Data = l.data(l.kinds[t], n)
	return t
}

// data are random elements; floats of the layer's range, int32 and int64 small.
func (l *layer) data(typ string, n int) []byte {
	b := []byte{}
	least, most := l.least, l.most
	if least == 0 && most == 0 {
		least, most = -4, 4
	}
	for range n {
		switch typ {
		case "f32":
			v := least + l.rng.Float64()*(most-least)
			if l.grid > 0 {
				v = math.Round(v/l.grid) * l.grid
			}
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(float32(v)))
		case "i32":
			b = binary.LittleEndian.AppendUint32(b, uint32(l.rng.IntN(4000)-2000))
		case "i64":
			b = binary.LittleEndian.AppendUint64(b, uint64(l.rng.IntN(4000)-2000))
		case "i16":
			b = binary.LittleEndian.AppendUint16(b, uint16(l.int16()))
		case "bool":
			b = append(b, byte(l.rng.IntN(2)))
		default:
			b = append(b, byte(l.rng.IntN(256)))
		}
	}
	return b
}

// int16 is a number of any size, or an extreme.
func (l *layer) int16() int16 {
	switch l.rng.IntN(12) {
	case 0:
		return pick(l, int16(-32768), 32767, 0, -1, 1)
	case 1, 2, 3:
		return int16(l.rng.IntN(512) - 256)
	}
	return int16(l.rng.IntN(65536) - 32768)
}

// inputs are those of a run.
func (l *layer) inputs() [][]byte {
	var all [][]byte
	for _, i := range l.Inputs {
		d := l.data(l.kinds[i], elems(l.Tensors[i].Shape))
		if v, ok := l.away[i]; ok {
			avoid(d, v)
		}
		all = append(all, d)
	}
	return all
}

// avoid puts v+1 where elements are v.
func avoid(d []byte, v int8) {
	for i := range d {
		if int8(d[i]) == v {
			d[i]++
		}
	}
}

// ints adds a constant list of int32, scalar one without dimensions.
func (l *layer) ints(v ...int32) int32 { return l.intsOf([]int32{int32(len(v))}, v...) }

func (l *layer) scalar(v int32) int32 { return l.intsOf(nil, v) }

func (l *layer) intsOf(shape []int32, v ...int32) int32 {
	t := l.tensor("i32", shape...)
	l.Tensors[t].Data = []byte{}
	for _, x := range v {
		l.Tensors[t].Data = binary.LittleEndian.AppendUint32(l.Tensors[t].Data, uint32(x))
	}
	return t
}

// do adds the operator, with the number of its options' table and its fields in order.
func (l *layer) do(kind byte, fields []any, in []int32, out ...int32) {
	o := tflitetest.Op{Code: codes[l.op], In: in, Out: out}
	if kind != 0 {
		o.Kind, o.Options = kind, func(b *flatbuffers.Builder) flatbuffers.UOffsetT { return table(b, fields) }
	}
	l.Ops = append(l.Ops, o)
}

func table(b *flatbuffers.Builder, fields []any) flatbuffers.UOffsetT {
	b.StartObject(len(fields))
	for i, f := range fields {
		switch v := f.(type) {
		case bool:
			b.PrependBoolSlot(i, v, false)
		case int8:
			b.PrependInt8Slot(i, v, 0)
		case int32:
			b.PrependInt32(v) // written always: the default differs by field
			b.Slot(i)
		case float64:
			b.PrependFloat32(float32(v))
			b.Slot(i)
		}
	}
	return b.EndObject()
}

// act is a fused activation.
func (l *layer) act() int8 { return pick(l, int8(0), 0, 0, 1, 2, 3) }

// image is a shape [batch, height, width, channels] of small size.
func (l *layer) image(channels int) []int32 {
	return []int32{l.between(1, 2), l.between(1, 9), l.between(1, 9), l.between(1, channels)}
}

// shape is one of 1 to rank dimensions.
func (l *layer) shape(rank int) []int32 {
	s := make([]int32, l.between(1, rank))
	for i := range s {
		s[i] = l.between(1, 6)
	}
	return s
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

// TestMisfits: drawn layers of which one tensor has another shape, type or quantisation than it
// should, or another place, are refused with a reason, or compiled; nothing panics.
func TestMisfits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.tflite")
	accepted, all := 0, 0
	from, count := testenv.Range(t, 2)
	for i, d := range drawers {
		for _, typ := range d.typesOf() {
			for seed := from; seed < from+count; seed++ {
				l := draw(d, typ, uint64(seed))
				misfit(rand.New(rand.NewPCG(uint64(seed), uint64(i))), &l.Graph)
				testenv.OK(t, os.WriteFile(path, l.Bytes(), 0o666))
				c := driver.Defaults()
				c.Model, c.Board, c.Name = path, "host", "net"
				_, err := c.Compile()
				if all++; err == nil {
					accepted++
				} else if bug.Is(err) {
					t.Errorf("seed %d: %v\n%s", seed, err, l)
				}
			}
		}
	}
	t.Logf("%d of %d are compiled", accepted, all)
	testenv.Check(t, accepted != 0 && accepted != all, "%d of %d misfits are compiled", accepted, all)
}

// misfit changes one property of one tensor, or of an operator.
func misfit(rng *rand.Rand, g *tflitetest.Graph) {
	x, o := &g.Tensors[rng.IntN(len(g.Tensors))], &g.Ops[rng.IntN(len(g.Ops))]
	pick := func(v ...int32) int32 { return v[rng.IntN(len(v))] }
	switch what := rng.IntN(8); {
	case what == 0 && len(x.Shape) > 0:
		x.Shape = slices.Clone(x.Shape)
		x.Shape[rng.IntN(len(x.Shape))] = pick(0, -1, 1, 2, 7, 1<<16, math.MaxInt32, math.MinInt32)
	case what == 1:
		x.Shape = append(slices.Clone(x.Shape), pick(0, 1, 2, 1000))
	case what == 2 && len(x.Shape) > 0:
		x.Shape = x.Shape[:len(x.Shape)-1]
	case what == 3:
		x.Scale, x.Zero = []float32{[]float32{1e-45, 1e-38, 3e-10, 1, 1e10, 1e38}[rng.IntN(6)]}, []int64{0}
	case what == 4:
		x.Scale, x.Zero = nil, nil
	case what == 5:
		x.Type = int8(rng.IntN(20))
	case what == 6 && len(o.In) > 0:
		o.In = slices.Clone(o.In)
		o.In[rng.IntN(len(o.In))] = int32(rng.IntN(len(g.Tensors)+1)) - 1
	default:
		o.Code, o.Custom = int32(rng.IntN(150)), ""
	}
}
