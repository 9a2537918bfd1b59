// SPDX-License-Identifier: Apache-2.0

// Package tflitetest writes TensorFlow Lite models for tests.
package tflitetest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/lists"
)

// Tensor is a tensor of a model being written. Type is the format's number.
type Tensor struct {
	Name  string
	Type  int8
	Shape []int32
	Data  []byte // of a constant
	Scale []float32
	Zero  []int64
	Axis  int32
	State bool // it keeps its value
	// Sparse has the levels of a sparse constant, whose Data are the values.
	Sparse *Sparse
}

// Sparse are the levels by which a constant's values are stored: dimensions, and blocks
// along those of Blocks, in an order.
type Sparse struct {
	Order, Blocks []int32
	Levels        []SparseLevel
}

// SparseLevel has all indices below Size, or lists of them, which are 8 >> Kind bytes wide.
type SparseLevel struct {
	Size              int32
	Kind              byte // 0: all
	Segments, Indices []int32
}

// Op is an operator: its code, its tensors by index, -1 for none, and what writes its
// options; nil for none. Custom operators have a name and bytes as options.
type Op struct {
	Code    int32
	Custom  string
	In, Out []int32
	Options func(b *flatbuffers.Builder) flatbuffers.UOffsetT
	Kind    byte // of the options, the format's number
	Second  bool // the options are of the format's second list
	Bytes   []byte
}

// Graph is a model: its first graph, and those that operators of it call.
type Graph struct {
	Tensors         []Tensor
	Ops             []Op
	Inputs, Outputs []int32
	Called          []Graph
}

type writer struct {
	*flatbuffers.Builder
	buffers, codes []flatbuffers.UOffsetT
}

// Bytes is the file.
func (g Graph) Bytes() []byte {
	w := &writer{Builder: flatbuffers.NewBuilder(1024)}
	fb.BufferStart(w.Builder)
	w.buffers = append(w.buffers, fb.BufferEnd(w.Builder))
	graphs := []flatbuffers.UOffsetT{w.graph(g)}
	graphs = append(graphs, lists.Map(g.Called, w.graph)...)
	b := w.Builder
	graphList, codeList, bufferList := w.list(graphs), w.list(w.codes), w.list(w.buffers)
	fb.ModelStart(b)
	fb.ModelAddVersion(b, 3)
	fb.ModelAddOperatorCodes(b, codeList)
	fb.ModelAddSubgraphs(b, graphList)
	fb.ModelAddBuffers(b, bufferList)
	b.FinishWithFileIdentifier(fb.ModelEnd(b), []byte(fb.Identifier))
	return b.FinishedBytes()
}

func (w *writer) graph(g Graph) flatbuffers.UOffsetT {
	b := w.Builder
	var tensors, ops []flatbuffers.UOffsetT
	for _, t := range g.Tensors {
		buffer := 0
		if t.Data != nil {
			data := b.CreateByteVector(t.Data)
			fb.BufferStart(b)
			fb.BufferAddData(b, data)
			buffer = len(w.buffers)
			w.buffers = append(w.buffers, fb.BufferEnd(b))
		}
		tensors = append(tensors, w.tensor(t, uint32(buffer)))
	}
	ops = append(ops, lists.Map(g.Ops, w.op)...)
	in, out := w.ints(g.Inputs), w.ints(g.Outputs)
	tensorList, opList := w.list(tensors), w.list(ops)
	fb.SubGraphStart(b)
	fb.SubGraphAddTensors(b, tensorList)
	fb.SubGraphAddInputs(b, in)
	fb.SubGraphAddOutputs(b, out)
	fb.SubGraphAddOperators(b, opList)
	return fb.SubGraphEnd(b)
}

func (w *writer) op(o Op) flatbuffers.UOffsetT {
	b := w.Builder
	in, out := w.ints(o.In), w.ints(o.Out)
	var options, custom, name flatbuffers.UOffsetT
	if o.Options != nil {
		options = o.Options(b)
	}
	if o.Bytes != nil {
		custom = b.CreateByteVector(o.Bytes)
	}
	if o.Custom != "" {
		name = b.CreateString(o.Custom)
		o.Code = fb.Custom
	}
	fb.OperatorCodeStart(b)
	fb.OperatorCodeAddDeprecatedBuiltinCode(b, int8(min(o.Code, 127)))
	if name != 0 {
		fb.OperatorCodeAddCustomCode(b, name)
	}
	fb.OperatorCodeAddBuiltinCode(b, o.Code)
	w.codes = append(w.codes, fb.OperatorCodeEnd(b))
	fb.OperatorStart(b)
	fb.OperatorAddOpcodeIndex(b, uint32(len(w.codes)-1))
	fb.OperatorAddInputs(b, in)
	fb.OperatorAddOutputs(b, out)
	switch {
	case options != 0 && o.Second:
		fb.OperatorAddOptions2Type(b, o.Kind)
		fb.OperatorAddOptions2(b, options)
	case options != 0:
		fb.OperatorAddOptionsType(b, o.Kind)
		fb.OperatorAddOptions(b, options)
	}
	if custom != 0 {
		fb.OperatorAddCustomOptions(b, custom)
	}
	return fb.OperatorEnd(b)
}

