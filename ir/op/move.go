// SPDX-License-Identifier: Apache-2.0

package op

import (
	"cmp"

	"github.com/nncc/nncc/ir/tensor"
)

// greaterOf tells whether element i is greater than element j, or the only NaN of both.
func greaterOf(d *tensor.Dense) func(i, j int) bool {
	if s, ok := d.Data.([]uint64); ok {
		return greaterIn(s)
	}
	if d.DType.IsFloat() {
		return greaterIn(floatsOf(d))
	}
	return greaterIn(d.Int64s())
}

func greaterIn[T cmp.Ordered](s []T) func(i, j int) bool {
	return func(i, j int) bool { return s[i] > s[j] || s[i] != s[i] && s[j] == s[j] }
}

func fillOf[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// index walks a row-major index space: a helper for loops over all positions.
type index struct{ at, shape []int }

func newIndex(shape []int) *index { return &index{make([]int, len(shape)), shape} }

// next moves to the next position; false after the last.
func (x *index) next() bool {
	for a := len(x.shape) - 1; a >= 0; a-- {
		if x.at[a]++; x.at[a] < x.shape[a] {
			return true
		}
		x.at[a] = 0
	}
	return false
}

// dot is the offset of the position under strides.
func (x *index) dot(strides []int) int {
	p := 0
	for i, v := range x.at {
		p += v * strides[i]
	}
	return p
}
