// SPDX-License-Identifier: Apache-2.0

// Package dsp holds the rows of nncc's own int8 kernels for cores without
// Helium, with and without the DSP extension (runtime_c/src/dsp): weights are packed and input offsets folded at
// compile time, requantisation is proven per channel. See README.md.
package dsp

import (
	"slices"

	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// Library is the name of this kernel library in reports; board files call it dsp.
const Library = "nncc-dsp"

// Kernels are the rows; where an operator has several, the better one first.
var Kernels = slices.Concat([]*kernel.Kernel{convolveDots, fullyConnectedDots, conv, tiles, transposedConv, mapped,
	residual, tilesAdd, lines, depthwise, fullyConnected, octets, batchMatMul, batchRowsKernel, pairs, add, rounded,
	avgPoolFours, maxPoolFours, avgPoolSliding, maxPoolSliding, avgPool, maxPool, relayout, runs, limits, two,
	softmax, convolveDots16, fullyConnectedDots16, conv16, phases16, depthwise16,
	fullyConnected16, batchMatMul16}, int16s, recurrentRows())

func fields(pairs ...any) []call.Field { return call.Ints(pairs...) }

func i8In(i int) call.In             { return call.In{I: i, CType: "int8_t"} }
func i8Out(i int) call.Out           { return call.Out{I: i, CType: "int8_t"} }
func scratch32(off int) call.Scratch { return call.Scratch{Off: off, CType: "int32_t"} }

// shared are the rows that other cores have, too.
var shared = quantised.Shared{Library: Library, Was: "DSP", Core: cond.NoHelium, Functions: "nncc_dsp_",
	Header: "dsp/nncc_dsp.h"}

// own completes a lowering that calls kernels of this library.
var own = shared.Own

var (
	pairs, rounded    = shared.Pairs(), shared.Sums()
	lines, runs       = shared.Lines(), shared.Runs()
	limits, two       = shared.Limits(), shared.Two()
	relayout, softmax = shared.Transpose(), shared.Softmax()
	int16s            = shared.Wide()
)
