package fuse

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Taker says which kernel computes a detached Fused node; "" when none does.
type Taker func(n *ir.Node) string

// Kernels replaces groups by Fused nodes where a kernel takes them: the anchor
// with as many of the nodes behind it as possible. What no kernel takes stays
// as it is, so groups bound what is tried and kernels what is emitted.
func Kernels(g *ir.Graph, take Taker) ([]Fusion, error) {
	var done []Fusion
	for _, group := range Groups(g) {
		if group.Anchor == nil || len(group.Nodes) < 2 {
			continue
		}
		chain := behind(group)
		for k := len(chain); k > 1; k-- {
			f, err := fused(g, chain[:k], take)
			if err != nil {
				return nil, err
			}
			if f != nil {
				done = append(done, *f)
				break
			}
		}
	}
	if !g.Sort() {
		return nil, fmt.Errorf("BUG: a fused group closes a cycle")
	}
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
func fused(g *ir.Graph, nodes []*ir.Node, take Taker) (*Fusion, error) {
	last := nodes[len(nodes)-1]
	n, results, err := ir.Outline(g, nodes, op.Fused, last.Name, nil)
	if err != nil {
		return nil, err
	}
	if len(results) != 1 || results[0] != last.Out[0] {
		return nil, nil
	}
	kernel := take(n)
	if kernel == "" {
		return nil, nil
	}
	f := &Fusion{Kind: "kernel", Anchor: last.Name, Kernel: kernel}
	for _, m := range nodes {
		f.Nodes = append(f.Nodes, m.Name)
	}
	return f, g.Replace(n, nodes, results)
}
