// SPDX-License-Identifier: Apache-2.0

package legal

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
)

// bnLinear writes each BatchNormalization with constant parameters as one Mul
// and one Add, with constants of shape [C, 1, 1] (as many ones as x has
// spatial dimensions):
//
//	%y = BatchNormalization(%x, %scale, %B, %mean, %var)
//
// becomes, with c0 = scale/sqrt(var+epsilon) and c1 = B - mean*c0,
//
//	%m = Mul(%x, %c0)
//	%y = Add(%m, %c1)
//
// A BatchNormalization between DequantizeLinear and QuantizeLinear stays: it
// is one quantised operator there.
func bnLinear(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "BatchNormalization") || n.Quantised() || betweenQDQ(g, n) {
		return
	}
	c0, c1 := bnConstants(n)
	if c0 == nil {
		return
	}
	x := n.In[0]
	shape := append([]int{len(c0)}, slices.Repeat([]int{1}, max(x.Type.Rank()-2, 0))...)
	m := insert(g, n, op.Mul, n.Name+"/mul", nil, x, numbers(g, x, n.Name+"/c0", c0, shape...))
	y := insert(g, n, op.Add, n.Name, nil, m, numbers(g, x, n.Name+"/c1", c1, shape...))
	c.Replace(g, n, y, "%s as Mul and Add", n)
}

// betweenQDQ reports that n reads DequantizeLinear and that its result, or
// that of a Relu or Clip behind it, goes into QuantizeLinear.
func betweenQDQ(g *ir.Graph, n *ir.Node) bool {
	if !is(n.In[0].Def, "DequantizeLinear") {
		return false
	}
	u := g.SoleUse(n.Out[0])
	if is(u, "Relu", "Clip") {
		u = g.SoleUse(u.Out[0])
	}
	return is(u, "QuantizeLinear")
}

// bnFold folds affine maps per channel (BatchNormalization, and Mul, Div, Add,
// Sub, Neg with constants, to which decomposed BatchNormalizations reduce)
// into weights and biases.
//
// Into the preceding Conv, ConvTranspose, Gemm or MatMul, when its result has
// no other reader: w' = c0*w, b' = c0*b + c1.
//
//	%c = Conv(%x, %w)                          %n = Conv(%x, %w', %b')
//	%n = BatchNormalization(%c, ...)    =>     %r = Relu(%n)
//	%r = Relu(%n)
//
// Between the two may stand Transpose and Reshape that keep the channels
// apart, average pooling, and max pooling if no c0 is negative: these commute
// with the map.
//
// Into the following ones, when all readers are such: w' = c0*w,
// b' = b + sum of w*c1 over inputs and taps, with w as it was before scaling.
// A Conv that pads is exact only if c1 is 0, for its padding is 0 and not c1;
// so is a ConvTranspose, at whose border fewer taps add up.
//
// A BatchNormalization that fits nowhere becomes a 1x1 depthwise convolution of
// its feature map (see channelConv), or Mul and Add where it has none.
func bnFold(c *pass.Ctx, g *ir.Graph) {
	for made := -1; made != c.Made(); {
		made = c.Made()
		pass.Each(foldEither)(c, g)
	}
	pass.Each(depthwiseBN, bnLinear)(c, g)
}

// foldEither folds n into what is in front of it, or else behind it.
func foldEither(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if isAffine(n) && !foldBack(c, g, n) {
		foldForward(c, g, n)
	}
}

// depthwiseBN writes a BatchNormalization of [N, C, H, W] as a Conv of C groups.
func depthwiseBN(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "BatchNormalization") || n.Quantised() || n.In[0].Type.Rank() != 4 || betweenQDQ(g, n) {
		return
	}
	c0, c1 := bnConstants(n)
	if len(c0) < 2 {
		return
	}
	c.Replace(g, n, depthwise(g, n, n.In[0], n.Name, c0, c1), "%s as a depthwise convolution", n)
}

// depthwise is mul*x + add per channel, without add where that is nil, as a convolution in front of at.
func depthwise(g *ir.Graph, at *ir.Node, x *ir.Value, name string, mul, add []float64) *ir.Value {
	in := []*ir.Value{x, numbers(g, x, name+".weight", mul, len(mul), 1, 1, 1)}
	if add != nil {
		in = append(in, numbers(g, x, name+".bias", add, len(add)))
	}
	return insert(g, at, op.Conv, at.Name, ir.Attrs{"group": ir.Int(len(mul))}, in...)
}

