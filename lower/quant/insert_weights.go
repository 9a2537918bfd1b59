// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// weightKey identifies a quantised form of a constant.
type weightKey struct {
	v *ir.Value
	q string
}

// maxAcc bounds accumulators and biases: half of what int32 holds, so that
// neither their sum nor the rounding of requantisation can overflow.
const maxAcc = 1 << 30

// constants quantises the parameters of n and its constant operands.
func (c *calibrator) constants(n *ir.Node, r rule) {
	if r.weight >= 0 {
		w := n.In[r.weight]
		q := c.weightQuant(n, r)
		c.g.SetInput(n, r.weight, c.constant(n, w, w.Type.WithQuant(c.layer[n].Weights, q)))
		if r.bias >= 0 {
			c.setBias(n, r.bias, n.In[r.bias].Const.Floats(), q)
		}
	}
	for _, i := range r.params {
		v := n.In[i]
		c.g.SetInput(n, i, c.constant(n, v, v.Type.WithQuant(tensor.I8, gateQuant(v.Const, gatesOf(n)))))
	}
	for _, i := range r.in {
		v := n.In[i]
		if v.Const == nil {
			continue
		}
		if d := c.clipped(n, i); d != v.Const {
			v = c.g.AddConst(v.Name, d)
		}
		d := c.constant(n, v, v.Type.WithQuant(c.layer[n].Data, constQuant(v.Const, c.layer[n].Data)))
		c.g.SetInput(n, i, d)
	}
}

// constQuant represents a constant operand: exactly where it holds one value
// besides zero, else by its range.
func constQuant(d *tensor.Dense, t tensor.DType) *ir.Quant {
	if _, q := exactInt8(d); q != nil && t == tensor.I8 && float64(q.Scale[0]) >= minScale {
		return q
	}
	lo, hi := 0.0, 0.0
	for i, k := 0, d.Len(); i < k; i++ {
		if f := d.Float(i); f-f == 0 {
			lo, hi = min(lo, f), max(hi, f)
		}
	}
	if t == tensor.I16 {
		return symmetric16(lo, hi).quant()
	}
	return affineOf(lo, hi).quant()
}

// constant is the DequantizeLinear of v's integers with the type t, made once.
func (c *calibrator) constant(at *ir.Node, v *ir.Value, t ir.Type) *ir.Value {
	key := weightKey{v, fmt.Sprint(t.DType, *t.Quant)}
	if d := c.weights[key]; d != nil && c.g.Index(d.Def) < c.g.Index(at) {
		return d
	}
	d := Linear(c.g, at, op.DequantizeLinear, c.g.AddConst(v.Name+".quantized", quantiseConst(v.Const, t)), t)
	c.weights[key] = d
	return d
}

// quantiseConst rounds a float constant to the integers of t, ties to even; symmetric int8
// weights stay within ±127.
func quantiseConst(d *tensor.Dense, t ir.Type) *tensor.Dense {
	out := tensor.New(t.DType, d.Shape)
	lo, hi := t.DType.IntRange()
	if t.Quant.PerAxis() || t.Quant.Zero[0] == 0 {
		lo = -hi
	}
	inner, dim := 1, 1
	if t.Quant.PerAxis() {
		inner, dim = tensor.Strides(d.Shape)[t.Quant.Axis], d.Shape[t.Quant.Axis]
	}
	if x, ok := d.Data.([]float32); ok && t.DType == tensor.I8 {
		y := tensor.As[int8](out)
		if !t.Quant.PerAxis() {
			inner = max(len(x), 1)
		}
		for i := 0; i < len(x); i += inner {
			ch := i / inner % dim
			s, z := float64(t.Quant.ScaleAt(ch)), float64(t.Quant.ZeroAt(ch))
			row := y[i:][:inner]
			for k, f := range x[i:][:inner] {
				q := math.RoundToEven(float64(f)/s) + z
				if q != q {
					q = 0
				}
				row[k] = int8(min(max(q, float64(lo)), float64(hi)))
			}
		}
		return out
	}
	for i, n := 0, d.Len(); i < n; i++ {
		ch := i / inner % dim
		q := math.RoundToEven(d.Float(i)/float64(t.Quant.ScaleAt(ch))) + float64(t.Quant.ZeroAt(ch))
		out.SetInt(i, ir.ClampInt(q, lo, hi))
	}
	return out
}

