// SPDX-License-Identifier: Apache-2.0

// Package tflitetest writes TensorFlow Lite models for tests.
package tflitetest

import (
	flatbuffers "github.com/google/flatbuffers/go"

	"github.com/nncc/nncc/frontend/tflite/fb"
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

// writer is a file being written.
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
	for _, c := range g.Called {
		graphs = append(graphs, w.graph(c))
	}
	b := w.Builder
	graphList, codeList, bufferList := list(b, graphs), list(b, w.codes), list(b, w.buffers)
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
		tensors = append(tensors, t.write(b, uint32(buffer)))
	}
	for _, o := range g.Ops {
		ops = append(ops, w.op(o))
	}
	in, out := ints(b, g.Inputs), ints(b, g.Outputs)
	tensorList, opList := list(b, tensors), list(b, ops)
	fb.SubGraphStart(b)
	fb.SubGraphAddTensors(b, tensorList)
	fb.SubGraphAddInputs(b, in)
	fb.SubGraphAddOutputs(b, out)
	fb.SubGraphAddOperators(b, opList)
	return fb.SubGraphEnd(b)
}

func (w *writer) op(o Op) flatbuffers.UOffsetT {
	b := w.Builder
	in, out := ints(b, o.In), ints(b, o.Out)
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

func (t Tensor) write(b *flatbuffers.Builder, buffer uint32) flatbuffers.UOffsetT {
	name, shape := b.CreateString(t.Name), ints(b, t.Shape)
	var quantization flatbuffers.UOffsetT
	if len(t.Scale) > 0 {
		b.StartVector(4, len(t.Scale), 4)
		for i := len(t.Scale) - 1; i >= 0; i-- {
			b.PrependFloat32(t.Scale[i])
		}
		scale := b.EndVector(len(t.Scale))
		b.StartVector(8, len(t.Zero), 8)
		for i := len(t.Zero) - 1; i >= 0; i-- {
			b.PrependInt64(t.Zero[i])
		}
		zero := b.EndVector(len(t.Zero))
		fb.QuantizationStart(b)
		fb.QuantizationAddScale(b, scale)
		fb.QuantizationAddZeroPoint(b, zero)
		fb.QuantizationAddQuantizedDimension(b, t.Axis)
		quantization = fb.QuantizationEnd(b)
	}
	fb.TensorStart(b)
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

func ints(b *flatbuffers.Builder, v []int32) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependInt32(v[i])
	}
	return b.EndVector(len(v))
}

func list(b *flatbuffers.Builder, v []flatbuffers.UOffsetT) flatbuffers.UOffsetT {
	b.StartVector(4, len(v), 4)
	for i := len(v) - 1; i >= 0; i-- {
		b.PrependUOffsetT(v[i])
	}
	return b.EndVector(len(v))
}
