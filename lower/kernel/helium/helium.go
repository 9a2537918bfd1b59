// SPDX-License-Identifier: Apache-2.0

// Package helium holds the rows of nncc's own int8 kernels for cores with
// Helium (runtime_c/src/helium): weights are packed in the order of their
// loads, input offsets folded into the biases at compile time. See README.md.
package helium

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// Library is the name of this kernel library in reports; board files call it helium.
const Library = "nncc-helium"

// Kernels are the rows; where an operator has several, the better one first.
var Kernels = slices.Concat([]*kernel.Kernel{conv, transposedConv, phases, lines, patches, depthwise3x3, flat,
	depthwise,
	fullyConnected, batchMatMul, avgPoolShort, avgPool, maxPool, add, pairs, rounded, transpose, runs, limits, two,
	softmax, mapped, residual, conv16, phases16, depthwise16, fullyConnected16, batchMatMul16}, int16s,
	recurrentRows())

func i8In(i int) call.In           { return call.In{I: i, CType: "int8_t"} }
func i8Out(i int) call.Out         { return call.Out{I: i, CType: "int8_t"} }
func i8Scratch(o int) call.Scratch { return call.Scratch{Off: o, CType: "int8_t"} }

// packed is the constant array of packed weights.
func packed(b []byte) *call.Blob {
	return &call.Blob{Hint: "packed", CType: "int8_t", Data: b, Align: vector}
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// shared are the rows that other cores have, too.
var shared = quantised.Shared{Library: Library, Was: "HELIUM", Core: cond.Helium, Functions: "nncc_helium_",
	Header: "helium/nncc_helium.h"}

// own completes a lowering that calls kernels of this library.
var own = shared.Own

// farthest is how far apart bytes may lie whose offsets, up to seven times
// that, are counted in 16 bits.
const farthest = 65535 / 7

var (
	pairs, rounded = shared.Pairs(), shared.Sums()
	lines, runs    = shared.Lines(), shared.Runs()
	limits, two    = shared.Limits(), shared.Two()
	int16s         = shared.Wide()
	softmax        = shared.Softmax(quantised.Rows{Count: 16, Size: 17}, quantised.Rows{Count: 8, Size: 4000})
	transpose      = shared.Transpose(cond.New("FARTHEST",
		fmt.Sprintf("one of the two runs has at most %d elements", farthest), func(n *kernel.Node) string {
			_, rows, cols, ok := kernel.Exchange(n.Node)
			return cond.If(ok && min(rows, cols) > farthest,
				"%d elements are exchanged with %d, want at most %d on one side", rows, cols, farthest)
		}))
)

// recurrentRows compute four units of a gate at a time.
func recurrentRows() []*kernel.Kernel {
	var rows []*kernel.Kernel
	for _, k := range quantised.RecurrentKinds {
		fn := "nncc_helium_" + k.Suffix()
		rows = append(rows, &kernel.Kernel{Name: fn, Library: Library, Doc: k.Doc(), Ops: []*ir.OpDef{k.Op},
			Was: "HELIUM-" + k.Was(), Rules: kernel.All(cond.Helium, k.Rules()),
			Lower: func(n *kernel.Node) *call.Lowered {
				return quantised.CallRecurrent(n, fn, Library, vector/k.Elem.Size())
			}})
	}
	return rows
}
