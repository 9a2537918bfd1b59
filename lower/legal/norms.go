// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// layerNorm matches (x-m)/sqrt(variance+eps) or x/sqrt(mean(x^2)+eps) at n, takes
// in a scale and a bias behind it, and writes LayerNormalization or
// RMSNormalization, which it gives with the node that it replaces.
func layerNorm(c *pass.Ctx, g *ir.Graph, n *ir.Node) (m, root *ir.Node) {
	over, square := overRoot(n)
	if square == nil {
		return nil, nil
	}
	variance, eps, isSum := plus(square)
	if !isSum || eps <= 0 || !is(variance.Def, "ReduceMean") {
		return nil, nil
	}
	sq := variance.Def.In[0]
	axes, ok := meanOver(variance.Def, sq)
	t := factors(g, sq, over)
	if !ok || t.k != 1 || len(t.v) != 2 {
		return nil, nil
	}
	f := normForm{root: n, x: over, axes: axes, eps: float32(eps)}
	if d := over.Def; is(d, "Sub") && !op.HasAct(d) && sameDeviation(t.v[0], d) && sameDeviation(t.v[1], d) {
		if a, ok := meanOver(d.In[1].Def, d.In[0]); ok && slices.Equal(a, axes) {
			f.x, f.centred = d.In[0], true
		}
	}
	if !f.centred && (t.v[0] != over || t.v[1] != over) || !slices.Equal(n.Out[0].Type.Shape, f.x.Type.Shape) {
		return nil, nil
	}
	switch {
	case slices.Equal(axes, ir.Identity(f.x.Type.Rank())[axes[0]:]):
		if m, root = f.perChannel(c, g); m == nil {
			m, root = f.trailing(c, g)
		}
	case slices.Equal(axes, []int{1}):
		m, root = f.overChannels(c, g)
	}
	return m, root
}

// overRoot reads n as over / sqrt(square); nil where it is none.
func overRoot(n *ir.Node) (over, square *ir.Value) {
	over, s := n.In[0], n.In[1].Def
	if is(n, "Div") && is(s, "Sqrt") {
		return over, s.In[0]
	}
	if !is(n, "Mul") {
		return nil, nil
	}
	if is(over.Def, "Reciprocal", "Pow") {
		over, s = n.In[1], over.Def
	}
	if is(s, "Reciprocal") && is(s.In[0].Def, "Sqrt") {
		return over, s.In[0].Def.In[0]
	}
	if k, ok := scalarConst(inOf(s, 1)); is(s, "Pow") && ok && k == -0.5 {
		return over, s.In[0]
	}
	return nil, nil
}

// normForm is (x-m)/sqrt(mean((x-m)^2)+eps) at root, m being the mean of x over
// axes, or 0 where it is not centred.
type normForm struct {
	root    *ir.Node
	x       *ir.Value
	axes    []int
	eps     float32
	centred bool
}

// trailing is the form over the last dimensions, with a scale and a bias for each
// of their elements.
func (f *normForm) trailing(c *pass.Ctx, g *ir.Graph) (m, root *ir.Node) {
	dims, def := f.x.Type.Shape[f.axes[0]:], op.RMSNormalization
	if f.centred {
		def = op.LayerNormalization
	}
	last := f.root
	scale := numbers(g, last.Out[0], last.Name+"/ones", full(tensor.Count(dims), 1), dims...)
	if m := g.SoleUse(last.Out[0]); is(m, "Mul") && !op.HasAct(m) {
		if k := normParam(g, m, last.Out[0], dims); k != nil {
			scale, last = k, m
		}
	}
	in := []*ir.Value{f.x, scale}
	if m := g.SoleUse(last.Out[0]); f.centred && is(m, "Add") && !op.HasAct(m) {
		if k := normParam(g, m, last.Out[0], dims); k != nil {
			in, last = append(in, k), m
		}
	}
	y := insert(g, last, def, last.Name, ir.Attrs{"axis": ir.Int(f.axes[0] - f.x.Type.Rank()),
		"epsilon": ir.Float(f.eps)}, in...)
	y.Def.Inherit(f.root)
	swap(c, g, last, y, "is "+def.Name)
	return y.Def, last
}

