// SPDX-License-Identifier: Apache-2.0

package npu

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// weightsLike draws weights: of few or many values, with many or few zeros.
func weightsLike(r *rand.Rand) []int16 {
	w := make([]int16, 1+r.IntN(1<<r.IntN(17)))
	most, zeros := 1+r.IntN(1<<r.IntN(9)), r.IntN(10)
	for i := range w {
		if r.IntN(10) >= zeros {
			w[i] = int16(min(255, max(-255, r.NormFloat64()*float64(most)/2)))
		}
	}
	return w
}

// TestWeightsAgain: what was compressed expands to itself.
func TestWeightsAgain(t *testing.T) {
	for seed := range uint64(300) {
		w := weightsLike(rand.New(rand.NewPCG(seed, 1)))
		b := EncodeWeights(w)
		got, err := DecodeWeights(b, len(w))
		testenv.Require(t, err == nil && slices.Equal(got, w), "seed %d: %d weights in %d bytes: %v", seed, len(w),
			len(b), err)
		testenv.Require(t, len(b)%16 == 0, "seed %d: %d bytes", seed, len(b))
	}
}
