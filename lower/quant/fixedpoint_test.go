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

// formula is clip(sign(x)*floor(|x|/d + 1/2)*d) as it is written, in float32.
func formula(x, d float32, n int, signed bool) float32 {
	sign := float32(1)
	if x < 0 {
		sign = -1
	}
	y := sign * float32(math.Floor(float64(float32(float32(math.Abs(float64(x)))/d)+0.5))) * d
	lo, hi := float32(0), float32(int(1)<<n-1)*d
	if signed {
		hi = float32(int(1)<<(n-1)-1) * d
		lo = -hi
	}
	return min(max(y, lo), hi)
}

func TestParseFixedPoint(t *testing.T) {
	f, err := quant.ParseFixedPoint("n=7, delta=0.125,sign=0")
	testenv.Check(t, err == nil && *f == (quant.FixedPoint{N: 7, Sign: quant.Unsigned, Delta: 0.125}), "%+v %v", f,
		err)
	if f, err = quant.ParseFixedPoint("delta=auto-pow2-floor,sign=1"); err != nil ||
		*f != (quant.FixedPoint{Sign: quant.Signed, Floor: true}) {
		t.Errorf("%+v %v", f, err)
	}
	if f, err = quant.ParseFixedPoint(""); err != nil || *f != (quant.FixedPoint{}) {
		t.Errorf("%+v %v", f, err)
	}
	for s, want := range map[string]string{"n": "key=value", "n=1": "2 to 16", "n=17": "2 to 16", "n=x": "2 to 16",
		"sign=2": "0 or 1", "delta=0": "step", "delta=-1": "step",
		"delta=nan": "step", "delta=inf": "step", "bits=8": "unknown key", "n=8,n=8": "twice"} {
		testenv.Refused(t, testenv.Err(quant.ParseFixedPoint(s)), want)
	}
}

// fixedNet has absorbed and separate activations.
func fixedNet(t *testing.T) *ir.Graph {
	b := newBuilder(t, 11)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 3, 8, 8))
	y := b.conv(x, 6, 3, 1, ir.Attrs{"act_min": ir.Float(0)})
	y = b.add("MaxPool", ir.Attrs{"kernel_shape": ir.Ints(2, 2), "strides": ir.Ints(2, 2)}, y)
	y = b.conv(y, 4, 3, 1, ir.Attrs{"act_min": ir.Float(0)})
	y = b.add("Tanh", nil, b.dense(b.add("Flatten", nil, y), 5))
	b.g.AddOutput("y", b.dense(y, 3))
	irtest.Verify(t, b.g)
	return b.g
}

// TestFixedWeights: every weight and bias is the formula's value of the float
// one, with the step that was asked for.
func TestFixedWeights(t *testing.T) {
	g := fixedNet(t)
	for _, s := range []string{"n=8,sign=1,delta=auto-pow2", "n=8,delta=0.0078125", "n=4,delta=auto-pow2-floor", "n=12",
		"n=6,sign=0,delta=0.013", "delta=0.0002"} {
		f := testenv.Must(quant.ParseFixedPoint(s))(t)
		n := f.N
		if n == 0 {
			n = 8
		}
		q := g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{FixedWeights: f, Samples: samples(g, 2, 1)})))
		irtest.Verify(t, q)
		seen := 0
		for k, nd := range g.Nodes {
			for i, v := range nd.In {
				if v.Const == nil || i == 0 || nd.Op != op.Conv && nd.Op != op.Gemm {
					continue
				}
				seen++
				d := find(q, g.Nodes[k].ID).In[i].Def
				if d == nil || d.Op != op.DequantizeLinear || d.In[0].Const == nil || d.In[2].Const.Int(0) != 0 {
					t.Fatalf("%s: input %d of %s is no dequantised constant\n%s", s, i, nd, q)
				}
				delta := tensor.As[float32](d.In[1].Const)[0]
				got := testenv.Must(ir.EvalNode(d, []*tensor.Dense{d.In[0].Const, d.In[1].Const, d.In[2].Const}))(t)
				peak := 0.0
				for e, x := range tensor.As[float32](v.Const) {
					peak = max(peak, math.Abs(float64(x)))
					if want, have := formula(x, delta, n, f.Sign != quant.Unsigned),
						tensor.As[float32](got[0])[e]; want != have {
						t.Fatalf("%s: %s of %g is %g, want %g (delta %g)", s, v, x, have, want, delta)
					}
				}
				if f.Delta != 0 {
					testenv.Equal(t, delta, float32(f.Delta), "%s: delta", s)
					continue
				}
				m := math.Ldexp(1, n-1) - 1
				if l := math.Log2(peak / m); !f.Floor && math.Ldexp(1, int(math.Ceil(l))) != float64(delta) ||
					f.Floor && math.Ldexp(1, int(math.Floor(l))) != float64(delta) {
					t.Errorf("%s: delta %g for the peak %g", s, delta, peak)
				}
			}
		}
		if seen != 8 || irtest.Count(q, "QuantizeLinear") != 0 {
			t.Errorf("%s: %d tensors, %d QuantizeLinear", s, seen, irtest.Count(q, "QuantizeLinear"))
		}
		testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
		irtest.Verify(t, q)
		irtest.Run(t, q, irtest.Inputs(q, 1))
	}
}

