// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"fmt"
	"testing"

	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestStrideBeyondMap: a stride that is longer than the map has one output, takes no memory or time of its own, and
// gives what a stride of the map's length gives.
func TestStrideBeyondMap(t *testing.T) {
	const size, longest = 5, 1 << 30
	for _, kernel := range []int{1, 2, 3} {
		for _, group := range []int{1, 4} {
			run := func(y, x int) []float64 {
				g := irtest.Parse(t, fmt.Sprintf("graph \"g\" {\nin %%x : f32[1,4,%[1]d,%[1]d]\n"+
					"const %%w : f32[4,%[2]d,%[3]d,%[3]d] = rand 5\n"+
					"%%y : f32[1,4,1,1] = Conv(%%x, %%w) {group=%[4]d, strides=[%[5]d,%[6]d]}\nout \"y\" = %%y\n}",
					size, 4/group, kernel, group, y, x))
				v := make([]float32, 4*size*size)
				for i := range v {
					v[i] = float32(i%7) - 3
				}
				out := testenv.Must(interp.Run(g, []*tensor.Dense{tensor.Of([]int{1, 4, size, size}, v)}, nil))(t)
				return out[0].Floats()
			}
			testenv.Same(t, run(longest, longest-1), run(size, size), "%dx%d, %d groups", kernel, kernel, group)
		}
	}
}
