// SPDX-License-Identifier: Apache-2.0

// Package helium holds the rows of nncc's own int8 kernels for cores with
// Helium (runtime_c/src/helium): weights are packed in the order of their
// loads, input offsets folded into the biases at compile time. See README.md.
package helium

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
)

// Library is the name of this kernel library in reports; board files call it helium.
const Library = "nncc-helium"

// Kernels are the rows; where an operator has several, the better one first.
var Kernels = slices.Concat([]*kernel.Kernel{conv, transposedConv, phases, lines, patches, depthwise3x3, depthwise,
	fullyConnected, batchMatMul, avgPoolShort, avgPool, maxPool, add, pairs, rounded, transpose, runs, limits, two,
	softmax, mapped, residual, conv16, phases16, depthwise16, fullyConnected16, batchMatMul16}, int16s,
	recurrentRows())

// own completes a lowering that calls a kernel of this library.
func own(l *call.Lowered, c call.Call) *call.Lowered {
	l.Library = Library
	l.Calls = []call.Call{c}
	l.Kernel = c.Func
	l.Headers = append(l.Headers, "helium/nncc_helium.h")
	return l
}

func i8In(i int) call.In           { return call.In{I: i, CType: "int8_t"} }
func i8Out(i int) call.Out         { return call.Out{I: i, CType: "int8_t"} }
func i8Scratch(o int) call.Scratch { return call.Scratch{Off: o, CType: "int8_t"} }

// packed is the constant array of packed weights.
func packed(b []byte) *call.Blob {
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: b, Align: vector}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }
