// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

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
