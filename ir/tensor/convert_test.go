// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"math"
	"testing"
)

// TestCastFloats: what integers cannot hold is the same on every machine.
func TestCastFloats(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	in := []float64{nan, inf, -inf, 1e30, -1e30, 300.7, -1.5, 1 << 63, -1 << 63}
	for _, c := range []struct {
		to   DType
		want []int64
	}{
		{I8, []int64{0, -1, 0, -1, 0, 44, -1, -1, 0}},
		{U16, []int64{0, 65535, 0, 65535, 0, 300, 65535, 65535, 0}},
		{I64, []int64{0, math.MaxInt64, math.MinInt64, math.MaxInt64, math.MinInt64, 300, -1, math.MaxInt64,
			math.MinInt64}},
		{U64, []int64{0, -2048, math.MinInt64, -2048, math.MinInt64, 300, -1, math.MinInt64, math.MinInt64}},
		{Bool, []int64{1, 1, 1, 1, 1, 1, 1, 1, 1}},
	} {
		d := Of([]int{len(in)}, in).Cast(c.to)
		for i, want := range c.want {
			if got := d.Int(i); got != want {
				t.Errorf("%g as %s is %d, want %d", in[i], c.to, got, want)
			}
		}
	}
}
