// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"slices"

	"github.com/nncc/nncc/ir/bug"
)

// Remove deletes a node; its outputs must have no readers.
func (g *Graph) Remove(n *Node) {
	for _, v := range n.Out {
		if len(v.uses) > 0 || g.IsOutput(v) {
			panic(bug.Errorf("removing %s while %s is in use", n, v))
		}
	}
	g.detach(n)
	i := g.Index(n)
	if i < 0 {
		panic(bug.Errorf("removing a node of another graph"))
	}
	g.Nodes = append(g.Nodes[:i], g.Nodes[i+1:]...)
}

func (g *Graph) detach(n *Node) {
	n.removed = true
	for i, v := range n.In {
		if v != nil {
			v.dropUse(n, i)
		}
	}
	for _, v := range n.Out {
		g.free(v.Name)
	}
}

// RemoveDead deletes every node from which no graph output is reached and
// reports how many went.
func (g *Graph) RemoveDead() int {
	kept := make([]*Node, 0, len(g.Nodes))
	removed := 0
	for _, n := range slices.Backward(g.Nodes) {
		live := false
		for _, v := range n.Out {
			live = live || len(v.uses) > 0 || g.IsOutput(v)
		}
		if live {
			kept = append(kept, n)
		} else {
			g.detach(n)
			removed++
		}
	}
	slices.Reverse(kept)
	g.Nodes = kept
	return removed
}

// RemoveUnread removes the nodes that make the given values, if they have no readers,
// and then all nodes before them that lost their last reader. It gives the removed
// nodes, in the order of the graph.
func (g *Graph) RemoveUnread(vs ...*Value) []*Node {
	var gone []*Node
	readers := map[*Value]int{} // that stay
	going := map[*Node]bool{}
	left := func(v *Value) int {
		if _, ok := readers[v]; !ok {
			readers[v] = len(v.uses)
		}
		return readers[v]
	}
	look := func(v *Value) {
		if v == nil || v.Def == nil || v.Def.removed || going[v.Def] {
			return
		}
		if !slices.ContainsFunc(v.Def.Out, func(o *Value) bool { return left(o) > 0 || g.IsOutput(o) }) {
			going[v.Def] = true
			gone = append(gone, v.Def)
		}
	}
	for _, v := range vs {
		look(v)
	}
	for k := 0; k < len(gone); k++ {
		for _, v := range gone[k].In {
			if v != nil {
				readers[v] = left(v) - 1
				look(v)
			}
		}
	}
	slices.SortFunc(gone, func(a, b *Node) int { return g.Index(a) - g.Index(b) })
	for _, n := range slices.Backward(gone) {
		g.Remove(n)
	}
	return gone
}
