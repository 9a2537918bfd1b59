// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// longLSTM remembers for long: its forget gates have a bias of 3.
func longLSTM(t *testing.T, initial string) *ir.Graph {
	const hidden, input = 12, 6
	g := irtest.Parse(t, `graph "g" {
		in %x : f32[200,1,6]
		const %w : f32[1,48,6] = rand 1
		const %r : f32[1,48,12] = rand 2
		const %b : f32[1,96] = rand 3
		`+initial+`
		out "y" = %y
	}`)
	for _, n := range g.Nodes {
		if n.Op != op.LSTM {
			continue
		}
		scale := func(i int, f func(k int, v float64) float64) {
			d := n.In[i].Const
			for k := range d.Len() {
				d.SetFloat(k, f(k, d.Float(k)))
			}
		}
		scale(1, func(_ int, v float64) float64 { return v / math.Sqrt(input) })
		scale(2, func(_ int, v float64) float64 { return v / math.Sqrt(hidden) })
		scale(3, func(k int, v float64) float64 {
			if k/hidden == 2 {
				return 3 + 0.1*v
			}
			return 0.1 * v
		})
	}
	return g
}

// TestCellState: the scale of the cell state covers the states that the
// samples reach, and no more than a bit or two beyond.
func TestCellState(t *testing.T) {
	g := longLSTM(t, "%y = LSTM(%x, %w, %r, %b)")
	var s []quant.Sample
	for k := range 4 {
		s = append(s, irtest.Inputs(g, uint64(k)+1))
	}
	q := g.Clone()
	testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{Samples: s})))
	irtest.Verify(t, q)
	want := irtest.Run(t, g, s[0])[0].Floats()
	db := signalToNoise(want, irtest.Run(t, q, s[0])[0].Floats())
	testenv.Check(t, !(db < 30), "Q/DQ graph: %.1f dB", db)
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	n := only(t, q)
	power := ir.AttrsOf[op.QLSTMAttrs](n).CellScalePower
	// what the float model reaches on the samples
	f := g.Clone()
	l := f.Nodes[0]
	top := 0.0
	for steps := 20; steps <= 200; steps += 20 {
		for _, x := range s {
			in := []*tensor.Dense{tensor.Of([]int{steps, 1, 6}, tensor.As[float32](x[0])[:steps*6])}
			short := longLSTM(t, "%y0, %h, %y = LSTM(%x, %w, %r, %b)")
			short.In[0].Type = ir.T(tensor.F32, steps, 1, 6)
			out, err := short.Nodes[0].Op.Eval(short.Nodes[0], append(in, l.In[1].Const, l.In[2].Const, l.In[3].Const))
			testenv.OK(t, err)
			for i := range out[2].Len() {
				top = max(top, math.Abs(out[2].Float(i)))
			}
		}
	}
	limit := math.Ldexp(math.MaxInt16, power)
	testenv.Check(t, !(limit < top) && !(limit > 8*top), "scale 2^%d covers %.3g, states reach %.3g", power, limit,
		top)
	x := []*tensor.Dense{ir.QuantiseEven(s[0][0], q.In[0].Type)}
	got := ir.Dequantise(irtest.Run(t, q, x)[0], q.Out[0].Type.Quant).Floats()
	if db := signalToNoise(want, got); db < 28 {
		t.Errorf("integers: %.1f dB", db)
	}
}

// TestCellStateUnknown: without calibration the scale follows from the length.
func TestCellStateUnknown(t *testing.T) {
	src := `const %xs : f32[] = {0.02}
		const %xz : i8[] = {3}
		const %ws : f32[] = {0.01}
		const %ys : f32[] = {0.0078125}
		const %yz : i8[] = {0}
		const %wq : i8[1,48,6] = rand 5
		const %rq : i8[1,48,12] = rand 6
		%xq = QuantizeLinear(%x, %xs, %xz)
		%xd = DequantizeLinear(%xq, %xs, %xz)
		%wd = DequantizeLinear(%wq, %ws)
		%rd = DequantizeLinear(%rq, %ws)
		%yf = LSTM(%xd, %wd, %rd, %b)
		%q = QuantizeLinear(%yf, %ys, %yz)
		%y = DequantizeLinear(%q, %ys, %yz)`
	g := irtest.Parse(t, "graph \"g\" {\nin %x : f32[20,1,6]\nconst %b : f32[1,96] = rand 3\n"+src+
		"\nout \"y\" = %y\n}")
	testenv.OK(t, quant.Integer(g, quant.IntegerOptions{}))
	testenv.Equal(t, ir.AttrsOf[op.QLSTMAttrs](only(t, g)).CellScalePower, 5-15, "scale 2^ for 20 steps")
}

// only is the one QLSTM of a graph.
func only(t *testing.T, g *ir.Graph) *ir.Node {
	t.Helper()
	for _, n := range g.Nodes {
		if n.Op == op.QLSTM {
			return n
		}
	}
	t.Fatalf("no QLSTM in\n%s", g)
	return nil
}

func signalToNoise(want, got []float64) float64 {
	var s, e float64
	for i, w := range want {
		s += w * w
		e += (w - got[i]) * (w - got[i])
	}
	return 10 * math.Log10(s/e)
}
