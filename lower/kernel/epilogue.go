// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

// Chain is a node as a kernel with an epilogue sees it: the operator that does
// the work and what its store loop does with each result.
type Chain struct {
	Main *Node // Conv, Gemm, ...; its output type is that of the inner value
	// Table holds 256 results by the bit pattern of Main's output; nil: none.
	Table []byte
	// Add is the element-wise addition behind it, nil: none. AddIn is the
	// operand that Main does not compute: the index among the inputs of the
	// node that was asked for, and Swapped says that it is Add's first.
	Add     *Node
	AddIn   int
	Swapped bool
}

// ChainOf splits a node. A node that is not fused is a chain by itself;
// fused nodes of another form are none. Inputs of Main are the first inputs of
// the node, in order, with constants of Main's own.
var ChainOf = NewFact(func(n *Node) (*Chain, string) {
	if n.Op != op.Fused {
		return &Chain{Main: n}, ""
	}
	const other = "the parts are no operator with element-wise ones behind it"
	b := n.Body[0]
	if len(b.Nodes) < 2 || len(b.Out) != 1 {
		return nil, other
	}
	c := &Chain{Main: n.Part(b.Nodes[0])}
	v := c.Main.Out[0]
	for _, m := range b.Nodes[1:] {
		switch {
		case c.Table == nil && c.Add == nil && elementwiseOf(m, v):
			t, why := TableOf.Of(n.Part(m))
			if why != "" {
				return nil, why
			}
			c.Table = t
		case m.Op == op.Add && len(m.In) == 2 && c.Add == nil:
			k := 1
			if m.In[1] == v {
				k = 0
			}
			at := slices.Index(b.In, m.In[k])
			if m.In[1-k] != v || m.In[k] == v || at < 0 {
				return nil, other
			}
			c.Add, c.AddIn, c.Swapped = n.Part(m), at, k == 0
		default:
			return nil, other
		}
		v = m.Out[0]
	}
	if b.Out[0] != v {
		return nil, other
	}
	return c, ""
})

// ResidualLayout has the other operand in the order of the output, too.
func ResidualLayout(n *Node) Layout {
	l := SpatialLayout(n)
	if c, _ := ChainOf.Of(n); c != nil && c.Add != nil {
		l.In[c.AddIn] = l.Out[0]
	}
	return l
}

// elementwiseOf reports a function of v alone, element by element.
func elementwiseOf(m *ir.Node, v *ir.Value) bool {
	if m.Op.Pattern > ir.Broadcast || !slices.Equal(m.Out[0].Type.Shape, v.Type.Shape) {
		return false
	}
	for _, x := range m.In {
		if x != nil && x != v && x.Const == nil {
			return false
		}
	}
	return slices.Contains(m.In, v)
}
