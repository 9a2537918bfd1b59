// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
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
func transposes(c *pass.Ctx, g *ir.Graph) error {
	if len(transposeNodes(g)) == 0 {
		return nil
	}
	try := g.Clone()
	var made pass.Ctx
	err := made.Each(try, func(n *ir.Node) error {
		if is(n, "Transpose") {
			dropTranspose(&made, try, n)
		} else {
			sink(&made, try, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for k := -1; k != made.Made(); {
		k = made.Made()
		for _, n := range transposeNodes(try) {
			dropTranspose(&made, try, n)
		}
		try.RemoveDead()
	}
	moved, count := transposeCost(g)
	newMoved, newCount := transposeCost(try)
	if newMoved > moved || newMoved == moved && newCount >= count {
		return nil
	}
	*g = *try
	c.Did(nil, "%d transpositions of %d elements, were %d of %d", newCount, newMoved, count, moved)
	return nil
}

func transposeNodes(g *ir.Graph) []*ir.Node {
	var out []*ir.Node
	for _, n := range g.Nodes {
		if is(n, "Transpose") {
			out = append(out, n)
		}
	}
	return out
}

func transposeCost(g *ir.Graph) (elems, count int) {
	for _, n := range transposeNodes(g) {
		count++
		if moves(n.In[0].Type.Shape, perm(n)) {
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
	if p == nil {
		return
	}
	edits := map[int]*ir.Value{} // new inputs
	attrs := n.Attrs.Clone()
	source := func(i int) bool {
		if !slices.Equal(transposedBy(n.In[i]), p) {
			return false
		}
		edits[i] = n.In[i].Def.In[0]
		return true
	}
	out := p // permutation behind n
	rename := func(v *ir.Value, k int) {
		var r []int
		for _, a := range v.Const.Int64s() {
			if a < 0 {
				a += int64(len(p))
			}
			r = append(r, p[a])
		}
		edits[k] = ints1(g, v.Name, r)
	}
	switch {
	case is(n, "QuantizeLinear", "DequantizeLinear") && n.In[1].Type.Elems() > 1, is(n, "BatchNormalization"):
		return
	case n.Op.Pattern == ir.Elementwise:
		if !source(0) {
			return
		}
	case n.Op.Pattern == ir.Broadcast:
		for i, v := range n.In {
			if v == nil || !source(i) && !broadcastConst(g, v, p, edits, i) {
				return
			}
		}
	case is(n, "Concat", "Split"), n.Op.Lanes:
		for i := range n.In {
			if (i == 0 || is(n, "Concat")) && !source(i) {
				return
			}
		}
		axis := ir.AttrsOf[op.AxisAttr](n).Axis
		if axis < 0 {
			axis += len(p)
		}
		attrs["axis"] = ir.Int(p[axis])
	case n.Op.Pattern == ir.Reduce && len(n.Op.Attrs) > 0 && n.Op.Attrs[0].Name == "keepdims":
		axes, err := op.ReduceAxes(n)
		if err != nil || !source(0) {
			return
		}
		if len(axes) > 0 {
			var from []int
			for _, a := range axes {
				from = append(from, p[a])
			}
			edits[1] = ints1(g, n.Name+"/axes", from)
		}
		if ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0 {
			out = dropAxes(p, axes)
		}
	case is(n, "Pad"):
		pg, err := op.PadGeometry(n)
		if err != nil || !source(0) {
			return
		}
		pads := make([]int, 2*len(p))
		for i, from := range p {
			pads[from], pads[len(p)+from] = pg.Begin[i], pg.End[i]
		}
		edits[1], edits[3] = ints1(g, n.In[1].Name, pads), nil
	case is(n, "Slice"):
		if !source(0) {
			return
		}
		axes := n.Input(3)
		if axes == nil {
			axes = ints1(g, n.Name+"/axes", ir.Identity(n.In[1].Type.Elems()))
		}
		if axes.Const == nil {
			return
		}
		rename(axes, 3)
	default:
		return
	}
	n.SetAttrs(attrs)
	for i := range 5 {
		if v, ok := edits[i]; ok && (v != nil || i < len(n.In)) {
			g.SetInput(n, i, v)
		}
	}
	for i := 5; i < len(n.In); i++ {
		if v := edits[i]; v != nil {
			g.SetInput(n, i, v)
		}
	}
	reinfer(g, n)
	at := g.Next(n)
	for _, y := range n.Out {
		t := transpose(g, at, y, out, n.Name+"/transposed")
		t.Def.Origin = n.Origin
		t.Hold(y.Holds...) // which has another order of elements now
		y.Holds = nil
		for _, u := range append([]ir.Use(nil), y.Uses()...) {
			if u.Node != t.Def {
				g.SetInput(u.Node, u.Index, t)
			}
		}
		g.ReplaceOutput(y, t)
	}
	c.Did(n, "moved a transposition behind it")
}

// broadcastConst transposes a constant operand backwards, so that the
// transposition by p behind the operator restores it.
func broadcastConst(g *ir.Graph, v *ir.Value, p []int, edits map[int]*ir.Value, i int) bool {
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
	edits[i] = constLike(g, v, v.Const.Reshaped(shape).Transpose(inv))
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
	out := make([]int, len(kept))
	for i, from := range kept {
		out[i] = slices.Index(sorted, from)
	}
	return out
}
