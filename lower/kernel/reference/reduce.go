// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cond"
)

// reduceLayout: any order where the result keeps the rank. A reduction of all
// space to [N, C] reads channels-last, in which space is one piece.
func reduceLayout(n *kernel.Node) kernel.Layout {
	if n.Out[0].Type.Rank() == n.In[0].Type.Rank() {
		return same(n)
	}
	axes, err := op.ReduceAxes(n.Node)
	if r := n.In[0].Type.Rank(); err == nil && r >= 3 && slices.Equal(axes, ir.Identity(r)[2:]) {
		return kernel.Layout{Kind: kernel.Fixed, In: [][]int{ir.NHWC(r)}, Out: [][]int{nil}}
	}
	return natural(n)
}

// group is a run of neighbouring dimensions in memory, all reduced or all kept.
type group struct {
	size    int
	reduced bool
}

// groups are the dimensions of input 0 in memory order, merged.
func groups(n *ir.Node, axes []int) []group {
	var out []group
	t := n.In[0].Type
	for _, d := range t.OrderOrIdentity() {
		r := slices.Contains(axes, d)
		switch k := len(out) - 1; {
		case t.Shape[d] == 1:
		case k >= 0 && out[k].reduced == r:
			out[k].size *= t.Shape[d]
		default:
			out = append(out, group{t.Shape[d], r})
		}
	}
	return out
}

// reduction is what a reduce kernel sees: input [outer, axis, inner].
type reduction struct {
	x                  call.Arg
	outer, axis, inner int
}

// reduced is the input of a reduction in the form [outer, axis, inner]:
// as it lies where the reduced dimensions are one piece of memory, else
// through a copy that puts them last.
func (l *lowering) reduced(axes []int) reduction { return l.reducedFrom(l.in(0), axes) }

// reducedFrom is reduced for memory src with shape and order of input 0.
func (l *lowering) reducedFrom(src call.Arg, axes []int) reduction {
	g := groups(l.n, axes)
	pieces := 0
	r := reduction{x: src, outer: 1, axis: 1, inner: 1}
	for _, x := range g {
		switch {
		case x.reduced:
			pieces++
			r.axis *= x.size
		case pieces == 0:
			r.outer *= x.size
		default:
			r.inner *= x.size
		}
	}
	if pieces <= 1 {
		return r
	}
	t := l.n.In[0].Type
	var kept, gone []int
	for _, d := range t.OrderOrIdentity() {
		if slices.Contains(axes, d) {
			gone = append(gone, d)
		} else {
			kept = append(kept, d)
		}
	}
	order := append(kept, gone...)
	dims := permuted(t.Shape, order)
	s := l.scratch(t.DType, t.Elems())
	l.move(move{elem: t.DType.Size(), dims: dims, x: permuted(strides(t), order), y: tensor.Strides(dims)},
		bytesOf(src), bytesOf(s))
	return reduction{s, r.outer * r.inner, r.axis, 1}
}

func reduceRow(fn, was string, d *ir.OpDef) *kernel.Kernel {
	return row(fn, was, d.Doc, reduceLayout, kernel.Rules{cond.Float32(0), cond.NotEmpty, cond.Rank, cond.Constant(1)},
		func(l *lowering, n *kernel.Node) {
			axes := kernel.Known(op.ReduceAxes(n.Node))
			r := l.reduced(axes)
			l.call(fn, axisParams(r.outer, r.axis, r.inner), r.x, l.out(0))
		}, d)
}

func reduceKernels() []*kernel.Kernel {
	return []*kernel.Kernel{
		reduceRow("nncc_reduce_sum_f32", "NNCC-REDUCESUM-F32", op.ReduceSum),
		reduceRow("nncc_reduce_mean_f32", "NNCC-REDUCEMEAN-F32", op.ReduceMean),
		reduceRow("nncc_reduce_max_f32", "NNCC-REDUCEMAX-F32", op.ReduceMax),
		reduceRow("nncc_reduce_min_f32", "NNCC-REDUCEMIN-F32", op.ReduceMin),
		reduceRow("nncc_reduce_prod_f32", "NNCC-REDUCEPROD-F32", op.ReduceProd),
		reduceRow("nncc_reduce_l1_f32", "NNCC-REDUCEL1-F32", op.ReduceL1),
		reduceRow("nncc_reduce_l2_f32", "NNCC-REDUCEL2-F32", op.ReduceL2),
		reduceRow("nncc_reduce_sum_square_f32", "NNCC-REDUCESUMSQUARE-F32", op.ReduceSumSquare),
		reduceRow("nncc_reduce_log_sum_f32", "NNCC-REDUCELOGSUM-F32", op.ReduceLogSum),
		reduceRow("nncc_reduce_log_sum_exp_f32", "NNCC-REDUCELOGSUMEXP-F32", op.ReduceLogSumExp),
	}
}
