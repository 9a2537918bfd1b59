package reference

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
)

func axisParams(outer, axis, inner int) *call.Struct {
	return params("nncc_axis_params", ints("outer", outer, "axis", axis, "inner", inner)...)
}

// axisOf is memory around the node's axis attribute.
func axisOf(n *ir.Node) (outer, axis, inner int, err error) {
	t := n.In[0].Type
	a, err := op.Axis(n, n.Int("axis"), t.Rank())
	if err != nil {
		return 0, 0, 0, err
	}
	outer, axis, inner = around(t, a)
	return outer, axis, inner, nil
}

// hasRank: the operator works along a dimension, so there must be one.
var hasRank = cond{"rank is at least 1", func(n *ir.Node) string {
	if n.In[0].Type.Rank() == 0 {
		return "input 0 is a scalar, want at least one dimension"
	}
	return ""
}}

func laneRow(fn, code, doc string, d *ir.OpDef, build func(n *ir.Node, outer, axis, inner int) *call.Struct, conds ...cond) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: "nncc", Doc: doc, Ops: []*ir.OpDef{d},
		Rules: rules(code, append([]cond{float32s(0), nonEmpty, hasRank}, conds...)...), Layout: same,
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			outer, axis, inner, err := axisOf(n)
			if err != nil {
				return nil, err
			}
			l := start(n, fn)
			p := axisParams(outer, axis, inner)
			if build != nil {
				p = build(n, outer, axis, inner)
			}
			l.call(fn, p, l.in(0), l.out(0))
			if d != op.Hardmax {
				l.inPlace(0)
			}
			return l.done()
		},
	}
}

// argLayout: any order where the result keeps the rank, else natural.
func argLayout(n *ir.Node) kernel.Layout {
	if n.Out[0].Type.Rank() == n.In[0].Type.Rank() {
		return same(n)
	}
	return natural(n)
}

func argRow(fn, typ, code, doc string, d *ir.OpDef, in cond) *kernel.Kernel {
	return &kernel.Kernel{
		Name: fn, Library: "nncc", Doc: doc, Ops: []*ir.OpDef{d},
		Rules: rules(code, in, nonEmpty, hasRank), Layout: argLayout,
		Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
			outer, axis, inner, err := axisOf(n)
			if err != nil {
				return nil, err
			}
			l := start(n, fn)
			p := params(typ, ints("outer", outer, "axis", axis, "inner", inner, "select_last", n.Int("select_last_index"))...)
			l.call(fn, p, l.in(0), l.out(0))
			return l.done()
		},
	}
}

// cumSumRow runs along the axis that the second input names.
var cumSumRow = &kernel.Kernel{
	Name: "nncc_cumsum_f32", Library: "nncc", Doc: "running sum along an axis", Ops: []*ir.OpDef{op.CumSum},
	Rules: rules("NNCC-CUMSUM-F32", float32s(0), nonEmpty, hasRank, constant(1)), Layout: same,
	Lower: func(n *ir.Node, _ *kernel.Options) (*call.Lowered, error) {
		a, err := op.ConstInts(n, 1, "the axis")
		if err != nil {
			return nil, err
		}
		axis, err := op.Axis(n, a[0], n.In[0].Type.Rank())
		if err != nil {
			return nil, err
		}
		outer, size, inner := around(n.In[0].Type, axis)
		l := start(n, "nncc_cumsum_f32")
		p := params("nncc_cumsum_params", ints("outer", outer, "axis", size, "inner", inner, "exclusive", n.Int("exclusive"), "reverse", n.Int("reverse"))...)
		l.call("nncc_cumsum_f32", p, l.in(0), l.out(0))
		l.inPlace(0)
		return l.done()
	},
}

func axisKernels() []*kernel.Kernel {
	norm := func(n *ir.Node, outer, axis, inner int) *call.Struct {
		return params("nncc_lp_norm_params", ints("outer", outer, "axis", axis, "inner", inner, "power", n.Int("p"))...)
	}
	oneOrTwo := cond{"p is 1 or 2", func(n *ir.Node) string {
		if p := n.Int("p"); p != 1 && p != 2 {
			return fmt.Sprintf("p is %d, want 1 or 2", p)
		}
		return ""
	}}
	return []*kernel.Kernel{
		laneRow("nncc_softmax_f32", "NNCC-SOFTMAX-F32", "softmax along any axis", op.Softmax, nil),
		laneRow("nncc_log_softmax_f32", "NNCC-LOGSOFTMAX-F32", "logarithm of softmax along any axis", op.LogSoftmax, nil),
		laneRow("nncc_hardmax_f32", "NNCC-HARDMAX-F32", "1 at the first maximum along any axis", op.Hardmax, nil),
		laneRow("nncc_lp_norm_f32", "NNCC-LPNORM-F32", "L1 or L2 normalisation along any axis", op.LpNormalization, norm, oneOrTwo),
		argRow("nncc_argmax_f32", "nncc_arg_params", "NNCC-ARGMAX-F32", "position of the maximum along any axis", op.ArgMax, plain(tensor.F32)),
		argRow("nncc_argmin_f32", "nncc_arg_params", "NNCC-ARGMIN-F32", "position of the minimum along any axis", op.ArgMin, plain(tensor.F32)),
		cumSumRow,
	}
}
