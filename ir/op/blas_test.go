// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// TestGemmZeros: zero times infinity or what is no number is no number, on either side and in every way to add up;
// zero times all else leaves -0 as it is.
func TestGemmZeros(t *testing.T) {
	minus := math.Copysign(0, -1)
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for m := 1; m <= 5; m++ {
			for way := range 8 {
				const k, n = 3, 20
				left, ta, start := way&1 != 0, way&2 != 0, []float64{0, minus}[way>>2]
				a, b, c := make([]float64, m*k), make([]float64, k*n), make([]float64, m*n)
				for i := range c {
					c[i] = start
				}
				if left {
					for i := range a {
						a[i] = odd
					}
				} else {
					b[n+7] = odd
				}
				lda := k
				if ta {
					lda = m
				}
				gemm(ta, false, m, n, k, 1, a, lda, b, n, 1, c, n)
				for i, v := range c {
					isOdd := left || i%n == 7
					testenv.Require(t, isOdd == (v != v) && (isOdd || left || math.Signbit(v) == math.Signbit(start)),
						"%v, %d rows, way %d: element %d is %v", odd, m, way, i, v)
				}
			}
		}
	}
}

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
