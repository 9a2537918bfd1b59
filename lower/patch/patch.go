// SPDX-License-Identifier: Apache-2.0

// Package patch computes the first layers of a network in horizontal stripes,
// so that their large feature maps are never in memory as a whole. Where
// windows overlap, the rows that two stripes share are computed twice.
package patch

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Plan is one way to patch a graph: the nodes that run in stripes, and how
// many of these.
type Plan struct {
	Nodes     []*ir.Node
	Stripes   int
	MACs      int64 // of the nodes as they stand
	ExtraMACs int64 // what is computed twice, less rows that nobody needs
	peak      int   // bytes of memory, by a simple account
}

// maxStripes bounds the code that stripes cost: a call a node and stripe.
const maxStripes = 32

// Candidates are at most most plans worth trying, least work first: those for
// which no other with less work needs much less memory, by the simple account.
// A region is the nodes before a point of the graph, back to its inputs, all of
// which work row by row. Which plans these are depends on the graph alone.
func Candidates(g *ir.Graph, most int) []Plan {
	var out []Plan
	var region []*ir.Node
	for _, n := range g.Nodes {
		if !rowwise(n) {
			break
		}
		region = append(region, n)
		if len(region) < 2 {
			continue
		}
		for k := 2; k <= maxStripes; k++ {
			p, ok := estimate(g, slices.Clone(region), k)
			if !ok {
				break
			}
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b Plan) int {
		return cmp.Or(cmp.Compare(a.ExtraMACs, b.ExtraMACs), cmp.Compare(a.Stripes*len(a.Nodes),
			b.Stripes*len(b.Nodes)))
	})
	for _, room := range []float64{1e9, 1.5, 1.3, 1.2, 1.1, 1.05, 1} {
		if len(out) <= most {
			break
		}
		out = front(out, room)
	}
	for len(out) > most { // every second one, and always the last
		var half []Plan
		for i, p := range out {
			if (len(out)-1-i)%2 == 0 {
				half = append(half, p)
			}
		}
		out = half
	}
	return out
}

// front leaves out plans that take more than room times the memory of one with
// less work.
func front(plans []Plan, room float64) []Plan {
	var out []Plan
	least := 0
	for _, p := range plans {
		if least == 0 || float64(p.peak) <= room*float64(least) {
			out = append(out, p)
		}
		if least == 0 || p.peak < least {
			least = p.peak
		}
	}
	return out
}

// estimate counts what a plan costs; false when some value has fewer rows
// than there are stripes.
func estimate(g *ir.Graph, nodes []*ir.Node, stripes int) (Plan, bool) {
	p := Plan{Nodes: nodes, Stripes: stripes}
	r := newRegion(g, nodes)
	for _, n := range nodes {
		p.MACs += macs(n)
	}
	whole := 0 // what is there during all stripes
	for _, v := range r.frontier {
		if v.Type.Shape[2] < stripes {
			return p, false
		}
		whole += v.Type.Bytes()
	}
	for _, v := range r.inputs {
		whole += v.Type.Bytes()
	}
	var total int64
	for s := range stripes {
		need := r.rows(s, stripes)
		for _, n := range nodes {
			if k, ok := need[n.Out[0]]; ok {
				total += macs(n) * int64(k.len()) / int64(n.Out[0].Type.Shape[2])
			}
		}
		p.peak = max(p.peak, whole+peak(nodes, func(v *ir.Value) int {
			if slices.Contains(r.frontier, v) || v.IsInput() {
				return 0
			}
			return v.Type.Bytes() / v.Type.Shape[2] * need[v].len()
		}, r.inside))
	}
	p.ExtraMACs = total - p.MACs
	p.peak = max(p.peak, peak(g.Nodes[len(nodes):], func(v *ir.Value) int { return v.Type.Bytes() }, nil))
	return p, true
}

func macs(n *ir.Node) int64 {
	if n.Op.MACs == nil {
		return 0
	}
	return n.Op.MACs(n)
}

// rowwise reports nodes whose rows come from rows of their inputs: rank 4,
// one image, one result.
func rowwise(n *ir.Node) bool {
	if len(n.Out) != 1 || len(n.Body) > 0 || !image(n.Out[0].Type) {
		return false
	}
	switch n.Op {
	case op.Conv:
		if n.In[1].Const == nil || n.Input(2) != nil && n.In[2].Const == nil {
			return false
		}
		g, err := op.ConvGeometry(n)
		return err == nil && image(n.In[0].Type) && covered(g.Kernel[0], g.Dilations[0], g.PadBegin[0], g.PadEnd[0])
	case op.MaxPool, op.AveragePool:
		g, err := op.PoolGeometry(n)
		return err == nil && g.Exact() && ir.AttrsOf[op.PoolWindow](n).CeilMode == 0 &&
			covered(g.Kernel[0], g.Dilations[0], g.PadBegin[0], g.PadEnd[0])
	case op.Concat:
		return ir.AttrsOf[op.AxisAttr](n).Axis == 1 && sameRows(n)
	}
	return n.Op.Pattern <= ir.Broadcast && !n.Op.Impure && sameRows(n)
}

// sameRows reports that the run-time operands, of which there are some, have the rows of
// the result, and constants none of their own.
func sameRows(n *ir.Node) bool {
	y, run := n.Out[0].Type, false
	for _, v := range n.In {
		switch {
		case v == nil:
		case v.Const == nil:
			if !image(v.Type) || v.Type.Shape[2] != y.Shape[2] {
				return false
			}
			run = true
		case n.Op == op.Concat || v.Type.Rank() >= 2 && v.Type.Shape[v.Type.Rank()-2] != 1:
			return false // a constant with rows of its own
		}
	}
	return run
}

// covered reports that no window lies in the padding alone.
func covered(kernel, dilation, begin, end int) bool {
	reach := (kernel - 1) * dilation
	return begin <= reach && end <= reach
}

func image(t ir.Type) bool { return t.Rank() == 4 && t.Shape[0] == 1 && t.Elems() > 0 }
