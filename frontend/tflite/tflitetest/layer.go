// SPDX-License-Identifier: Apache-2.0

package tflitetest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/fb"
)

// Types are element types by their names, with the format's numbers.
var Types = map[string]int8{
	"f32": 0, "i32": 2, "u8": 3, "i64": 4, "bool": 6, "i16": 7, "i8": 9, "u32": 15, "u64": 12, "i4": 17,
}

// sizes are the bytes of an element.
var sizes = map[string]int{"f32": 4, "i32": 4, "u8": 1, "i64": 8, "bool": 1, "i16": 2, "i8": 1, "u32": 4, "u64": 8}

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

// tensor adds a tensor. Integers of the layer's type have a quantisation: int8 scale 0.05
// and zero point 3, int16 scale 0.0005.
func (l *Layer) tensor(typ string, shape ...int32) int32 {
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

// in adds an input of the layer's type, input one of another.
func (l *Layer) in(shape ...int32) int32 { return l.input(l.Type, shape...) }

func (l *Layer) input(typ string, shape ...int32) int32 {
	i := l.tensor(typ, shape...)
	l.Inputs = append(l.Inputs, i)
	return i
}

// out adds a result of the layer's type, output one of another.
func (l *Layer) out(shape ...int32) int32 { return l.output(l.Type, shape...) }

func (l *Layer) output(typ string, shape ...int32) int32 {
	i := l.tensor(typ, shape...)
	l.Outputs = append(l.Outputs, i)
	return i
}

// scaled gives a tensor a quantisation.
func (l *Layer) scaled(i int32, scale float32, zero int64) int32 {
	l.Tensors[i].Scale, l.Tensors[i].Zero = []float32{scale}, []int64{zero}
	return i
}

// plain takes a tensor's quantisation away.
func (l *Layer) plain(i int32) int32 {
	l.Tensors[i].Scale, l.Tensors[i].Zero = nil, nil
	return i
}

// random adds a constant of random elements.
func (l *Layer) random(typ string, shape ...int32) int32 {
	i := l.tensor(typ, shape...)
	n := 1
	for _, d := range shape {
		n *= int(d)
	}
	l.Tensors[i].Data = Random(l.rng, typ, n)
	return i
}

// Random gives n elements: floats in (-4, 4), int32 and int64 in [-1000, 1000), int16,
// int8 and uint8 of the whole range, uint32 and uint64 of all sizes.
func Random(rng *rand.Rand, typ string, n int) []byte {
	b := []byte{}
	for range n {
		switch typ {
		case "f32":
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(rng.Float32()*8-4))
		case "u32":
			b = binary.LittleEndian.AppendUint32(b, rng.Uint32()>>rng.IntN(32))
		case "u64":
			b = binary.LittleEndian.AppendUint64(b, rng.Uint64()>>rng.IntN(64))
		case "i32":
			b = binary.LittleEndian.AppendUint32(b, uint32(rng.IntN(2000)-1000))
		case "i64":
			b = binary.LittleEndian.AppendUint64(b, uint64(rng.IntN(2000)-1000))
		case "i16":
			b = binary.LittleEndian.AppendUint16(b, uint16(rng.IntN(1<<16)))
		case "bool":
			b = append(b, byte(rng.IntN(2)))
		default:
			b = append(b, byte(rng.IntN(256)))
		}
	}
	return b
}

// ints adds a constant list of int32.
func (l *Layer) ints(v ...int32) int32 { return l.intsOf([]int32{int32(len(v))}, v...) }

// scalar adds a constant int32 without dimensions.
func (l *Layer) scalar(v int32) int32 { return l.intsOf(nil, v) }

func (l *Layer) intsOf(shape []int32, v ...int32) int32 {
	i := l.tensor("i32", shape...)
	l.Tensors[i].Data = []byte{}
	for _, x := range v {
		l.Tensors[i].Data = binary.LittleEndian.AppendUint32(l.Tensors[i].Data, uint32(x))
	}
	return i
}

// do adds the layer's operator.
func (l *Layer) do(o options, in []int32, out ...int32) {
	l.add(l.Op, o, in, out...)
}

// add adds an operator.
func (l *Layer) add(name string, o options, in []int32, out ...int32) {
	op := Op{In: in, Out: out, Kind: o.kind, Bytes: o.bytes}
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

// with gives options.
func with(kind byte, fields ...any) options { return options{kind: kind, fields: fields} }

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
		n := 1
		for _, d := range t.Shape {
			n *= int(d)
		}
		data := Random(l.rng, typeName(t.Type), n)
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

// layersOf makes a layer of an operator for each type.
func layersOf(op string, types []string, fill func(l *Layer)) []*Layer {
	var all []*Layer
	for _, t := range types {
		l := newLayer(op, t)
		fill(l)
		all = append(all, l)
	}
	return all
}

// Layers are models of one operator each: every operator that nncc reads, in the types
// that TensorFlow Lite Micro has it in, and those that TensorFlow Lite alone has.
func Layers() []*Layer {
	return slices.Concat(basics(), moving(), arithmetic(), signals(), control(), detections(), beyond())
}

// Amid is the layer between others: sums with constants, in the quantisations of its
// inputs and results. nil where it has no inputs or results of int8.
func (l *Layer) Amid() *Layer {
	a := &Layer{Op: l.Op, Type: l.Type, rng: rand.New(rand.NewPCG(7, uint64(len(l.Tensors)))), limit: l.limit}
	a.Tensors, a.Called = slices.Clone(l.Tensors), l.Called
	for i := range a.Tensors {
		a.Tensors[i].Name = "inner/" + a.Tensors[i].Name
	}
	around := false
	within := func(i int32) bool {
		t := l.Tensors[i]
		around = around || len(t.Scale) > 0 && t.Type == Types["i8"]
		return len(t.Scale) > 0 && t.Type == Types["i8"]
	}
	sum := func(from, to int32) {
		one := a.scaled(a.random("i8", 1), 0.01, 0)
		a.add("ADD", with(11), []int32{from, one}, to)
	}
	for _, i := range l.Inputs {
		if !within(i) {
			a.Inputs = append(a.Inputs, i)
			continue
		}
		sum(a.input("i8", l.Tensors[i].Shape...), i)
	}
	a.Ops = append(a.Ops, l.Ops...)
	for _, i := range l.Outputs {
		if !within(i) {
			a.Outputs = append(a.Outputs, i)
			continue
		}
		sum(i, a.output("i8", l.Tensors[i].Shape...))
	}
	if !around {
		return nil
	}
	return a
}
