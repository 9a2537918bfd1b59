// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// eachLength calls f for numbers of every length, odd ones among x, and every width.
func eachLength(t *testing.T, f func(t *testing.T, x, y []float32)) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for n := range 300 {
			y, x := narrowed(random(r, n/2)), narrowed(random(r, n/2))
			if n%2 == 0 {
				x = narrowed(numbers(r, n/2))
			}
			f(t, x, y)
		}
	})
}

// TestAccumulate: numbers are added to sums.
func TestAccumulate(t *testing.T) {
	eachLength(t, func(t *testing.T, x, y []float32) {
		sums, want := make([]float64, len(x)), make([]float64, len(x))
		for i, v := range x {
			sums[i], want[i] = float64(y[i]), float64(y[i])+float64(v)
		}
		Accumulate(x, sums)
		for i, w := range want {
			testenv.Require(t, math.Float64bits(sums[i]) == math.Float64bits(w) || w != w,
				"width %d: sum %d is %v, want %v", width, i, sums[i], w)
		}
	})
}

// TestExtent: the least and the largest number are found, and whether there are odd ones.
func TestExtent(t *testing.T) {
	eachLength(t, func(t *testing.T, x, _ []float32) {
		lo, hi, odd := float32(math.Inf(1)), float32(math.Inf(-1)), false
		for _, v := range x {
			if odd = odd || v-v != 0; v < lo {
				lo = v
			}
			if v > hi {
				hi = v
			}
		}
		l, h, o := Extent(x)
		testenv.Require(t, l == lo && h == hi && o == odd && (l != 0 || !math.Signbit(float64(l))),
			"width %d: %v to %v, odd %v; want %v to %v, %v of %v", width, l, h, o, lo, hi, odd, x)
	})
}

// TestNoise: signal and noise are summed up in eight parts, without what is not finite.
func TestNoise(t *testing.T) {
	eachLength(t, func(t *testing.T, x, y []float32) {
		var s, e [8]float64
		for i, v := range x {
			if f, d := float64(v), float64(v)-float64(y[i]); f-f == 0 {
				s[i%8] += float64(f * f)
				e[i%8] += float64(d * d)
			}
		}
		signal, err := Noise(x, y)
		same(t, "Noise", []float64{signal, err}, []float64{eight(&s), eight(&e)})
	})
}

// TestBins: numbers are brought into a range and given their bins; zeros are counted.
func TestBins(t *testing.T) {
	eachLength(t, func(t *testing.T, _, y []float32) {
		at, zeros := make([]int32, len(y)), 0
		got := Bins(y, -1, 1.5, 64, at)
		for i, v := range y {
			if v == 0 {
				zeros++
			}
			w := int32(math.Floor(float64(min(max(v, -1), 1.5)) * 64))
			testenv.Require(t, at[i] == w, "width %d: %v is in bin %d, want %d", width, v, at[i], w)
		}
		testenv.Require(t, got == zeros, "width %d: %d zeros, want %d", width, got, zeros)
	})
}

// TestSumRows: sums of columns are those of rows added one after another, for every width, of
// memory that ends with the last element.
func TestSumRows(t *testing.T) {
	each(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(21, 22))
		for n := range 40 {
			rows, apart := r.IntN(6), n+r.IntN(4)
			x, got, want := make([]float32, max((rows-1)*apart+n, 0)), random(r, n), make([]float64, n)
			for i := range x {
				x[i] = float32(r.NormFloat64() * r.ExpFloat64())
			}
			for y := range rows {
				for i := range want {
					want[i] += float64(x[y*apart+i])
				}
			}
			SumRows(x, rows, apart, got)
			same(t, "SumRows", got, want)
		}
	})
}

// TestAddGramInts: with assembly and without, the lower triangle gets the scalar products of
// all rows, of the largest numbers and lengths, too; what is above it stays. So it is with sums.
func TestAddGramInts(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	assembly := width
	defer func() { width = assembly }()
	for range 200 {
		size, n := 1+r.IntN(13), IntBlock*(1+r.IntN(9))
		if r.IntN(20) == 0 {
			n = MostInts
		}
		x := make([]int16, (size+IntRows-1)/IntRows*IntRows*n)
		for i := range x[:size*n] {
			x[i] = int16(r.IntN(511) - 255)
			if n == MostInts {
				x[i] = -255
			}
		}
		var start, want []float64
		for range size * size {
			start = append(start, float64(r.IntN(100)))
		}
		want = slices.Clone(start)
		for i := range size {
			for j := range i + 1 {
				for k := range n {
					want[i*size+j] += float64(x[i*n+k]) * float64(x[j*n+k])
				}
			}
		}
		sums := make([]float64, size)
		for i := range x[:size*n] {
			sums[i/n] += float64(x[i])
		}
		for _, width = range []int{assembly, 0} {
			got := make([]float64, size)
			if AddSumsInts(n, x, got); !slices.Equal(got, sums) {
				t.Fatalf("width %d, %d rows of %d: sums %v, want %v", width, size, n, got, sums)
			}
			c := slices.Clone(start)
			AddGramInts(size, n, x, c, serial)
			testenv.Require(t, slices.Equal(c, want), "width %d, %d rows of %d: %v, want %v", width, size, n, c, want)
		}
	}
}
