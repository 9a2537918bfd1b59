// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"errors"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// Folding may make a constant of this many elements out of nothing; beyond
// that it must not be more than twice the operands, since constants live in
// flash where a loop might have been cheaper.
const freeElems = 1 << 16

// foldWork bounds the work of folding one node, in the units of ir.Work.
const foldWork = 1 << 28

// constFold evaluates nodes whose inputs are all constant or without elements,
// nodes whose results have no elements, Shape and Size of values with known
// types (all of them), and moves Transpose, Reshape and the
// like through DequantizeLinear of a constant, so that the integers lie as
// they will be used. QuantizeLinear and DequantizeLinear themselves stay: they
// say how a tensor is stored.
//
//	%s = Shape(%x)              const %y = {2,36}
//	%n = Gather(%s, 0)          %r = Reshape(%x, %y)
//	%u = Unsqueeze(%n)    =>
//	%t = Concat(%u, -1)
//	%r = Reshape(%x, %t)
func constFold(c *pass.Ctx, g *ir.Graph) {
	c.Each(g, func(n *ir.Node) {
		for _, b := range n.Body {
			constFold(c, b)
		}
		if throughDequantize(c, g, n) {
			return
		}
		var in []*tensor.Dense
		switch {
		case is(n, "Shape", "Size"):
			// no data: only the shape is read
			in = []*tensor.Dense{{DType: n.In[0].Type.DType, Shape: n.In[0].Type.Shape}}
		case foldable(g, n):
			for _, v := range n.In {
				in = append(in, known(v))
			}
		case vacuous(n):
		default:
			return
		}
		out, err := evaluate(n, in)
		if d := (*ir.Diag)(nil); err != nil && !errors.As(err, &d) {
			panic(err.Error())
		}
		fail.Check(err)
		for i, v := range n.Out {
			if len(v.Uses()) == 0 && !g.IsOutput(v) {
				continue
			}
			w := g.AddConst(v.Name, out[i])
			if g.IsOutput(v) {
				w = insert(g, n, op.Identity, n.Name, nil, w)
			}
			g.ReplaceUses(v, w)
		}
		c.Did(n, "evaluated %s", n)
		g.Remove(n)
	})
}

// evaluate gives the results of a node; those of a vacuous one are not computed.
func evaluate(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
	if !vacuous(n) {
		return ir.EvalNode(n, in)
	}
	out := lists.Map(n.Out, func(v *ir.Value) *tensor.Dense { return tensor.New(v.Type.DType, v.Type.Shape) })
	return out, nil
}

// vacuous says that no result of the node has elements, whatever its inputs are.
func vacuous(n *ir.Node) bool {
	return !stays(n) && !is(n, "Identity") &&
		!slices.ContainsFunc(n.Out, func(v *ir.Value) bool { return v.Type.Elems() > 0 })
}

// stays says that the node is none to evaluate: what differs from run to run, what
// has been made integer, and what says how a tensor is stored.
func stays(n *ir.Node) bool {
	return n.Op.Impure || n.Quantised() || is(n, "QuantizeLinear", "DequantizeLinear")
}

// known is a constant's data, and that of any value without elements; else nil.
func known(v *ir.Value) *tensor.Dense {
	switch {
	case v == nil:
		return nil
	case v.Const == nil && v.Type.Elems() == 0:
		return tensor.New(v.Type.DType, v.Type.Shape)
	}
	return v.Const
}

func foldable(g *ir.Graph, n *ir.Node) bool {
	if stays(n) || n.Op.Eval == nil || len(n.Body) > 0 {
		return false
	}
	if is(n, "Identity") && g.IsOutput(n.Out[0]) {
		return false // a constant graph output needs a copy
	}
	have, want := 0, 0
	for _, v := range n.In {
		if v == nil {
			continue
		}
		if known(v) == nil {
			return false
		}
		have += v.Type.Elems()
	}
	for _, v := range n.Out {
		want += v.Type.Elems()
	}
	if ir.Work(n) > foldWork {
		return false
	}
	return want <= max(freeElems, 2*have)
}

// throughDequantize moves data movement from behind DequantizeLinear of a
// constant to the constant:
//
//	%f = DequantizeLinear(%q, %s, %z) {axis=0}    const %t = transposed %q
//	%w = Transpose(%f) {perm=[1,0]}            => %w = DequantizeLinear(%t, %s, %z) {axis=1}
func throughDequantize(c *pass.Ctx, g *ir.Graph, n *ir.Node) bool {
	if !is(n, "Transpose") && !isReshape(n) {
		return false
	}
	dq := n.In[0].Def
	if !is(dq, "DequantizeLinear") || dq.In[0].Const == nil || ir.AttrsOf[op.ScaleAttrs](dq).BlockSize != 0 {
		return false
	}
	q, axis := dq.In[0], 0
	per := dq.In[1].Type.Elems() > 1
	if per {
		axis = op.AxisOf(dq, q.Type.Rank())
	}
	var d *tensor.Dense
	if is(n, "Transpose") {
		p := perm(n)
		d = q.Const.Transpose(p)
		for i, from := range p {
			if per && from == axis {
				axis = i
				break
			}
		}
	} else {
		d = q.Const.Reshaped(n.Out[0].Type.Shape)
		if per {
			if axis = axisBelow(q.Type.Shape, d.Shape, axis); axis < 0 {
				return false
			}
		}
	}
	attrs := dq.Attrs.Clone()
	if per {
		attrs["axis"] = ir.Int(axis)
	}
	in := append([]*ir.Value{constLike(g, q, d)}, dq.In[1:]...)
	v := insert(g, n, op.DequantizeLinear, n.Name, attrs, in...)
	v.Def.Inherit(dq)
	c.Replace(g, n, v, "moved %s to the constant %s", n, q)
	return true
}

// axisBelow follows dimension axis of shape from through a reshape to shape
// to: the dimension with as many elements outside and as many inside, or -1.
func axisBelow(from, to []int, axis int) int {
	outer := tensor.Count(from[:axis])
	for i, d := range to {
		if d == from[axis] && tensor.Count(to[:i]) == outer && tensor.Count(to[i+1:]) == tensor.Count(from[axis+1:]) {
			return i
		}
	}
	return -1
}