// perChannel is the form over a sample, or over a channel of one, with factors and
// summands per channel behind it: GroupNormalization of one group, or
// InstanceNormalization.
func (f *normForm) perChannel(c *pass.Ctx, g *ir.Graph) (m, root *ir.Node) {
	if !f.centred || f.axes[0] < 1 || f.axes[0] > 2 || f.x.Type.Rank() < 3 {
		return nil, nil
	}
	last, mul, add := affineBehind(g, f.root, true)
	if allEqual(mul) && allEqual(add) {
		return nil, nil
	}
	groups := 1
	if f.axes[0] == 2 {
		groups = f.x.Type.Shape[1]
	}
	return writeGroupNorm(c, g, last, f.x, groups, f.eps, mul, add), last
}

// overChannels is the form over dimension 1 of a feature map: the last one of the
// transposed map, which is the map itself where channels are last in memory.
func (f *normForm) overChannels(c *pass.Ctx, g *ir.Graph) (m, root *ir.Node) {
	rank := f.x.Type.Rank()
	if rank < 3 {
		return nil, nil
	}
	last, mul, add := affineBehind(g, f.root, f.centred)
	front, back := ir.Identity(rank), ir.Identity(rank)
	copy(front[1:], ir.Identity(rank)[2:])
	front[rank-1] = 1
	copy(back[2:], ir.Identity(rank)[1:])
	back[1] = rank - 1
	x := transpose(g, last, f.x, front, last.Name+"/front")
	def, in := op.RMSNormalization, []*ir.Value{x, numbers(g, x, last.Name+"/scale", mul, len(mul))}
	if f.centred {
		def, in = op.LayerNormalization, append(in, numbers(g, x, last.Name+"/bias", add, len(add)))
	}
	y := insert(g, last, def, last.Name, ir.Attrs{"axis": ir.Int(-1), "epsilon": ir.Float(f.eps)}, in...)
	y.Def.Inherit(f.root)
	swap(c, g, last, transpose(g, last, y, back, last.Name+"/back"), "is "+def.Name+" over channels")
	return y.Def, last
}

// affineBehind are the factor and the summand per channel that nodes behind n make
// of its result together, where nothing else reads it; last is the last of them, n
// where there is none. Without shift there are factors only.
func affineBehind(g *ir.Graph, n *ir.Node, shift bool) (last *ir.Node, mul, add []float64) {
	channels := n.Out[0].Type.Shape[1]
	last, mul, add = n, full(channels, 1), make([]float64, channels)
	for {
		m := g.SoleUse(last.Out[0])
		if m == nil || len(m.Out) != 1 || !isAffine(m) || !sameDims(m.Out[0], n.Out[0]) {
			return last, mul, add
		}
		a := affineOf(m, 1)
		if a == nil || a.x != last.Out[0] || a.shifts() && !shift {
			return last, mul, add
		}
		for i := range mul {
			mul[i] *= a.mul[i]
			add[i] = float64(add[i]*a.mul[i]) + a.add[i]
		}
		last = m
	}
}