// foldBack folds n into the inner product in front of it.
func foldBack(c *pass.Ctx, g *ir.Graph, n *ir.Node) bool {
	for i, x := range n.In[:min(2, len(n.In))] {
		if x == nil || x.Const != nil || i > 0 && is(n, "BatchNormalization") {
			continue
		}
		axis, positive, p := producer(g, x, n)
		if p == nil {
			continue
		}
		a := affineOf(n, axis)
		if a == nil || a.x != x || a.shifts() && !p.canShift() || !p.canScale(a.mul) {
			continue
		}
		if positive && !nonNegative(a.mul) {
			continue
		}
		p.scaleOut(g, a)
		c.Did(p.n, "folded %s into it", n)
		p.n.Inherit(n)
		g.ReplaceUses(n.Out[0], x)
		g.Remove(n)
		return true
	}
	return false
}

func nonNegative(s []float64) bool {
	return !slices.ContainsFunc(s, func(v float64) bool { return v < 0 })
}

// producer walks up from x, which n reads, to an inner product, over nodes
// that commute with an affine map per channel and have no other reader. It
// gives the dimension of x that counts the product's output channels;
// positive says that the factors must not be negative.
func producer(g *ir.Graph, x *ir.Value, n *ir.Node) (axis int, positive bool, p *inner) {
	var steps []*ir.Node // from x upwards
	v, reader := x, n
	for {
		if g.SoleUse(v) != reader {
			return 0, false, nil
		}
		d := v.Def
		if p = innerOf(d); p != nil {
			if op.HasAct(d) {
				return 0, false, nil
			}
			break
		}
		if d == nil || d.Quantised() || op.HasAct(d) || len(d.Out) != 1 {
			return 0, false, nil
		}
		switch {
		case is(d, "MaxPool", "GlobalMaxPool"):
			positive = true
		case is(d, "AveragePool", "GlobalAveragePool"):
			if pg := bug.Must(op.PoolGeometry(d)); pg.CountPad && pg.Padded() {
				return 0, false, nil
			}
		case is(d, "Transpose"), isReshape(d):
		default:
			return 0, false, nil
		}
		steps = append(steps, d)
		v, reader = d.In[0], d
	}
	axis = p.outAxis
	for i := len(steps) - 1; i >= 0; i-- { // back down, following the channels
		if axis = axisThrough(steps[i], axis); axis < 0 {
			return 0, false, nil
		}
	}
	return axis, positive, p
}

// axisThrough follows a dimension of d's input to its output; -1 when it does
// not survive. Pooling keeps dimensions.
func axisThrough(d *ir.Node, axis int) int {
	switch {
	case is(d, "Transpose"):
		for i, from := range perm(d) {
			if from == axis {
				return i
			}
		}
		return -1
	case isReshape(d):
		return axisBelow(d.In[0].Type.Shape, d.Out[0].Type.Shape, axis)
	}
	return axis
}

// foldForward folds n into all the inner products that read it.
func foldForward(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	y := n.Out[0]
	if len(y.Uses()) == 0 || g.IsOutput(y) {
		return
	}
	type target struct {
		p *inner
		a *affine
	}
	var targets []target
	for _, u := range y.Uses() {
		p := innerOf(u.Node)
		if u.Index != 0 || p == nil || p.dq != nil {
			return
		}
		a := affineOf(n, p.inAxis)
		if a == nil || a.shifts() && (p.padded() || !p.canShift()) {
			return
		}
		targets = append(targets, target{p, a})
	}
	x := targets[0].a.x
	for _, t := range targets {
		t.p.scaleIn(g, t.a)
		c.Did(t.p.n, "folded %s, which it reads, into it", n)
		t.p.n.Inherit(n)
	}
	g.ReplaceUses(y, x)
	g.Remove(n)
}

