// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/tensor"
)

// TestAllSame: of finite numbers, infinities and what is none, the same is said as of any other type.
func TestAllSame(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	said := map[bool]int{}
	for range 2000 {
		list := make([]*tensor.Dense, 2+r.IntN(3))
		first := make([]float32, 1+r.IntN(20))
		for i := range first {
			first[i] = float32(r.NormFloat64())
		}
		for i := range list {
			x := append([]float32(nil), first...)
			switch at := r.IntN(len(x)); r.IntN(6) {
			case 0:
				x[at] += float32(math.Ldexp(1, -15-r.IntN(10)))
			case 1:
				x[at] = [...]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))}[r.IntN(3)]
			}
			list[i] = tensor.Of([]int{len(x)}, x)
		}
		got, want := allSame(list), allSameFloats(list)
		if got != want {
			t.Fatalf("%v: %t, want %t", list, got, want)
		}
		said[got]++
	}
	if said[true] < 100 || said[false] < 100 {
		t.Errorf("said %v", said)
	}
}
