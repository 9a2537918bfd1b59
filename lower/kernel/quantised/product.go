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

// Parameters finds the integer arithmetic of an operator, or why it has none.
type Parameters func(n *ir.Node) (*op.MACParams, string)

// ProductOf is the product of a layer on int8, or why it is none.
func ProductOf(n *ir.Node) (*Product, string) {
	return ProductWith(n, op.GemmQuantParams, op.MatMulQuantParams)
}

// ProductWith is ProductOf with parameters that the functions find.
func ProductWith(n *ir.Node, gemm, matmul Parameters) (*Product, string) {
	if n.Op == op.Gemm {
		g, err := op.GemmGeometry(n)
		if err != nil {
			return nil, err.Error()
		}
		p, why := gemm(n)
		f := &Product{g.M, g.K, g.N, p, []int{1, 0}}
		if n.Int("transB") != 0 {
			f.Perm = nil
		}
		return f, why
	}
	g, err := op.MatMulGeometry(n)
	if err != nil {
		return nil, err.Error()
	}
	if r := n.In[1].Type.Rank(); r != 2 {
		return nil, fmt.Sprintf("the right side %s has rank %d, want 2", n.In[1], r)
	}
	rows := g.M
	for _, d := range g.Batch {
		rows *= d
	}
	p, why := matmul(n)
	return &Product{rows, g.K, g.N, p, []int{1, 0}}, why
}

// Weights are the constant weights as [Cols][Depth].
func (f *Product) Weights(n *ir.Node) *tensor.Dense {
	if f.Perm == nil {
		return n.In[1].Const
	}
	return n.In[1].Const.Transpose(f.Perm)
}

// ProductRules are the conditions on a fully connected layer.
func ProductRules(code string, packed Packed) []kernel.Rule {
	return []kernel.Rule{
		Int8(code+"-01", 0),
		int8Weights(code+"-02", "the right side %s is computed at run time, want a constant", packed),
		Agrees(code+"-03", "a plain product with fixed-point scales", func(n *ir.Node, _ *kernel.Options) string {
			_, why := ProductOf(n)
			return why
		}),
		Agrees(code+"-04", "one zero point for all weights", func(n *ir.Node, _ *kernel.Options) string {
			f, why := ProductOf(n)
			if why != "" {
				return kernel.Unread
			}
			if len(f.Params.FilterOff) > 1 {
				return fmt.Sprintf("the weights %s have a zero point for each channel, want one", n.In[1])
			}
			return ""
		}),
	}
}
