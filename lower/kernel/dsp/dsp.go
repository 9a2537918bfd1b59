// SPDX-License-Identifier: Apache-2.0

// Package dsp holds the rows of nncc's own int8 kernels for cores without
// Helium, with and without the DSP extension (runtime_c/src/dsp): weights are packed and input offsets folded at
// compile time, requantisation is proven per channel. See README.md.
package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
)

// Library is the name of this kernel library in reports; board files call it dsp.
const Library = "nncc-dsp"

// Kernels are the rows; where an operator has several, the better one first.
var Kernels = slices.Concat([]*kernel.Kernel{convolveDots, fullyConnectedDots, conv, tiles, transposedConv, mapped,
	residual, tilesAdd, lines, depthwise, fullyConnected, octets, batchMatMul, batchRowsKernel, pairs, add, rounded,
	avgPoolFours, maxPoolFours, avgPoolSliding, maxPoolSliding, avgPool, maxPool, relayout, runs, limits, two,
	softmax, convolveDots16, fullyConnectedDots16, conv16, phases16, depthwise16,
	fullyConnected16, batchMatMul16}, int16s, recurrentRows())

// own completes a lowering that calls a kernel of this library.
func own(l *call.Lowered, c ...call.Call) *call.Lowered {
	l.Library = Library
	l.Calls = c
	l.Kernel = c[len(c)-1].Func
	l.Headers = append(l.Headers, "dsp/nncc_dsp.h")
	return l
}

func fields(pairs ...any) []call.Field { return call.Ints(pairs...) }

func i8In(i int) call.In             { return call.In{I: i, CType: "int8_t"} }
func i8Out(i int) call.Out           { return call.Out{I: i, CType: "int8_t"} }
func scratch32(off int) call.Scratch { return call.Scratch{Off: off, CType: "int32_t"} }
