// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel"
)

// Boundary ops carry the model's inputs to the accelerator's segments or the
// segments' outputs to the model's: they run on the core, and cut nothing.

// addBoundaryOps adds to known what the accelerator does not compute and what
// only carries inputs to it or outputs back: conversions between floats and
// integers and data movement with nothing but the graph's inputs in front of it,
// or nothing but its outputs behind it.
func addBoundaryOps(g *ir.Graph, a accel.Accelerator, known map[*ir.Node]bool) {
	carries := func(n *ir.Node) bool {
		moves := n.Op.Quant == ir.QMove || n.Op.Boundary || n.Op == op.Requantize
		return moves && !known[n] && len(a.CheckLegality(n)) > 0
	}
	for _, n := range g.Nodes {
		if carries(n) && readsBoundary(n, known) {
			known[n] = true
		}
	}
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		if n := g.Nodes[i]; carries(n) && onlyReadBy(n, known) {
			known[n] = true
		}
	}
}

// readsBoundary reports a node with nothing but inputs and constants in front of
// it, or of its first input a boundary op.
func readsBoundary(n *ir.Node, known map[*ir.Node]bool) bool {
	for i, v := range n.In {
		if v == nil || v.Const != nil || v.IsInput() || i == 0 && v.Def != nil && known[v.Def] {
			continue
		}
		return false
	}
	return true
}

// onlyReadBy reports a node whose readers are all among others; outputs of the
// graph have none.
func onlyReadBy(n *ir.Node, others map[*ir.Node]bool) bool {
	for _, v := range n.Out {
		for _, u := range v.Uses() {
			if !others[u.Node] {
				return false
			}
		}
	}
	return true
}

// IsBoundaryOp reports whether a node of Graph only rebuilds outputs of the model
// or carries inputs and outputs in and out of the memory order of segments.
func (r *Result) IsBoundaryOp(n *ir.Node) bool {
	if r.boundary[n] {
		return true
	}
	if len(r.Segments) == 0 || n.Op == op.Segment {
		return false
	}
	if n.Op == op.DequantizeLinear {
		return n.Out[0].Type.DType != tensor.I8 && onlyReadBy(n, r.boundary)
	}
	retypes := n.Op == op.Requantize && n.Out[0].Type.DType != n.In[0].Type.DType
	if n.Op != op.Relayout && n.Op != op.Identity && !retypes {
		return false
	}
	from := n.In[0].Def
	return n.In[0].IsInput() || from != nil && from.Op == op.Segment || r.boundary[from]
}
