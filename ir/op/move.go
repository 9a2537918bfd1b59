// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// cells moves elements of one storage type without knowing which: the copies
// that tensor.Gather's affine form cannot express.
type cells interface {
	// take is a new slice with element idx[i] in place i, zero for idx[i] < 0.
	take(idx []int) any
	// put stores src's element i in place idx[i]; later ones win.
	put(idx []int, src any)
	// copyFrom copies n elements of src from j to place i.
	copyFrom(i int, src any, j, n int)
	// fill stores src's element j in places i to i+n.
	fill(i, n int, src any, j int)
	// greater reports element i > element j, or i being the only NaN.
	greater(i, j int) bool
}

func cellsOf(d *tensor.Dense) cells {
	switch s := d.Data.(type) {
	case []float32:
		return cellSlice[float32](s)
	case []float64:
		return cellSlice[float64](s)
	case []int8:
		return cellSlice[int8](s)
	case []int16:
		return cellSlice[int16](s)
	case []int32:
		return cellSlice[int32](s)
	case []int64:
		return cellSlice[int64](s)
	case []uint8:
		return cellSlice[uint8](s)
	case []uint16:
		return cellSlice[uint16](s)
	case []uint32:
		return cellSlice[uint32](s)
	case []uint64:
		return cellSlice[uint64](s)
	case []bool:
		return boolCells{s}
	}
	panic(bug.Errorf("tensor data of type %T", d.Data))
}

type cellNumber interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

type cellSlice[T cellNumber] []T

func (s cellSlice[T]) take(idx []int) any          { return takeOf(s, idx) }
func (s cellSlice[T]) put(idx []int, src any)      { putOf(s, idx, src.([]T)) }
func (s cellSlice[T]) fill(i, n int, v any, j int) { fillOf(s[i:i+n], v.([]T)[j]) }
func (s cellSlice[T]) copyFrom(i int, src any, j, n int) {
	copy(s[i:i+n], src.([]T)[j:j+n])
}
func (s cellSlice[T]) greater(i, j int) bool {
	return s[i] > s[j] || s[i] != s[i] && s[j] == s[j]
}

type boolCells struct{ s []bool }

func (b boolCells) take(idx []int) any          { return takeOf(b.s, idx) }
func (b boolCells) put(idx []int, src any)      { putOf(b.s, idx, src.([]bool)) }
func (b boolCells) fill(i, n int, v any, j int) { fillOf(b.s[i:i+n], v.([]bool)[j]) }
func (b boolCells) copyFrom(i int, src any, j, n int) {
	copy(b.s[i:i+n], src.([]bool)[j:j+n])
}
func (b boolCells) greater(i, j int) bool { return b.s[i] && !b.s[j] }

func takeOf[T any](s []T, idx []int) any {
	out := make([]T, len(idx))
	for i, j := range idx {
		if j >= 0 {
			out[i] = s[j]
		}
	}
	return out
}

func putOf[T any](s []T, idx []int, src []T) {
	for i, j := range idx {
		s[j] = src[i]
	}
}

func fillOf[T any](s []T, v T) {
	for i := range s {
		s[i] = v
	}
}

// takeTensor is a tensor of the given shape with element idx[i] of d in place i.
func takeTensor(d *tensor.Dense, shape, idx []int) *tensor.Dense {
	return &tensor.Dense{DType: d.DType, Shape: append([]int(nil), shape...), Data: cellsOf(d).take(idx)}
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
