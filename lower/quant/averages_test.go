// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestAverages: drawn averages are convolutions afterwards, or stay; the results are those of the average in real
// numbers, or at most a step away where that is half way between two steps.
func TestAverages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	written := map[bool]int{}
	for range 400 {
		h, w, kh, kw := 5+r.IntN(5), 5+r.IntN(5), 1+r.IntN(3), 1+r.IntN(3)
		out := fmt.Sprintf("q(%.3f:%d)", 0.03+0.04*r.Float64(), r.IntN(100)-50)
		if r.IntN(2) == 0 {
			out = "q(0.05:3)"
		}
		y := fmt.Sprintf(`AveragePool(%%x) {ceil_mode=%d, count_include_pad=%d, dilations=[%d,1], kernel_shape=[%d,%d],
    pads=[%d,%d,%d,%d], strides=[%d,%d]}`, r.IntN(2), r.IntN(2), 1+r.IntN(2), kh, kw, r.IntN(kh), r.IntN(kw),
			r.IntN(kh), r.IntN(kw), 1+r.IntN(3), 1+r.IntN(3))
		g := irtest.Parse(t, fmt.Sprintf(`graph "g" {
  in %%x : f32[1,3,%d,%d]
  %%y = %s
  out "y" = %%y
}`, h, w, y))
		shape := g.Out[0].Type.Shape
		text := fmt.Sprintf(`graph "g" {
  in %%x : i8[1,3,%d,%d] q(0.05:3)
  %%y : i8[1,3,%d,%d] %s = %s
  out "y" = %%y
}`, h, w, shape[2], shape[3], out, y)
		before, after := irtest.Parse(t, text), irtest.Parse(t, text)
		quant.Averages(&pass.Ctx{}, after)
		irtest.Verify(t, after)
		n := after.Out[0].Def
		written[n.Op == op.Conv]++
		testenv.Require(t, n.Op == op.Conv || n.Op == op.AveragePool, "%s in\n%s", n, after)
		in := irtest.Inputs(before, r.Uint64())
		want, got := irtest.Run(t, before, in)[0], irtest.Run(t, after, in)[0]
		for i := range want.Len() {
			d := math.Abs(float64(want.Int(i) - got.Int(i)))
			testenv.Require(t, !(d > 1), "element %d is %d, want %d in\n%s", i, got.Int(i), want.Int(i), after)
		}
	}
	testenv.Check(t, written[true] >= 50 && written[false] >= 50, "convolutions and others: %v", written)
}

// TestMeans: the means of output channels that follow from what the weights see are those
// of the results, for products of every form.
func TestMeans(t *testing.T) {
	for seed := range uint64(120) {
		g := oneProduct(t, seed)
		n, in := g.Nodes[0], samples(g, 1, seed)[0]
		y := irtest.Run(t, g, in)[0]
		axis := len(y.Shape) - 1
		if n.Op == op.Conv || n.Op == op.ConvTranspose {
			axis = 1
		}
		want, inner := make([]float64, y.Shape[axis]), tensor.Strides(y.Shape)[axis]
		for i := range y.Len() {
			want[i/inner%len(want)] += y.Float(i) * float64(len(want)) / float64(y.Len())
		}
		got := quant.MeansForTest(n, in[0])
		for ch := range want {
			testenv.Require(t, len(got) == len(want) && !(math.Abs(got[ch]-want[ch]) > 1e-5),
				"seed %d, %s: %v, want %v", seed, n, got, want)
		}
	}
}
