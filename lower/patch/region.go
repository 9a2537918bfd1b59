// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// span is a half-open interval of rows.
type span struct{ lo, hi int }

func (s span) len() int { return s.hi - s.lo }

func (s span) union(o span) span { return span{min(s.lo, o.lo), max(s.hi, o.hi)} }

// region is the nodes that run in stripes and what enters and leaves them.
type region struct {
	nodes    []*ir.Node
	inside   map[*ir.Node]bool
	inputs   []*ir.Value // graph inputs that the nodes read
	frontier []*ir.Value // results that are read outside or leave the graph
}

func newRegion(g *ir.Graph, nodes []*ir.Node) *region {
	r := &region{nodes: nodes, inside: map[*ir.Node]bool{}}
	for _, n := range nodes {
		r.inside[n] = true
		for _, v := range n.In {
			if v != nil && v.IsInput() && !slices.Contains(r.inputs, v) {
				r.inputs = append(r.inputs, v)
			}
		}
	}
	for _, n := range nodes {
		v := n.Out[0]
		if g.IsOutput(v) || slices.ContainsFunc(v.Uses(), func(u ir.Use) bool { return !r.inside[u.Node] }) {
			r.frontier = append(r.frontier, v)
		}
	}
	return r
}

// rows says which rows of every value stripe s of k needs. The frontier is
// divided evenly; everything else follows from its readers.
func (r *region) rows(s, k int) map[*ir.Value]span {
	need := map[*ir.Value]span{}
	for _, v := range r.frontier {
		h := v.Type.Shape[2]
		need[v] = span{s * h / k, (s + 1) * h / k}
	}
	for i := len(r.nodes) - 1; i >= 0; i-- {
		n := r.nodes[i]
		out, ok := need[n.Out[0]]
		if !ok {
			continue
		}
		for j, v := range n.In {
			if v == nil || v.Const != nil {
				continue
			}
			x, _, _ := window(n, j, out)
			if old, ok := need[v]; ok {
				x = x.union(old)
			}
			need[v] = x
		}
	}
	return need
}

// window is the rows of input j that the given rows of the result are computed
// from, and how many rows of padding lie above and below them.
func window(n *ir.Node, j int, out span) (in span, above, below int) {
	var kernel, stride, dilation, pad, h int
	switch n.Op {
	case op.Conv:
		g, _ := op.ConvGeometry(n)
		kernel, stride, dilation, pad, h = g.Kernel[0], g.Strides[0], g.Dilations[0], g.PadBegin[0], g.In[0]
	case op.MaxPool, op.AveragePool:
		g, _ := op.PoolGeometry(n)
		kernel, stride, dilation, pad, h = g.Kernel[0], g.Strides[0], g.Dilations[0], g.PadBegin[0], g.In[0]
	default:
		return out, 0, 0
	}
	lo := out.lo*stride - pad
	hi := (out.hi-1)*stride - pad + (kernel-1)*dilation + 1
	in = span{min(max(lo, 0), h-1), max(min(hi, h), 1)}
	return in, in.lo - lo, hi - in.hi
}

// windowed are the operators whose attributes name paddings.
func windowed(n *ir.Node) bool {
	return n.Op == op.Conv || n.Op == op.MaxPool || n.Op == op.AveragePool
}

// columns are the paddings left and right.
func columns(n *ir.Node) (left, right int) {
	if n.Op == op.Conv {
		g, _ := op.ConvGeometry(n)
		return g.PadBegin[1], g.PadEnd[1]
	}
	g, _ := op.PoolGeometry(n)
	return g.PadBegin[1], g.PadEnd[1]
}
