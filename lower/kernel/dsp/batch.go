// SPDX-License-Identifier: Apache-2.0

package dsp

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// batchScales are the requantisations of products of two activations.
var batchScales = kernel.NewFact(func(n *kernel.Node) (pack.Scale, string) {
	b, why := quantised.Batches.Of(n)
	if why != "" {
		return pack.Scale{}, kernel.Unread
	}
	lo, hi := b.Sums()
	p := b.Params
	s, why := pack.OneMultiply(p.Mult[0], p.Shift[0], lo, hi, p.OutOff-p.ActMin)
	return s, why
})

// batchMatMul packs right matrices at run time. Transposes in front and behind
// are strides.
var batchMatMul = &kernel.Kernel{
	Name: "nncc_dsp_batch_matmul_s8", Library: Library, Doc: "int8 products of two activations in any memory order",
	Ops: []*ir.OpDef{op.MatMul}, Layout: quantised.StridedLayout,
	Was: "DSP-BMM",
	Rules: kernel.All(cond.Core("a core with 32-bit Thumb instructions and without Helium",
		"the core has Helium, or no room for the sums of two rows",
		func(c *kernel.Core) bool { return !c.MVE && !c.Armv6M }), quantised.BatchRules(),
		batchScales.Exists("ONE-MULTIPLICATION", "exact in one multiplication"),
		quantised.Batches.Rule("PACKING-PAYS", "rows and columns for which packing pays",
			func(n *kernel.Node, b *quantised.Batch) string {
				return cond.If(!packs(n.Core, b), "%d rows by %d columns, want more", b.M, b.N)
			})),
	Lower: func(n *kernel.Node) *call.Lowered {
		b, s, k := quantised.Batches.Must(n), quantised.BatchSteps(n.Node), batchScales.Must(n)
		fn, inputs := "nncc_dsp_batch_matmul_s8", (b.K+1)/2
		weights := 4 * inputs // words of four columns
		if !n.Core.DSP {      // bytes, and the zero point of the right matrix is two more inputs
			fn, inputs, weights = "nncc_plain_batch_matmul_s8", b.K+2, b.K+2
		}
		scratch := 4 * (2*inputs + (b.N+3)/4*(16+weights))
		if s.AK != 1 {
			scratch += b.M * b.K
		}
		f := append(s.Fields(b), fields("scale", call.T(k.M), "offset", call.T(k.C), "shift", call.T(k.S))...)
		return own(&call.Lowered{Scratch: scratch, Rows: s.Rows}, call.Call{Func: fn, Args: []call.Arg{
			&call.Struct{Type: "nncc_dsp_batch_matmul_params", Fields: append(f, clampOf(b.Params).fields()...)},
			i8In(0), i8In(1), scratch32(0), i8Out(0)}})
	},
}

// batchRowsKernel computes products whose right matrix is not worth packing: it reads that
// where it lies.
var batchRowsKernel = &kernel.Kernel{
	Name: "nncc_dsp_batch_matmul_rows_s8", Library: Library,
	Doc: "int8 products of two activations of few rows or columns, in any memory order",
	Ops: []*ir.OpDef{op.MatMul}, Layout: quantised.StridedLayout,
	Was: "DSP-BMMR", Rules: kernel.All(cond.NoHelium, quantised.BatchRules(),
		batchScales.Exists("ONE-MULTIPLICATION", "exact in one multiplication"),
		quantised.Batches.Rule("PACKING-PAYS", "products whose right matrix is not packed, that 32-bit Thumb computes "+
			"or sums of 30 bits", func(n *kernel.Node, b *quantised.Batch) string {
			switch {
			case packs(n.Core, b):
				return fmt.Sprintf("%d rows by %d columns, for which packing pays", b.M, b.N)
			case n.Core.Armv6M && (b.K > deepest || b.M >= batchRows && b.N > 2 && b.K > shallow):
				return fmt.Sprintf("%d products in a sum of %d rows by %d columns", b.K, b.M, b.N)
			}
			return ""
		})),
	Lower: func(n *kernel.Node) *call.Lowered {
		b, s, k := quantised.Batches.Must(n), quantised.BatchSteps(n.Node), batchScales.Must(n)
		left, right := i8In(0), i8In(1)
		if b.N == 1 && s.YM == 1 { // the column is a row by the rows, which are columns
			b, s, left, right = b.Turned(), s.Turned(), right, left
		}
		f := append(s.Fields(b), fields("scale", call.T(k.M), "offset", call.T(k.C), "shift", call.T(k.S))...)
		return own(&call.Lowered{}, call.Call{Func: "nncc_dsp_batch_matmul_rows_s8", Args: []call.Arg{
			&call.Struct{Type: "nncc_dsp_batch_matmul_params", Fields: append(f, clampOf(b.Params).fields()...)},
			left, right, i8Out(0)}})
	},
}

// deepest is how many products of 17 bits a sum has whose double stays below 30 bits.
const deepest = 1 << 13

// shallow is the depth up to which Thumb-1, which has no registers for four columns, is not
// slower than with a transposed right matrix.
const shallow = 16

// packs reports that packing the right matrix pays: without the DSP extension for more rows, which take as many
// products as where it lies.
func packs(c kernel.Core, b *quantised.Batch) bool {
	switch {
	case c.Armv6M:
		return false
	case c.DSP:
		return b.M >= batchRows && b.N > 1
	}
	return b.M >= 2*batchRows && (b.N > 2 || b.N == 2 && b.M > 4*batchRows)
}

// batchMatMul16 is batchMatMul on int16.
var batchMatMul16 = &kernel.Kernel{
	Name: "nncc_dsp_batch_matmul_s16", Library: Library, Doc: "int16 products of two activations in any memory order",
	Ops: []*ir.OpDef{op.MatMul}, Layout: quantised.StridedLayout,
	Was: "DSP-BMM16", Rules: kernel.All(cond.DSP, quantised.BatchRules16(),
		quantised.Batches16.Rule("PACKING-PAYS", "at least two columns, for which packing pays",
			func(_ *kernel.Node, b *quantised.Batch16) string {
				return cond.If(b.N < 2, "%d columns, want at least 2", b.N)
			})),
	Lower: func(n *kernel.Node) *call.Lowered {
		b := quantised.Batches16.Must(n)
		scratch := 4 * ((b.K + 1) / 2) * (2 + (b.N+1)/2*2)
		return own(&call.Lowered{Scratch: scratch}, call.Call{Func: "nncc_dsp_batch_matmul_s16", Args: []call.Arg{
			&call.Struct{Type: "nncc_dsp_batch_matmul16_params", Fields: b.Fields(quantised.BatchSteps(n.Node))},
			call.In{I: 0, CType: "int16_t"}, call.In{I: 1, CType: "int16_t"}, scratch32(0),
			call.Out{I: 0, CType: "int16_t"}}})
	},
}

// batchRows is the number of rows from which packing the right matrix pays with the DSP extension.
const batchRows = 2
