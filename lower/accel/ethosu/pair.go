// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"encoding/binary"
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
	scales := fixp.NewAddScales
	if n.Out[0].Type.DType == tensor.I16 {
		scales = fixp.NewAddScales16
	}
	s := scales(n.In[0].Type.Quant.Scale[0], n.In[1].Type.Quant.Scale[0], n.Out[0].Type.Quant.Scale[0])
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
		t := v.Type
		if t.Quant == nil || t.Quant.PerAxis() || t.DType.Size() != n.Out[0].Type.DType.Size() || t.DType.Size() > 2 {
			return fmt.Sprintf("%s is %s, want integers of 8 or 16 bits with one scale", v, t)
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
		return ""
	}
	if b.inWords(n, l, first, second) {
		return ""
	}
	return why
}

// term is how a model scales an operand of a sum.
type term struct{ zero, left, mult, shift int32 }

func (t *term) of(v int64) int64 {
	return int64(fixp.Requantize((int32(v)-t.zero)<<t.left, t.mult, t.shift))
}

// inWords is a sum of numbers of 32 bits: operands as the model scales them, a few rows at a time; true, if pairs of
// values then give the model's numbers.
func (b *builder) inWords(n *ir.Node, l *layer, first, second *fmap) bool {
	s, proof := fixp.AddScales{}, everyPair
	switch {
	case op.Rounding(n) != fixp.DoubleRounding || n.In[0].Const != nil || n.In[1].Const != nil:
		return false
	case op.BinaryKernelS8(n):
		s = op.AddParamsS8(n).Scales
	case op.BinaryKernel16(n):
		s, proof = op.AddParams16(n).Scales, somePairs
	default:
		return false
	}
	terms := [2]term{{int32(first.Zero), s.LeftShift, s.Mult1, s.Shift1},
		{int32(second.Zero), s.LeftShift, s.Mult2, s.Shift2}}
	sum := *l
	sum.ScaleMode, sum.PerChannel, sum.A, sum.B, sum.AShift = 0, false, 1, 1, 0
	sum.Scale, sum.Shift, sum.Rounding = uint32(s.OutMult), 31-int(s.OutShift), npu.RoundTwice
	sum.IFM.Zero, sum.IFM2.Zero, sum.OFM.Zero, sum.IFM.Bits = 0, 0, l.zeros[2], 32
	same, why := proof(n)
	if why != "" || sum.Shift < 31 || sum.Shift > 63 {
		return false
	}
	for _, sum.Mode = range []int{npu.Add, npu.Sub} {
		if _, why = same(func(x, y int64) int64 { return sum.Pair(terms[0].of(x), terms[1].of(y)) }); why == "" {
			break
		}
	}
	if why != "" {
		return false
	}
	if l.Reversed {
		terms[0], terms[1] = terms[1], terms[0]
	}
	rows := max(1, l.out.H/8)
	for from := 0; from < l.out.H; from += rows {
		part := sum
		part.over, part.zeros = false, [3]int64{0, 0, l.zeros[2]}
		part.in, part.in2 = b.wide(l.in.rows(from, rows), &terms[0]), b.wide(l.in2.rows(from, rows), &terms[1])
		part.out = l.out.rows(from, rows)
		b.add(&part)
	}
	return true
}

// wide is a map of 32 bits with a map's numbers as a term has them: by a table, or scaled and rounded twice.
func (b *builder) wide(in *fmap, t *term) *fmap {
	l := plain(npu.Elementwise, in, b.temporary(in.H, in.W, in.C, 32))
	l.Mode, l.A, l.B, l.Scalar = npu.Add, 1, 1, true
	l.IFM2.Bits, l.IFM2.Signed = in.Bits, true
	b.add(l)
	if in.Bits == 8 {
		l.Low, l.High = -128, 127
		for v := int64(-128); v < 128; v++ {
			l.table = binary.LittleEndian.AppendUint32(l.table, uint32(t.of(v)))
		}
		return l.out
	}
	l.A, l.Scale, l.Shift, l.zeros[0] = 1<<t.left, uint32(t.mult), 31-int(t.shift), int64(t.zero)
	return l.out
}

