// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"crypto/sha256"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// cleanup removes what computes nothing: Identity, Dropout, casts to the same
// type, reshapes to the same shape, transpositions that keep the order, empty
// pads, whole slices, pools of single elements, Concat, Split and Sum of one,
// parts of Concat without elements, factors 1 and addends 0, Expand in front of
// broadcasting; it merges Reshape of Reshape and Transpose of Transpose, makes
// constants with the same content one, and removes nodes that reach no output.
//
//	%a = Transpose(%x) {perm=[0,2,3,1]}
//	%b = Identity(%a)                       =>  %d = Relu(%x)
//	%c = Transpose(%b) {perm=[0,3,1,2]}
//	%d = Relu(%c)
func cleanup(c *pass.Ctx, g *ir.Graph) {
	for made := -1; made != c.Made(); {
		made = c.Made()
		c.Each(g, func(n *ir.Node) {
			for _, b := range n.Body {
				cleanup(c, b)
			}
			cleanNode(c, g, n)
		})
		if k := g.RemoveDead(); k > 0 {
			c.Did(nil, "removed %d nodes that reach no output", k)
		}
	}
	shareConstants(g)
}

func cleanNode(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if v := sameAs(n); v != nil && v.Type.DType == n.Out[0].Type.DType &&
		slices.Equal(v.Type.Shape, n.Out[0].Type.Shape) && v.Type.Quant.Equal(n.Out[0].Type.Quant) {
		what := n.String()
		if elide(g, n, v) {
			c.Did(v.Def, "removed %s", what)
		}
		return
	}
	if n.Op.Pattern == ir.Broadcast && !is(n, "BatchNormalization", "PRelu") { // whose input 0 is whole
		unexpand(c, g, n)
	}
	if len(n.In) == 0 || n.In[0] == nil {
		return
	}
	switch d := n.In[0].Def; {
	case is(n, "Concat") && n.Out[0].Type.Elems() > 0 && slices.ContainsFunc(n.In, empty):
		parts := slices.DeleteFunc(slices.Clone(n.In), empty)
		v := insert(g, n, op.Concat, n.Name, n.Attrs.Clone(), parts...)
		c.Replace(g, n, v, "parts without elements are not joined")
	case is(n, "Transpose") && is(d, "Transpose"):
		mergeTransposes(c, g, n, d)
	case is(n, "Transpose") && !op.Reorders(n.In[0].Type.Shape, perm(n)) && !n.In[0].Type.Quant.PerAxis():
		c.Replace(g, n, reshape(g, n, n.In[0], n.Out[0].Type.Shape, n.Name),
			"transposition of dimensions of size 1 is a reshape")
	case isReshape(n) && isReshape(d) && !n.In[0].Type.Quant.PerAxis():
		v := reshape(g, n, d.In[0], n.Out[0].Type.Shape, n.Name)
		v.Def.Inherit(d)
		c.Replace(g, n, v, "merged two reshapes")
	}
}

func empty(v *ir.Value) bool { return v.Type.Elems() == 0 }

// unexpand lets an operator with broadcasting read what an Expand, or a Tile of
// dimensions of size 1, repeats, where its result keeps its shape.
func unexpand(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	for i, v := range n.In {
		if v == nil || !is(v.Def, "Expand", "Tile") || v.Type.Quant.PerAxis() {
			continue
		}
		x, shapes := v.Def.In[0], [][]int(nil)
		for j, o := range n.In {
			if o == nil {
				continue
			}
			if j == i {
				o = x
			}
			shapes = append(shapes, o.Type.Shape)
		}
		if !stretches(x.Type.Shape, v.Type.Shape) {
			continue
		}
		if s, err := op.Broadcast(n, shapes...); err != nil || !slices.Equal(s, n.Out[0].Type.Shape) {
			continue
		}
		c.Did(n, "reads what %s repeats", v.Def)
		g.SetInput(n, i, x)
	}
}

