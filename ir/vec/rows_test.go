// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestRows: rows are copied, and nothing beside them, from memory that ends with the last element.
func TestRows(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for n := range 40 {
			for step := 1; step <= 3; step++ {
				rows, pitch, apart := r.IntN(5), n+r.IntN(3), n*step+r.IntN(4)
				src := make([]float32, max((rows-1)*apart+(n-1)*step+1, 0))
				for i := range src {
					src[i] = r.Float32()
				}
				want := make([]float32, max(rows*pitch, n)+8)
				for i := range want {
					want[i] = -1
				}
				got := slices.Clone(want)
				for y := range rows {
					for x := range n {
						want[y*pitch+x] = src[y*apart+x*step]
					}
				}
				Rows(got, src, rows, n, pitch, apart, step)
				if !slices.Equal(got, want) {
					t.Fatalf("%d rows of %d, %d apart: %v, want %v", rows, n, step, got, want)
				}
			}
		}
	})
}
