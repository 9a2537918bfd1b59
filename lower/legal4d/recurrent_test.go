// SPDX-License-Identifier: Apache-2.0

package legal4d_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// recurrent adds a recurrent node with options by r on x [T, B, I] or [B, T, I],
// and returns its outputs.
func (m *maker) recurrent(r *rand.Rand, d *ir.OpDef, layout, hidden int, x *ir.Value) []*ir.Value {
	gates := map[*ir.OpDef]int{op.LSTM: 4, op.GRU: 3, op.RNN: 1}[d]
	dir := []string{"forward", "reverse", "bidirectional"}[r.IntN(3)]
	dirs := 1 + r.IntN(2)
	if dirs == 2 {
		dir = "bidirectional"
	} else if dir == "bidirectional" {
		dir = "forward"
	}
	attrs := ir.Attrs{"direction": ir.Str(dir), "layout": ir.Int(layout), "hidden_size": ir.Int(hidden)}
	s := x.Type.Shape
	batch, state := s[1], []int{dirs, s[1], hidden}
	if layout == 1 {
		batch, state = s[0], []int{s[0], dirs, hidden}
	}
	in := []*ir.Value{x, m.c(dirs, gates*hidden, s[2]), m.c(dirs, gates*hidden, hidden), nil, nil, nil, nil, nil}
	if r.IntN(4) > 0 {
		in[3] = m.c(dirs, 2*gates*hidden)
	}
	if r.IntN(4) == 0 {
		in[4] = m.g.AddConst("lens", tensor.Of([]int{batch}, repeat(s[layout], batch)))
	}
	initial := func() *ir.Value {
		switch r.IntN(4) {
		case 0:
			return nil
		case 1:
			return m.in(state...)
		case 2:
			return m.g.AddConst("zeros", tensor.New(m.dt, state))
		}
		return m.c(state...)
	}
	in[5] = initial()
	outs := 2
	switch d {
	case op.LSTM:
		outs = 3
		in[6] = initial()
		if r.IntN(3) == 0 {
			in[7] = m.c(dirs, 3*hidden)
		}
		attrs["input_forget"] = ir.Int(r.IntN(4) / 3)
	case op.GRU:
		attrs["linear_before_reset"] = ir.Int(r.IntN(2))
		in = in[:6]
	default:
		in = in[:6]
	}
	if r.IntN(4) == 0 {
		attrs["clip"] = ir.Float(0.4)
	}
	out, err := m.try(d, attrs, outs, in...)
	if err != nil {
		m.t.Fatal(err)
	}
	return out
}

func repeat(k, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(k)
	}
	return out
}

// TestRecurrent: LSTM, GRU and RNN of every form become steps on 4-D tensors.
func TestRecurrent(t *testing.T) {
	n := uint64(60)
	if testenv.Long() {
		n = 2000
	}
	for seed := range n {
		d := []*ir.OpDef{op.LSTM, op.GRU, op.RNN}[seed%3]
		r := rand.New(rand.NewPCG(seed, 6))
		m := newMaker(t, 1000+seed)
		layout := r.IntN(2)
		x := m.op(op.Relu, nil, m.in(1, 1+r.IntN(4), 1+r.IntN(3), 1+r.IntN(5)))
		y := m.recurrent(r, d, layout, 1+r.IntN(5), m.reshape(x, x.Type.Shape[1:]...))
		for _, v := range y {
			if r.IntN(3) > 0 {
				m.out(v)
			}
		}
		m.out(m.op(op.Relu, nil, m.linear(y[0], 3)))
		l := m.check(false)
		for _, s := range l {
			if !strings.Contains(s, "MLA-RANK-IN") && !strings.Contains(s, "Reshape") { // inputs of rank 3
				t.Errorf("seed %d: %v", seed, l)
			}
		}
	}
}

// TestVoice: whole networks with recurrent layers are 4-D.
func TestVoice(t *testing.T) {
	for seed := range uint64(8) {
		m := &maker{t: t, g: irtest.Voice(seed, tensor.F64), dt: tensor.F64, seed: seed}
		m.all4D()
	}
}