// stretches reports that only dimensions of size 1 of one shape are others in to.
func stretches(from, to []int) bool {
	if len(from) > len(to) {
		return false
	}
	to = to[len(to)-len(from):]
	for i, d := range from {
		if d != 1 && d != to[i] {
			return false
		}
	}
	return true
}

func mergeTransposes(c *pass.Ctx, g *ir.Graph, n, d *ir.Node) {
	p, q := perm(n), perm(d)
	r := lists.Make(len(p), func(i int) int { return q[p[i]] })
	n.SetAttr("perm", ir.Ints(r...))
	n.Inherit(d)
	g.SetInput(n, 0, d.In[0])
	c.Did(n, "merged two transpositions")
}

// sameAs is the input to which output 0 of n is equal element by element, or
// nil; the caller compares the types.
func sameAs(n *ir.Node) *ir.Value {
	if len(n.In) == 0 || n.In[0] == nil || n.Op.Domain != "" || op.HasAct(n) {
		return nil
	}
	x := n.In[0]
	whole := slices.Equal(x.Type.Shape, n.Out[0].Type.Shape)
	switch {
	case isReshape(n), n.Op.Copies(), is(n, "Cast", "CastLike"):
		return x
	case n.Op.MaxIn < 0 && n.Op.Pattern <= ir.Injective && len(n.In) == 1: // of any number of operands
		return x
	case n.Op.Neutral != nil && isFull(n.In[1], *n.Op.Neutral):
		return x
	case n.Op.Neutral != nil && n.Op.Commutes && isFull(x, *n.Op.Neutral):
		return n.In[1]
	}
	if f := idle[n.Op.Name]; f != nil && whole && f(n) {
		return x
	}
	return nil
}

// idle says of operators whose result has the shape of input 0 when it is that input.
var idle = map[string]func(n *ir.Node) bool{
	"Expand":    func(*ir.Node) bool { return true },
	"Tile":      func(*ir.Node) bool { return true },
	"Transpose": func(n *ir.Node) bool { return !op.Reorders(n.In[0].Type.Shape, perm(n)) },
	"Split":     func(*ir.Node) bool { return true }, // other parts have no elements
	"Pad": func(n *ir.Node) bool {
		g, err := op.PadGeometry(n)
		return err == nil && allZero(g.Begin) && allZero(g.End)
	},
	"MaxPool": idlePool, "AveragePool": idlePool,
	"Slice": func(n *ir.Node) bool {
		g, err := op.SliceGeometry(n)
		return err == nil && allZero(g.Start) && slices.Min(append(g.Step, 1)) == 1
	},
}

func idlePool(n *ir.Node) bool {
	g := bug.Must(op.PoolGeometry(n))
	return len(n.Out) == 1 && g.Taps() == 1 && !g.Padded()
}

func allZero(s []int) bool {
	return !slices.ContainsFunc(s, func(v int) bool { return v != 0 })
}

// isFull reports a constant, not quantised, of which every element is x.
func isFull(v *ir.Value, x float64) bool {
	if v == nil || v.Const == nil || v.Type.Quant != nil || v.Const.Len() == 0 {
		return false
	}
	for i, k := 0, v.Const.Len(); i < k; i++ {
		if v.Const.Float(i) != x {
			return false
		}
	}
	return true
}

// shareConstants makes constants of the same type and content one value.
func shareConstants(g *ir.Graph) {
	type key struct {
		typ string
		sum [32]byte
	}
	first := map[key]*ir.Value{}
	seen := map[*ir.Value]*ir.Value{}
	for _, n := range g.Nodes {
		for i, v := range n.In {
			if v == nil || v.Const == nil {
				continue
			}
			w, known := seen[v]
			if !known {
				k := key{v.Type.String(), sha256.Sum256(v.Const.Bytes())}
				if w = first[k]; w == nil {
					w = v
					first[k] = v
				} else if !tensor.Equal(w.Const, v.Const) {
					w = v
				}
				seen[v] = w
			}
			if w != v {
				g.SetInput(n, i, w)
			}
		}
	}
}
