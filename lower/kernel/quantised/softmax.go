// SPDX-License-Identifier: Apache-2.0

package quantised

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
	"github.com/nncc/nncc/lower/kernel/pack"
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
func SoftmaxRules() kernel.Rules {
	return kernel.Rules{Int8(0),
		cond.New("SOFTMAX-SCALES", "output scale 1/256, zero point -128; a representable input scale",
			func(n *kernel.Node) string {
				if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
					return kernel.Unread
				}
				_, _, _, ok := op.SoftmaxKernel(n.Node)
				return cond.If(!ok, "the output is %s, want scale 1/256 and zero point -128", n.Out[0].Type)
			}),
	}
}

// Of fewer values (9,000 instructions without it) a softmax is not worth its table of 1 KiB; the exponentials of
// a longer row could have a sum of more than 32 bits.
const (
	leastSoftmax = 32
	longestRow   = 8191
)

// SoftmaxTable is the rule of softmax kernels with all exponentials in a table.
var SoftmaxTable = cond.New("TABLE-ROWS",
	fmt.Sprintf("at least %d values, for which a table pays, in rows of at most %d",
		leastSoftmax, longestRow), func(n *kernel.Node) string {
		r, why := SoftmaxRows.Of(n)
		if why != "" || r.Size <= longestRow && r.Count*r.Size >= leastSoftmax {
			return ""
		}
		return fmt.Sprintf("%d rows of %d values, want at least %d values in rows of at most %d", r.Count, r.Size,
			leastSoftmax, longestRow)
	})

// Two are softmaxes of two values, by a table of their differences.
func (s Shared) Two() *kernel.Kernel {
	return s.row("TWO", kernel.Kernel{Name: "nncc_softmax_pairs_s8", Ops: []*ir.OpDef{op.Softmax},
		Doc: "int8 softmax of two values, by a table of their differences", Layout: Innermost}, twoRules(), lowerTwo)
}

func twoRules() kernel.Rules {
	return kernel.Rules{Int8(0),
		SoftmaxRows.Rule("PAIRS", "rows of two values", func(_ *kernel.Node, r Rows) string {
			return cond.If(r.Size != 2, "rows of %d values, want 2", r.Size)
		}),
		cond.New("FIXED-POINT", "scales that have a fixed-point form", func(n *kernel.Node) string {
			if n.In[0].Type.Quant == nil || n.Out[0].Type.Quant == nil {
				return kernel.Unread
			}
			_, ok := op.SoftmaxPairs(n.Node)
			return cond.If(!ok, "the input is %s, the output %s: a scale is too small", n.In[0].Type, n.Out[0].Type)
		}),
	}
}

func lowerTwo(n *kernel.Node) *call.Lowered {
	results, _ := op.SoftmaxPairs(n.Node)
	table := lists.Each(results, func(v int8) byte { return byte(v) })
	p := &call.Struct{Type: "nncc_count_params", Fields: call.Ints("count", SoftmaxRows.Must(n).Count)}
	return &call.Lowered{Kernel: "nncc_softmax_pairs_s8", Overlap: call.InOrder(0), Calls: []call.Call{{
		Func: "nncc_softmax_pairs_s8", Args: []call.Arg{p, call.In{I: 0, CType: "int8_t"},
			&call.Blob{Hint: "softmax", CType: "int8_t", Data: table, Align: 1}, call.Out{I: 0, CType: "int8_t"}}}}}
}

// Exponentials are the table of a softmax, by the distance to the largest value.
func Exponentials(n *ir.Node) *call.Blob {
	mult, shift, diffMin, _ := op.SoftmaxKernel(n)
	terms := qref.SoftmaxTerms(mult, shift, diffMin)
	return &call.Blob{Hint: "exponentials", CType: "int32_t", Data: pack.Words(terms[:]), Align: 4}
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
