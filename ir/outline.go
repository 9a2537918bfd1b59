// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Outline builds a node of the given operator whose body is a copy of nodes,
// which are in graph order and form a convex part of g. The body's inputs
// are the values from outside that the part reads (constants are copied into
// the body), in order of first use; its outputs are those that are read
// outside or leave the graph. Nothing of g changes: the node is detached, and
// Replace puts it into the graph. The second result are the values that its
// outputs stand for.
func Outline(g *Graph, nodes []*Node, op *OpDef, name string, attrs Attrs) (*Node, []*Value, error) {
	inside := lists.Set(nodes)
	body := New(name)
	out := &Node{Name: name, Op: op, Body: []*Graph{body}, Attrs: attrs}
	env := map[*Value]*Value{}
	value := func(v *Value) *Value {
		if v == nil {
			return nil
		}
		if w := env[v]; w != nil {
			return w
		}
		var w *Value
		if v.Const != nil {
			w = body.AddConst(v.Name, v.Const)
			w.Type = v.Type
		} else {
			w = body.AddInput(v.Name, v.Type)
			out.In = append(out.In, v)
		}
		env[v] = w
		return w
	}
	var results []*Value
	for _, n := range nodes {
		in := lists.Map(n.In, func(v *Value) *Value { return value(v) })
		m := &Node{Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), In: in, Out: make([]*Value, len(n.Out)),
			Origin: n.Origin, Series: n.Series, Chain: n.Chain}
		m.Body = append(m.Body, lists.Map(n.Body, (*Graph).Clone)...)
		if err := body.AddNode(m, nil); err != nil {
			return nil, nil, bug.Errorf("moving %s into %s: %w", n, name, err)
		}
		out.Origin, out.Chain = append(out.Origin, n.Origin...), cmp.Or(out.Chain, n.Chain)
		for i, v := range n.Out {
			m.Out[i].Type, m.Out[i].Holds = v.Type, slices.Clip(v.Holds)
			env[v] = m.Out[i]
			if g.IsOutput(v) || readOutside(v, inside) {
				results = append(results, v)
				body.AddOutput(v.Name, m.Out[i])
			}
		}
	}
	for i, v := range results {
		out.Out = append(out.Out, &Value{Name: v.Name, Type: v.Type, Def: out, Index: i})
	}
	return out, results, nil
}

func readOutside(v *Value, inside map[*Node]bool) bool {
	return slices.ContainsFunc(v.uses, func(u Use) bool { return !inside[u.Node] })
}

// Replace puts an outlined node into g in place of the nodes that it was made
// from, behind the last of them: the caller sorts.
func (g *Graph) Replace(n *Node, nodes []*Node, results []*Value) error {
	names := make([]string, len(results))
	types := make([]Type, len(results))
	for i, v := range results {
		names[i], types[i] = n.Out[i].Name, v.Type
	}
	n.Out = make([]*Value, len(results))
	if err := g.AddNode(n, names); err != nil {
		return bug.Errorf("%s: %w", n.Name, err)
	}
	for i, v := range results {
		n.Out[i].Type = types[i]
		g.ReplaceUses(v, n.Out[i])
	}
	at := 0
	for _, m := range nodes {
		at = max(at, g.Index(m)+1)
	}
	g.Nodes = slices.Insert(g.Nodes[:len(g.Nodes)-1], at, n)
	for i := len(nodes) - 1; i >= 0; i-- {
		g.Remove(nodes[i])
	}
	return nil
}
