// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"slices"

	"github.com/nncc/nncc/ir"
)

// dominator is a node's immediate post-dominator: the first node that every
// path from it to the outputs goes through.
type dominator struct {
	node    int        // index in the graph, -1: none before the outputs
	pattern ir.Pattern // the most restrictive step on any of the paths
}

// postDominators gives the tree, by node index. A value that leaves the graph
// has to be in memory, so its node has no post-dominator. Nodes are in the order of
// their uses, so one pass from the end finds each node's dominator: the first one
// that the ways up the tree from all its uses have in common.
func postDominators(g *ir.Graph) []dominator {
	index := map[*ir.Node]int{}
	for i, n := range g.Nodes {
		index[n] = i
	}
	exit := len(g.Nodes) // one node behind all outputs
	out := make([]dominator, exit)
	up := func(i int) int {
		if d := out[i].node; d >= 0 {
			return d
		}
		return exit
	}
	for i := exit - 1; i >= 0; i-- {
		out[i] = dominator{node: -1, pattern: ir.Opaque}
		at := -1 // none yet
		for _, v := range g.Nodes[i].Out {
			for _, u := range v.Uses() {
				k := index[u.Node]
				if at < 0 {
					at = k
				}
				for at != k {
					if at < k {
						at = up(at)
					} else {
						k = up(k)
					}
				}
			}
		}
		if at < 0 || at == exit || slices.ContainsFunc(g.Nodes[i].Out, g.IsOutput) {
			continue
		}
		// the worst of the edges out of i and of the way up the tree from there
		worst := ir.Elementwise
		for _, v := range g.Nodes[i].Out {
			for _, u := range v.Uses() {
				worst = max(worst, edge(u))
				for k := index[u.Node]; k != at; k = out[k].node {
					worst = max(worst, out[k].pattern)
				}
			}
		}
		out[i] = dominator{at, worst}
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