// TestSeries: a series is one part of a step. What it takes out of results is of
// one kind: the range of another would be given to it.
func TestSeries(t *testing.T) {
	for seed := range uint64(8) {
		reads := map[string]*ir.OpDef{}
		for _, n := range must(t, irtest.Voice(seed, tensor.F64)).Native.Nodes {
			from := n.In[0].Def
			for from != nil && from.Op.Quant == ir.QMove {
				from = from.In[0].Def
			}
			if n.Series == "" || n.Op.Quant != ir.QMove || from == nil {
				continue
			}
			d := from.Op
			if first := reads[n.Series]; first != nil && first != d {
				t.Errorf("seed %d: series %q reads results of %s and %s", seed, n.Series, first.Name, d.Name)
			}
			reads[n.Series] = d
		}
		testenv.Check(t, len(reads) >= 4, "seed %d: %d series", seed, len(reads))
	}
}

// TestRecurrentActivations: every function that ONNX has for gates.
func TestRecurrentActivations(t *testing.T) {
	for i, f := range []string{"Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
		"HardSigmoid", "Elu", "Softsign", "Softplus"} {
		m := newMaker(t, uint64(1200+i))
		attrs := ir.Attrs{"hidden_size": ir.Int(3), "activations": ir.Strings("Sigmoid", f),
			"activation_alpha": ir.Floats(0.3), "activation_beta": ir.Floats(0.7)}
		out := testenv.Must(m.try(op.GRU, attrs, 1, m.in(4, 2, 3), m.c(1, 9, 3), m.c(1, 9, 3), m.c(1, 18)))(t)
		m.out(out[0])
		m.check(false)
		l := must(t, m.g).Left
		testenv.Check(t, len(l) <= 0, "%s: %v", f, l)
	}
}

// TestRecurrentStays: what is not unrolled says why.
func TestRecurrentStays(t *testing.T) {
	for want, make := range map[string]func(m *maker) []*ir.Value{
		"at most 128 are unrolled": func(m *maker) []*ir.Value { return []*ir.Value{m.in(129, 1, 2), m.c(1, 9, 2)} },
		"is computed at run time":  func(m *maker) []*ir.Value { return []*ir.Value{m.in(3, 1, 2), m.in(1, 9, 2)} },
		"are not all 3": func(m *maker) []*ir.Value {
			lens := m.g.AddConst("lens", tensor.Of([]int{1}, []int32{2}))
			return []*ir.Value{m.in(3, 1, 2), m.c(1, 9, 2), nil, nil, lens}
		},
	} {
		m := newMaker(t, 1300)
		in := make(m)
		if len(in) == 2 {
			in = append(in, nil)
		}
		in[2] = m.c(1, 9, 3)
		out := testenv.Must(m.try(op.GRU, ir.Attrs{"hidden_size": ir.Int(3)}, 1, in...))(t)
		m.out(out[0])
		m.check(true)
		l := must(t, m.g).Left
		text := fmt.Sprint(l)
		testenv.Check(t, len(l) == 1 && strings.Contains(text, want), "left %v, want %q", l, want)
	}
}

// TestWideStrides: convolutions over frames of a signal, along either axis.
func TestWideStrides(t *testing.T) {
	for i, c := range []struct {
		in, kernel, strides, pads []int
	}{
		{[]int{1, 1, 1, 640}, []int{1, 256}, []int{1, 128}, []int{0, 0, 0, 0}},
		{[]int{1, 2, 3, 200}, []int{2, 50}, []int{1, 40}, []int{0, 7, 1, 3}},
		{[]int{1, 1, 130, 2}, []int{33, 1}, []int{32, 1}, []int{0, 0, 0, 0}},
		{[]int{2, 1, 1, 150}, []int{1, 10}, []int{1, 35}, []int{0, 0, 0, 0}},
		{[]int{1, 1, 80, 90}, []int{40, 70}, []int{32, 33}, []int{1, 0, 2, 3}},
	} {
		m := newMaker(t, uint64(1400+i))
		x := m.op(op.Relu, nil, m.in(c.in...))
		m.out(m.op(op.Conv, ir.Attrs{"strides": ir.Ints(c.strides...), "pads": ir.Ints(c.pads...)}, x,
			m.c(3, c.in[1], c.kernel[0], c.kernel[1]), m.c(3)))
		l := m.check(false)
		testenv.Check(t, c.in[0] != 1 || len(l) <= 0, "%v: %v", c, l)
	}
}
