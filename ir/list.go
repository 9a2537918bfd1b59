// SPDX-License-Identifier: Apache-2.0

package ir

import "slices"

func (g *Graph) append(n *Node) {
	n.pos = len(g.Nodes)
	g.Nodes = append(g.Nodes, n)
}

// near is how far Index looks around the place that a node had before it
// numbers the whole list anew: that many nodes came or went since then.
const near = 256

// Index is the place of n in Nodes, -1 where it is not in the graph. It is
// found near its last place, so that rewriting a long list node by node stays
// cheap.
func (g *Graph) Index(n *Node) int {
	for d := 0; d <= near; d++ {
		for _, i := range [2]int{n.pos - d, n.pos + d} {
			if i >= 0 && i < len(g.Nodes) && g.Nodes[i] == n {
				n.pos = i
				return i
			}
		}
	}
	for i, m := range g.Nodes {
		m.pos = i
	}
	if n.pos < len(g.Nodes) && g.Nodes[n.pos] == n {
		return n.pos
	}
	return -1
}

// Next is the node behind n, nil at the end.
func (g *Graph) Next(n *Node) *Node {
	if i := g.Index(n); i+1 < len(g.Nodes) {
		return g.Nodes[i+1]
	}
	return nil
}

// maxOrigins is how many ONNX nodes a node names that it came from: chains of
// thousands that become one node would otherwise carry all their names along.
const maxOrigins = 256

// Inherit adds the origins of nodes that n replaces or takes in.
func (n *Node) Inherit(from ...*Node) {
	have := map[string]bool{}
	for _, o := range n.Origin {
		have[o] = true
	}
	list := slices.Clip(n.Origin) // others may share it
	for _, m := range from {
		for _, o := range m.Origin {
			if !have[o] && len(list) < maxOrigins {
				have[o] = true
				list = append(list, o)
			}
		}
	}
	n.Origin = list
}
