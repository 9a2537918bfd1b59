// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
)

// ifElse takes a branch of an If, or both, see build.Node.If.
func (c *nodeImport) ifElse() []*ir.Value {
	c.Want(len(c.In) == 1 && c.In[0] != nil, "arity", "has no condition")
	branch := func(attr string) build.Branch {
		g := c.subgraph(attr)
		return func(prefix string, names []string) []*ir.Value {
			if c.In[0].Const == nil {
				return c.branch(g, prefix)
			}
			return c.inline(g, prefix, nil, names)
		}
	}
	return c.If(c.In[0], branch("then_branch"), branch("else_branch"))
}

// branch imports a branch of an If whose condition is computed at run time. What is wrong
// in it need not be in the way of who knows the condition: they are told how to give it.
func (c *nodeImport) branch(g *pb.GraphProto, prefix string) []*ir.Value {
	before := len(c.im.errs)
	out, err := c.Run(func(*build.Node) []*ir.Value { return c.inline(g, prefix, nil, nil) })
	for i, e := range c.im.errs[before:] {
		if d := new(ir.Diag); errors.As(e, &d) && d.Hint == "" {
			h := *d
			h.Hint = fmt.Sprintf("the condition of If %s decides whether this is computed; %s", model.Quote(c.Name),
				build.BindHint(c.In[0]))
			c.im.errs[before+i] = &h
		}
	}
	c.Fail(err)
	return out
}
