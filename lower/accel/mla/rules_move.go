// SPDX-License-Identifier: Apache-2.0

package mla

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
)

// Rules of data movement. Dimension 0 is the batch throughout; which of the
// others are channels depends on the layout.

// moveRules: their order is that of the reasons.
var moveRules = []Rule{
	{Code: "MLA-CONCAT", Doc: "Concat is not along the batch", Ops: []*ir.OpDef{op.Concat},
		Check: notBatch("Concat")},
	{Code: "MLA-SPLIT", Doc: "Split is not along the batch", Ops: []*ir.OpDef{op.Split}, Check: notBatch("Split")},
	{Code: "MLA-GATHER", Doc: "Gather takes a list of indices (0-D or 1-D), not along the batch",
		Ops: []*ir.OpDef{op.Gather},
		Check: func(n *ir.Node, l *Limits) []string {
			out := notBatch("Gather")(n, l)
			if r := n.In[1].Type.Rank(); r > 1 {
				out = append(out, say("Indices are %dD, want 0D or 1D", r)...)
			}
			return out
		}},
	{Code: "MLA-SLICE-STEP", Doc: "Slice has positive steps", Ops: []*ir.OpDef{op.Slice},
		Check: sliced(func(_ *ir.Node, g *op.SliceGeom) []string {
			for d, s := range g.Step {
				if s < 0 {
					return say("Slice step is %d along dimension %d, want a positive one", s, d)
				}
			}
			return nil
		})},
	{Code: "MLA-SLICE-BATCH", Doc: "Slice leaves the batch alone", Ops: []*ir.OpDef{op.Slice},
		Check: sliced(func(n *ir.Node, g *op.SliceGeom) []string {
			x := n.In[0].Type.Shape[0]
			return when(g.Shape[0] != x || g.Start[0] != 0, "Slice takes %d of a batch of %d, want all", g.Shape[0], x)
		})},
	{Code: "MLA-TRANSPOSE", Doc: "Transpose leaves the batch first", Ops: []*ir.OpDef{op.Transpose},
		Check: func(n *ir.Node, _ *Limits) []string {
			p := bug.Must(op.Perm(n))
			if !rank4(n) || p[0] == 0 || n.In[0].Type.Shape[0] == 1 && n.Out[0].Type.Shape[0] == 1 {
				return nil // a batch of 1 may change places with another dimension of size 1
			}
			return say("Transpose %v moves the batch", p)
		}},
	{Code: "MLA-RESHAPE-ZERO", Doc: "Reshape has allowzero 0", Ops: []*ir.OpDef{op.Reshape},
		Check: func(n *ir.Node, _ *Limits) []string {
			return when(ir.AttrsOf[op.ReshapeAttrs](n).Allowzero != 0, "allowzero is 1, want 0")
		}},
	{Code: "MLA-RESHAPE-BATCH", Doc: "Reshape keeps the batch", Ops: []*ir.OpDef{op.Reshape},
		Check: func(n *ir.Node, _ *Limits) []string {
			return when(rank4(n) && n.In[0].Type.Shape[0] != n.Out[0].Type.Shape[0],
				"Reshape from %s to %s changes the batch", shapeText(n.In[0].Type.Shape),
				shapeText(n.Out[0].Type.Shape))
		}},
	{Code: "MLA-EXPAND", Doc: "Expand (BroadcastTo) does not repeat the batch", Ops: []*ir.OpDef{op.Expand},
		Check: func(n *ir.Node, _ *Limits) []string {
			if rank4(n) && n.In[0].Type.Shape[0] != n.Out[0].Type.Shape[0] {
				return say("Expand repeats the batch %d times", n.Out[0].Type.Shape[0])
			}
			return nil
		}},
}

// notBatch: the axis attribute names no dimension 0.
func notBatch(what string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, _ *Limits) []string {
		rank := n.In[0].Type.Rank()
		return when(rank == 4 && op.AxisOf(n, rank) == 0, "%s is along the batch (axis 0)", what)
	}
}

func sliced(check func(n *ir.Node, g *op.SliceGeom) []string) func(n *ir.Node, l *Limits) []string {
	return func(n *ir.Node, _ *Limits) []string {
		if !rank4(n) || dynamic(n, 1, 2, 3, 4) {
			return nil
		}
		g, err := op.SliceGeometry(n)
		if err != nil {
			return say("%v", err)
		}
		return check(n, g)
	}
}

// channelAxis reports whether a dimension of a 4-D tensor can be the channels:
// 1 in ONNX's order, the last one where the tensor is channels last already.
func channelAxis(a int) bool { return slices.Contains([]int{1, 3}, a) }