// narrowAcc leaves sums room for products where kernels hold them in 24 bits with their sign: with constants bound at
// run time all trainings have these.
const narrowAcc = 1 << 22

// weightQuant chooses the scales of constant weights: per output channel
// where the kernel can, symmetric, floored so that neither the int32 bias
// overflows nor the multiplier of the requantisation vanishes.
func (c *calibrator) weightQuant(n *ir.Node, r rule) *ir.Quant {
	w := n.In[r.weight]
	axis := weightAxis(n)
	if n.Op == op.MatMul && w.Type.Rank() != 2 {
		axis = -1
	}
	peak := channelPeaks(w.Const, axis)
	l := c.layer[n]
	if l.Data == tensor.I16 && axis >= 0 && oneScale(n, peak) {
		axis, peak = -1, []float64{slices.Max(peak)}
	}
	x, y := c.inputQuant(n, 0).scale, c.params[n.Out[0]].scale
	q := &ir.Quant{Axis: axis, Scale: make([]float32, len(peak)), Zero: make([]int32, len(peak))}
	for i, p := range peak {
		s := p / 127
		if l.Weights == tensor.I4 {
			s = int4Scale(w.Const, axis, i, p)
		}
		// below this a product is less than 2^-10 of a step of the output
		if l.Data == tensor.I16 {
			s = max(s, y/x*0x1p-32, minScale)
		} else {
			s = max(s, y/x*0x1p-24, minScale)
		}
		if r.bias >= 0 && l.Data != tensor.I16 {
			room := float64(maxAcc)
			if c.opt.Bound {
				room = narrowAcc
			}
			s = max(s, biasPeak(n, r, i, len(peak))/(x*room))
		}
		q.Scale[i] = float32(s)
	}
	return q
}

// inputQuant is the quantisation of input i of n, a value that gets a Q/DQ
// pair or a constant, before or after the nodes are inserted.
func (c *calibrator) inputQuant(n *ir.Node, i int) affine {
	v := n.In[i]
	if v.Const != nil {
		return affineFrom(constQuant(c.clipped(n, i), c.layer[n].Data))
	}
	if _, ok := c.params[v]; ok {
		return affineFrom(c.edge(n, c.rules[n], v).Quant)
	}
	if v.Def != nil && v.Def.Op == op.DequantizeLinear {
		if _, q, ok := params(v.Def); ok && !q.PerAxis() {
			return affineFrom(q)
		}
	}
	panic(bug.Errorf("%s has no quantisation", v))
}

// channelPeaks is the largest magnitude of every channel of float32 along axis (-1: of
// the whole tensor).
func channelPeaks(d *tensor.Dense, axis int) []float64 {
	inner, dim := 1, 1
	if axis >= 0 {
		inner, dim = tensor.Strides(d.Shape)[axis], d.Shape[axis]
	}
	peak, x := make([]float64, dim), tensor.As[float32](d)
	if axis < 0 {
		inner = max(len(x), 1)
	}
	for i := 0; i < len(x); i += inner {
		top := float32(peak[i/inner%dim])
		for _, f := range x[i:][:inner] {
			if a := math.Float32frombits(math.Float32bits(f) &^ (1 << 31)); a > top && a <= math.MaxFloat32 {
				top = a
			}
		}
		peak[i/inner%dim] = float64(top)
	}
	return peak
}

