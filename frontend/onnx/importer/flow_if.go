// SPDX-License-Identifier: Apache-2.0

package importer

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// ifElse takes the branch of an If whose condition is known at compile time.
// Otherwise both branches are computed, and the condition selects among their
// results: nothing that nncc compiles has side effects.
func (c *nodeImport) ifElse() []*ir.Value {
	c.Want(len(c.In) == 1 && c.In[0] != nil, "arity", "has no condition")
	then, other, cond := c.subgraph("then_branch"), c.subgraph("else_branch"), c.In[0]
	c.Want(cond.Type.Elems() == 1, "shape", "the condition %s has shape %v, want one element",
		model.Quote(c.InNames[0]), cond.Type.Shape)
	if d := cond.Const; d != nil {
		if d.Int(0) != 0 {
			return c.inline(then, c.Name+"/", nil, c.Out)
		}
		return c.inline(other, c.Name+"/", nil, c.Out)
	}
	a, b := c.branch(then, "then", cond), c.branch(other, "else", cond)
	c.Want(len(a) == len(b) && len(a) >= len(c.Out), "arity", "the branches have %d and %d outputs, the node %d",
		len(a), len(b), len(c.Out))
	if cond.Type.Rank() > 0 {
		cond = c.Sub("Reshape", ".condition", nil, cond, c.Constant(".scalar", tensor.Ints()))
	}
	c.im.selected = append(c.im.selected, c.Name)
	out := make([]*ir.Value, len(c.Out))
	for i, name := range c.Out {
		if name == "" {
			continue
		}
		c.Want(a[i].Type.Equal(b[i].Type), "flow-types", "output %d is %s in one branch and %s in the other, and the "+
			"condition of this If is computed at run time; want the same type and shape", i, a[i].Type, b[i].Type)
		out[i] = c.Add(op.Get("", "Where"), name, []string{name}, nil, cond, a[i], b[i])[0]
	}
	return out
}

// branch imports a branch of an If whose condition is computed at run time. What is wrong
// in it need not be in the way of who knows the condition: they are told how to give it.
func (c *nodeImport) branch(g *pb.GraphProto, name string, cond *ir.Value) []*ir.Value {
	before := len(c.im.errs)
	out, err := c.Run(func(*build.Node) []*ir.Value { return c.inline(g, c.Name+"/"+name+"/", nil, nil) })
	for i, e := range c.im.errs[before:] {
		if d := new(ir.Diag); errors.As(e, &d) && d.Hint == "" {
			h := *d
			h.Hint = fmt.Sprintf("the condition of If %s decides whether this is computed; %s", model.Quote(c.Name),
				build.BindHint(cond))
			c.im.errs[before+i] = &h
		}
	}
	c.Fail(err)
	return out
}

// noteSelected says once which conditions are computed at run time: nested
// ones may be thousands.
func (im *importer) noteSelected() {
	const shown = 3
	var names []string
	for _, n := range im.selected[:min(shown, len(im.selected))] {
		names = append(names, model.Quote(n))
	}
	if more := len(im.selected) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		im.Note(diag.Warnf("flow", "", "If %s: the condition is computed at run time; both branches are computed "+
			"and the result is "+
			"selected", strings.Join(names, ", ")))
	}
}
