// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/bug"
)

// Types are element types by their names, with the format's numbers.
var Types = map[string]int8{
	"f32": 0, "i32": 2, "u8": 3, "i64": 4, "bool": 6, "i16": 7, "i8": 9, "u32": 15, "u64": 12, "i4": 17,
}

// Layer is a model of one operator.
type Layer struct {
	Op   string // the operator's name in the format
	Type string // of its data: "f32", "i8", ...
	Graph
	Given [][]byte // its inputs; nil: random ones
	rng   *rand.Rand
	limit int // of inputs of int32, which are indices; 0: they are not
}

// newLayer begins a model; the same name and type give the same numbers.
func newLayer(op, typ string) *Layer {
	seed := uint64(17)
	for _, c := range op + typ {
		seed = seed*31 + uint64(c)
	}
	return &Layer{Op: op, Type: typ, rng: rand.New(rand.NewPCG(seed, 1))}
}

// part is a tensor of a layer; add gives its index.
type part struct {
	add    func(l *Layer) int32
	result bool
}

var none = at(-1)

func at(i int32) part { return part{add: func(*Layer) int32 { return i }} }

func shape(d ...int32) []int32 { return d }

// in is an input of the layer's type, input one of another.
func in(shape ...int32) part { return input("", shape...) }

func input(typ string, shape ...int32) part {
	return part{add: func(l *Layer) int32 {
		l.Inputs = append(l.Inputs, l.tensor(typ, shape...))
		return l.Inputs[len(l.Inputs)-1]
	}}
}

// index is an input of indices below a limit.
func index(limit int, shape ...int32) part {
	return part{add: func(l *Layer) int32 {
		l.limit = limit
		return l.put(input("i32", shape...))
	}}
}

// out is a result of the layer's type, output one of another.
func out(shape ...int32) part { return output("", shape...) }

func output(typ string, shape ...int32) part {
	return part{result: true, add: func(l *Layer) int32 {
		l.Outputs = append(l.Outputs, l.tensor(typ, shape...))
		return l.Outputs[len(l.Outputs)-1]
	}}
}

// rescaled is a result of another quantisation than the inputs'.
func rescaled(shape ...int32) part {
	return out(shape...).scaled("i8", 0.11, -5).scaled("i16", 0.0013, 0)
}

func random(typ string, shape ...int32) part {
	return part{add: func(l *Layer) int32 {
		i := l.tensor(typ, shape...)
		l.Tensors[i].Data = Random(l.rng, typeName(l.Tensors[i].Type), count(shape))
		return i
	}}
}

// weights are a constant of int8 in layers of integers.
func weights(shape ...int32) part {
	return part{add: func(l *Layer) int32 {
		if l.Type == "f32" {
			return l.put(random("f32", shape...))
		}
		return l.put(random("i8", shape...).scaled("i8", 0.02, 0))
	}}
}

func constant(typ string, shape []int32, v any) part {
	return part{add: func(l *Layer) int32 { return l.constant(typ, shape, raw(v)) }}
}

// ints is a constant list of int32, scalar one without dimensions.
func ints(v ...int32) part { return list(shape(int32(len(v))), v...) }

func scalar(v int32) part { return list(nil, v) }

func list(shape []int32, v ...int32) part { return constant("i32", shape, v) }

func floats(shape []int32, v ...float32) part { return constant("f32", shape, v) }

func raw(v any) []byte { return bug.Must(binary.Append([]byte{}, binary.LittleEndian, v)) }

func (p part) changed(change func(t *Tensor)) part {
	return part{result: p.result, add: func(l *Layer) int32 {
		i := p.add(l)
		change(&l.Tensors[i])
		return i
	}}
}

func (p part) scaled(typ string, scale float32, zero int64) part {
	return p.changed(func(t *Tensor) {
		if t.Type == Types[typ] {
			t.Scale, t.Zero = []float32{scale}, []int64{zero}
		}
	})
}

func (p part) plain() part { return p.changed(func(t *Tensor) { t.Scale, t.Zero = nil, nil }) }

func (p part) keeping() part { return p.changed(func(t *Tensor) { t.State = true }) }

func (l *Layer) put(p part) int32 { return p.add(l) }

// tensor adds a tensor. Integers of the layer's type have a quantisation: int8 scale 0.05
// and zero point 3, int16 scale 0.0005.
func (l *Layer) tensor(typ string, shape ...int32) int32 {
	if typ == "" {
		typ = l.Type
	}
	t := Tensor{Name: "t" + string(rune('a'+len(l.Tensors))), Type: Types[typ], Shape: shape}
	switch typ {
	case "i8":
		t.Scale, t.Zero = []float32{0.05}, []int64{3}
	case "i16":
		t.Scale, t.Zero = []float32{0.0005}, []int64{0}
	}
	l.Tensors = append(l.Tensors, t)
	return int32(len(l.Tensors) - 1)
}

func (l *Layer) constant(typ string, shape []int32, data []byte) int32 {
	i := l.tensor(typ, shape...)
	l.Tensors[i].Data = data
	return i
}

func count(shape []int32) int {
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	return n
}

