// SPDX-License-Identifier: Apache-2.0

// Package cmsisnn turns int8 and int16 operators into calls of the CMSIS-NN API: one row
// a function, with the conditions under which it computes exactly what ir/op
// defines. The same calls run on nncc's portable sources (runtime_c/src/cmsis_nn)
// and on an installed library.
package cmsisnn

import (
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Library is the name of this kernel library in reports and board files.
const Library = "cmsis-nn"

// Kernels are the rows; where an operator has several, the better one first.
var Kernels = []*kernel.Kernel{
	convolve4, depthwise4, fullyConnected4,
	convolve, depthwise, transposeConv, upscaledConv, fullyConnected, batchMatMul, add, mul, minimum, maximum, avgPool,
	maxPool, softmax,
	concat, padding, relayout, clip, lstm,
	convolve16, depthwise16, fullyConnected16, batchMatMul16, add16, mul16, avgPool16, maxPool16, softmax16,
}

func tileArg(t Tile) call.Nested {
	return call.Nested{Fields: call.Ints("w", t.W, "h", t.H)}
}

func (d Dims) arg() *call.Struct {
	return &call.Struct{Type: "cmsis_nn_dims", Fields: call.Ints("n", d.N, "h", d.H, "w", d.W, "c", d.C)}
}

// context is a cmsis_nn_context over size bytes of scratch from off on.
func context(off, size int) *call.Struct {
	var buf call.Arg = call.Null{}
	if size > 0 {
		buf = call.Scratch{Off: off, CType: "void"}
	}
	return &call.Struct{Type: "cmsis_nn_context", Fields: []call.Field{call.F("buf", buf), call.FI("size", size)}}
}

func activation(lo, hi int32) call.Nested {
	return call.Nested{Fields: []call.Field{call.FT("min", lo), call.FT("max", hi)}}
}

func i8In(i int) call.In   { return call.In{I: i, CType: "int8_t"} }
func i8Out(i int) call.Out { return call.Out{I: i, CType: "int8_t"} }

// i32Blob is an int32 array; MVE kernels read up to 3 elements past the end.
func i32Blob(hint string, v []int32) *call.Blob {
	return &call.Blob{Hint: hint, CType: "int32_t", Data: tensor.Of([]int{len(v)}, v).Bytes(), Align: 4, Pad: 12}
}

// calls completes a lowering by functions of the library.
func calls(l *call.Lowered, c ...call.Call) *call.Lowered {
	l.Library = Library
	l.Calls = c
	if l.Kernel == "" {
		l.Kernel = c[len(c)-1].Func
	}
	if l.Route == "" {
		l.Route = l.Kernel
	}
	l.Variant = l.Route
	return l
}

// copyND copies elements of so many bytes, from offsets on, along dims with the strides x and y.
func copyND(elem, xOff, yOff int, dims, x, y []int, from, to call.Arg) call.Call {
	return call.Call{Func: "nncc_copy_nd", Args: []call.Arg{&call.Struct{Type: "nncc_copy_nd_params",
		Fields: call.Ints("elem", elem, "rank", len(dims), "x_offset", xOff, "y_offset", yOff, "dims",
			call.IntArray(dims), "x_stride", call.IntArray(x), "y_stride", call.IntArray(y))}, from, to}}
}

// productParams are cmsis_nn_fc_params with offsets of inputs, weights and results.
func productParams(p *op.MACParams, in, filter, out call.Arg) *call.Struct {
	return &call.Struct{Type: "cmsis_nn_fc_params", Fields: call.Ints("input_offset", in, "filter_offset", filter,
		"output_offset", out, "activation", activation(p.ActMin, p.ActMax))}
}
