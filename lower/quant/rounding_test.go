// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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

// alike are samples whose elements depend on each other, as those of images
// and feature maps do.
func alike(g *ir.Graph, n int, seed uint64) []quant.Sample {
	s := samples(g, n, seed)
	for _, in := range s {
		for _, d := range in {
			for i := 1; i < d.Len(); i++ {
				d.SetFloat(i, 0.9*d.Float(i-1)+0.4*d.Float(i)+0.1)
			}
		}
	}
	return s
}

// oneProduct is a network of one multiply-accumulate operator in a random form.
func oneProduct(t *testing.T, seed uint64) *ir.Graph {
	b := newBuilder(t, seed)
	small := func(n int) int { return 1 + b.r.IntN(n) }
	switch b.r.IntN(4) {
	case 0:
		x := b.g.AddInput("x", ir.T(tensor.F32, small(5), 12))
		b.g.AddOutput("y", b.add("Gemm", ir.Attrs{"transB": ir.Int(1)}, x, b.normal(1, small(6), 12)))
	case 1:
		x := b.g.AddInput("x", ir.T(tensor.F32, 2, small(5), 9))
		b.g.AddOutput("y", b.add("MatMul", nil, x, b.normal(1, 9, small(6))))
	default:
		group := []int{1, 1, 2, 4}[b.r.IntN(4)]
		cin, cout, kh, kw := 4, group*small(3), small(3), small(3)
		attrs := ir.Attrs{"group": ir.Int(group), "strides": ir.Ints(small(2), small(2)),
			"dilations": ir.Ints(small(2), small(2)),
			"pads":      ir.Ints(b.r.IntN(2), b.r.IntN(2), b.r.IntN(2), b.r.IntN(2))}
		x := b.g.AddInput("x", ir.T(tensor.F32, small(2), cin, 6, 7))
		if b.r.IntN(3) > 0 {
			b.g.AddOutput("y", b.add("Conv", attrs, x, b.normal(1, cout, cin/group, kh, kw)))
			break
		}
		b.g.AddOutput("y", b.add("ConvTranspose", attrs, x, b.normal(1, cin, cout/group, kh, kw)))
	}
	return b.g
}

// layerErrors are the squared errors of the results of a network of one
// operator that come from its weights, by output channel.
func layerErrors(t *testing.T, g *ir.Graph, s []quant.Sample, rounding option.Rounding) []float64 {
	t.Helper()
	q := g.Clone()
	testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{Samples: s, Rounding: rounding, Method: option.MinMax})))
	irtest.Verify(t, q)
	id, f := g.Nodes[0].ID, g.Nodes[0]
	shape := f.Out[0].Type.Shape
	axis := len(shape) - 1
	if f.Op == op.Conv || f.Op == op.ConvTranspose {
		axis = 1
	}
	e := make([]float64, shape[axis])
	for _, in := range s {
		var x, y *tensor.Dense
		testenv.Must(interp.Run(q, in, func(v *ir.Value, d *tensor.Dense) {
			for _, n := range q.Nodes {
				if n.ID == id && v == n.In[0] {
					x = d
				}
				if n.ID == id && v == n.Out[0] {
					y = d
				}
			}
		}))(t)
		want := irtest.Run(t, g, []*tensor.Dense{x})[0]
		inner := tensor.Strides(shape)[axis]
		for i := range want.Len() {
			d := want.Float(i) - y.Float(i)
			e[i/inner%len(e)] += d * d
		}
	}
	return e
}

// TestAdaptiveRounding: no output channel of any product has a larger error on
// the samples than with weights rounded to the nearest, and most have a
// smaller one. A wrong idea of which weight meets which input fails this.
func TestAdaptiveRounding(t *testing.T) {
	better, total := 0, 0
	for seed := range uint64(60) {
		g := oneProduct(t, seed)
		s := alike(g, 3, seed)
		near, adapted := layerErrors(t, g, s, option.Nearest), layerErrors(t, g, s, option.Adaptive)
		for ch := range near {
			total++
			if adapted[ch] > near[ch]*(1+1e-4)+1e-9 {
				t.Errorf("seed %d, %s, channel %d: error %g, nearest %g", seed, g.Nodes[0], ch, adapted[ch], near[ch])
			}
			if adapted[ch] < 0.95*near[ch] {
				better++
			}
		}
	}
	testenv.Check(t, better >= total/2, "%d of %d channels are better", better, total)
}

