// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"slices"

	"gonum.org/v1/gonum/graph/flow"
	"gonum.org/v1/gonum/graph/simple"

	"github.com/nncc/nncc/ir"
)

// dominator is a node's immediate post-dominator: the first node that every
// path from it to the outputs goes through.
type dominator struct {
	node    int        // index in the graph, -1: none before the outputs
	pattern ir.Pattern // the most restrictive step on any of the paths
}

// postDominators gives the tree, by node index. A value that leaves the graph
// has to be in memory, so its node has no post-dominator.
func postDominators(g *ir.Graph) []dominator {
	index := map[*ir.Node]int{}
	for i, n := range g.Nodes {
		index[n] = i
	}
	exit := int64(len(g.Nodes)) // one node behind all outputs
	back := simple.NewDirectedGraph()
	back.AddNode(simple.Node(exit))
	for i, n := range g.Nodes {
		from := simple.Node(i)
		leaves := true
		for _, v := range n.Out {
			for _, u := range v.Uses() {
				leaves = false
				back.SetEdge(back.NewEdge(simple.Node(index[u.Node]), from))
			}
		}
		if leaves || slices.ContainsFunc(n.Out, g.IsOutput) {
			back.SetEdge(back.NewEdge(simple.Node(exit), from))
		}
	}
	tree := flow.Dominators(simple.Node(exit), back)
	out := make([]dominator, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		out[i] = dominator{node: -1, pattern: ir.Opaque}
		d := tree.DominatorOf(int64(i))
		if d == nil || d.ID() == exit {
			continue
		}
		// the worst of the edges out of i and of the way up the tree from there
		worst := ir.Elementwise
		for _, v := range g.Nodes[i].Out {
			for _, u := range v.Uses() {
				worst = max(worst, edge(u))
				for k := index[u.Node]; k != int(d.ID()); k = out[k].node {
					worst = max(worst, out[k].pattern)
				}
			}
		}
		out[i] = dominator{int(d.ID()), worst}
	}
	return out
}

// edge is the pattern by which a node reads an operand: an operator that
// broadcasts is element-wise in operands of the result's shape.
func edge(u ir.Use) ir.Pattern {
	k := u.Node.Op.Pattern
	if k == ir.Broadcast && len(u.Node.Out) > 0 && slices.Equal(u.Node.In[u.Index].Type.Shape,
		u.Node.Out[0].Type.Shape) {
		return ir.Elementwise
	}
	return k
}
