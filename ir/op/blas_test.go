// SPDX-License-Identifier: Apache-2.0

package op

import (
	"math/rand/v2"
	"testing"
)

// TestGemmIgnoresAlignment: equal operands give equal bits wherever they lie
// in memory (gonum's dot product does not by itself).
func TestGemmIgnoresAlignment(t *testing.T) {
	const m, n, k = 3, 5, 67
	r := rand.New(rand.NewPCG(1, 2))
	src := make([]float32, (m+n)*k)
	for i := range src {
		src[i] = float32(r.NormFloat64())
	}
	var want []float32
	for off := 0; off < 8; off++ {
		buf := make([]float32, len(src)+8)
		copy(buf[off:], src)
		a, b := buf[off:][:m*k], buf[off+m*k:][:n*k]
		c := make([]float32, m*n)
		gemm(false, true, m, n, k, 1, a, k, b, k, 0, c, n)
		if want == nil {
			want = c
			continue
		}
		for i := range c {
			if c[i] != want[i] {
				t.Fatalf("offset %d: element %d is %v, was %v", off, i, c[i], want[i])
			}
		}
	}
}
