// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// weightAxis is the dimension of input 1 that counts output channels, for
// operators that accumulate products; -1 for others.
func weightAxis(n *ir.Node) int {
	if n.Op.WeightAxis == nil {
		return -1
	}
	return n.Op.WeightAxis(n)
}

// plainGemm is false for a Gemm that scales, or that transposes its data.
func plainGemm(n *ir.Node) bool {
	return n.Op != op.Gemm || ir.AttrsOf[op.AlphaAttr](n).Alpha == 1 && ir.AttrsOf[op.GemmAttrs](n).TransA == 0 &&
		(ir.AttrsOf[op.BetaAttr](n).Beta == 1 || n.Input(2) == nil)
}

// weighs reports weights that an integer kernel for n takes.
func weighs(n *ir.Node, w form, axis int, wide bool) bool {
	switch {
	case w.t.Quant.PerAxis() && w.t.Quant.Axis != axis, !plainGemm(n):
		return false
	case w.v.Const == nil: // at run time: only MatMul has such a kernel
		return n.Op == op.MatMul && !w.t.Quant.PerAxis() &&
			(w.t.DType != tensor.I16 || computable(w.t.DType, w.t.Quant))
	}
	// 16-bit weights have no kernel, those for int16 data no weight zero points.
	return w.t.DType != tensor.I16 && (!wide || symmetricWeights(w.t.Quant))
}

// mac converts Conv, ConvTranspose, Gemm and MatMul: int8 activations, int8 or
// int4 weights per tensor or per output channel, int32 bias of scale in*weight;
// or int16 activations and an int64 bias.
func (c *converter) mac(n *ir.Node) bool {
	t, ok := c.want[n.Out[0]]
	if !ok {
		return false
	}
	x, ok := c.intForm(n.In[0])
	if !ok {
		return false
	}
	w, ok := c.have[n.In[1]]
	if !ok || w.v == nil {
		return false
	}
	wide, axis := x.t.DType == tensor.I16 || t.DType == tensor.I16, weightAxis(n)
	if !weighs(n, w, axis, wide) {
		return false
	}
	if wide {
		if x = c.widened(n, x); w.v.Const == nil {
			w = c.widened(n, w)
		}
	}
	in := []*ir.Value{x.v, w.v}
	if b := n.Input(2); b != nil {
		bias, y := tensor.I32, t
		if wide {
			bias = tensor.I64
			if t.DType == tensor.I8 {
				y = wideType(t) // which is narrowed behind it
			}
		}
		w = c.roomForBias(n, b, x.t.Quant, w, axis, y)
		in[1] = w.v
		v, ok := c.bias(n, b, x.t.Quant, w.t.Quant, channels(n, axis), bias)
		if !ok {
			return false
		}
		in = append(in, v)
	}
	return c.finish(n, in, t)
}

// channels is the number of output channels.
func channels(n *ir.Node, axis int) int {
	k := n.In[1].Type.Shape[axis]
	if n.Op == op.ConvTranspose {
		k *= ir.AttrsOf[op.GroupAttr](n).Group
	}
	return k
}

// bias is the int32 or int64 form of a constant bias: the integers of the model
// where its scale is in*weight, else the nearest ones.
func (c *converter) bias(n *ir.Node, b *ir.Value, x, w *ir.Quant, out int, t tensor.DType) (*ir.Value, bool) {
	reals := constData(b)
	if reals == nil {
		return nil, false
	}
	k := reals.Len()
	if k != out && k != 1 {
		return nil, false
	}
	for i, d := range reals.Shape { // a Gemm bias may be [1, N]
		if d != 1 && i != len(reals.Shape)-1 {
			return nil, false
		}
	}
	group := 1
	if n.Op == op.ConvTranspose {
		group = ir.AttrsOf[op.GroupAttr](n).Group
	}
	per := out / group
	q := &ir.Quant{Axis: 0, Scale: make([]float32, out), Zero: make([]int32, out)}
	d := tensor.New(t, []int{out})
	lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
	if t == tensor.I64 {
		lo, hi = -maxBias64, maxBias64
	}
	for i := range q.Scale {
		s := float64(x.Scale[0]) * float64(w.ScaleAt(i%per))
		q.Scale[i] = float32(s)
		src := i % k
		if r := reals.Float(src); math.IsNaN(r) || math.IsInf(r, 0) {
			return nil, false
		}
		if reals.q != nil && k == out && closeTo(float64(reals.q.ScaleAt(src)), s) {
			d.SetInt(i, reals.integer(src))
			continue
		}
		d.SetInt(i, ir.ClampInt(math.Round(reals.Float(src)/s), lo, hi))
	}
	return c.g.AddQuantConst(b.Name, d, q), true
}

// maxBias leaves as much of an int32 accumulator to the products as to the bias.
const maxBias = 1 << 30

