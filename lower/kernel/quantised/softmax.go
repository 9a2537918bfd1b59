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
func Innermost(n *kernel.Node) kernel.Layout {
	rank := n.Out[0].Type.Rank()
	axis, why := kernel.Axis.Of(n)
	if why != "" || axis == rank-1 {
		return kernel.Layout{Kind: kernel.Natural}
	}
	order := append(slices.Delete(ir.Identity(rank), axis, axis+1), axis)
	return kernel.Layout{Kind: kernel.Fixed, In: [][]int{order}, Out: [][]int{order}}
}

// SoftmaxRules are those of int8 softmax kernels over the innermost axis.
func SoftmaxRules(code string) []kernel.Rule {
	return []kernel.Rule{
		Int8(code+"-01", 0),
		{Code: code + "-02", Doc: "output scale 1/256, zero point -128; a representable input scale",
			Check: func(n *kernel.Node) string {
				if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
					return kernel.Unread
				}
				if _, _, _, ok := op.SoftmaxKernel(n.Node); !ok {
					return fmt.Sprintf("the output is %s, want scale 1/256 and zero point -128", n.Out[0].Type)
				}
				return ""
			}},
	}
}

// Rows are the rows of a softmax: how many, and how long.
type Rows struct{ Count, Size int }

// SoftmaxRows are the rows of a softmax along its axis.
var SoftmaxRows = kernel.FactOf(func(n *ir.Node) (Rows, error) {
	t := n.Out[0].Type
	axis, err := op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, t.Rank())
	if err != nil {
		return Rows{}, err
	}
	size := t.Shape[axis]
	return Rows{t.Elems() / max(size, 1), size}, nil
})