func find(g *ir.Graph, id int) *ir.Node {
	for _, n := range g.Nodes {
		if n.ID == id {
			return n
		}
	}
	return nil
}

// TestFixedActivations: what leaves every quantised activation is the formula's
// value of what the activation gives; with the rounding spelt out to the last
// tie. Unsigned formats leave out activations that give negative numbers.
func TestFixedActivations(t *testing.T) {
	g := fixedNet(t)
	for _, c := range []struct {
		s     string
		spell bool
		count int
	}{
		{"n=8,sign=0,delta=0.03125", false, 2}, {"n=8,sign=0,delta=0.03125", true, 2}, {"n=5,sign=0", true, 2},
		{"n=8,sign=1", true, 3}, {"n=8,sign=1,delta=0.01", false, 3},
		{"n=11,sign=1,delta=0.01", true, 3}, {"", false, 2},
	} {
		f := testenv.Must(quant.ParseFixedPoint(c.s))(t)
		n := f.N
		if n == 0 {
			n = 8
		}
		q := g.Clone()
		s := samples(g, 3, 1)
		if _, err := quant.Insert(q, quant.Options{FixedActivations: f, Samples: s,
			SpellRounding: c.spell}); err != nil {
			t.Fatal(err)
		}
		irtest.Verify(t, q)
		testenv.Equal(t, irtest.Count(q, "QuantizeLinear"), c.count, "%s: activations are quantised", c.s)
		values := map[string]*tensor.Dense{}
		testenv.OK(t, testenv.Err(interp.Run(q, s[0], func(v *ir.Value, d *tensor.Dense) { values[v.Name] = d })))
		for _, nd := range q.Nodes {
			if nd.Op != op.DequantizeLinear || nd.In[0].Def == nil {
				continue
			}
			root := nd.In[0].Def.In[0].Def
			for original := find(g, root.ID); original == nil; original = find(g, root.ID) {
				root = root.In[0].Def
			}
			delta := tensor.As[float32](nd.In[1].Const)[0]
			x, y := tensor.As[float32](values[root.Out[0].Name]), tensor.As[float32](values[nd.Out[0].Name])
			for i := range x {
				want := formula(x[i], delta, n, f.Sign == quant.Signed)
				tie := math.Mod(math.Abs(float64(x[i]/delta)), 1) == 0.5
				if y[i] != want && (c.spell || !tie) {
					t.Fatalf("%s: %g becomes %g, want %g (delta %g)", c.s, x[i], y[i], want, delta)
				}
			}
		}
		testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
		irtest.Verify(t, q)
	}
}

// TestFixedBoth: weights and activations in sequence make integer operators
// between the first activation and the last.
func TestFixedBoth(t *testing.T) {
	g := fixedNet(t)
	s := samples(g, 3, 1)
	q := g.Clone()
	r, err := quant.Insert(q, quant.Options{FixedWeights: &quant.FixedPoint{}, FixedActivations: &quant.FixedPoint{},
		Samples: s})
	testenv.OK(t, err)
	testenv.Check(t, r.Method == option.FixedPoint && len(r.Layers) == 2 && !(r.SQNR < 15), "report %+v", r)
	want := irtest.Run(t, q, s[0])[0].Floats()
	testenv.OK(t, quant.Integer(q, quant.IntegerOptions{}))
	irtest.Verify(t, q)
	integer := 0
	for _, n := range q.Nodes {
		if n.Op == op.Conv && n.Quantised() {
			integer++
		}
	}
	testenv.Check(t, integer == 1, "%d integer convolutions, want 1\n%s", integer, q)
	db := ratio(want, irtest.Run(t, q, s[0])[0].Floats())
	testenv.Check(t, !(db < 30), "integers give %.1f dB", db)
}

// TestSpeltTies: ties go away from zero.
func TestSpeltTies(t *testing.T) {
	for _, sign := range []quant.Sign{quant.Signed, quant.Unsigned} {
		b := newBuilder(t, 1)
		x := b.g.AddInput("x", ir.T(tensor.F32, 6))
		name := "Relu"
		if sign == quant.Signed {
			name = "LeakyRelu"
		}
		b.g.AddOutput("y", b.add(name, nil, x))
		in := tensor.Of([]int{6}, []float32{0.25, 0.75, 1.25, 1e9, 0, -50})
		want := []float64{0.5, 1, 1.5, 127.5, 0, 0}
		if sign == quant.Signed {
			want = []float64{0.5, 1, 1.5, 63.5, 0, -0.5}
		}
		if _, err := quant.Insert(b.g, quant.Options{FixedActivations: &quant.FixedPoint{Sign: sign, Delta: 0.5},
			SpellRounding: true, Samples: []quant.Sample{{in}}}); err != nil {
			t.Fatal(err)
		}
		got := irtest.Run(t, b.g, []*tensor.Dense{in})[0].Floats()
		for i := range want {
			testenv.Check(t, got[i] == want[i], "%g becomes %g, want %g", in.Float(i), got[i], want[i])
		}
	}
}