// Random gives n elements: floats in (-4, 4), int32 and int64 in [-1000, 1000), int16,
// int8 and uint8 of the whole range, uint32 and uint64 of all sizes.
func Random(rng *rand.Rand, typ string, n int) []byte {
	b := []byte{}
	for range n {
		var v any
		switch typ {
		case "f32":
			v = rng.Float32()*8 - 4
		case "u32":
			v = rng.Uint32() >> rng.IntN(32)
		case "u64":
			v = rng.Uint64() >> rng.IntN(64)
		case "i32":
			v = int32(rng.IntN(2000) - 1000)
		case "i64":
			v = int64(rng.IntN(2000) - 1000)
		case "i16":
			v = uint16(rng.IntN(1 << 16))
		case "bool":
			v = byte(rng.IntN(2))
		default:
			v = byte(rng.IntN(256))
		}
		b = append(b, raw(v)...)
	}
	return b
}

func (l *Layer) do(o options, parts ...part) { l.op(l.Op, o, parts...) }

func (l *Layer) op(name string, o options, parts ...part) {
	op := Op{Kind: o.kind, Bytes: o.bytes}
	for _, p := range parts {
		if i := p.add(l); p.result {
			op.Out = append(op.Out, i)
		} else {
			op.In = append(op.In, i)
		}
	}
	if op.Code = fb.CodeOf(name); op.Code < 0 {
		op.Custom = name
	}
	if o.kind != 0 {
		op.Options = o.write
	}
	l.Ops = append(l.Ops, op)
}

// options are those of an operator: the number of their table among all, and its fields
// in order, nil for the default; or bytes of custom operators.
type options struct {
	kind   byte
	fields []any
	bytes  []byte
}

func with(kind byte, fields ...any) options { return options{kind: kind, fields: fields} }

// NewOp is an operator by its name in the format, with options of a kind: fields in order, nil for the default.
func NewOp(name string, in, out []int32, kind byte, fields ...any) Op {
	return Op{Code: fb.CodeOf(name), In: in, Out: out, Kind: kind, Options: with(kind, fields...).write}
}

func custom[T any](v map[string]T) options { return options{bytes: Flex(v)} }

func (o options) write(b *flatbuffers.Builder) flatbuffers.UOffsetT {
	b.StartObject(len(o.fields))
	for i, f := range o.fields {
		switch v := f.(type) {
		case bool:
			b.PrependBoolSlot(i, v, false)
		case int8:
			b.PrependInt8Slot(i, v, 0)
		case int:
			b.PrependInt32Slot(i, int32(v), 0)
		case float64:
			b.PrependFloat32Slot(i, float32(v), 0)
		}
	}
	return b.EndObject()
}

// Data gives the elements of every input: random ones, by the layer's name, where none are given.
func (l *Layer) Data() [][]byte {
	if l.Given != nil {
		return l.Given
	}
	var all [][]byte
	for _, i := range l.Inputs {
		t := l.Tensors[i]
		data := Random(l.rng, typeName(t.Type), count(t.Shape))
		for k := 0; t.Type == Types["i32"] && l.limit > 0 && k < len(data); k += 4 {
			binary.LittleEndian.PutUint32(data[k:], uint32(l.rng.IntN(l.limit)))
		}
		all = append(all, data)
	}
	return all
}

func typeName(t int8) string {
	for name, v := range Types {
		if v == t {
			return name
		}
	}
	return ""
}

// Amid is the layer between others: sums with constants, in the quantisations of its
// inputs and results. nil where it has no inputs or results of int8.
func (l *Layer) Amid() *Layer {
	a := &Layer{Op: l.Op, Type: l.Type, rng: rand.New(rand.NewPCG(7, uint64(len(l.Tensors)))), limit: l.limit}
	a.Tensors, a.Called = slices.Clone(l.Tensors), l.Called
	for i := range a.Tensors {
		a.Tensors[i].Name = "inner/" + a.Tensors[i].Name
	}
	within := func(i int32) bool { return len(l.Tensors[i].Scale) > 0 && l.Tensors[i].Type == Types["i8"] }
	if !slices.ContainsFunc(slices.Concat(l.Inputs, l.Outputs), within) {
		return nil
	}
	sum := func(from, to part) {
		a.op("ADD", with(11), from, random("i8", 1).scaled("i8", 0.01, 0), part{to.add, true})
	}
	for _, i := range l.Inputs {
		if within(i) {
			sum(input("i8", l.Tensors[i].Shape...), at(i))
		} else {
			a.Inputs = append(a.Inputs, i)
		}
	}
	a.Ops = append(a.Ops, l.Ops...)
	for _, i := range l.Outputs {
		if within(i) {
			sum(at(i), output("i8", l.Tensors[i].Shape...))
		} else {
			a.Outputs = append(a.Outputs, i)
		}
	}
	return a
}

// Damage is a file with some bytes changed, more of them at its front, and at times cut short.
func Damage(rng *rand.Rand, file []byte) []byte {
	b := bytes.Clone(file)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(b))
		if rng.IntN(2) == 0 {
			at = rng.IntN(min(len(b), 2000))
		}
		b[at] = []byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.IntN(256)), b[at] + 4, b[at] - 4}[rng.IntN(8)]
	}
	if rng.IntN(8) == 0 {
		b = b[:rng.IntN(len(b))]
	}
	return b
}
