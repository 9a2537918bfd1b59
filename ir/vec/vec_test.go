// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// each calls f for every width that this processor has, and for none.
func each(t *testing.T, f func(t *testing.T)) {
	was := width
	defer func() { width = was }()
	for _, w := range []int{0, 8, 16} {
		if w <= was {
			width = w
			f(t)
		}
	}
}

func serial(n int, f func(i int)) {
	for i := range n {
		f(i)
	}
}

func random(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = r.NormFloat64()
		if r.IntN(5) == 0 {
			x[i] = 0
		}
	}
	return x
}

// narrowed are numbers as float32.
func narrowed(x []float64) []float32 {
	return lists.Map(x, func(v float64) float32 { return float32(v) })
}

func same(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		testenv.Require(t, math.Float64bits(got[i]) == math.Float64bits(want[i]),
			"width %d: %s: element %d is %v, want %v", width, what, i, got[i], want[i])
	}
}

// TestDot: scalar products of every length, alone and in fours, are those of the
// definition; so is Axpy.
func TestDot(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for n := range 70 {
			x, y := random(r, n), random(r, n+3)
			var rows [4][]float64
			var want [4]float64
			for i := range rows {
				rows[i] = random(r, n+i)
				var s [4]float64
				for k := range n {
					part := k % 4
					if k >= n&^3 {
						part = 0
					}
					s[part] += float64(x[k] * rows[i][k])
				}
				want[i] = (s[0] + s[1]) + (s[2] + s[3])
				same(t, "Dot", []float64{Dot(x, rows[i])}, want[i:i+1])
			}
			got := Dot4(x, &rows)
			same(t, "Dot4", got[:], want[:])
			for count := range 10 { // of float32, one behind the other
				var w []float32
				for range count * n {
					w = append(w, float32(r.NormFloat64()))
				}
				dots := make([]float64, count)
				DotsSingle(x, w, dots)
				for i, got := range dots {
					row := make([]float64, n)
					for k, v := range w[i*n:][:n] {
						row[k] = float64(v)
					}
					same(t, "DotsSingle", []float64{got}, []float64{Dot(x, row)})
				}
			}
			sum := append([]float64(nil), y...)
			for i := range x {
				sum[i] += float64(0.3 * x[i])
			}
			Axpy(0.3, x, y)
			same(t, "Axpy", y, sum)
		}
	})
}

// TestProduct: every element of a product adds its products in order.
func TestProduct(t *testing.T) {
	each(t, func(t *testing.T) {
		if width == 0 {
			_, ok := Pack(false, 1, 1, 1, []float64{1}, 1)
			testenv.Check(t, !ok, "there is no assembly, and yet a product")
			return
		}
		r := rand.New(rand.NewPCG(3, 4))
		for range 60 {
			m, k, n := 1+r.IntN(13), 1+r.IntN(40), 1+r.IntN(300)
			if r.IntN(4) == 0 {
				k += 500
			}
			trans := r.IntN(2) == 0
			lda, ldb, ldc := k+r.IntN(3), n+r.IntN(3), n+r.IntN(3)
			if trans {
				lda = m + r.IntN(3)
			}
			a, b, c := random(r, max(m, k)*lda), random(r, k*ldb), random(r, m*ldc)
			want := append([]float64(nil), c...)
			for i := range m {
				for j := range n {
					for l := range k {
						v := a[i*lda+l : i*lda+l+1]
						if trans {
							v = a[l*lda+i:]
						}
						if f := 0.5 * v[0]; f != 0 {
							want[i*ldc+j] += float64(f * b[l*ldb+j])
						}
					}
				}
			}
			left, _ := Pack(trans, m, k, 0.5, a, lda)
			testenv.Require(t, left.AddTo(n, b, ldb, c, ldc, serial), "refused")
			same(t, "product", c, want)
			for i := range left.data { // what the next one must not see
				left.data[i] = math.NaN()
			}
			left.Release()
		}
	})
}

// TestZeros: a zero on the left leaves -0 as it is. Where that shows, the product is refused
// and nothing written; zero times what is not finite is no number.
func TestZeros(t *testing.T) {
	each(t, func(t *testing.T) {
		if width == 0 {
			return
		}
		for _, x := range []struct {
			zero, b, c, want float64
			refused          bool
		}{
			{0, math.Inf(1), 1, math.NaN(), false}, {0, math.NaN(), 1, math.NaN(), false}, {0, 2, 1, 4, false},
			{0, 2, math.Copysign(0, -1), math.Copysign(0, -1), true}, {2, 1, math.Copysign(0, -1), 5, false},
		} {
			left, _ := Pack(false, 1, 2, 1, []float64{x.zero, 1}, 2)
			c := []float64{x.c}
			testenv.Check(t, left.AddTo(1, []float64{x.b, 3}, 1, c, 1, serial) != x.refused, "%v: refused %v", x,
				!x.refused)
			if c[0] == c[0] || x.want == x.want {
				same(t, "result", c, []float64{x.want})
			}
		}
	})
}

// TestGram: the lower triangle gets the products of rows in order, of every size.
func TestGram(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, size := range []int{1, 2, 3, 4, 5, 9, 16, 17, 31, 127, 128, 131, 150, 260} {
			n := 1 + r.IntN(Depth)
			rows, c := make([][]float64, size), random(r, size*size)
			for i := range rows {
				rows[i] = random(r, n+r.IntN(3))
			}
			want := append([]float64(nil), c...)
			AddGram(n, rows, c, serial)
			for i := range size {
				for j := range i + 1 {
					for k := range n {
						want[i*size+j] += float64(rows[i][k] * rows[j][k])
					}
				}
				same(t, "gram", c[i*size:][:i+1], want[i*size:][:i+1])
			}
		}
	})
}
