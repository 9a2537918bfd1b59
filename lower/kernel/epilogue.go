// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
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

// ConvChainRule asks for a convolution of one group that the row conv accepts,
// with element-wise operators behind it, and of those what behind wants.
func ConvChainRule(code, doc string, conv *Kernel, behind func(c *Chain) string) Rule {
	return Rule{Code: code, Doc: doc, Check: func(n *Node) string {
		c, _ := ChainOf.Of(n)
		switch {
		case c == nil || c.Main.Op != op.Conv:
			return "the parts are no convolution with element-wise operators behind it"
		case ir.AttrsOf[op.GroupAttr](c.Main).Group != 1:
			return fmt.Sprintf("%d groups, want 1", ir.AttrsOf[op.GroupAttr](c.Main).Group)
		case n.In[0].Type.Rank() != n.Out[0].Type.Rank():
			return fmt.Sprintf("the input has rank %d, the output %d, want the same", n.In[0].Type.Rank(),
				n.Out[0].Type.Rank())
		}
		for _, r := range conv.CheckLegality(c.Main) {
			return r.Text
		}
		return behind(c)
	}}
}

// MappedConvRule is ConvChainRule for a function of each result, by a table.
func MappedConvRule(code string, conv *Kernel) Rule {
	return ConvChainRule(code, "a convolution of one group and a function of one value", conv, func(c *Chain) string {
		if c.Table == nil || c.Add != nil {
			return "the parts are no convolution with a function of its result behind it"
		}
		return ""
	})
}

// ResidualRule is ConvChainRule for an addition of another tensor computed at
// run time, which the row add accepts; more says what else is in the way.
func ResidualRule(code string, conv, add *Kernel, more func(c *Chain) string) Rule {
	return ConvChainRule(code, "a convolution of one group, perhaps a function of its result, and an addition that "+
		"a kernel takes", conv, func(c *Chain) string {
		switch {
		case c.Add == nil:
			return "the last operator is no addition"
		case c.Add.In[0].Const != nil || c.Add.In[1].Const != nil:
			return "the other operand is constant, want one computed at run time"
		}
		for _, r := range add.CheckLegality(c.Add) {
			return r.Text
		}
		return more(c)
	})
}

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
