// SPDX-License-Identifier: Apache-2.0

package helium

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// fullyConnected takes layers with several rows of whole vectors through the
// kernels of pointwise convolutions.
var fullyConnected = &kernel.Kernel{
	Name: "nncc_helium_matmul_1row_s8", Library: Library,
	Doc:   "int8 fully connected layer, per tensor or per channel, packed weights",
	Ops:   []*ir.OpDef{op.Gemm, op.MatMul},
	Lower: func(n *kernel.Node) *call.Lowered { return convOf.Must(n).lowerProduct(n.Generic) },
	Was:   "HELIUM-FC", Rules: kernel.All(cond.Helium, quantised.ProductRules(nil),
		quantised.Products.Rule("SYMMETRIC", "weights are symmetric: zero point 0",
			func(n *kernel.Node, _ *quantised.Product) string { return quantised.ConvOf.Why(n) })),
}

// lowerProduct calls the kernel for rows of a product.
func (c *convolution) lowerProduct(generic bool) *call.Lowered {
	l, depth, rows, cols := c.l, c.depth(), c.G.N, c.G.COut
	vectors := roundUp(depth, vector) / vector
	t := tile{form: l.form} // a row at a time
	if rows > 1 || l.form == eights && l.left() {
		whole := depth%vector == 0 || vectors <= unrolled
		if u, v := l.tile(vectors, cols, generic, !generic && whole && l.upper(cols)); v == vectors {
			t = u
		}
		t = l.resident(t, cols, generic)
	}
	out, outR := outRows(cols * l.bytes())
	mac, inR := l.products(t, depth, vectors, rows, out)
	return l.over(own(&call.Lowered{Unused: []int{1, 2}, Rows: []call.Rows{inR, outR}}, mac),
		&products{t, depth, vectors, rows})
}

// batchMatMul packs right matrices at run time. Transposes in front and behind
// are strides.
var batchMatMul = &kernel.Kernel{
	Name: "nncc_helium_batch_matmul_s8", Library: Library, Doc: "int8 products of two activations in any memory order",
	Ops: []*ir.OpDef{op.MatMul}, Layout: quantised.StridedLayout,
	Was: "HELIUM-BMM", Rules: kernel.All(cond.Helium, quantised.BatchRules()),
	Lower: func(n *kernel.Node) *call.Lowered {
		b, s := quantised.Batches.Must(n), quantised.BatchSteps(n.Node)
		width := roundUp(b.K, vector)
		left := b.M * width
		if s.AK == 1 && width == b.K {
			left = width
		}
		scratch := roundUp(4*(b.M+1), 16) + left + (b.N+3)/4*(16+4*width)
		p := b.Params
		f := append(s.Fields(b), call.FT("mult", p.Mult[0]), call.FT("shift", p.Shift[0]), call.FT("zero", p.OutOff),
			call.FT("act_min", p.ActMin), call.FT("act_max", p.ActMax))
		return own(&call.Lowered{Scratch: scratch, Rows: s.Rows}, call.Call{Func: "nncc_helium_batch_matmul_s8",
			Args: []call.Arg{&call.Struct{Type: "nncc_helium_batch_matmul_params", Fields: f}, i8In(0), i8In(1),
				i8Scratch(0), i8Out(0)}})
	},
}

// batchMatMul16 is batchMatMul on int16.
var batchMatMul16 = &kernel.Kernel{
	Name: "nncc_helium_batch_matmul_s16", Library: Library,
	Doc: "int16 products of two activations in any memory order",
	Ops: []*ir.OpDef{op.MatMul}, Layout: quantised.StridedLayout,
	Was: "HELIUM-BMM16", Rules: kernel.All(cond.Helium, quantised.BatchRules16()),
	Lower: func(n *kernel.Node) *call.Lowered {
		b, s := quantised.Batches16.Must(n), quantised.BatchSteps(n.Node)
		scratch, room := 0, call.Arg(call.Null{})
		if s.AK != 1 {
			scratch += 2 * b.M * b.K
		}
		if s.BK != 1 {
			scratch += 2 * b.N * b.K
		}
		if scratch > 0 {
			room = call.Scratch{CType: "int16_t"}
		}
		return own(&call.Lowered{Scratch: scratch}, call.Call{Func: "nncc_helium_batch_matmul_s16", Args: []call.Arg{
			&call.Struct{Type: "nncc_helium_batch_matmul16_params", Fields: b.Fields(s)},
			call.In{I: 0, CType: "int16_t"}, call.In{I: 1, CType: "int16_t"}, room,
			call.Out{I: 0, CType: "int16_t"}}})
	},
}
