// SPDX-License-Identifier: Apache-2.0

package ethosu

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/accel/ethosu/npu"
)

// mostSteps of an LSTM, each of which is fourteen layers.
const mostSteps = 64

// cell is an LSTM in layers: the model's own integers, step by step.
type cell struct {
	*builder
	*qref.LSTMParams
	why string
}

// lstm is every step of an LSTM.
func (b *builder) lstm(n *ir.Node) string {
	p, why := op.QLSTMParams(n)
	switch {
	case why != "":
		return why
	case n.In[0].Type.DType != tensor.I8 || p.Time > mostSteps:
		return fmt.Sprintf("%d steps of %s, want at most %d of int8", p.Time, n.In[0].Type, mostSteps)
	}
	s, x, y := &cell{b, p, ""}, b.of(n.In[0]), b.of(n.Out[0])
	h, c := s.state(n.Input(4), tensor.I8, p.OutputOffset), s.state(n.Input(5), tensor.I16, 0)
	for t := range p.Time {
		if ir.AttrsOf[op.DirectionAttr](n).Direction == "reverse" {
			t = p.Time - 1 - t
		}
		in := x.rows(t, 1)
		kept := s.two(npu.Mul, c, s.gate(&p.Forget, in, h), nil, p.ForgetToCellMult, p.ForgetToCellShift)
		update := s.two(npu.Mul, s.gate(&p.Input, in, h), s.gate(&p.Cell, in, h), nil, p.InputToCellMult,
			p.InputToCellShift)
		sum := s.two(npu.Add, kept.out, update.out, nil, 1, 31)
		if c = sum.out; p.CellClip > 0 {
			sum.Low, sum.High = -int64(p.CellClip), int64(p.CellClip)
		}
		out := s.gate(&p.Output, in, h)
		h = y.rows(t, 1)
		s.two(npu.Mul, s.squashed(c), out, h, p.OutputMult, p.OutputShift).zeros[2] = int64(p.OutputOffset)
	}
	for i, m := range []*fmap{h, c}[:len(n.Out)-1] {
		b.maps[n.Out[i+1]] = m
	}
	return s.why
}

// state is what a value holds at first, or the same everywhere.
func (s *cell) state(v *ir.Value, t tensor.DType, all int32) *fmap {
	if v == nil {
		d := tensor.New(t, []int{s.Batch, s.HiddenSize})
		for i := range d.Len() {
			d.SetInt(i, int64(all))
		}
		v = &ir.Value{Type: ir.T(t, d.Shape...), Const: d}
	}
	return s.of(v)
}

// scaled appends a layer that scales its results as the model does.
func (s *cell) scaled(l *layer, mult, shift int32) *layer {
	if l.Scale, l.Shift = uint32(mult), 31-int(shift); l.Shift < 0 || l.Shift > 63 {
		s.why = fmt.Sprintf("a scale is shifted by %d, want 0 to 63", l.Shift)
	}
	if s.Rounding == fixp.SingleRounding {
		l.Rounding = npu.HalfUp
	}
	return s.add(l)
}

// units is a map of int16 for every unit.
func (s *cell) units() *fmap { return s.temporary(1, s.Batch, s.HiddenSize, 16) }

// two is a sum or a product, scaled.
func (s *cell) two(mode int, a, b, out *fmap, mult, shift int32) *layer {
	if out == nil {
		out = s.units()
	}
	l := plain(npu.Elementwise, a, out)
	l.in2, l.Mode, l.A, l.B, l.over = b, mode, 1, 1, true
	return s.scaled(l, mult, shift)
}

// gate is one of the four gates.
func (s *cell) gate(g *qref.LSTMGate, x, h *fmap) *fmap {
	l := s.two(npu.Add, s.product(x, g.InputWeights, g.InputBias, g.InputMult, g.InputShift),
		s.product(h, g.HiddenWeights, g.HiddenBias, g.HiddenMult, g.HiddenShift), nil, 1, 31)
	l.A, l.B = 3, 3
	l.Curve(g.Act)
	return l.out
}

// product is that of rows with weights, [unit][size].
func (s *cell) product(in *fmap, w []int8, bias []int32, mult, shift int32) *fmap {
	l := plain(npu.Conv, in, s.units())
	l.PerChannel = true
	for _, v := range w {
		l.kernel = append(l.kernel, int16(v))
	}
	s.scaled(l, mult, shift)
	for _, v := range bias {
		l.channels = append(l.channels, npu.Channel{Bias: int64(v), Scale: l.Scale, Shift: l.Shift})
	}
	return l.out
}

// squashed is tanh of the cell's state.
func (s *cell) squashed(c *fmap) *fmap {
	l := plain(npu.Average, c, s.units())
	l.Rounding = npu.HalfUp
	if l.Scale = 3; s.CellScalePower < -12 {
		l.Shift = -12 - int(s.CellScalePower)
	} else {
		l.Scale <<= s.CellScalePower + 12
	}
	l.Curve(qref.Tanh)
	return s.add(l).out
}
