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

func axisParams(outer, axis, inner int) *call.Struct {
	return params("nncc_axis_params", ints("outer", outer, "axis", axis, "inner", inner)...)
}

// axisOf is memory around the node's axis attribute.
func axisOf(n *kernel.Node) (outer, axis, inner int) {
	return outerAxisInner(n.In[0].Type, kernel.Axis.Must(n))
}

// hasRank: the operator works along a dimension, so there must be one.
var hasRank = cond.New("AXIS", "rank is at least 1", func(n *kernel.Node) string {
	return cond.If(n.In[0].Type.Rank() == 0, "input 0 is a scalar, want at least one dimension")
})

func laneRow(fn, was, doc string, d *ir.OpDef, build func(n *ir.Node, outer, axis, inner int) *call.Struct,
	conds ...kernel.Rule) *kernel.Kernel {
	return row(fn, was, doc, same, kernel.All(cond.Float32(0), cond.NotEmpty, hasRank, kernel.Rules(conds)),
		func(l *lowering, n *kernel.Node) {
			outer, axis, inner := axisOf(n)
			p := axisParams(outer, axis, inner)
			if build != nil {
				p = build(n.Node, outer, axis, inner)
			}
			l.call(fn, p, l.in(0), l.out(0))
			if d != op.Hardmax {
				l.runs(inner == 1)
			}
		}, d)
}

// argLayout: any order where the result keeps the rank. Positions along the
// channels of a map, [N, H, W], are read off the map channels-last, as
// convolutions leave it; an input of the graph is channels first.
func argLayout(n *kernel.Node) kernel.Layout {
	r := n.In[0].Type.Rank()
	switch {
	case n.Out[0].Type.Rank() == r:
		return same(n)
	case r >= 4 && kernel.Axis.Must(n) == 1 && !n.In[0].Storage().IsInput():
		return kernel.Layout{Kind: kernel.Fixed, In: [][]int{ir.NHWC(r)}, Out: [][]int{nil}}
	}
	return natural(n)
}

func argRow(fn, typ, was, doc string, d *ir.OpDef, in kernel.Rule) *kernel.Kernel {
	return row(fn, was, doc, argLayout, kernel.Rules{in, cond.NotEmpty, hasRank}, func(l *lowering, n *kernel.Node) {
		outer, axis, inner := axisOf(n)
		p := params(typ, ints("outer", outer, "axis", axis, "inner", inner, "select_last",
			ir.AttrsOf[op.ArgOpAttrs](n).SelectLastIndex)...)
		l.call(fn, p, l.in(0), l.out(0))
	}, d)
}

// cumSumRow runs along the axis that the second input names.
var cumSumRow = row("nncc_cumsum_f32", "NNCC-CUMSUM-F32", "running sum along an axis", same,
	kernel.Rules{cond.Float32(0), cond.NotEmpty, hasRank, cond.Constant(1)}, func(l *lowering, n *kernel.Node) {
		a := kernel.Known(op.ConstInts(n.Node, 1, "the axis"))
		axis := kernel.Known(op.Axis(n.Node, a[0], n.In[0].Type.Rank()))
		outer, size, inner := outerAxisInner(n.In[0].Type, axis)
		p := params("nncc_cumsum_params", ints("outer", outer, "axis", size, "inner", inner, "exclusive",
			ir.AttrsOf[op.ScanOpAttrs](n).Exclusive, "reverse", ir.AttrsOf[op.ScanOpAttrs](n).Reverse)...)
		l.call("nncc_cumsum_f32", p, l.in(0), l.out(0))
		l.runs(inner == 1 && ir.AttrsOf[op.ScanOpAttrs](n).Reverse == 0)
	}, op.CumSum)

func axisKernels() []*kernel.Kernel {
	norm := func(n *ir.Node, outer, axis, inner int) *call.Struct {
		return params("nncc_lp_norm_params", ints("outer", outer, "axis", axis, "inner", inner, "power",
			ir.AttrsOf[op.PAttr](n).P)...)
	}
	oneOrTwo := cond.New("NORM", "p is 1 or 2", func(n *kernel.Node) string {
		p := ir.AttrsOf[op.PAttr](n).P
		return cond.If(p != 1 && p != 2, "p is %d, want 1 or 2", p)
	})
	return []*kernel.Kernel{
		laneRow("nncc_softmax_f32", "NNCC-SOFTMAX-F32", "softmax along any axis", op.Softmax, nil),
		laneRow("nncc_log_softmax_f32", "NNCC-LOGSOFTMAX-F32", "logarithm of softmax along any axis", op.LogSoftmax,
			nil),
		laneRow("nncc_hardmax_f32", "NNCC-HARDMAX-F32", "1 at the first maximum along any axis", op.Hardmax, nil),
		laneRow("nncc_lp_norm_f32", "NNCC-LPNORM-F32", "L1 or L2 normalisation along any axis", op.LpNormalization,
			norm, oneOrTwo),
		argRow("nncc_argmax_f32", "nncc_arg_params", "NNCC-ARGMAX-F32", "position of the maximum along any axis",
			op.ArgMax, plain(tensor.F32)),
		argRow("nncc_argmin_f32", "nncc_arg_params", "NNCC-ARGMIN-F32", "position of the minimum along any axis",
			op.ArgMin, plain(tensor.F32)),
		cumSumRow,
	}
}

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
