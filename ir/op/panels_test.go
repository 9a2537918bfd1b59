// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/tensor"
)

// TestPanels: a product in panels has the bits of the product with the whole right
// side, widened and transposed before.
func TestPanels(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, s := range [][3]int{{1, 1, 1}, {3, 5, 0}, {2, 0, 4}, {1, 300, 1024}, {4, 193, 2048}, {5, 700, 300},
		{2, 65, 1 << 17}, {7, 64, 3000}} {
		m, n, k := s[0], s[1], s[2]
		draw := func(count int) []float64 {
			v := make([]float64, count)
			for i := range v {
				v[i] = float64(float32(r.NormFloat64())) * float64(r.IntN(3)) // zeros, too
			}
			return v
		}
		a, b, c := draw(m*k), draw(k*n), draw(m*n)
		for _, trans := range []bool{false, true} {
			for _, dt := range []tensor.DType{tensor.F32, tensor.F64} {
				for _, beta := range []float64{0, 1, 0.5} {
					shape := []int{k, n}
					if trans {
						shape = []int{n, k}
					}
					got, want := append([]float64{}, c...), append([]float64{}, c...)
					right := rightOf(tensor.Of(shape, b).Cast(dt), k, n, trans)
					gemmPanels(false, m, 1.25, a, max(k, 1), right, beta, got)
					ldb := n
					if trans {
						ldb = k
					}
					gemm(false, trans, m, n, k, 1.25, a, max(k, 1), b, max(ldb, 1), beta, want, max(n, 1))
					for i := range want {
						if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
							t.Fatalf("%d x %d x %d, trans %v, %v, beta %v: element %d is %v, want %v", m, n, k,
								trans, dt, beta, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}