func (w *writer) tensor(t Tensor, buffer uint32) flatbuffers.UOffsetT {
	b := w.Builder
	name, shape := b.CreateString(t.Name), w.ints(t.Shape)
	var quantization flatbuffers.UOffsetT
	if len(t.Scale) > 0 {
		scale, zero := vector(b, 4, t.Scale, b.PrependFloat32), vector(b, 8, t.Zero, b.PrependInt64)
		fb.QuantizationStart(b)
		fb.QuantizationAddScale(b, scale)
		fb.QuantizationAddZeroPoint(b, zero)
		fb.QuantizationAddQuantizedDimension(b, t.Axis)
		quantization = fb.QuantizationEnd(b)
	}
	var sparse flatbuffers.UOffsetT
	if t.Sparse != nil {
		sparse = w.sparse(t.Sparse)
	}
	fb.TensorStart(b)
	if sparse != 0 {
		fb.TensorAddSparsity(b, sparse)
	}
	fb.TensorAddShape(b, shape)
	fb.TensorAddType(b, t.Type)
	fb.TensorAddBuffer(b, buffer)
	fb.TensorAddName(b, name)
	fb.TensorAddIsVariable(b, t.State)
	if quantization != 0 {
		fb.TensorAddQuantization(b, quantization)
	}
	return fb.TensorEnd(b)
}

func (w *writer) sparse(s *Sparse) flatbuffers.UOffsetT {
	b := w.Builder
	indices := func(kind byte, v []int32) flatbuffers.UOffsetT {
		size := 8 >> kind
		list := vector(b, size, v, map[int]func(int32){1: func(x int32) { b.PrependByte(byte(x)) },
			2: func(x int32) { b.PrependUint16(uint16(x)) }, 4: b.PrependInt32}[size])
		fb.Int32VectorStart(b)
		fb.Int32VectorAddValues(b, list)
		return fb.Int32VectorEnd(b)
	}
	var levels []flatbuffers.UOffsetT
	for _, l := range s.Levels {
		var from, at flatbuffers.UOffsetT
		if l.Kind > 0 {
			from, at = indices(l.Kind, l.Segments), indices(l.Kind, l.Indices)
		}
		fb.SparseLevelStart(b)
		fb.SparseLevelAddDenseSize(b, l.Size)
		if l.Kind > 0 {
			fb.SparseLevelAddFormat(b, 1)
			fb.SparseLevelAddSegmentsType(b, l.Kind)
			fb.SparseLevelAddSegments(b, from)
			fb.SparseLevelAddIndicesType(b, l.Kind)
			fb.SparseLevelAddIndices(b, at)
		}
		levels = append(levels, fb.SparseLevelEnd(b))
	}
	order, blocks, list := w.ints(s.Order), w.ints(s.Blocks), w.list(levels)
	fb.SparsityStart(b)
	fb.SparsityAddTraversalOrder(b, order)
	fb.SparsityAddBlockMap(b, blocks)
	fb.SparsityAddLevels(b, list)
	return fb.SparsityEnd(b)
}

// vector writes a list whose elements have size bytes.
func vector[T any](b *flatbuffers.Builder, size int, v []T, put func(T)) flatbuffers.UOffsetT {
	b.StartVector(size, len(v), size)
	for _, x := range slices.Backward(v) {
		put(x)
	}
	return b.EndVector(len(v))
}

func (w *writer) ints(v []int32) flatbuffers.UOffsetT { return vector(w.Builder, 4, v, w.PrependInt32) }

func (w *writer) list(v []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	return vector(w.Builder, 4, v, w.PrependUOffsetT)
}

// Flex writes a FlexBuffers map of integers, floats and booleans, four bytes each.
func Flex[T any](v map[string]T) []byte {
	var b []byte
	put := func(n int) { b = binary.LittleEndian.AppendUint32(b, uint32(n)) }
	keys := slices.Sorted(maps.Keys(v))
	var at []int
	for _, k := range keys {
		at = append(at, len(b))
		b = append(append(b, k...), 0)
	}
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	put(len(keys))
	list := len(b)
	for i := range keys {
		put(len(b) - at[i])
	}
	put(len(b) - list)
	put(4)
	put(len(keys))
	entries := len(b)
	var types []byte
	for _, k := range keys {
		n, kind := 0, byte(1)
		switch x := any(v[k]).(type) {
		case int:
			n = x
		case float64:
			n, kind = int(math.Float32bits(float32(x))), 3
		case bool:
			kind = 26
			if x {
				n = 1
			}
		}
		put(n)
		types = append(types, kind<<2|2)
	}
	b = append(b, types...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	put(len(b) - entries)
	return append(b, 9<<2|2, 4)
}
