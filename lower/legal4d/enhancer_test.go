// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestEnhancer: ranks 5 and 6, unfolding, grouped recurrent layers, channels
// shuffled: all on 4-D tensors, but for what takes the state apart and puts it
// together again.
func TestEnhancer(t *testing.T) {
	for seed := range uint64(6) {
		m := &maker{t: t, g: irtest.Enhancer(seed, tensor.F64), dt: tensor.F64, seed: seed}
		l := m.check(false)
		testenv.Check(t, seed%2 != 0 || len(l) <= 0, "seed %d: %v", seed, l)
		if l := must(t, m.g).Left; len(l) > 0 {
			t.Errorf("seed %d: left %v", seed, l)
		}
	}
}

// TestGathers: constant indices of any rank and order.
func TestGathers(t *testing.T) {
	for i, c := range []struct {
		axis  int
		shape []int
		idx   []int
	}{
		{1, []int{}, []int{-2}},
		{2, []int{3}, []int{4, 2, 0}},
		{2, []int{3}, []int{0, 2, 4}},
		{3, []int{3, 4}, []int{0, 1, 2, 3, 1, 2, 3, 4, 2, 3, 4, 5}}, // windows
		{3, []int{4, 3}, []int{0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5}}, // windows, turned
		{3, []int{2, 3}, []int{0, 2, 4, 1, 3, 5}},                   // frames with a step
		{1, []int{2, 2, 2}, []int{0, 1, 2, 3, 3, 2, 1, 0}},
		{1, []int{1, 1, 2}, []int{3, 3}},
		{1, []int{1, 1}, []int{2}},
	} {
		m := newMaker(t, uint64(1500+i))
		x := m.op(op.Relu, nil, m.in(1, 4, 5, 6))
		idx := lists.Each(c.idx, func(v int) int64 { return int64(v) })
		y := m.op(op.Gather, ir.Attrs{"axis": ir.Int(c.axis)}, x, m.g.AddConst("idx", tensor.Of(c.shape, idx)))
		m.out(m.op(op.Mul, nil, y, m.c(y.Type.Shape...)))
		m.out(m.reshape(y, 1, -1))
		m.all4D()
	}
	m := newMaker(t, 1520)
	x := m.reshape(m.op(op.Relu, nil, m.in(1, 3, 4, 5)), 1, 60)
	idx := []int64{0, 1, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 8, 9, 10, 11, 8, 9, 10, 11, 12, 13, 14, 15}
	y := m.op(op.Gather, ir.Attrs{"axis": ir.Int(1)}, x, m.g.AddConst("frames", tensor.Of([]int{3, 8}, idx)))
	m.out(m.linear(y, 4))
	m.all4D()
}

// TestTransposedConvolutions: without a stride, dilated, in groups.
func TestTransposedConvolutions(t *testing.T) {
	i := uint64(0)
	for _, group := range []int{1, 2, 4} {
		for _, out := range []int{1, 3} { // channels a group
			for _, a := range []ir.Attrs{
				{"strides": ir.Ints(1, 1), "pads": ir.Ints(0, 1, 1, 0)},
				{"strides": ir.Ints(1, 1), "dilations": ir.Ints(2, 3), "pads": ir.Ints(1, 2, 3, 0)},
				{"strides": ir.Ints(1, 1), "dilations": ir.Ints(2, 1), "output_padding": ir.Ints(1, 0)},
				{"strides": ir.Ints(2, 1), "pads": ir.Ints(1, 1, 0, 1), "output_padding": ir.Ints(1, 0)},
				{"strides": ir.Ints(1, 2), "dilations": ir.Ints(2, 2), "auto_pad": ir.Str("SAME_UPPER")},
			} {
				i++
				m := newMaker(t, 1600+i)
				attrs := a.Clone()
				attrs["group"] = ir.Int(group)
				o := testenv.Must(m.try(op.ConvTranspose, attrs, 1, m.op(op.Relu, nil, m.in(1, 4, 5, 6)),
					m.c(4, out, 2, 3), m.c(group*out)))(t)
				m.out(o[0])
				m.all4D()
			}
		}
	}
}
