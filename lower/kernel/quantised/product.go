// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

// Product is a Gemm or MatMul with constant right side, a fully connected
// layer: Rows x Depth times Depth x Cols.
type Product struct {
	Rows, Depth, Cols int
	Params            *op.MACParams
	Perm              []int // weights to [cols][depth]; nil: they are so
}

// Products and Products16 are the products of layers on int8 and on int16.
var (
	Products   = productFact(MACParams)
	Products16 = productFact(MAC16Params)
)

// productFact is the product of a layer with its arithmetic.
func productFact(params *kernel.Fact[*op.MACParams]) *kernel.Fact[*Product] {
	return kernel.NewFact(func(n *kernel.Node) (*Product, string) {
		if !known(n.Node) {
			return nil, kernel.Unread
		}
		if n.Op == op.Gemm {
			g, why := kernel.Gemm.Of(n)
			if why != "" {
				return nil, why
			}
			p, why := params.Of(n)
			f := &Product{g.M, g.K, g.N, p, []int{1, 0}}
			if ir.AttrsOf[op.GemmAttrs](n).TransB != 0 {
				f.Perm = nil
			}
			return f, why
		}
		g, why := kernel.MatMul.Of(n)
		if why != "" {
			return nil, why
		}
		if r := n.In[1].Type.Rank(); r != 2 {
			return nil, fmt.Sprintf("the right side %s has rank %d, want 2", n.In[1], r)
		}
		rows := g.M
		for _, d := range g.Batch {
			rows *= d
		}
		p, why := params.Of(n)
		return &Product{rows, g.K, g.N, p, []int{1, 0}}, why
	})
}

// Weights are the constant weights as [Cols][Depth].
func (f *Product) Weights(n *kernel.Node) *tensor.Dense {
	if f.Perm == nil {
		return n.In[1].Const
	}
	return n.In[1].Const.Transpose(f.Perm)
}

// ProductRules are the conditions on a fully connected layer.
func ProductRules(packed Packed) kernel.Rules {
	return kernel.Rules{Int8(0), int8Weights("the right side %s is computed at run time, want a constant", packed),
		Products.Exists("PRODUCT", "a plain product with fixed-point scales"),
		Products.Rule("ZERO-POINTS", "one zero point for all weights", func(n *kernel.Node, f *Product) string {
			if len(f.Params.FilterOff) > 1 {
				return fmt.Sprintf("the weights %s have a zero point for each channel, want one", n.In[1])
			}
			return ""
		}),
	}
}
