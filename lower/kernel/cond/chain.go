// SPDX-License-Identifier: Apache-2.0

package cond

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kernel"
)

// convChain asks for a convolution of one group that the row conv accepts,
// with element-wise operators behind it, and of those what behind wants.
func convChain(code, doc string, conv *kernel.Kernel, behind func(c *kernel.Chain) string) kernel.Rule {
	return New(code, doc, func(n *kernel.Node) string {
		c, _ := kernel.ChainOf.Of(n)
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
	})
}

// Mapped is convChain for a function of each result, by a table.
func Mapped(conv *kernel.Kernel) kernel.Rule {
	const doc = "a convolution of one group and a function of one value"
	return convChain("MAPPED", doc, conv, func(c *kernel.Chain) string {
		if c.Table == nil || c.Add != nil {
			return "the parts are no convolution with a function of its result behind it"
		}
		return ""
	})
}

// Residual is convChain for an addition of another tensor computed at
// run time, which the row add accepts; more says what else is in the way.
func Residual(conv, add *kernel.Kernel, more func(c *kernel.Chain) string) kernel.Rule {
	return convChain("RESIDUAL", "a convolution of one group, perhaps a function of its result, and an addition that "+
		"a kernel takes", conv, func(c *kernel.Chain) string {
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
