// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"maps"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

// transposes cancels and merges transpositions. Each is pushed towards the
// outputs through operators that do not mind the order of dimensions
// (element-wise and broadcast ones, Concat, Split, Slice, Pad, Softmax,
// reductions; axes are renamed, constant operands transposed) until it meets
// another one:
//
//	%a = Transpose(%x) {perm=[0,2,3,1]}
//	%m = ReduceMean(%a, {1,2}) {keepdims=0}     =>    %m = ReduceMean(%x, {2,3}) {keepdims=0}
//
// The result is kept only if fewer elements are moved than before, or as many
// by fewer transpositions: where nothing cancels, each stays at its place. What
// is left is a matter of memory order, which the layout pass chooses; there a
// transposition may turn out to be a view.
func transposes(c *pass.Ctx, g *ir.Graph) {
	if len(transposeNodes(g)) == 0 {
		return
	}
	try := g.Clone()
	var made pass.Ctx
	made.Each(try, func(n *ir.Node) {
		if is(n, "Transpose") {
			dropTranspose(&made, try, n)
		} else {
			sink(&made, try, n)
		}
	})
	for k := -1; k != made.Made(); {
		k = made.Made()
		for _, n := range transposeNodes(try) {
			dropTranspose(&made, try, n)
		}
		try.RemoveDead()
	}
	moved, count := transposeCost(g)
	newMoved, newCount := transposeCost(try)
	if newMoved < moved || newMoved == moved && newCount < count {
		*g = *try
		c.Did(nil, "%d transpositions of %d elements, were %d of %d", newCount, newMoved, count, moved)
	}
}

func transposeNodes(g *ir.Graph) []*ir.Node {
	return lists.Filter(g.Nodes, func(n *ir.Node) bool { return is(n, "Transpose") })
}

func transposeCost(g *ir.Graph) (elems, count int) {
	for _, n := range transposeNodes(g) {
		count++
		if op.Reorders(n.In[0].Type.Shape, perm(n)) {
			elems += n.Out[0].Type.Elems()
		}
	}
	return elems, count
}

// dropTranspose merges n with a transposition that it reads, and removes it
// when it keeps the order.
func dropTranspose(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	for is(n.In[0].Def, "Transpose") {
		mergeTransposes(c, g, n, n.In[0].Def)
	}
	if v := sameAs(n); v != nil && v.Type.Quant.Equal(n.Out[0].Type.Quant) && elide(g, n, v) {
		c.Did(v.Def, "removed a transposition")
	}
}

// transposedBy is the permutation of v's Transpose, nil when it has none.
func transposedBy(v *ir.Value) []int {
	if v == nil || !is(v.Def, "Transpose") {
		return nil
	}
	return perm(v.Def)
}

// sink makes n read the inputs of the transpositions in front of it and puts
// one behind it, if n allows that.
func sink(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if n.Op.Domain != "" || len(n.Body) > 0 || n.Quantised() {
		return
	}
	var p []int
	for _, v := range n.In {
		if p = transposedBy(v); p != nil {
			break
		}
	}
	m := &mover{g: g, n: n, p: p, out: p, attrs: n.Attrs.Clone(), in: map[int]*ir.Value{}}
	if p == nil || !m.passes() {
		return
	}
	edit(g, n, m.attrs, m.in)
	reinfer(g, n)
	at := g.Next(n)
	for _, y := range n.Out {
		t := transpose(g, at, y, m.out, n.Name+"/transposed")
		t.Def.Origin = n.Origin
		t.Hold(y.Holds...) // which has another order of elements now
		y.Holds = nil
		readBehind(g, y, t)
	}
	c.Did(n, "moved a transposition behind it")
}

// mover is a node with a transposition by p in front of it, and what the node
// becomes without: attributes, inputs, and the permutation behind it.
type mover struct {
	g      *ir.Graph
	n      *ir.Node
	p, out []int
	attrs  ir.Attrs
	in     map[int]*ir.Value
}

// passes finds the new form; false where the node has none.
func (m *mover) passes() bool {
	n := m.n
	switch {
	case is(n, "QuantizeLinear", "DequantizeLinear") && n.In[1].Type.Elems() > 1, is(n, "BatchNormalization"):
		return false
	case n.Op.Pattern == ir.Elementwise:
		return m.source(0)
	case n.Op.Pattern == ir.Broadcast:
		for i, v := range n.In {
			if v == nil || !m.source(i) && !m.constant(i) {
				return false
			}
		}
		return true
	case reduces(n):
		axes, err := op.ReduceAxes(n)
		if err == nil && ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0 {
			m.out = dropAxes(m.p, axes)
		}
	}
	for _, i := range n.Op.DataInputs(n) {
		if !m.source(i) {
			return false
		}
	}
	attrs, params, ok := displaced(m.g, n, m.p, len(m.p))
	m.attrs = attrs
	maps.Copy(m.in, params)
	return ok
}

// source lets input i be what its transposition by p reads.
func (m *mover) source(i int) bool {
	v := m.n.Input(i)
	if !slices.Equal(transposedBy(v), m.p) {
		return false
	}
	m.in[i] = v.Def.In[0]
	return true
}

// constant transposes a constant operand backwards, so that the transposition
// by p behind the operator restores it.
func (m *mover) constant(i int) bool {
	v, p := m.n.In[i], m.p
	if v.Const == nil || v.Type.Rank() > len(p) {
		return false
	}
	if v.Const.Len() == 1 && v.Type.Rank() <= 1 {
		return true
	}
	shape := append(slices.Repeat([]int{1}, len(p)-v.Type.Rank()), v.Type.Shape...)
	inv := make([]int, len(p))
	for k, from := range p {
		inv[from] = k
	}
	m.in[i] = constLike(m.g, v, v.Const.Reshaped(shape).Transpose(inv))
	return true
}

// dropAxes is the permutation that p leaves on the dimensions that remain when
// the axes of its output are removed.
func dropAxes(p, axes []int) []int {
	var kept []int
	for i, from := range p {
		if !slices.Contains(axes, i) {
			kept = append(kept, from)
		}
	}
	sorted := slices.Clone(kept)
	slices.Sort(sorted)
	return lists.Each(kept, func(from int) int { return slices.Index(sorted, from) })
}
