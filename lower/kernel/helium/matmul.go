package helium

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/quantised"
)

// fullyConnected takes layers with several rows of whole vectors through the
// kernels of pointwise convolutions.
var fullyConnected = &kernel.Kernel{
	Name: "nncc_helium_matmul_1row_s8", Library: Library, Doc: "int8 fully connected layer, per tensor or per channel, packed weights",
	Ops: []*ir.OpDef{op.Gemm, op.MatMul}, Lower: lowerFC,
	Layout: func(*ir.Node) kernel.Layout { return kernel.Layout{Kind: kernel.Natural} },
	Rules: join(onHelium("HELIUM-FC-00"), quantised.ProductRules("HELIUM-FC", quantised.Everywhere),
		ruleOf("HELIUM-FC-05", "weights are symmetric: zero point 0", quantised.ProductOf, func(n *ir.Node, s *quantised.Product) string {
			if !s.Params.Symmetric() {
				return fmt.Sprintf("the weights %s have zero point %d, want 0", n.In[1], -s.Params.FilterOff[0])
			}
			return ""
		}),
		ruleOf("HELIUM-FC-06", "requantisation shifts to the right", quantised.ProductOf, func(n *ir.Node, s *quantised.Product) string {
			return layerOf(n, s.Weights(n), s.Cols, s.Params).shifts()
		})),
}

func lowerFC(n *ir.Node, o *kernel.Options) (*call.Lowered, error) {
	s, why := quantised.ProductOf(n)
	if why != "" {
		return nil, ir.Errf(n, "kernel", "%s", why)
	}
	l := layerOf(n, s.Weights(n), s.Cols, s.Params)
	l.generic = o.Generic
	vectors := roundUp(s.Depth, vector) / vector
	fn := "nncc_helium_matmul_1row_s8"
	if s.Rows > 1 {
		if f, v := l.dot(vectors); v == vectors {
			fn = f
		}
	}
	out, outR := outRows(s.Cols)
	products, inR := l.products(fn, s.Depth, vectors, s.Rows, out)
	return own(&call.Lowered{Unused: []int{1, 2}, Rows: []call.Rows{inR, outR}}, products)
}
