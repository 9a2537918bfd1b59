// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTable: every int8, dequantised, finds its entry, with scales of every size and all zero points.
func TestTable(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		var table [256]float32
		for i := range table {
			table[i] = float32(i)
		}
		for zero := int64(-129); zero <= 128; zero++ {
			for range 20 {
				scale := float32(math.Ldexp(1+r.Float64(), r.IntN(220)-110))
				q := make([]int8, r.IntN(100))
				for i := range q {
					q[i] = int8(r.IntN(256) - 128)
				}
				x := make([]float32, len(q))
				Dequantise(q, scale, zero, x)
				Table(&table, scale, zero, x, x)
				for i, v := range q {
					testenv.Require(t, x[i] == float32(int(v)+128),
						"scale %g, zero %d: %d has entry %g", scale, zero, v, x[i])
				}
			}
		}
	})
}

// TestPieces: values are those of the polynomials, to the bit, for every length, on the borders
// of pieces, next to them, and up to the first element that lies in none.
func TestPieces(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		parts := make([][4]float32, 32)
		for i := range parts {
			for k := range parts[i] {
				parts[i][k] = float32(r.NormFloat64())
			}
		}
		ended := 0
		for n := range 200 {
			x := piecesArguments(r, n)
			want := slices.IndexFunc(x, func(v float32) bool { return !(v >= -4 && v < 4) })
			if want < 0 {
				want = n
			} else {
				ended++
			}
			got := make([]float32, n)
			done := Pieces(x, got, parts, 4)
			testenv.Require(t, done == want, "%v: %d have their values, want %d", x, done, want)
			for i, v := range x[:want] {
				k := math.Floor(float64(v) * 4)
				u, p := float32(float64(v)*4-k), parts[int(k)+16]
				y := float32(float32(float32(p[3]*u)+p[2]) * u)
				y = float32(float32(y+p[1])*u) + p[0]
				testenv.Require(t, math.Float32bits(y) == math.Float32bits(got[i]),
					"at %g: %g, want %g", v, got[i], y)
			}
			if done := Pieces(x, x, parts, 4); done != want || !slices.Equal(x[:want], got[:want]) {
				t.Fatalf("in place: %v, want %v", x[:done], got[:want])
			}
		}
		testenv.Check(t, ended >= 20, "%d of 200 end early", ended)
	})
}

// piecesArguments are between -4 and 4, some on quarters or next to them, a few beyond.
func piecesArguments(r *rand.Rand, n int) []float32 {
	odd := []float32{-4, 4, -4.0000005, 3.9999998, float32(math.NaN()), float32(math.Inf(1)),
		float32(math.Inf(-1)), 1e38, -1e-40, float32(math.Copysign(0, -1))}
	x := make([]float32, n)
	for i := range x {
		switch v := r.IntN(400); {
		case v < len(odd):
			x[i] = odd[v]
		case v < 100:
			x[i] = math.Nextafter32(min(max(float32(v)/4-12.5, -3.75), 3.75), float32(r.IntN(3)-1)*9)
		default:
			x[i] = r.Float32()*8 - 4
		}
	}
	return x
}