// moveFactor moves a number by which a value is multiplied into the weights that the value is a product of, where only
// Reshape, Transpose and MatMul stand between them. Else that of an operand of MatMul comes behind it, where integers
// have it in the scale of the result:
//
//	%m = Mul(%q, %k)                      %s = MatMul(%q, %t)
//	%s = MatMul(%m, %t)           =>      %m = Mul(%s, %k)
func moveFactor(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Mul") {
		return
	}
	a := affineOf(n, max(0, n.Out[0].Type.Rank()-1))
	if a == nil || len(a.mul) == 0 || slices.Min(a.mul) != slices.Max(a.mul) {
		return
	}
	p := g.SoleUse(n.Out[0])
	if fold := folder(g, a.x, n, a.mul[0]); fold != nil && sameDims(a.x, n.Out[0]) {
		c.Did(fold(), "folded %s into it", n)
		g.ReplaceUses(n.Out[0], a.x)
	} else if is(p, "MatMul") && !p.Quantised() && !op.HasAct(p) {
		g.SetInput(p, slices.Index(p.In, n.Out[0]), a.x)
		y := p.Out[0]
		k := g.AddConst(n.Name+"/k", tensor.FromFloats(y.Type.DType, nil, a.mul[:1]))
		v := insert(g, g.Next(p), op.Mul, n.Name, nil, y, k)
		v.Def.Origin = n.Origin
		readBehind(g, y, v)
		c.Did(p, "the factor of %s behind it", n)
	} else {
		return
	}
	g.Remove(n)
}

// folder multiplies by k the weights of a product that v, which n alone reads, comes from; nil where there are none.
func folder(g *ir.Graph, v *ir.Value, n *ir.Node, k float64) func() *ir.Node {
	d := v.Def
	if g.SoleUse(v) != n || d == nil || d.Quantised() || op.HasAct(d) {
		return nil
	}
	if p := innerOf(d); p != nil {
		a := &affine{mul: full(p.outs, k), add: make([]float64, p.outs)}
		if !p.canScale(a.mul) {
			return nil
		}
		return func() *ir.Node {
			p.scaleOut(g, a)
			return d
		}
	}
	switch {
	case is(d, "Transpose"), isReshape(d):
		return folder(g, d.In[0], d, k)
	case is(d, "MatMul"):
		for i, x := range d.In {
			if w := floatConst(x); w != nil {
				return func() *ir.Node {
					g.SetInput(d, i, g.AddConst(x.Name, scaled(w, k)))
					return d
				}
			}
			if fold := folder(g, x, d, k); fold != nil {
				return fold
			}
		}
	}
	return nil
}

// channelConv writes what is left of BatchNormalization, a Mul and an Add with
// a constant per channel of a feature map, as a 1x1 depthwise convolution:
//
//	%m = Mul(%x, %c0)
//	%y = Add(%m, %c1)
//
// becomes
//
//	%y = Conv(%x, %w, %c1) {group=C}       with w = c0 as [C, 1, 1, 1]
//
// In float nothing is gained. In int8 much is: the convolution has a weight
// scale per channel and an int32 bias, where Mul and Add would have one int8
// scale for all channels' constants and round twice.
func channelConv(c *pass.Ctx, g *ir.Graph, n *ir.Node) {
	if !is(n, "Mul") || n.Quantised() || n.Out[0].Type.Rank() != 4 || !n.Out[0].Type.DType.IsFloat() || op.HasAct(n) {
		return
	}
	a := affineOf(n, 1)
	if a == nil || a.x.Const != nil || allEqual(a.mul) || betweenQDQ(g, n) ||
		a.x.Type.Shape[1] != n.Out[0].Type.Shape[1] || !sameDims(a.x, n.Out[0]) {
		return
	}
	last := n
	var add []float64
	if m := g.SoleUse(n.Out[0]); is(m, "Add", "Sub") && !op.HasAct(m) && sameDims(n.Out[0], m.Out[0]) {
		if b := affineOf(m, 1); b != nil && b.x == n.Out[0] && allOne(b.mul) {
			add, last = b.add, m
		}
	}
	y := depthwise(g, last, a.x, n.Name, a.mul, add)
	y.Def.Inherit(n)
	c.Replace(g, last, y, "%s per channel as a 1x1 depthwise convolution", n)
	if last != n {
		g.Remove(n)
	}
}

func allEqual(v []float64) bool {
	return !slices.ContainsFunc(v, func(x float64) bool { return x != v[0] })
}

func allOne(v []float64) bool { return allEqual(v) && len(v) > 0 && v[0] == 1 }

func sameDims(a, b *ir.Value) bool { return slices.Equal(a.Type.Shape, b.Type.Shape) }
