// SPDX-License-Identifier: Apache-2.0

package vec

import (
	"math"
	"math/rand/v2"
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
