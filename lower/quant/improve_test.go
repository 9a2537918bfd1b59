// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// TestBiasCorrection: channel means of the output come closer to the float
// model's, in a network whose clipped ranges shift them.
func TestBiasCorrection(t *testing.T) {
	better := 0
	for seed := range uint64(8) {
		b := newBuilder(t, seed)
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
		y := x
		for range 4 {
			y = b.conv(y, 6, 3, 1, ir.Attrs{"act_min": ir.Float(0)})
		}
		b.g.AddOutput("y", b.conv(y, 6, 1, 1, nil))
		s := samples(b.g, 6, seed)
		bias := func(o quant.Options) float64 {
			q := b.g.Clone()
			o.Samples, o.Method = s, option.Entropy
			testenv.OK(t, testenv.Err(quant.Insert(q, o)))
			irtest.Verify(t, q)
			mean := make([]float64, 6)
			for _, in := range s {
				want, got := irtest.Run(t, b.g, in)[0], irtest.Run(t, q, in)[0]
				for i := range want.Len() {
					mean[i/64] += got.Float(i) - want.Float(i)
				}
			}
			sum := 0.0
			for _, m := range mean {
				sum += math.Abs(m)
			}
			return sum
		}
		if bias(quant.Options{BiasCorrection: true}) < 0.5*bias(quant.Options{}) {
			better++
		}
	}
	testenv.Check(t, better >= 7, "the bias is halved in %d of 8 networks", better)
}

// TestEqualize: the float network computes the same bits, and channels of very
// different size survive quantisation.
func TestEqualize(t *testing.T) {
	for _, depthwise := range []bool{false, true} {
		b := newBuilder(t, 4)
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 4, 8, 8))
		w, bias := b.normal(0.5, 8, 4, 1, 1), b.normal(0.1, 8)
		for i := range w.Const.Len() {
			w.Const.SetFloat(i, w.Const.Float(i)*math.Ldexp(1, -(i/4)))
		}
		for i := range 8 {
			bias.Const.SetFloat(i, bias.Const.Float(i)*math.Ldexp(1, -i))
		}
		y := b.add("MaxPool", ir.Attrs{"kernel_shape": ir.Ints(2, 2)}, b.add("Conv", ir.Attrs{"act_min": ir.Float(0)},
			x, w, bias))
		w2 := b.normal(0.5, 8, 8, 1, 1)
		attrs := ir.Attrs{}
		if depthwise {
			w2 = b.normal(0.5, 8, 1, 1, 1)
			attrs["group"] = ir.Int(8)
		}
		inner := w2.Const.Len() / 8
		for i := range w2.Const.Len() {
			c := i % 8
			if depthwise {
				c = i / inner
			}
			w2.Const.SetFloat(i, w2.Const.Float(i)*math.Ldexp(1, c))
		}
		b.g.AddOutput("y", b.add("Conv", attrs, y, w2))
		s := samples(b.g, 4, 1)
		db := map[bool]float64{}
		for _, eq := range []bool{false, true} {
			_, r := quantised(t, b.g, quant.Options{Samples: s, Equalize: eq})
			db[eq] = r.SQNR
		}
		if _,
			r := quantised(t, b.g, quant.Options{Samples: s, Equalize: true,
			BiasCorrection: true}); r.SQNR < db[true]-1 {
			t.Errorf("depthwise %v: %.1f dB with corrected biases too, %.1f without", depthwise, r.SQNR, db[true])
		}
		testenv.Check(t, !(db[true] < db[false]+3), "depthwise %v: %.1f dB with equalisation, %.1f without",
			depthwise, db[true], db[false])
		// The float part of the quantised graph: bypass every Q/DQ pair of
		// activations and restore the weights' reals.
		q := b.g.Clone()
		quant.EqualizeForTest(q, s)
		testenv.Check(t, q.String() != b.g.String(), "nothing was equalised")
		a, c := irtest.Run(t, b.g, s[0])[0], irtest.Run(t, q, s[0])[0]
		testenv.Check(t, tensor.Equal(a, c), "the float network computes other bits")
	}
}

// lstmGraph is an LSTM with a dense layer behind its last hidden state or all
// of its outputs.
func lstmGraph(t *testing.T, direction string, last bool) *ir.Graph {
	b := newBuilder(t, 9)
	dirs := 1
	if direction == "bidirectional" {
		dirs = 2
	}
	x := b.g.AddInput("x", ir.T(tensor.F32, 10, 1, 5))
	h := 7
	n := testenv.Must(b.g.Add(op.LSTM, "lstm", ir.Attrs{"hidden_size": ir.Int(h), "direction": ir.Str(direction)}, 3, x,
		b.normal(0.4, dirs, 4*h, 5), b.normal(0.3, dirs, 4*h, h), b.normal(0.2, dirs, 8*h)))(t)
	v := n.Out[0]
	if last {
		v = n.Out[1]
	}
	flat := b.add("Reshape", nil, v, b.g.AddConst("s", tensor.Ints(1, -1)))
	b.g.AddOutput("y", b.dense(flat, 3))
	irtest.Verify(t, b.g)
	return b.g
}

// TestLSTM: LSTMs of every direction become QLSTMs that compute nearly the
// same; so does one whose cell state is read.
func TestLSTM(t *testing.T) {
	for _, dir := range []string{"forward", "reverse", "bidirectional"} {
		for _, last := range []bool{false, true} {
			g := lstmGraph(t, dir, last)
			s := samples(g, 4, 1)
			q, _ := quantised(t, g, quant.Options{Samples: s})
			testenv.Check(t, irtest.Count(q, "QLSTM") != 0 && irtest.Count(q, "LSTM") == 0, "%s: no QLSTM in\n%s",
				dir, q)
			for _, n := range q.Nodes {
				testenv.Check(t, n.Quantised(), "%s: %s is float", dir, n)
			}
			want, got := irtest.Run(t, g, s[0])[0].Floats(), runInteger(t, q, s[0])[0].Floats()
			db := ratio(want, got)
			testenv.Check(t, !(db < 25), "%s, last %v: %.1f dB", dir, last, db)
		}
	}
	g := lstmGraph(t, "forward", false)
	g.AddOutput("c", g.Nodes[0].Out[2])
	q, _ := quantised(t, g, quant.Options{Samples: samples(g, 2, 1)})
	testenv.Check(t, irtest.Count(q, "QLSTM") == 1 && q.Out[1].Type.DType == tensor.I16,
		"the cell state is no int16 output of a QLSTM\n%s", q)
	_, err := interp.Run(q, irtest.Inputs(q, 1), nil)
	testenv.Check(t, err == nil, "%v", err)
}
