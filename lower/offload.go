package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/partition"
)

// Offload moves the nodes that are legal on an accelerator of a kind into
// Segment nodes, as few as possible, and returns these in the order in which they
// run. Segments with less work than minWork stay on the CPU where that saves one.
func Offload(g *ir.Graph, kind string, legal func(n *ir.Node) bool, minWork int64) ([]*ir.Node, error) {
	index := make(map[*ir.Node]int, len(g.Nodes))
	nodes := make([]partition.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n] = i
		x := partition.Node{Accel: legal(n)}
		if n.Op.MACs != nil {
			x.Work = n.Op.MACs(n)
		}
		for _, v := range n.In {
			if v != nil && v.Def != nil {
				x.Preds = append(x.Preds, index[v.Def])
			}
		}
		nodes[i] = x
	}
	cut, count := partition.Cut(nodes, partition.Options{MinWork: minWork})
	members := make([][]*ir.Node, count)
	for i, s := range cut {
		if s != partition.None {
			members[s] = append(members[s], g.Nodes[i])
		}
	}
	var segments []*ir.Node
	for s, m := range members {
		if len(m) == 0 {
			continue
		}
		n, err := extract(g, m, s, kind)
		if err != nil {
			return nil, err
		}
		segments = append(segments, n)
	}
	if !g.Sort() {
		return nil, bug.Errorf("a segment closes a cycle")
	}
	return segments, nil
}

// extract replaces nodes of g by one Segment node, at the end of the list: the
// caller sorts.
func extract(g *ir.Graph, nodes []*ir.Node, id int, kind string) (*ir.Node, error) {
	attrs := ir.Attrs{"id": ir.Int(id), "accelerator": ir.Str(kind)}
	seg, results, err := ir.Outline(g, nodes, op.Segment, fmt.Sprintf("%s_%d", kind, id), attrs)
	if err != nil {
		return nil, err
	}
	for _, v := range seg.Out {
		v.Name += ".segment"
	}
	return seg, g.Replace(seg, nodes, results)
}
