// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// Rules of pools, reductions, Pad and Resize: operators in space.

var windowPools = []*ir.OpDef{op.AveragePool, op.MaxPool}

var reduceOps = []*ir.OpDef{op.ReduceMean, op.ReduceSum, op.ReduceMax}

// spatialRules: their order is that of the reasons.
var spatialRules = []Rule{
	{Code: "MLA-POOL-DILATION", Doc: "pools are not dilated", Ops: windowPools,
		Check: pool(func(_ *ir.Node, g *op.PoolGeom, _ *Limits) []string {
			return when(slices.Max(g.Dilations) > 1, "Dilations are %v, want 1", g.Dilations)
		})},
	{Code: "MLA-POOL-CEIL", Doc: "pools have ceil_mode 0", Ops: windowPools,
		Check: func(n *ir.Node, _ *Limits) []string {
			return when(ir.AttrsOf[op.PoolWindow](n).CeilMode != 0, "ceil_mode is 1, want 0")
		}},
	{Code: "MLA-POOL-SIZE", Doc: "pool windows are smaller than pool_window in each dimension", Ops: windowPools,
		Check: pool(func(_ *ir.Node, g *op.PoolGeom, l *Limits) []string {
			return when(slices.Max(g.Kernel) >= l.PoolWindow,
				"Window is %v, want less than %d in each dimension", g.Kernel, l.PoolWindow)
		})},
	{Code: "MLA-POOL-PAD", Doc: "AveragePool with padding counts it: count_include_pad is 1",
		Ops: []*ir.OpDef{op.AveragePool},
		Check: pool(func(n *ir.Node, g *op.PoolGeom, _ *Limits) []string {
			return when(ir.AttrsOf[op.AveragePoolAttrs](n).CountIncludePad == 0 &&
				slices.Max(append(slices.Clone(g.PadBegin), g.PadEnd...)) > 0,
				"count_include_pad is 0 with pads %v %v, want 1", g.PadBegin, g.PadEnd)
		})},
	{Code: "MLA-REDUCE-KEEP", Doc: "reductions keep their dimensions",
		Ops: append([]*ir.OpDef{op.ArgMax}, reduceOps...),
		Check: func(n *ir.Node, _ *Limits) []string {
			return when(ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0, "keepdims is 0, want 1")
		}},
	{Code: "MLA-REDUCE-AXES", Doc: "ReduceMean and ReduceSum reduce space only (dimensions 2 and 3), ReduceMax not " +
		"the batch",
		Ops: reduceOps,
		Check: reduced(func(n *ir.Node, axes []int, _ *Limits) []string {
			first := 2
			if n.Op == op.ReduceMax {
				first = 1
			}
			return when(len(axes) == 0 || axes[0] < first, "Axes are %v, want dimensions %d to 3", axes, first)
		})},
	{Code: "MLA-REDUCE-SIZE", Doc: "a reduced dimension is shorter than pool_window (ReduceSum over all of space: any)",
		Ops: []*ir.OpDef{op.ReduceMean, op.ReduceSum},
		Check: reduced(func(n *ir.Node, axes []int, l *Limits) []string {
			if n.Op == op.ReduceSum && slices.Equal(axes, []int{2, 3}) {
				return nil
			}
			for _, a := range axes {
				if d := n.In[0].Type.Shape[a]; d >= l.PoolWindow {
					return say("Dimension %d has size %d, want less than %d to reduce it", a, d, l.PoolWindow)
				}
			}
			return nil
		})},
	{Code: "MLA-PAD-MODE", Doc: "Pad has mode constant", Ops: []*ir.OpDef{op.Pad},
		Check: func(n *ir.Node, _ *Limits) []string {
			m := ir.AttrsOf[op.ModeAttr](n).Mode
			return when(m != "constant", "Pad mode is %s, want constant", m)
		}},
	{Code: "MLA-PAD-VALUE", Doc: "Pad fills with 0", Ops: []*ir.OpDef{op.Pad},
		Check: func(n *ir.Node, _ *Limits) []string {
			v := n.Input(2)
			if v == nil || v.Const == nil || ir.AttrsOf[op.ModeAttr](n).Mode != "constant" {
				return nil
			}
			if v.Type.Quant == nil && !v.Type.DType.IsFloat() { // an integer in the terms of quantised data
				if q := n.In[0].Type.Quant; q != nil && !q.PerAxis() && v.Const.Int(0) == int64(q.Zero[0]) {
					return nil
				}
			}
			x, ok := realValue(v)
			return when(!ok || x != 0, "Pad value is %v, want 0", x)
		}},
	{Code: "MLA-PAD-AXES", Doc: "Pad leaves batch and channels alone, and does not crop", Ops: []*ir.OpDef{op.Pad},
		Check: func(n *ir.Node, _ *Limits) []string {
			if !rank4(n) || dynamic(n, 1, 3) {
				return nil
			}
			g, err := op.PadGeometry(n)
			if err != nil {
				return say("%v", err)
			}
			var out []string
			for d := range g.Begin {
				switch b, e := g.Begin[d], g.End[d]; {
				case b < 0 || e < 0:
					out = append(out, say("Pad crops dimension %d by %d and %d, want no negative pads", d, b, e)...)
				case d < 2 && (b > 0 || e > 0):
					out = append(out, say("Pad extends dimension %d (%s) by %d and %d, want space only", d,
						[]string{"batch", "channels"}[d], b, e)...)
				}
			}
			return out
		}},
	{Code: "MLA-RESIZE-MODE", Doc: "Resize is nearest or linear", Ops: []*ir.OpDef{op.Resize},
		Check: func(n *ir.Node, _ *Limits) []string {
			m := ir.AttrsOf[op.ModeAttr](n).Mode
			return when(m != "nearest" && m != "linear", "Resize mode is %s, want nearest or linear", m)
		}},
	{Code: "MLA-RESIZE-COORDINATES", Doc: "Resize is not tf_crop_and_resize or tf_half_pixel_for_nn, and half_pixel " +
		"where it is linear",
		Ops: []*ir.OpDef{op.Resize},
		Check: func(n *ir.Node, _ *Limits) []string {
			c := ir.AttrsOf[op.CoordinateTransformationModeAttr](n).CoordinateTransformationMode
			switch {
			case c == "tf_crop_and_resize" || c == "tf_half_pixel_for_nn":
				return say("Resize coordinates are %s, which the MLA has not", c)
			case ir.AttrsOf[op.ModeAttr](n).Mode == "linear" && c != "half_pixel":
				return say("Resize coordinates are %s, want half_pixel for mode linear (export without align_corners)",
					c)
			}
			return nil
		}},
	{Code: "MLA-RESIZE-AXES", Doc: "Resize keeps batch and channels", Ops: []*ir.OpDef{op.Resize},
		Check: func(n *ir.Node, _ *Limits) []string {
			if !rank4(n) {
				return nil
			}
			x, y := n.In[0].Type.Shape, n.Out[0].Type.Shape
			return when(x[0] != y[0] || x[1] != y[1],
				"Resize changes batch or channels (%s to %s)", shapeText(x), shapeText(y))
		}},
	{Code: "MLA-RESIZE-ANTIALIAS", Doc: "Resize does not antialias", Ops: []*ir.OpDef{op.Resize},
		Check: func(n *ir.Node, _ *Limits) []string {
			return when(ir.AttrsOf[op.ResizeAttrs](n).Antialias != 0, "antialias is 1, want 0")
		}},
}

// dynamic reports that one of the inputs is not constant: MLA-CONST says so.
func dynamic(n *ir.Node, idx ...int) bool {
	return slices.ContainsFunc(idx, func(i int) bool { v := n.Input(i); return v != nil && v.Const == nil })
}

func pool(check func(n *ir.Node, g *op.PoolGeom, l *Limits) []string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, l *Limits) []string {
		return check(n, bug.Must(op.PoolGeometry(n)), l)
	}
}

func reduced(check func(n *ir.Node, axes []int, l *Limits) []string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, l *Limits) []string {
		if n.In[0].Type.Rank() != 4 || dynamic(n, 1) {
			return nil
		}
		axes, err := op.ReduceAxes(n)
		if err != nil {
			return say("%v", err)
		}
		return check(n, axes, l)
	}
}
