// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestMajority: a number that makes up more than half of the weights is found wherever its
// copies stand, zeros of both signs are one, and nothing is found where numbers are no numbers.
func TestMajority(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 1))
	for range 500 {
		n := 1 + r.IntN(60)
		w := make([]float32, n)
		most := float32(r.IntN(3) - 1)
		for i := range w {
			w[i] = most
			if i < (n-1)/2 {
				w[i] = float32(r.IntN(5) - 2)
			}
			if w[i] == 0 && r.IntN(2) == 0 {
				w[i] = float32(math.Copysign(0, -1))
			}
		}
		r.Shuffle(n, func(i, j int) { w[i], w[j] = w[j], w[i] })
		m := majority(w)
		testenv.Require(t, m == most && (m != 0 || !math.Signbit(float64(m))), "%v in %v, want %v", m, w, most)
	}
	nan := float32(math.NaN())
	why := (&sparse{in: 2, out: 2}).pack([]float32{nan, nan, nan, nan})
	testenv.Check(t, why != "", "what is no number is a background")
}
