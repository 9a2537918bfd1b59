// SPDX-License-Identifier: Apache-2.0

package ir

import "slices"

// Clone is a deep copy of the graph; constants are shared.
func (g *Graph) Clone() *Graph {
	c := New(g.Name)
	c.nextID = g.nextID
	m := map[*Value]*Value{}
	val := func(v *Value) *Value {
		if v == nil {
			return nil
		}
		w := m[v]
		if w == nil {
			w = &Value{ID: v.ID, Name: v.Name, Type: v.Type, Index: v.Index, Const: v.Const,
				Holds: slices.Clip(v.Holds)}
			c.names[v.Name] = true
			m[v] = w
		}
		return w
	}
	for _, v := range g.In {
		c.In = append(c.In, val(v))
	}
	for _, n := range g.Nodes {
		k := &Node{ID: n.ID, Name: n.Name, Op: n.Op, Attrs: n.Attrs.Clone(), Origin: n.Origin,
			Series: n.Series}
		for _, b := range n.Body {
			k.Body = append(k.Body, b.Clone())
		}
		for i, v := range n.In {
			w := val(v)
			k.In = append(k.In, w)
			if w != nil {
				w.uses = append(w.uses, Use{k, i})
			}
		}
		for i, v := range n.Out {
			w := val(v)
			w.Def, w.Index = k, i
			k.Out = append(k.Out, w)
		}
		c.Nodes = append(c.Nodes, k)
	}
	for i, v := range g.Out {
		c.AddOutput(g.OutNames[i], val(v))
	}
	return c
}
