// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

// conv1d computes 1-D convolutions and pools in two dimensions, of which the
// first has size 1: [N, C, L] becomes [N, C, 1, L], weights [O, I, K] become
// [O, I, 1, K]. What stands between two such operators and works element by
// element, or along dimensions that can be renamed, follows, so that a chain
// of layers has one Reshape in front and one behind:
//
//	%c = Conv(%x, %w) {pads=[1,1]}         %x.1 = Reshape(%x, {1,2,1,9})
//	%r = Relu(%c)                          %c = Conv(%x.1, %w.1) {pads=[0,1,0,1]}
//	%d = Conv(%r, %v)                 =>   %r = Relu(%c)
//	                                       %d = Conv(%r, %v.1)
//	                                       %y = Reshape(%d, {1,4,7})
//
// QuantizeLinear and DequantizeLinear follow too, so that the pairs around a
// quantised operator stay next to it.
func conv1d(c *pass.Ctx, g *ir.Graph) {
	l := &lifter{c: c, g: g, up: map[*ir.Value]*ir.Value{}}
	c.Each(g, func(n *ir.Node) {
		if n.Op.Domain == "" && len(n.Body) == 0 && (l.windowed(n) || l.follows(n)) {
			l.lift(n)
		}
	})
}

// lifter keeps, for each value of rank 3 that has one, its form of rank 4.
type lifter struct {
	c  *pass.Ctx
	g  *ir.Graph
	up map[*ir.Value]*ir.Value
}

// windowed reports the operators for whose sake the pass exists.
func (l *lifter) windowed(n *ir.Node) bool {
	return n.Op.Window != ir.NoWindow && n.In[0].Type.Rank() == 3 && len(n.Out) == 1 && (!n.In[0].Type.Quant.PerAxis())
}

// follows reports that n can be computed on the form of rank 4, and that one
// of its inputs has such a form.
func (l *lifter) follows(n *ir.Node) bool {
	some := false
	for _, v := range n.In {
		some = some || v != nil && l.up[v] != nil
	}
	if !some || len(n.Out) != 1 || n.Out[0].Type.Rank() != 3 || n.Out[0].Type.Quant.PerAxis() {
		return false
	}
	switch {
	case is(n, "BatchNormalization", "Concat"), n.Op.Lanes, n.Op.Copies():
		return true
	case joins(n):
		return true
	case is(n, "Slice"):
		return n.ConstIn(3) != nil
	case n.Op.Pattern == ir.Elementwise:
		return n.In[0].Type.Rank() == 3
	case n.Op.Pattern == ir.Broadcast:
		return !slices.ContainsFunc(n.In, func(v *ir.Value) bool {
			return v == nil || v.Type.Rank() > 3 || v.Type.Quant.PerAxis()
		})
	}
	return false
}

// joins reports what follows an operator behind it, too: a pair stays next to its operator, and
// padding may become a part of it.
func joins(n *ir.Node) bool {
	return is(n, "QuantizeLinear", "DequantizeLinear") && ir.AttrsOf[op.ScaleAttrs](n).BlockSize == 0 ||
		is(n, "Pad") && n.Input(3) == nil
}

// lift rewrites n in place to rank 4 and puts a Reshape back to rank 3 behind
// it for readers that do not follow.
func (l *lifter) lift(n *ir.Node) {
	g := l.g
	y := n.Out[0]
	shape := y.Type.Shape
	switch {
	case is(n, "Conv", "ConvTranspose"):
		w := l.value(n.In[1], n)
		l.set(n, 0)
		g.SetInput(n, 1, w)
		l.window(n)
	case n.Op.Pattern == ir.Broadcast && !is(n, "BatchNormalization"):
		for i := range n.In {
			l.operand(n, i)
		}
	default:
		attrs, params, _ := displaced(g, n, []int{0, 1, 3}, 4)
		edit(g, n, attrs, params)
		for _, i := range n.Op.DataInputs(n) {
			l.set(n, i)
		}
		if n.Op.Window == ir.Pooled {
			l.window(n)
		}
	}
	reinfer(g, n)
	at := g.Next(n)
	// The old readers get the Reshape back; those that follow take y itself.
	low := reshape(g, at, y, shape, n.Name+"/1d")
	low.Def.Origin = nil
	low.Def.Inherit(n)
	readBehind(g, y, low)
	l.up[low] = y
	l.c.Did(n, "computed in two dimensions")
}

// window puts the entry of the new dimension in front of the attributes with
// one entry a dimension.
func (l *lifter) window(n *ir.Node) {
	front := func(name string, v int) {
		if a := n.Attrs[name].Ints; len(a) == 1 {
			n.SetAttr(name, ir.Ints(v, int(a[0])))
		}
	}
	for _, name := range []string{"kernel_shape", "strides", "dilations"} {
		front(name, 1)
	}
	if is(n, "ConvTranspose") {
		front("output_padding", 0)
		front("output_shape", 1)
		if a := ir.AttrsOf[op.ConvTransposeAttrs](n).OutputShape; len(a) == 3 { // with batch and channels
			n.SetAttr("output_shape", ir.Ints(a[0], a[1], 1, a[2]))
		}
	}
	if p := ir.AttrsOf[op.PadsAttr](n).Pads; len(p) == 2 {
		n.SetAttr("pads", ir.Ints(0, p[0], 0, p[1]))
	}
}

func (l *lifter) set(n *ir.Node, i int) { l.g.SetInput(n, i, l.value(n.In[i], n)) }

// operand lifts an operand that may have fewer dimensions than 3 and is then
// broadcast. Up to one dimension nothing has to be done.
func (l *lifter) operand(n *ir.Node, i int) {
	v := n.In[i]
	if v.Type.Rank() <= 1 {
		return
	}
	if v.Type.Rank() == 2 { // [C, L] is [C, 1, L]
		s := v.Type.Shape
		l.g.SetInput(n, i, l.reshaped(v, n, []int{s[0], 1, s[1]}))
		return
	}
	l.set(n, i)
}

// value is v of shape [A, B, L] as [A, B, 1, L], made in front of at where it
// does not exist. The shape of a dequantised, quantised or padded value is changed
// in front of what makes it.
func (l *lifter) value(v *ir.Value, at *ir.Node) *ir.Value {
	if w := l.up[v]; w != nil {
		return w
	}
	if d := v.Def; d != nil && joins(d) {
		l.lift(d)
		// v is now of rank 4; the Reshape that took its readers knows it
		for _, u := range v.Uses() {
			if w := u.Node.Out[0]; l.up[w] == v {
				return v
			}
		}
		panic(bug.Errorf("a lifted value lost its reshape"))
	}
	s := v.Type.Shape
	w := l.reshaped(v, at, []int{s[0], s[1], 1, s[2]})
	l.up[v] = w
	return w
}

func (l *lifter) reshaped(v *ir.Value, at *ir.Node, shape []int) *ir.Value {
	if v.Const != nil {
		if q := v.Type.Quant; q.PerAxis() && q.Axis != axisBelow(v.Type.Shape, shape, q.Axis) {
			panic(bug.Errorf("per-axis constant %s cannot be reshaped", v))
		}
		return constLike(l.g, v, v.Const.Reshaped(shape))
	}
	if v.Def != nil {
		at = l.g.Next(v.Def) // where every later reader may use it
	} else if len(l.g.Nodes) > 0 {
		at = l.g.Nodes[0]
	}
	w := reshape(l.g, at, v, shape, v.Name+"/2d")
	w.Def.Origin = nil
	if v.Def != nil {
		w.Def.Inherit(v.Def)
	}
	return w
}