// deepNet is a chain of convolutions with residuals, n layers deep.
func deepNet(t *testing.T, seed uint64, n int) *ir.Graph {
	b := newBuilder(t, seed)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, 8, 8, 8))
	y := x
	for i := range n {
		z := b.conv(y, 8, 3, 1, ir.Attrs{"act_min": ir.Float(0)})
		if i%2 == 1 {
			z = b.add("Add", nil, z, b.conv(y, 8, 1, 1, nil))
		}
		y = z
	}
	b.g.AddOutput("y", b.conv(y, 4, 1, 1, nil))
	return b.g
}

// exactActivations takes the Q/DQ pairs of activations out again, which leaves
// the errors of weights and biases.
func exactActivations(g *ir.Graph) {
	for _, n := range g.Nodes {
		if n.Op == op.DequantizeLinear && n.In[0].Def != nil && n.In[0].Def.Op == op.QuantizeLinear {
			g.ReplaceUses(n.Out[0], n.In[0].Def.In[0])
		}
	}
	g.RemoveDead()
}

// TestAdaptiveRoundingDeep: on inputs that calibration did not see, the noise
// of the weights of deep networks falls by 3 dB on average.
func TestAdaptiveRoundingDeep(t *testing.T) {
	gain := 0.0
	const nets = 2
	for seed := range uint64(nets) {
		g := deepNet(t, seed, 10)
		calib, unseen := alike(g, 8, seed), alike(g, 4, seed+100)
		db := map[option.Rounding]float64{}
		for _, r := range []option.Rounding{option.Nearest, option.Adaptive} {
			q := g.Clone()
			rep := testenv.Must(quant.Insert(q, quant.Options{Samples: calib, Rounding: r, BiasCorrection: true}))(t)
			testenv.Check(t, rep.Rounding == r && (rep.Adapted > 0) == (r == option.Adaptive),
				"%s is reported as %s, %d layers", r, rep.Rounding, rep.Adapted)
			exactActivations(q)
			var want, got []float64
			for _, in := range unseen {
				want = append(want, irtest.Run(t, g, in)[0].Floats()...)
				got = append(got, irtest.Run(t, q, in)[0].Floats()...)
			}
			db[r] = ratio(want, got)
		}
		t.Logf("seed %d: %.1f dB, nearest %.1f dB", seed, db[option.Adaptive], db[option.Nearest])
		gain += (db[option.Adaptive] - db[option.Nearest]) / nets
	}
	testenv.Check(t, !(gain < 3), "adaptive rounding gains %.1f dB", gain)
}

// TestAdaptiveRoundingSame: the number of cores does not change a bit.
func TestAdaptiveRoundingSame(t *testing.T) {
	g := deepNet(t, 5, 6)
	s := alike(g, 5, 1)
	texts := map[string]bool{}
	for _, procs := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(procs)
		q := g.Clone()
		_, err := quant.Insert(q, quant.Options{Samples: s, Rounding: option.Adaptive, BiasCorrection: true})
		runtime.GOMAXPROCS(old)
		testenv.OK(t, err)
		texts[fmt.Sprint(q.String(), constants(q))] = true
	}
	testenv.Check(t, len(texts) == 1, "%d results", len(texts))
}

// constants are the data of all constants, in the order of their readers.
func constants(g *ir.Graph) (all [][]byte) {
	for _, n := range g.Nodes {
		for _, v := range n.In {
			if v != nil && v.Const != nil {
				all = append(all, v.Const.Bytes())
			}
		}
	}
	return all
}

// TestAdaptiveRoundingExtremes: inputs that are constant, zero or huge leave
// valid weights.
func TestAdaptiveRoundingExtremes(t *testing.T) {
	for _, scale := range []float64{0, 1e-30, 1, 1e18} {
		b := newBuilder(t, 3)
		x := b.g.AddInput("x", ir.T(tensor.F32, 1, 3, 5, 5))
		b.g.AddOutput("y", b.conv(b.conv(x, 4, 3, 1, nil), 2, 3, 1, nil))
		r := rand.New(rand.NewPCG(1, 1))
		s := samples(b.g, 2, 1)
		for _, in := range s {
			for i := range in[0].Len() {
				in[0].SetFloat(i, scale*float64(r.IntN(2)))
			}
		}
		q := b.g.Clone()
		testenv.OK(t, testenv.Err(quant.Insert(q, quant.Options{Samples: s, Rounding: option.Adaptive})))
		for _, v := range irtest.Run(t, q, s[0])[0].Floats() {
			testenv.Check(t, !math.IsNaN(v) && !math.IsInf(v, 0), "scale %g: result %g", scale, v)
		}
	}
}
