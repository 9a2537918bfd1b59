// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSingle: products of float32 of every size add in order, begin with what is given by
// rows and columns, and end within the bounds, with the same bits whatever the processor.
func TestSingle(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		some := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(r.NormFloat64())
				if r.IntN(200) == 0 {
					x[i] = []float32{0, float32(math.NaN()), float32(math.Inf(1))}[r.IntN(3)]
				}
			}
			return x
		}
		for range 200 {
			m, k, n := 1+r.IntN(11), r.IntN(40), 1+r.IntN(150)
			if r.IntN(3) == 0 {
				m = 1
			}
			trans := r.IntN(2) == 0
			lda := k + r.IntN(3)
			if trans {
				lda = m + r.IntN(3)
			}
			a, b, at := some(max(m, k)*(lda+1)), some(400), make([]int, k)
			for i := range at {
				at[i] = r.IntN(len(b) - n + 1)
			}
			s := []*Sums{{Lo: float32(math.Inf(-1)), Hi: float32(math.Inf(1))}, {Lo: 0, Hi: 1}}[r.IntN(2)]
			if r.IntN(2) == 0 {
				s.Row = some(m)
			}
			if r.IntN(2) == 0 {
				s.Col = some(n)
			}
			ldc := n + r.IntN(3)
			c := some(m * ldc)
			want := append([]float32(nil), c...)
			weight := func(i, l int) float32 {
				if trans {
					return a[l*lda+i]
				}
				return a[i*lda+l]
			}
			for i := range m {
				for j := range n {
					want[i*ldc+j] = singleSum(i, j, k, weight, at, b, s)
				}
			}
			PackSingle(trans, m, k, a, lda).Times(n, at, b, s, c, ldc)
			for i, v := range want {
				sameSingle(t, "Times", c[i], v)
			}
		}
	})
}

// singleSum is the definition of Times, of k products.
func singleSum(i, j, k int, weight func(i, l int) float32, at []int, b []float32, s *Sums) float32 {
	var f, g float32
	if s.Row != nil {
		f = s.Row[i]
	}
	if s.Col != nil {
		g = s.Col[j]
	}
	f += g
	for l := range k {
		f += float32(weight(i, l) * b[at[l]+j])
	}
	if f < s.Lo {
		f = s.Lo
	}
	if f > s.Hi {
		f = s.Hi
	}
	return f
}
