// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestEvaluations: with default options, a network of which samples are held out once is
// evaluated, in float and quantised together, once for every sample that it is calibrated on;
// once in float for each of 8 held out, and once quantised for each candidate; and 16 times for
// weights and biases, and 8 times in float, for each candidate that refines these. With 32
// samples that is 2.5 times for each where ranges are tried and not refined, with 128, where
// both ranges are refined here, 1.63 times.
func TestEvaluations(t *testing.T) {
	var count atomic.Int64
	r := rand.New(rand.NewPCG(51, 52))
	drawn := func(shape ...int) *tensor.Dense {
		d := tensor.New(tensor.F32, shape)
		for i := range d.Len() {
			d.SetFloat(i, r.NormFloat64())
		}
		return d
	}
	g := ir.New("counted")
	v := g.AddInput("x", ir.T(tensor.F32, 1, 8, 40, 40))
	for _, c := range [][2]int{{8, 16}, {16, 8}} {
		n := testenv.Must(g.Add(op.Conv, "conv", ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)}, 1, v,
			g.AddConst("w", drawn(c[1], c[0], 3, 3))))(t)
		v = n.Out[0]
	}
	last := testenv.Must(g.Add(countedRelu(&count), "counted", nil, 1, v))(t) // the last node
	g.AddOutput("y", last.Out[0])
	for _, c := range []struct {
		samples int
		most    float64
	}{{32, 2.5}, {128, 1.63}} {
		var samples []quant.Sample
		for range c.samples {
			samples = append(samples, quant.Sample{drawn(1, 8, 40, 40)})
		}
		count.Store(0)
		_, _, err := quant.Calibrate(g, defaults(samples))
		testenv.Require(t, err == nil, "%v", err)
		if n := float64(count.Load()) / float64(c.samples); n > c.most || n < 1 {
			t.Errorf("%.2f evaluations for each of %d samples, want 1 to %g", n, c.samples, c.most)
		}
	}
}

// TestEvaluationsOfLimits: a value that is counted anew, since its reader tells little of it
// apart, costs no runs of what it does not depend on, in however many ways samples are held out.
func TestEvaluationsOfLimits(t *testing.T) {
	evaluations := func(reader *ir.OpDef) int64 {
		var count atomic.Int64
		g := ir.New("limits")
		x := g.AddInput("x", ir.T(tensor.F32, 1, 64, 32, 16))
		add := func(o *ir.OpDef, attrs ir.Attrs, in *ir.Value) *ir.Value {
			n := testenv.Must(g.Add(o, o.Name, attrs, 1, in))(t)
			return n.Out[0]
		}
		most := add(op.ArgMax, ir.Attrs{"axis": ir.Int(1)}, x)
		g.AddOutput("y", add(reader, nil, add(op.Cast, ir.Attrs{"to": ir.Int(1)}, most)))
		g.AddOutput("z", add(countedRelu(&count), nil, x))
		_, _, err := quant.Calibrate(g, defaults(quant.SyntheticSamples(g.In, 16, 1)))
		testenv.Require(t, err == nil, "%v", err)
		return count.Load()
	}
	got, want := evaluations(op.Tanh), evaluations(op.Relu)
	testenv.Check(t, got == want, "%d evaluations beside a value that is counted anew, want %d", got, want)
}

// countedRelu is a Relu that nothing but the interpreter knows and that counts its evaluations.
func countedRelu(count *atomic.Int64) *ir.OpDef {
	counted := *op.Relu
	counted.Name, counted.Scalar, counted.Quant = "Counted", nil, ir.QFloat
	counted.Eval = func(n *ir.Node, in []*tensor.Dense) ([]*tensor.Dense, error) {
		count.Add(1)
		return op.Relu.Eval(n, in)
	}
	return &counted
}
