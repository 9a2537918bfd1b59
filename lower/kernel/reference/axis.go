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

func axisParams(outer, axis, inner int) *call.Struct {
	return params("nncc_axis_params", ints("outer", outer, "axis", axis, "inner", inner)...)
}

// axisOf is memory around the node's axis attribute.
func axisOf(n *kernel.Node) (outer, axis, inner int) {
	return outerAxisInner(n.In[0].Type, kernel.Axis.Must(n))
}

// hasRank: the operator works along a dimension, so there must be one.
var hasRank = cond.New("AXIS", "rank is at least 1", func(n *kernel.Node) string {
	if n.In[0].Type.Rank() == 0 {
		return "input 0 is a scalar, want at least one dimension"
	}
	return ""
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
				l.inPlace(0)
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
		l.inPlace(0)
	}, op.CumSum)

func axisKernels() []*kernel.Kernel {
	norm := func(n *ir.Node, outer, axis, inner int) *call.Struct {
		return params("nncc_lp_norm_params", ints("outer", outer, "axis", axis, "inner", inner, "power",
			ir.AttrsOf[op.PAttr](n).P)...)
	}
	oneOrTwo := cond.New("NORM", "p is 1 or 2", func(n *kernel.Node) string {
		if p := ir.AttrsOf[op.PAttr](n).P; p != 1 && p != 2 {
			return fmt.Sprintf("p is %d, want 1 or 2", p)
		}
		return ""
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
