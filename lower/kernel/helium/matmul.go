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
