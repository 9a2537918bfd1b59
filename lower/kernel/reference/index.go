// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// indices is the index operand i: run-time int32 or int64 as it is, constants
// as int32.
func (l *lowering) indices(i int) (call.Arg, int) {
	v := l.n.In[i]
	if v.Const == nil {
		return bytesOf(l.in(i)), v.Type.DType.Size()
	}
	return blob("index", v.Const.Cast(tensor.I32)), 4
}

// gatherLayout: with a list of indices the rank stays, and so may the order.
func gatherLayout(n *kernel.Node) kernel.Layout {
	if n.In[1].Type.Rank() == 1 {
		return kernel.Layout{Kind: kernel.Same}
	}
	return natural(n)
}

var gatherRow = checks(row("nncc_gather", "NNCC-GATHER", "slices along an axis by index, any element type",
	gatherLayout, kernel.Rules{cond.SameType, cond.NotEmpty}, func(l *lowering, n *kernel.Node) {
		t := n.In[0].Type
		axis := kernel.Axis.Must(n)
		var x call.Arg = l.in(0)
		if c := n.In[0].Const; c != nil && n.In[1].Type.Rank() == 1 {
			t.Order = n.Out[0].Type.Order
			x = blob("const", arrange(c, t.Shape, t.OrderOrIdentity()))
		}
		outer, size, inner := outerAxisInner(t, axis)
		block := inner * t.DType.Size()
		count := n.In[1].Type.Elems()
		if c := n.In[1].Const; c != nil && count == 1 && n.In[0].Const == nil { // one slice: no index at run time
			k := int(c.Int(0))
			if k < 0 {
				k += size
			}
			l.low.Kernel = "nncc_copy_rows"
			l.rows(outer, block, size*block, block, l.inAt(0, k*block), l.out(0))
			if outer == 1 {
				l.low.Parts = []call.Part{{I: 0, Off: k * block}}
			}
			return
		}
		idx, bytes := l.indices(1)
		p := params("nncc_gather_params", ints("outer", outer, "axis", size, "block", block, "count", count,
			"index_bytes", bytes)...)
		l.checked("nncc_gather", p, bytesOf(x), idx, bytesOf(l.out(0)))
	}, op.Gather))

// elementsParams are the parameters of GatherElements and ScatterElements.
func elementsParams(n *kernel.Node, bytes int) *call.Struct {
	t := n.In[0].Type
	axis := kernel.Axis.Must(n)
	f := ints("elem", t.DType.Size(), "rank", t.Rank(), "axis", axis, "axis_len", t.Shape[axis], "index_bytes", bytes)
	f = append(f, list("dims", n.In[1].Type.Shape), list("x_stride", tensor.Strides(t.Shape)))
	return params("nncc_gather_elements_params", f...)
}

// noReduction: scattered values replace, they are not combined.
var noReduction = cond.New("REDUCTION", "reduction is none", func(n *kernel.Node) string {
	r := ir.AttrsOf[op.ReductionAttr](n).Reduction
	return cond.If(r != "none", "reduction is %s, want none", r)
})

// tupleParams are the parameters of GatherND and ScatterND.
func tupleParams(n *ir.Node, batchDims, bytes int) *call.Struct {
	x, idx := n.In[0].Type.Shape, n.In[1].Type.Shape
	depth := idx[len(idx)-1]
	batch := tensor.Count(x[:batchDims])
	f := ints("batch", batch, "count", tensor.Count(idx[:len(idx)-1])/batch, "depth", depth,
		"block", tensor.Count(x[batchDims+depth:])*n.In[0].Type.DType.Size(), "index_bytes", bytes)
	return params("nncc_gather_nd_params", append(f, list("axis_len", x[batchDims:batchDims+depth]))...)
}

// someDepth: index tuples have at least one, and not too many values.
var someDepth = cond.New("TUPLES", fmt.Sprintf("index tuples of 1 to %d values", kernel.MaxDims),
	func(n *kernel.Node) string {
		s := n.In[1].Type.Shape
		d := s[len(s)-1]
		return cond.If(d < 1 || d > kernel.MaxDims, "index tuples have %d values, want 1 to %d", d, kernel.MaxDims)
	})

func indexKernels() []*kernel.Kernel {
	index := func(fn, was string, d *ir.OpDef, scatter bool, build func(n *kernel.Node, bytes int) *call.Struct,
		conds ...kernel.Rule) *kernel.Kernel {
		return checks(row(fn, was, d.Doc+", any element type", natural,
			kernel.All(cond.SameType, cond.NotEmpty, cond.Rank, kernel.Rules(conds)),
			func(l *lowering, n *kernel.Node) {
				idx, bytes := l.indices(1)
				from := 0
				if scatter {
					size := n.Out[0].Type.Bytes()
					l.rows(1, size, size, size, l.in(0), l.out(0))
					from = 2
				}
				l.checked(fn, build(n, bytes), bytesOf(l.in(from)), idx, bytesOf(l.out(0)))
			}, d))
	}
	tuples := func(n *kernel.Node, bytes int) *call.Struct {
		return tupleParams(n.Node, ir.AttrsOf[op.GatherNDAttrs](n).BatchDims, bytes)
	}
	flat := func(n *kernel.Node, bytes int) *call.Struct { return tupleParams(n.Node, 0, bytes) }
	return []*kernel.Kernel{
		gatherRow,
		index("nncc_gather_elements", "NNCC-GATHERELEMENTS", op.GatherElements, false, elementsParams, hasRank),
		index("nncc_gather_nd", "NNCC-GATHERND", op.GatherND, false, tuples, someDepth),
		index("nncc_scatter_elements", "NNCC-SCATTERELEMENTS", op.ScatterElements, true, elementsParams, noReduction,
			hasRank),
		index("nncc_scatter_nd", "NNCC-SCATTERND", op.ScatterND, true, flat, noReduction, someDepth),
	}
}
