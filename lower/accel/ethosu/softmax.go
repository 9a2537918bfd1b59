// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// words are maps of 32 bits, and operations on them.
type words struct {
	*builder
	rows int
}

// number is a constant.
func (w *words) number(v int32) *fmap {
	return shaped(1, 1, 1, 32, true, w.constant(binary.LittleEndian.AppendUint32(nil, uint32(v))))
}

// do appends an operation of two maps whose result is shifted to the right and rounded.
func (w *words) do(mode int, a, b *fmap, shift int) *fmap {
	first := a
	if b.C*b.W*b.H > a.C*a.W*a.H {
		first = b
	}
	l := plain(npu.Elementwise, a, w.temporary(first.H, first.W, first.C, 32))
	l.spread(a, b)
	l.Mode, l.Shift, l.over = mode, shift, true
	l.A, l.B, l.PerChannel = 1, 1, mode > npu.Sub
	if mode > npu.Sub {
		l.Rounding = npu.HalfUp
	}
	w.add(l)
	return l.out
}

// times is a product of fixed point numbers with 31 bits behind the point.
func (w *words) times(a, b *fmap) *fmap { return w.do(npu.Mul, a, b, 31) }

// reciprocal is 1/(1+x) of fixed point numbers from 0 to 1, by the model's own three steps of Newton's.
func (w *words) reciprocal(x *fmap) *fmap {
	half := w.do(npu.Add, x, w.number(math.MaxInt32), 1)
	const a48, b32, one = 1515870810, -1010580540, 1 << 29 // 48/17, -32/17 and 1
	r := w.do(npu.Add, w.times(half, w.number(b32)), w.number(a48), 0)
	for range 3 {
		e := w.do(npu.Sub, w.number(one), w.times(r, half), 0)
		r = w.do(npu.Add, r, w.do(npu.Mul, w.times(r, e), w.number(4), 0), 0)
	}
	return w.do(npu.Mul, r, w.number(2), 0)
}

// softmax is the model's own sequence of integers: exponentials from a table, their sum, its reciprocal.
func (b *builder) softmax(n *ir.Node) string {
	in, out := b.of(n.In[0]), b.of(n.Out[0])
	mult, shift, least, ok := op.SoftmaxKernel(n)
	switch axis, err := op.Axis(n, ir.AttrsOf[op.AxisAttr](n).Axis, n.In[0].Type.Rank()); {
	case err != nil:
		return err.Error()
	case !ok:
		return fmt.Sprintf("from %s to %s, want int8 with a scale of 1/256 and zero point -128 behind",
			n.In[0].Type, n.Out[0].Type)
	case n.In[0].Type.Shape[axis] != in.C:
		return fmt.Sprintf("along dimension %d, want the channels", axis)
	case in.H > 1 && in.StrideY != int64(in.W)*in.StrideX || out.StrideY != int64(out.W)*out.StrideX && out.H > 1:
		return "of rows that lie apart, want neighbours"
	case in.C > mostTaps:
		return fmt.Sprintf("of %d values, want at most %d", in.C, mostTaps)
	}
	w := &words{b, in.H * in.W}
	row := func(m *fmap, h, wide, c int, y, x int64) *fmap {
		return m.view(func(r *fmap) { r.H, r.W, r.C, r.StrideY, r.StrideX = h, wide, c, y, x })
	}
	flat := row(in, 1, w.rows, in.C, 0, in.StrideX)
	greatest := shaped(w.rows, 1, 1, 8, true, &area{region: working})
	most := plain(npu.Max, row(in, w.rows, in.C, 1, in.StrideX, 1), greatest)
	most.Window.W = in.C
	b.add(most)
	top := row(greatest, 1, w.rows, 1, 0, 1)

	exp := plain(npu.Elementwise, flat, b.temporary(1, w.rows, in.C, 32))
	exp.spread(flat, top)
	exp.Mode, exp.A, exp.B, exp.zeros[2], exp.Low, exp.High = npu.Sub, 1, 1, 127, -128, 127
	for _, t := range qref.SoftmaxTerms(mult, shift, least) {
		exp.table = binary.LittleEndian.AppendUint32(exp.table, uint32(t))
	}
	b.add(exp)
	const bits = 12 // of room for the sum
	sum := plain(npu.Sum, w.do(npu.ShiftRight, exp.out, w.number(bits), 0), b.temporary(1, w.rows, 1, 32))
	b.add(sum)
	zeros := plain(npu.Elementwise, sum.out, b.temporary(1, w.rows, 1, 32))
	zeros.Mode, zeros.PerChannel, zeros.over = npu.LeadingZeros, true, true
	b.add(zeros)
	norm := w.do(npu.ShiftLeft, sum.out, w.do(npu.Sub, zeros.out, w.number(1), 0), 0)
	norm = w.do(npu.ShiftLeft, w.do(npu.Sub, norm, w.number(1<<30), 0), w.number(1), 0)
	scaled := w.times(exp.out, w.reciprocal(norm))
	by := w.do(npu.Sub, w.number(bits+23), zeros.out, 0)
	last := plain(npu.Elementwise, scaled, row(out, 1, w.rows, out.C, 0, out.StrideX))
	last.spread(scaled, by)
	last.Mode, last.PerChannel, last.Rounding, last.zeros[2] = npu.ShiftRight, true, npu.HalfUp, out.Zero
	b.add(last)
	return ""
}