// roomForBias widens the weight scales of channels whose float bias has no
// int32 of scale in*weight. Dead channels, with all weights next to nothing,
// have a scale to match but keep the bias of the BatchNormalization that was
// folded into them. Their weights are rounded to multiples of the wider scale,
// which is a 2^30th of the bias; the others keep their integers. The same where
// the model has the bias as int32 of that scale, but with the products it may
// leave int32: exporters clip such biases to the largest int32.
//
// int16 data has biases of 64 bits. There it is the requantisation that needs
// the room: a multiplier below 2^-31 is 0, and the bias would go with it.
func (c *converter) roomForBias(n *ir.Node, b *ir.Value, x *ir.Quant, w form, axis int, y ir.Type) form {
	reals := constData(b)
	if reals == nil || w.v.Const == nil || reals.Len() == 0 {
		return w
	}
	per := n.In[1].Type.Shape[axis]
	q := &ir.Quant{Axis: axis, Scale: make([]float32, per), Zero: make([]int32, per)}
	for i := range per {
		q.Scale[i], q.Zero[i] = w.t.Quant.ScaleAt(i), w.t.Quant.ZeroAt(i)
	}
	wider := false
	fits := func(int, int64) bool { return true }
	if y.DType != tensor.I16 {
		fits = accumulators(w, axis)
	}
	most, least := float64(maxBias), 0.0
	if y.DType == tensor.I16 {
		most, least = maxBias64, float64(y.Quant.Scale[0])/float64(x.Scale[0])*0x1p-31
	}
	for i := range channels(n, axis) {
		if k := i % reals.Len(); reals.q != nil &&
			closeTo(float64(reals.q.ScaleAt(k)), float64(x.Scale[0])*float64(w.t.Quant.ScaleAt(i%per))) &&
			fits(i%per, reals.integer(k)) {
			continue // the model's own int32
		}
		need := math.Abs(reals.Float(i%reals.Len())) / (float64(x.Scale[0]) * most)
		if need > 0 {
			need = max(need, least)
		}
		if s := &q.Scale[i%per]; need > float64(*s) && need < math.MaxFloat32/2 {
			*s, wider = math.Nextafter32(float32(need), math.MaxFloat32), true
		}
	}
	if !wider {
		return w
	}
	return c.rescaled(w, q, axis)
}

// rescaled are constant weights with the scales of q.
func (c *converter) rescaled(w form, q *ir.Quant, axis int) form {
	d := tensor.New(w.t.DType, w.v.Type.Shape)
	lo, hi := w.t.DType.IntRange()
	inner := 1
	for _, k := range w.v.Type.Shape[axis+1:] {
		inner *= k
	}
	for i := range d.Len() {
		k := i / inner % len(q.Scale)
		z := float64(q.Zero[k])
		v := (float64(w.v.Const.Int(i)) - z) * float64(w.t.Quant.ScaleAt(k)) / float64(q.Scale[k])
		d.SetInt(i, ir.ClampInt(math.Round(v)+z, lo, hi))
	}
	v := c.g.AddQuantConst(w.v.Name, d, q)
	return form{v, v.Type}
}

// accumulators says of a channel of 8-bit weights whether a bias and any sum of
// products of 8-bit data stay within int32 together.
func accumulators(w form, axis int) func(channel int, bias int64) bool {
	shape := w.v.Type.Shape
	sums, inner := make([]int64, shape[axis]), tensor.Count(shape[axis+1:])
	for i := range w.v.Const.Len() {
		k := i / inner % len(sums)
		v := w.v.Const.Int(i) - int64(w.t.Quant.ZeroAt(k))
		sums[k] += max(v, -v)
	}
	return func(channel int, bias int64) bool {
		return max(bias, -bias)+sums[channel]*math.MaxUint8 <= math.MaxInt32
	}
}

// closeTo allows for exporters that multiply the scales in float32.
func closeTo(a, b float64) bool { return math.Abs(a-b) <= 1e-5*math.Abs(b) }

// constant is a constant, or one behind a DequantizeLinear of q: its reals are computed one by one, as
// weights would be eight times as large.
type constant struct {
	*tensor.Dense
	q       *ir.Quant // nil: there is none
	channel func(i int) int
}

// Float is the real of element i.
func (c *constant) Float(i int) float64 {
	if c.q == nil {
		return c.Dense.Float(i)
	}
	return float64(c.integer(i)) * float64(c.q.ScaleAt(c.channel(i)))
}

// integer is the distance of element i from its zero point.
func (c *constant) integer(i int) int64 { return c.Int(i) - int64(c.q.ZeroAt(c.channel(i))) }

// reals are all of them.
func (c *constant) reals() *tensor.Dense {
	if c.q == nil {
		return c.Dense
	}
	return ir.Dequantise(c.Dense, c.q)
}

// constData is b as a constant; nil for other values.
func constData(b *ir.Value) *constant {
	if b.Const != nil {
		return &constant{Dense: b.Const}
	}
	if b.Def != nil && b.Def.Op == op.DequantizeLinear && b.Def.In[0].Const != nil {
		if _, q, ok := params(b.Def); ok {
			d := b.Def.In[0].Const
			return &constant{d, q, ir.ChannelOf(d.Shape, q)}
		}
	}
	return nil
}