// rows are some of a map's; a map of one row has that one for all.
func (m *fmap) rows(from, n int) *fmap {
	return m.view(func(r *fmap) { *r = *m.band(from, min(n, m.H-from)) })
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
	proof := everyPair
	if first.Bits == 16 {
		proof = somePairs
	}
	same, why := proof(n)
	if why != "" {
		return why
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
		right, text := same(o.Pair)
		if text == "" && first.Bits == 16 {
			text = operands16(n, &o)
		}
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

// proof says how many pairs of values are right before the first one that is not, and which that is.
type proof = func(pair func(x, y int64) int64) (right int, why string)

// everyPair compares an operation with a function of two values of 8 bits for all of them.
func everyPair(n *ir.Node) (_ proof, why string) {
	a, b := make([]byte, 256*256), make([]byte, 256*256)
	for i := range b {
		a[i], b[i] = byte(i), byte(i>>8)
	}
	return comparison(n, a, b)
}

// comparison compares results of pairs.
func comparison(n *ir.Node, a, b []byte) (_ proof, why string) {
	size := n.Out[0].Type.DType.Size()
	x, err := tensor.FromBytes(n.In[0].Type.DType, []int{len(a) / size}, a)
	if err != nil {
		return nil, err.Error()
	}
	y, err := tensor.FromBytes(n.In[1].Type.DType, []int{len(b) / size}, b)
	if err != nil {
		return nil, err.Error()
	}
	want, err := kernel.Probe(n, []*tensor.Dense{x, y}, []int{len(a) / size})
	if err != nil {
		return nil, err.Error()
	}
	return func(pair func(x, y int64) int64) (int, string) {
		for i := range want.Len() {
			if got := pair(x.Int(i), y.Int(i)); got != want.Int(i) {
				return i, fmt.Sprintf("of %d and %d the model gives %d, the device %d; want the same of every pair",
					x.Int(i), y.Int(i), want.Int(i), got)
			}
		}
		return want.Len(), ""
	}, ""
}

// somePairs shows which operation on int16 it is; operands16 proves the rest.
func somePairs(n *ir.Node) (_ proof, why string) {
	if !op.BinaryKernel16(n) && !op.MinMaxKernel(n) || op.Rounding(n) != fixp.DoubleRounding {
		return nil, fmt.Sprintf("%s of int16 follows another rule than its kernel, want that", n.Op.Name)
	}
	const pairs = 1 << 13
	var a, b []byte
	for i := range uint32(pairs) {
		mixed := i * 2654435761 // spread over both operands
		a, b = append(a, byte(mixed), byte(mixed>>8)), append(b, byte(mixed>>16), byte(mixed>>24))
	}
	return comparison(n, a, b)
}

// operands16 compares all values of each operand of int16, scaled, with the model's; what follows has its definition.
func operands16(n *ir.Node, o *npu.Op) string {
	switch {
	case o.Mode > npu.Sub:
		return ""
	case o.Rounding != npu.RoundTwice:
		return "the device would round results once, the model does twice"
	case o.Mode == npu.Mul:
		return ""
	}
	s := op.AddParams16(n).Scales
	for v := int32(-1 << 15); v < 1<<15; v++ {
		x, y := o.Operands(int64(v), int64(v))
		left := v << s.LeftShift
		a, b := fixp.Requantize(left, s.Mult1, s.Shift1), fixp.Requantize(left, s.Mult2, s.Shift2)
		if x != int64(a) || y != int64(b) {
			return fmt.Sprintf("the device scales operand %d in another way than the model", v)
		}
	}
	return ""
}

// everyNumber is a function of one value for all numbers of its type, the least first.
func everyNumber(n *ir.Node, v *ir.Value) (*tensor.Dense, string) {
	first, last := v.Type.DType.IntRange()
	if last-first >= 1<<16 {
		return nil, fmt.Sprintf("an operand of a function is %s, want int8, uint8 or int16", v.Type.DType)
	}
	all := tensor.New(v.Type.DType, []int{int(last - first + 1)})
	for i := range all.Len() {
		all.SetInt(i, first+int64(i))
	}
	want, err := function(n, v, all)
	if err != nil {
		return nil, err.Error()
	}
	return want, ""
}

// function is that of one value for numbers.
func function(n *ir.Node, v *ir.Value, numbers *tensor.Dense) (want *tensor.Dense, err error) {
	parts, known := []*ir.Node{n}, map[*ir.Value]*tensor.Dense{v: numbers}
	if n.Op == op.Fused {
		parts, known = n.Body[0].Nodes, map[*ir.Value]*tensor.Dense{n.Body[0].In[0]: numbers}
	}
	for _, m := range parts {
		in := make([]*tensor.Dense, len(m.In))
		for i, x := range m.In {
			if x == nil {
				continue
			}
			if in[i] = known[x]; x.Const != nil {
				c, ok := x.Const.Uniform()
				if !ok {
					c = x.Const
				}
				in[i] = c
			}
		}
		if want, err = kernel.Probe(m, in, []int{numbers.Len()}); err != nil {
			return nil, err
		}
		known[m.Out[0]] = want
	}
	return want, nil
}

// scales makes a layer one that scales, if that and limits give every number.
func (l *layer) scales(n *ir.Node, x, y ir.Type, want *tensor.Dense) bool {
	if x.Quant.PerAxis() || y.Quant.PerAxis() {
		return false
	}
	mult, shift := scaling(n, x, y)
	o := *l
	o.Kind, o.zeros = npu.Average, [3]int64{l.in.Zero, 0, l.out.Zero}
	o.Low, o.High = want.Int(0), want.Int(0)
	for i := range want.Len() {
		o.Low, o.High = min(o.Low, want.Int(i)), max(o.High, want.Int(i))
	}
	if o.Scale, o.Shift = uint32(mult), 31-int(shift); o.Shift < 0 || o.Shift > 63 {
		return false
	}
	first, _ := x.DType.IntRange()
	if y.Quant == nil {
		o.zeros[2] = want.Int(int(l.in.Zero - first))
	}
	for _, o.Rounding = range []int{npu.RoundTwice, npu.HalfUp} {
		right := true
		for i := 0; right && i < want.Len(); i++ {
			v := o.Op.Scaled(first+int64(i)-o.zeros[0]) + o.zeros[2]
			right = max(o.Low, min(o.High, v)) == want.Int(i)
		}
		if right {
			*l = o
			return true
		}
	}
	return false
}

// scaling is that between two types, or that of a Rescale.
func scaling(n *ir.Node, x, y ir.Type) (mult, shift int32) {
	if n.Op == op.Fused {
		for _, m := range n.Body[0].Nodes {
			if m.Op == op.Rescale {
				a := ir.AttrsOf[op.RescaleAttrs](m)
				return int32(a.Mult), int32(a.Shift)
			}
		}
	}
	if x.Quant == nil || y.Quant == nil {
		return 0, 0
	}
	return fixp.QuantizeMultiplier(float64(x.Quant.Scale[0]) / float64(y.Quant.Scale[0]))
}

// lines is a table of int16: lines between every 128th value, proven for all.
func lines(n *ir.Node, want *tensor.Dense) ([]byte, string) {
	if n.Out[0].Type.DType != tensor.I16 || want.Len() != 1<<16 {
		return nil, fmt.Sprintf("%d values give %s, want int16 both", want.Len(), n.Out[0].Type)
	}
	curve, ok := kernel.CurveOf(n)
	if !ok {
		curve = &fixp.InterpolatedLUT16{}
		for i := range curve {
			curve[i] = int16(want.Int(min(i*128, want.Len()-1)))
		}
	}
	var out []byte
	for i := range len(curve) - 1 {
		out = binary.LittleEndian.AppendUint16(out, uint16(curve[i]))
		out = binary.LittleEndian.AppendUint16(out, uint16(curve[i+1]-curve[i]))
	}
	for i := range want.Len() {
		x, at := i-1<<15, i>>7
		base, slope := int64(curve[at]), int64(curve[at+1]-curve[at])
		if got := base + (slope*int64(x&127)+64)>>7; got != want.Int(i) {
			return nil, fmt.Sprintf("of %d the model gives %d, lines between every 128th value %d", x, want.Int(i), got)
		}
	}
	return out, ""
}
