// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

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