// groupNorm writes a normalisation of x in another shape, a group of channels in
// each row, with factors and summands per channel behind it:
//
//	%r = Reshape(%x)                        [N, G, -1]
//	%n = InstanceNormalization(%r, %s, %b)  or LayerNormalization over all but N and G
//	%y = Add(Mul(Reshape(%n), %c0), %c1)
//
// becomes
//
//	%y = GroupNormalization(%x, %c0*s, %c0*b+%c1) {num_groups=G}
func groupNorm(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "InstanceNormalization", "LayerNormalization") || n.Quantised() || len(n.Out) != 1 {
		return
	}
	front, back := n.In[0].Def, g.SoleUse(n.Out[0])
	if !isReshape(front) || !isReshape(back) {
		return
	}
	x, y, rows := front.In[0], back.Out[0], n.In[0].Type.Shape
	s := x.Type.Shape
	if len(s) < 3 || !slices.Equal(s, y.Type.Shape) || x.Type.Quant != nil || y.Type.Quant != nil || len(rows) < 3 ||
		rows[0] != s[0] || rows[1] < 1 || s[1]%rows[1] != 0 || x.Type.Elems() == 0 {
		return
	}
	groups := rows[1]
	scale, bias := full(groups, 1), make([]float64, groups)
	if is(n, "LayerNormalization") {
		k := floatConst(n.Input(1))
		if op.AxisOf(n, len(rows)) != 2 || k == nil || n.Input(2) != nil || !allOne(k.Floats()) {
			return
		}
	} else {
		k, b := floatConst(n.In[1]), floatConst(n.In[2])
		if k == nil || b == nil {
			return
		}
		scale, bias = k.Floats(), b.Floats()
	}
	last, mul, add := affineBehind(g, back, true)
	for i := range mul {
		of := i / (len(mul) / groups)
		add[i] += float64(mul[i] * bias[of])
		mul[i] *= scale[of]
	}
	m := writeGroupNorm(c, g, last, x, groups, ir.AttrsOf[op.EpsilonAttr](n).Epsilon, mul, add)
	m.Inherit(g.RemoveUnread(last.In...)...)
}

// writeGroupNorm puts a normalisation of groups of channels of x in the place of
// last: InstanceNormalization where each channel is a group.
func writeGroupNorm(c *pass.Ctx, g *ir.Graph, last *ir.Node, x *ir.Value, groups int, eps float32,
	mul, add []float64) *ir.Node {
	def, attrs := op.InstanceNormalization, ir.Attrs{"epsilon": ir.Float(eps)}
	if groups != x.Type.Shape[1] {
		def, attrs["num_groups"] = op.GroupNormalization, ir.Int(groups)
	}
	y := insert(g, last, def, last.Name, attrs, x, numbers(g, x, last.Name+"/scale", mul, len(mul)),
		numbers(g, x, last.Name+"/bias", add, len(add)))
	swap(c, g, last, y, "is "+def.Name)
	return y.Def
}

func inOf(n *ir.Node, i int) *ir.Value {
	if n == nil {
		return nil
	}
	return n.Input(i)
}

// meanOver are the dimensions over which n is the mean of x, kept as ones.
func meanOver(n *ir.Node, x *ir.Value) (axes []int, ok bool) {
	if !is(n, "ReduceMean") || n.In[0] != x || ir.AttrsOf[op.KeepdimsAttr](n).Keepdims == 0 {
		return nil, false
	}
	axes, err := op.ReduceAxes(n)
	return axes, err == nil && len(axes) > 0
}

// sameDeviation reports that v is d's x - mean(x), or another copy of it.
func sameDeviation(v *ir.Value, d *ir.Node) bool {
	if v == d.Out[0] {
		return true
	}
	if !is(v.Def, "Sub") || op.HasAct(v.Def) || v.Def.In[0] != d.In[0] {
		return false
	}
	a, okA := meanOver(v.Def.In[1].Def, d.In[0])
	b, okB := meanOver(d.In[1].Def, d.In[0])
	return okA && okB && slices.Equal(a, b)
}

// normParam is the constant operand of m beside v, if it broadcasts to the
// normalised dimensions, in their rank.
func normParam(g *ir.Graph, m *ir.Node, v *ir.Value, dims []int) *ir.Value {
	for i, x := range m.In {
		k := floatConst(m.In[1-i])
		if x != v || k == nil || !slices.Equal(m.Out[0].Type.Shape, v.Type.Shape) {
			continue
		}
		s := k.Shape
		for len(s) > len(dims) && s[0] == 1 {
			s = s[1:]
		}
		if slices.Equal(s, dims) {
			if len(s) == len(k.Shape) {
				return m.In[1-i]
			}
			return g.AddConst(m.In[1-i].Name, k.Reshaped(s))
		}
	}
	return nil
}
