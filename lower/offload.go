package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/partition"
)

// Offload moves the nodes that accel accepts into Segment nodes, as few as
// possible, and returns these in the order in which they run. Segments with
// less work than minWork stay on the CPU where that saves one.
func Offload(g *ir.Graph, accelerator string, accel func(n *ir.Node) bool, minWork int64) ([]*ir.Node, error) {
	index := make(map[*ir.Node]int, len(g.Nodes))
	nodes := make([]partition.Node, len(g.Nodes))
	for i, n := range g.Nodes {
		index[n] = i
		x := partition.Node{Accel: accel(n)}
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
		n, err := extract(g, m, s, accelerator)
		if err != nil {
			return nil, err
		}
		segments = append(segments, n)
	}
	if !g.Sort() {
		return nil, fmt.Errorf("BUG: a segment closes a cycle")
	}
	return segments, nil
}

// extract replaces nodes of g by one Segment node, at the end of the list: the
// caller sorts.
func extract(g *ir.Graph, nodes []*ir.Node, id int, accelerator string) (*ir.Node, error) {
	inside := map[*ir.Node]bool{}
	for _, n := range nodes {
		inside[n] = true
	}
	body := ir.New(fmt.Sprintf("segment_%d", id))
	seg := &ir.Node{Name: fmt.Sprintf("%s_%d", accelerator, id), Op: op.Segment, Body: []*ir.Graph{body},
		Attrs: ir.Attrs{"id": ir.Int(id), "accelerator": ir.Str(accelerator)}}
	env := map[*ir.Value]*ir.Value{}
	value := func(v *ir.Value) *ir.Value {
		if v == nil {
			return nil
		}
		if w := env[v]; w != nil {
			return w
		}
		var w *ir.Value
		if v.Const != nil {
			w = body.AddConst(v.Name, v.Const)
			w.Type = v.Type
		} else {
			w = body.AddInput(v.Name, v.Type)
			seg.In = append(seg.In, v)
		}
		env[v] = w
		return w
	}
	var outs []*ir.Value
	var names []string
	for _, n := range nodes {
		in := make([]*ir.Value, len(n.In))
		for i, v := range n.In {
			in[i] = value(v)
		}
		m, err := body.Add(n.Op, n.Name, n.Attrs.Clone(), len(n.Out), in...)
		if err != nil {
			return nil, fmt.Errorf("BUG: moving %s into a segment: %w", n, err)
		}
		m.Origin = n.Origin
		seg.Origin = append(seg.Origin, n.Origin...)
		for i, v := range n.Out {
			m.Out[i].Type = v.Type
			env[v] = m.Out[i]
			if g.IsOutput(v) || usedOutside(v, inside) {
				outs = append(outs, v)
				names = append(names, v.Name+".segment")
				body.AddOutput(v.Name, m.Out[i])
			}
		}
	}
	seg.Out = make([]*ir.Value, len(outs))
	if err := g.AddNode(seg, names); err != nil {
		return nil, fmt.Errorf("BUG: segment %d: %w", id, err)
	}
	for i, v := range outs {
		seg.Out[i].Type = v.Type
		g.ReplaceUses(v, seg.Out[i])
	}
	for i := len(nodes) - 1; i >= 0; i-- {
		g.Remove(nodes[i])
	}
	return seg, nil
}

func usedOutside(v *ir.Value, inside map[*ir.Node]bool) bool {
	for _, u := range v.Uses() {
		if !inside[u.Node] {
			return true
		}
	}
	return false
}
