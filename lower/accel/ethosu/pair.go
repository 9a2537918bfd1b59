// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
	"github.com/nncc/nncc/lower/kernel"
)

// pairModes are the ways in which the device may compute a function of two values of 8 bits.
func pairModes(n *ir.Node) []npu.Op {
	a, b, o := n.In[0].Type.Quant, n.In[1].Type.Quant, n.Out[0].Type.Quant
	mult, shift := fixp.QuantizeMultiplier(fixp.EffectiveScale(a.Scale[0], b.Scale[0], o.Scale[0]))
	out := []npu.Op{{Mode: npu.Minimum, PerChannel: true}, {Mode: npu.Maximum, PerChannel: true}}
	out = append(out, sums(n, npu.Add)...)
	out = append(out, sums(n, npu.Sub)...)
	return append(out, rounded(npu.Op{Mode: npu.Mul, Scale: uint32(mult), Shift: 31 - int(shift)})...)
}

// rounded is an operation rounded in each way.
func rounded(o npu.Op) []npu.Op {
	once := o
	o.Rounding, once.Rounding = npu.RoundTwice, npu.HalfUp
	return []npu.Op{o, once}
}

// sums scale the operand of the smaller step, or both by 16 bits.
func sums(n *ir.Node, mode int) []npu.Op {
	s := fixp.NewAddScales(n.In[0].Type.Quant.Scale[0], n.In[1].Type.Quant.Scale[0], n.Out[0].Type.Quant.Scale[0])
	const half, bits16 = 1 << 30, 16
	left := int(s.LeftShift)
	o := npu.Op{Mode: mode, Scale: uint32(s.OutMult), Shift: 31 - int(s.OutShift)}
	both := o
	both.Shift -= left - bits16
	both.A = uint32(s.Mult1) >> (31 - bits16 - s.Shift1)
	both.B = uint32(s.Mult2) >> (31 - bits16 - s.Shift2)
	var out []npu.Op
	switch {
	case s.Mult2 == half && s.Shift2 == 0:
		o.ScaleMode, o.A, o.AShift = 1, uint32(s.Mult1), 31-left-int(s.Shift1)
		out = rounded(o)
	case s.Mult1 == half && s.Shift1 == 0:
		o.ScaleMode, o.A, o.AShift = 2, uint32(s.Mult2), 31-left-int(s.Shift2)
		out = rounded(o)
	}
	return append(out, rounded(both)...)
}

// pair is a function of two values, in the first way that gives every number of the model.
func (b *builder) pair(n *ir.Node) string {
	if len(n.In) != 2 || n.In[1] == nil {
		return fmt.Sprintf("%d operands, want two", len(n.In))
	}
	for _, v := range []*ir.Value{n.In[0], n.In[1], n.Out[0]} {
		if t := v.Type; t.Quant == nil || t.Quant.PerAxis() || t.DType != tensor.I8 && t.DType != tensor.U8 {
			return fmt.Sprintf("%s is %s, want int8 or uint8 with one scale", v, t)
		}
	}
	l := plain(npu.Elementwise, nil, b.of(n.Out[0]))
	first, second := b.operand(n.In[0], n.Out[0].Type), b.operand(n.In[1], n.Out[0].Type)
	if !l.spread(first, second) {
		return fmt.Sprintf("operands of shapes %v and %v, want one of the result's shape, the other the same or 1 in "+
			"each dimension", n.In[0].Type.Shape, n.In[1].Type.Shape)
	}
	low, high := op.ActRange(n, n.Out[0].Type)
	l.Low, l.High = int64(low), int64(high)
	l.zeros = [3]int64{l.in.Zero, l.in2.Zero, l.out.Zero}
	l.over = n.In[0].Const == nil && n.In[1].Const == nil
	why := l.exactly(n, first, second)
	if why == "" {
		b.add(l)
	}
	return why
}

// spread gives a layer its operands: the first one has the shape of the result.
func (l *layer) spread(first, second *fmap) bool {
	if l.in, l.in2 = first, second; !first.same(l.out) {
		l.in, l.in2, l.Reversed = second, first, true
	}
	ok := l.in.same(l.out)
	for i, d := range [3][2]int{{l.in2.H, l.out.H}, {l.in2.W, l.out.W}, {l.in2.C, l.out.C}} {
		l.Spread[i] = d[0] != d[1]
		ok = ok && (!l.Spread[i] || d[0] == 1)
	}
	return ok
}

// exactly finds the way that gives every number, or says of which two numbers the best one does not.
func (l *layer) exactly(n *ir.Node, first, second *fmap) (nearest string) {
	want, err := everyPair(n)
	if err != nil {
		return err.Error()
	}
	most := -1
	for _, way := range pairModes(n) {
		o := l.Op
		o.Mode, o.ScaleMode, o.Rounding, o.PerChannel = way.Mode, way.ScaleMode, way.Rounding, way.PerChannel
		o.Scale, o.Shift, o.A, o.AShift, o.B = way.Scale, way.Shift, way.A, way.AShift, way.B
		o.IFM.Bits, o.IFM.Zero, o.IFM2.Zero, o.OFM.Zero = first.Bits, first.Zero, second.Zero, l.zeros[2]
		if min(o.Shift, o.AShift) < 0 || max(o.Shift, o.AShift) > 63 {
			continue
		}
		right, text := differs(&o, want, first, second)
		if l.Op = o; text == "" {
			return ""
		}
		if right > most {
			most, nearest = right, text
		}
	}
	return nearest
}

// operand is the map of an operand, with as many dimensions as the result.
func (b *builder) operand(v *ir.Value, out ir.Type) *fmap {
	if v.Const == nil || v.Type.Rank() == out.Rank() {
		return b.of(v)
	}
	shape := kernel.PadLeft(v.Type.Shape, out.Rank())
	return b.of(&ir.Value{Name: v.Name, Type: v.Type.WithShape(shape), Const: v.Const.Reshaped(shape)})
}

func (m *fmap) same(o *fmap) bool { return m.H == o.H && m.W == o.W && m.C == o.C }

// everyPair is a function of two values of 8 bits for all of them: the first one's bit patterns in turn.
func everyPair(n *ir.Node) (*tensor.Dense, error) {
	x := kernel.AllBytes(n.In[0].Type.DType, 256)
	b := make([]byte, 256*256)
	for i := range b {
		b[i] = byte(i >> 8)
	}
	y, err := tensor.FromBytes(n.In[1].Type.DType, []int{len(b)}, b)
	if err != nil {
		return nil, err
	}
	return kernel.Probe(n, []*tensor.Dense{x, y}, []int{len(b)})
}

// differs is the first pair for which an operation gives another number than the model, and how many came before.
func differs(o *npu.Op, want *tensor.Dense, first, second *fmap) (right int, why string) {
	value := func(m *fmap, b int) int64 {
		if m.Signed {
			return int64(int8(b))
		}
		return int64(b)
	}
	for i := range want.Len() {
		x, y := value(first, i&255), value(second, i>>8)
		if got := o.Pair(x, y); got != want.Int(i) {
			return i, fmt.Sprintf("of %d and %d the model gives %d, the device %d; want the same of every pair", x, y,
				want.Int(i), got)
		}
	}
	return want.Len(), ""
}
