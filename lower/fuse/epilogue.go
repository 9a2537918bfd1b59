// SPDX-License-Identifier: Apache-2.0

package fuse

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
)

// Taker says which kernel computes a detached Fused node of the given nodes;
// "" when none does, or none to advantage, and why not.
type Taker func(n *ir.Node, parts []*ir.Node) (kernel, why string)

// Kernels replaces groups by Fused nodes where a kernel takes them: the anchor
// with as many of the nodes behind it as possible. What no kernel takes stays
// as it is, so groups bound what is tried and kernels what is emitted.
func Kernels(g *ir.Graph, take Taker) (done []Fusion, err error) {
	defer fail.Catch(&err)
	for _, group := range Groups(g) {
		if group.Anchor == nil || len(group.Nodes) < 2 {
			continue
		}
		chain := behind(group)
		kept := ""
		for k := len(chain); k > 1; k-- {
			f, why := fused(g, chain[:k], take)
			if f != nil {
				f.Kind, kept = "kernel", ""
				done = append(done, *f)
				break
			}
			kept = why
		}
		if kept != "" {
			done = append(done, Fusion{Kind: "none", Anchor: group.Anchor.Name, Nodes: names(chain), Why: kept})
		}
	}
	bug.If(!g.Sort(), "a fused group closes a cycle")
	return done, nil
}

// behind is the anchor and the nodes of its group that come from it, in order.
func behind(group Group) []*ir.Node {
	chain := []*ir.Node{group.Anchor}
	for _, n := range group.Nodes {
		for _, v := range n.In {
			if v != nil && v.Def != nil && slices.Contains(chain, v.Def) {
				chain = append(chain, n)
				break
			}
		}
	}
	return chain
}

// fused replaces nodes by one when they have one result and a kernel takes it.
func fused(g *ir.Graph, nodes []*ir.Node, take Taker) (*Fusion, string) {
	last := nodes[len(nodes)-1]
	n, results := fail.Must2(ir.Outline(g, nodes, op.Fused, last.Name, nil))
	if len(results) != 1 || results[0] != last.Out[0] {
		return nil, "a value in between is read elsewhere"
	}
	kernel, why := take(n, nodes)
	if kernel == "" {
		return nil, why
	}
	fail.Check(g.Replace(n, nodes, results))
	return &Fusion{Anchor: last.Name, Kernel: kernel, Nodes: names(nodes)}, ""
}

func names(nodes []*ir.Node) []string {
	return lists.Map(nodes, func(m *ir.Node) string { return m.Name })
}
