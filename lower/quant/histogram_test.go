// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestHistogramOf: integers are counted in whole steps, zeros and ends apart; heights
// say how many there are.
func TestHistogramOf(t *testing.T) {
	x := []int8{-127, -127, 0, 0, 0, 0, 5, 127}
	h := HistogramOf(&tensor.Dense{DType: tensor.I8, Shape: []int{8}, Data: x})
	if h.Zeros != 0.5 || h.Clipped != 0.375 || h.Low != -127 || h.High < 128 || h.Most != 2 || len(h.Bins) > drawnBins {
		t.Errorf("%+v", h)
	}
	sum := 0.0
	for _, y := range h.Heights() {
		sum += math.Floor(math.Pow(float64(h.Most)+1, y) - 1 + 1e-9)
	}
	testenv.Check(t, sum == 4, "the bins hold %v values, want 4", sum)
	for _, x := range [][]float32{{}, {0, 0}, {1}, {float32(math.Inf(1)), -1, 2, float32(math.NaN())}} {
		h := HistogramOf(&tensor.Dense{DType: tensor.F32, Shape: []int{len(x)}, Data: x})
		testenv.Check(t, len(h.Heights()) == drawnBins && h.Clipped == 0 && !(h.High < h.Low), "%v: %+v", x, h)
	}
	testenv.Check(t, (&Histogram{Bins: "0?"}).Heights() == nil, "what is no histogram has heights")
}

// TestDrawn: what lies beyond the range of the integers is counted, whether values or a
// histogram are kept.
func TestDrawn(t *testing.T) {
	exact := &stats{lo: -1, hi: 3, count: 5, exact: []float32{-1, 0, 1, 2, 3}}
	h := exact.drawn(-1, 1.5)
	testenv.Check(t, h.Clipped == 0.4 && h.Zeros == 0.2 && h.Low == -1 && h.High == 3, "%+v", h)
	counted := &stats{lo: 0, hi: 4, count: 10, hist: tally{n: []uint32{4, 3, 2, 1}}}
	if h := counted.drawn(0, 3); h.Clipped != 0.1 || h.Most != 4 {
		t.Errorf("%+v", h)
	}
	if h := (&stats{lo: 0, hi: 4, count: 10}).drawn(0, 3); h != nil {
		t.Errorf("of a range alone: %+v", h)
	}
}

// TestCurveScale: a function of int16 over a drawn range has an interpolated table that is as near as nncc wants it,
// for some bits of its result; without that it often has none.
func TestCurveScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	before := 0
	for _, name := range []string{"Gelu", "Swish", "Elu", "Softplus", "Mish", "Celu", "Tanh", "HardSwish", "Sigmoid"} {
		g := ir.New("g")
		n := testenv.Must(g.Add(op.Get("", name), name, nil, 1, g.AddInput("x", ir.T(tensor.F32, 4))))(t)
		for range 20 {
			lo, hi := -20*rng.Float64(), 20*rng.Float64()
			in := symmetric16(lo, hi)
			most := 0.0
			for x := lo; x <= hi; x += (hi - lo) / 1000 {
				most = max(most, math.Abs(n.Op.Scalar(n, x)))
			}
			out := symmetric16(-most, most)
			off := func(scale float64) float64 {
				n.In[0].Type = ir.T(tensor.I16, 4).WithQuant(tensor.I16, in.quant())
				n.Out[0].Type = ir.T(tensor.I16, 4).WithQuant(tensor.I16, affine{scale, 0}.quant())
				return ir.InterpolationError(n)
			}
			if off(out.scale) >= curveError {
				before++
			}
			scale := curveScale(func(v float64) float64 { return n.Op.Scalar(n, v*in.scale) }, out.scale)
			e := off(scale)
			if e >= curveError && off(15*out.scale) < curveError || scale < out.scale || scale > 16*out.scale {
				t.Errorf("%s of %g to %g: %.1f steps off with the scale %g, %g before", name, lo, hi, e, scale,
					out.scale)
			}
		}
	}
	testenv.Check(t, before != 0, "no function needs another scale")
	t.Logf("%d of 180 functions need another scale", before)
}
