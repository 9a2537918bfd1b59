// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
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
