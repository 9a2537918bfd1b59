// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// integerOffsets changes the offset of every ChannelAffine to a whole number of steps, so that zero
// points are integers: of its result, or of an output. Biases make up for the difference.
func (c *calibrator) integerOffsets() {
	for _, n := range c.affines() {
		behind := c.g.IsOutput(n.Out[0])
		v := n.Out[0]
		if behind {
			v = n.In[0]
		}
		a, ok := c.params[v]
		if !ok {
			continue
		}
		offset := tensor.New(tensor.F32, n.In[2].Type.Shape)
		delta := make([]float64, offset.Len())
		for i := range delta {
			b, step := n.ConstIn(2).Float(i), float64(a.quant().Scale[0])
			if behind {
				step *= n.ConstIn(1).Float(i)
			}
			offset.SetFloat(i, step*math.RoundToEven(b/step))
			delta[i] = offset.Float(i) - b
		}
		if slices.Equal(offset.Floats(), n.ConstIn(2).Floats()) {
			continue
		}
		c.g.SetInput(n, 2, c.g.AddConst(n.In[2].Name, offset))
		correct := c.offBiases
		if behind {
			correct = c.offOutputs
		}
		correct(n, delta)
	}
}

func (c *calibrator) affines() []*ir.Node {
	return slices.DeleteFunc(slices.Clone(c.g.Nodes), func(n *ir.Node) bool { return n.Op != op.ChannelAffine })
}

// offBiases takes off the biases of layers what their input is too large by, in each channel of n.
func (c *calibrator) offBiases(n *ir.Node, delta []float64) {
	r := emptyRegion(c.g, &c.opt)
	if !r.begin(n.Out[0]) {
		return
	}
	y := r.sources[0]
	y.axis, r.through = ir.AttrsOf[op.AxisAttr](n).Axis, true
	r.trace()
	for _, cut := range r.cuts {
		w := r.weights(cut)
		rule, ok := c.rules[cut.n]
		if w == nil || !ok || cut.n.Op == op.MatMul {
			continue
		}
		t, off := r.trails[cut.v], make([]float64, w.count)
		for e, m := range t {
			if m.from >= 0 {
				off[w.channel(e)] = m.gain * m.share * delta[y.channel(m.from)]
			}
		}
		add := make([]float64, w.outs)
		w.each(func(at, in, out int) { add[out] -= float64(cut.n.ConstIn(1).Float(at) * off[in]) })
		w.addBias(c.g, add)
		rule.bias = 2
		c.rules[cut.n] = rule
	}
}

// spellAffines makes a Mul and an Add of every ChannelAffine.
func (c *calibrator) spellAffines() {
	for _, n := range c.affines() {
		axis := ir.AttrsOf[op.AxisAttr](n).Axis
		along := filled(n.In[0].Type.Rank()-axis, 1)
		along[0] = n.In[0].Type.Shape[axis]
		scale, offset := n.In[1], n.In[2]
		m := c.g.Insert(n, n, op.Mul, n.Name+".scaled", nil, n.In[0],
			c.g.AddConst(scale.Name, scale.Const.Reshaped(along)))
		c.g.SetInput(n, 2, nil)
		c.g.SetInput(n, 1, c.g.AddConst(offset.Name, offset.Const.Reshaped(along)))
		c.g.SetInput(n, 0, m)
		n.Op, n.Attrs = op.Add, nil
	}
}

// borderAffine is the quantisation of the real end of a ChannelAffine written as a Mul and an Add, of
// which the other end has type t: what it reads, or with behind what it gives. nil where throughAffine gives none.
func borderAffine(t ir.Type, mul, add *ir.Node, behind bool) *ir.Quant {
	scale, offset := mul.ConstIn(1), add.ConstIn(1)
	if !slices.Equal(scale.Shape, offset.Shape) {
		return nil
	}
	return throughAffine(t, scale.Shape, func(i int) (float64, float64) {
		if behind {
			return 1 / scale.Float(i), -offset.Float(i) / scale.Float(i)
		}
		return scale.Float(i), offset.Float(i)
	})
}

// takeIn makes the Mul and Add of an input part of its quantisation, where what they give is
// quantised alike everywhere and zero points are integers.
func (c *converter) takeIn(v *ir.Value) {
	m := c.g.SoleUse(v)
	if m == nil || constantStep(m.Out[0], op.Mul) == nil {
		return
	}
	a := c.g.SoleUse(m.Out[0])
	if a == nil || constantStep(a.Out[0], op.Add) == nil {
		return
	}
	y := a.Out[0]
	c.hoistQuant(y)
	t, ok := c.soleQuant(y)
	if !ok {
		return
	}
	q := borderAffine(t, m, a, false)
	if q == nil {
		return
	}
	v.Type = v.Type.WithQuant(t.DType, q)
	b := c.bits(m, v.Name+".codes", v)
	b.Origin, b.Out[0].Type = a.Origin, t
	for _, u := range slices.Clone(y.Uses()) {
		c.g.ReplaceUses(u.Node.Out[0], b.Out[0])
		c.g.Remove(u.Node)
	}
	c.g.Remove(a)
	c.g.Remove(m)
}

// throughAffine is the quantisation of x of which scale*x + offset has the type t: for each index
// of the axis along which these lie, or one with a zero point outside the type. nil where a zero
// point would be no integer, and where an integer operator does the same.
func throughAffine(t ir.Type, shape []int, affine func(i int) (scale, offset float64)) *ir.Quant {
	q, axis, n := t.Quant, axisOf(shape, len(t.Shape)), tensor.Count(shape)
	if len(shape) > len(t.Shape) || axis < -1 || axis >= 0 && t.Shape[axis] != n {
		return nil
	}
	out := &ir.Quant{Axis: axis, Scale: make([]float32, n), Zero: make([]int32, n)}
	for i := range out.Scale {
		scale, offset := affine(i)
		s := float64(q.Scale[0]) / scale
		z := float64(q.Zero[0]) + offset/float64(q.Scale[0])
		if out.Scale[i] = float32(s); !(s > 0) || math.IsInf(s, 0) || float64(out.Scale[i]) < minScale ||
			!(math.Abs(z) < 1<<30) || math.Abs(z-math.Round(z)) > max(1.0/8, math.Abs(z)*0x1p-23) { // float32
			return nil
		}
		out.Zero[i] = int32(math.Round(z))
	}
	if lo, hi := t.DType.IntRange(); !out.PerAxis() && int64(out.Zero[0]) >= lo && int64(out.Zero[0]) <= hi {
		return nil
	}
	return out
}

// axisOf is the dimension of a tensor of a rank along which a constant of a shape lies: -1 for
// one number, -2 for several dimensions.
func axisOf(shape []int, rank int) int {
	axis := -1
	for i, n := range shape {
		switch {
		case n == 1:
		case axis >= 0:
			return -2
		default:
			axis = rank - len(shape) + i
		}
	}
	return axis
}
