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
	Doc: "int8 fully connected layer, per tensor or per channel, packed weights",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerFC,
	Was: "HELIUM-FC", Rules: kernel.All(cond.Helium, quantised.ProductRules(nil),
		quantised.Products.Rule("SYMMETRIC", "weights are symmetric: zero point 0",
			func(n *kernel.Node, _ *quantised.Product) string {
				_, why := quantised.ProductLayers.Of(n)
				return why
			})),
}

func lowerFC(n *kernel.Node) *call.Lowered {
	return lowerProduct(quantised.Products.Must(n), layerOf(n, *quantised.ProductLayers.Must(n), 1), n.Generic)
}

// lowerProduct calls the kernel for rows of a product.
func lowerProduct(s *quantised.Product, l *layer, generic bool) *call.Lowered {
	depth := s.Depth * l.bytes()
	vectors := roundUp(depth, vector) / vector
	t := tile{form: l.form} // a row at a time
	if s.Rows > 1 || l.form == eights && l.left() {
		whole := depth%vector == 0 || vectors <= unrolled
		if u, v := l.tile(vectors, s.Cols, generic, !generic && whole && l.upper(s.Cols)); v == vectors {
			t = u
		}
		t = l.resident(t, s.Cols, generic)
	}
	out, outR := outRows(s.Cols * l.bytes())
	c, inR := l.products(t, depth, vectors, s.Rows, out)
	return l.over(own(&call.Lowered{Unused: []int{1, 2}, Rows: []call.Rows{inR, outR}}, c),
		&products{t, depth, vectors, s.Rows})
}
