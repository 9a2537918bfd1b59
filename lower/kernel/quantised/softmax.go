package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// Innermost is the layout of kernels that work on rows along the node's axis,
// which must be innermost in memory.
func Innermost(n *ir.Node) kernel.Layout {
	rank := n.Out[0].Type.Rank()
	axis, err := op.Axis(n, n.Int("axis"), rank)
	if err != nil || axis == rank-1 {
		return kernel.Layout{Kind: kernel.Natural}
	}
	order := append(slices.Delete(ir.Identity(rank), axis, axis+1), axis)
	return kernel.Layout{Kind: kernel.Fixed, In: [][]int{order}, Out: [][]int{order}}
}

// SoftmaxRules are those of int8 softmax kernels over the innermost axis.
func SoftmaxRules(code string) []kernel.Rule {
	return []kernel.Rule{
		Int8(code+"-01", 0),
		{Code: code + "-02", Doc: "output scale 1/256, zero point -128; a representable input scale", Check: func(n *ir.Node, _ *kernel.Options) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			if _, _, _, ok := op.SoftmaxKernel(n); !ok {
				return fmt.Sprintf("the output is %s, want scale 1/256 and zero point -128", n.Out[0].Type)
			}
			return ""
		}},
	}
}

// SoftmaxRows are the rows of a softmax and their length.
func SoftmaxRows(n *ir.Node) (rows, size int, err error) {
	t := n.Out[0].Type
	axis, err := op.Axis(n, n.Int("axis"), t.Rank())
	if err != nil {
		return 0, 0, err
	}
	size = t.Shape[axis]
	return t.Elems() / max(size, 1), size, nil
}