// biasPeak is the largest bias of the output channels that use scale i of k.
func biasPeak(n *ir.Node, r rule, i, k int) float64 {
	b := n.In[r.bias].Const
	count := b.Len()
	if count == 1 {
		return math.Abs(b.Float(0))
	}
	peak := 0.0
	for ch := i % k; ch < count; ch += k {
		peak = max(peak, math.Abs(b.Float(ch)))
	}
	return peak
}

// setBias makes input i of n the int32 form of the reals b: scale input times
// weights, a bias for every output channel.
func (c *calibrator) setBias(n *ir.Node, i int, b []float64, w *ir.Quant) {
	x := c.inputQuant(n, 0).quant()
	out := channels(n, weightAxis(n))
	q := &ir.Quant{Axis: 0, Scale: make([]float32, out), Zero: make([]int32, out)}
	d := tensor.New(tensor.I32, []int{out})
	for ch := range out {
		s := float64(x.Scale[0]) * float64(w.ScaleAt(ch%len(w.Scale)))
		if c.layer[n].Data == tensor.I16 {
			s = wideBias(b[ch%len(b)], s)
		}
		q.Scale[ch] = float32(s)
		d.SetInt(ch, ir.ClampInt(math.Round(b[ch%len(b)]/s), -maxAcc, maxAcc))
	}
	name := n.Name + ".bias"
	if old := n.Input(i); old != nil {
		name = old.Name
	}
	k := c.g.AddConst(name+".quantized", d)
	v := Linear(c.g, n, op.DequantizeLinear, k, ir.Type{DType: tensor.I32, Shape: d.Shape, Quant: q})
	c.g.SetInput(n, i, v)
}

// raiseScales widens the output range of operators whose results could overflow
// int32 when the requantisation shifts them left: that is where the range seen
// is narrow beside what the operator can produce.
func (c *calibrator) raiseScales(list []*group) {
	of := map[*ir.Value]*group{}
	for _, k := range list {
		for _, v := range k.members {
			of[v] = k
		}
	}
	c.each(func(n *ir.Node, r rule) {
		k := of[n.Out[0]]
		if k == nil || (r.fixed != nil || k.fixed != nil) && c.layer[n].Data != tensor.I16 {
			return
		}
		least := c.leastScale(n, r)
		if c.opt.Bound && r.narrows && unseen(of[n.In[0]], k) {
			least = 1.5 * k.params.scale
		}
		if least <= k.params.scale {
			return
		}
		k.params.scale = float64(float32(least))
		for _, v := range k.members {
			c.params[v] = k.params
		}
	})
}

// unseen reports groups apart that have one quantisation all the same, as where nothing but zeros was seen.
func unseen(x, y *group) bool { return x != nil && x != y && x.params == y.params }

// reachMargin is for the rounding of weights and scales behind leastScale.
const reachMargin = 1 + 0x1p-10

// leastScale is the smallest output scale for which the integer arithmetic of
// n cannot overflow; with constants that are bound at run time, for which sums are shifted to the right, too, whatever
// the training, as kernels want them: steps finer than those of the sums say nothing.
func (c *calibrator) leastScale(n *ir.Node, r rule) float64 {
	in := func(i int) float64 {
		return c.inputQuant(n, i).scale
	}
	least := reachMargin / maxReach * reach(n, func(i int) *ir.Type {
		return &ir.Type{DType: c.layer[n].Data, Quant: c.inputQuant(n, i).quant()}
	})
	if c.layer[n].Data == tensor.I16 {
		return max(least, c.leastScale16(n, r, in))
	}
	if c.opt.Bound && n.Op.WeightAxis != nil && n.In[1].Const != nil {
		least = max(least, 2*reachMargin*in(0)*float64(slices.Max(c.weightQuant(n, r).Scale)))
	}
	switch n.Op {
	case op.Mul:
		least = max(least, in(0)*in(1)*0x1p-13)
	case op.Add:
		least = max(least, max(in(0), in(1))*0x1p-16)
	}
	return least
}
