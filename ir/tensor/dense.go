// SPDX-License-Identifier: Apache-2.0

package tensor

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/lists"
)

// Dense is a tensor in row-major order. Data is a typed slice: []float32,
// []float64, []uint16 (the bits of F16 and BF16), []int8 (I8 and I4), []int16,
// []int32, []int64, []uint8 (U8 and U4), []uint16, []uint32, []uint64, []bool.
// A Dense is treated as immutable once another tensor or node may see it.
type Dense struct {
	DType DType
	Shape []int
	Data  any
}

// MaxElems bounds any single tensor; larger ones are refused when sizes are
// computed, so that no shape in a model file can exhaust memory.
const MaxElems = 1 << 28

// Elems is the number of elements of a shape; an error for negative
// dimensions and for more than MaxElems elements.
func Elems(shape []int) (int, error) {
	n := 1
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("shape %v has a negative dimension", shape)
		}
		if d == 0 {
			return 0, nil
		}
	}
	for _, d := range shape {
		if n > MaxElems/d {
			return 0, fmt.Errorf("shape %v is too large: more than %d elements", shape, MaxElems)
		}
		n *= d
	}
	return n, nil
}

// Count is Elems for shapes that are known to be valid.
func Count(shape []int) int {
	return bug.Must(Elems(shape))
}

// storage makes and moves slices of one Go type.
type storage interface {
	zero(n int) any
	clone(data any) any
	gather(dst, src any, shape, strides []int, base int)
	pick(data any, idx []int) any
	put(dst any, idx []int, src any)
	copy(dst any, i int, src any, j, n int)
	fill(dst any, i, n int, src any)
}

type slice[T Elem] struct{}

func (slice[T]) zero(n int) any     { return make([]T, n) }
func (slice[T]) clone(data any) any { return slices.Clone(data.([]T)) }
func (slice[T]) gather(dst, src any, shape, strides []int, base int) {
	gather(dst.([]T), src.([]T), shape, strides, base)
}
func (slice[T]) pick(data any, idx []int) any {
	out, s := make([]T, len(idx)), data.([]T)
	for i, j := range idx {
		if j >= 0 {
			out[i] = s[j]
		}
	}
	return out
}
func (slice[T]) put(dst any, idx []int, src any) {
	to, s := dst.([]T), src.([]T)
	for i, j := range idx {
		to[j] = s[i]
	}
}
func (slice[T]) copy(dst any, i int, src any, j, n int) { copy(dst.([]T)[i:i+n], src.([]T)[j:j+n]) }
func (slice[T]) fill(dst any, i, n int, src any) {
	to, v := dst.([]T)[i:i+n], src.([]T)[0]
	for k := range to {
		to[k] = v
	}
}

// storages are what holds elements, by element type.
var storages = [...]storage{F32: slice[float32]{}, F64: slice[float64]{}, F16: slice[uint16]{},
	BF16: slice[uint16]{}, U16: slice[uint16]{}, I8: slice[int8]{}, I4: slice[int8]{}, I16: slice[int16]{},
	I32: slice[int32]{}, I64: slice[int64]{}, U8: slice[uint8]{}, U4: slice[uint8]{}, U32: slice[uint32]{},
	U64: slice[uint64]{}, Bool: slice[bool]{}}

func storageOf(d DType) storage {
	if int(d) >= len(storages) || storages[d] == nil {
		panic(bug.Errorf("no storage for %s", d))
	}
	return storages[d]
}

// New is a zero tensor.
func New(d DType, shape []int) *Dense {
	return &Dense{DType: d, Shape: append([]int(nil), shape...), Data: storageOf(d).zero(Count(shape))}
}

// Elem is the set of Go types that hold elements.
type Elem interface {
	float32 | float64 | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | bool
}

// natural are the element types that Go types name without doubt.
var natural = [...]DType{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64, Bool}

// Of wraps a slice of a Go type that names its DType without doubt
// (uint16 becomes U16); the slice is not copied.
func Of[T Elem](shape []int, data []T) *Dense {
	d := natural[slices.IndexFunc(natural[:], func(d DType) bool { return storages[d] == slice[T]{} })]
	if n := Count(shape); n != len(data) {
		panic(bug.Errorf("shape %v needs %d elements, got %d", shape, n, len(data)))
	}
	return &Dense{DType: d, Shape: append([]int(nil), shape...), Data: data}
}

// Scalar is a rank-0 tensor.
func Scalar[T Elem](v T) *Dense { return Of(nil, []T{v}) }

// Ints is a 1-D int64 tensor, the usual form of shapes and axes.
func Ints(v ...int) *Dense {
	x := lists.Each(v, func(e int) int64 { return int64(e) })
	return Of([]int{len(v)}, x)
}

// As is the typed slice of d; it panics when the Go type is another one.
func As[T Elem](d *Dense) []T { return d.Data.([]T) }

// Len is the number of elements.
func (d *Dense) Len() int { return Count(d.Shape) }

// Reshaped shares the data under another shape of the same size.
func (d *Dense) Reshaped(shape []int) *Dense {
	if Count(shape) != d.Len() {
		panic(bug.Errorf("reshape %v to %v", d.Shape, shape))
	}
	return &Dense{DType: d.DType, Shape: append([]int(nil), shape...), Data: d.Data}
}

// Clone copies data and shape.
func (d *Dense) Clone() *Dense {
	return &Dense{DType: d.DType, Shape: slices.Clone(d.Shape), Data: storageOf(d.DType).clone(d.Data)}
}

// Float is element i as float64 (bool as 0 or 1).
func (d *Dense) Float(i int) float64 {
	switch s := d.Data.(type) {
	case []float32:
		return float64(s[i])
	case []float64:
		return s[i]
	case []uint16:
		switch d.DType {
		case F16:
			return float64(F16ToF32(s[i]))
		case BF16:
			return float64(math.Float32frombits(uint32(s[i]) << 16))
		}
		return float64(s[i])
	case []uint64:
		return float64(s[i])
	}
	return float64(d.Int(i))
}

// Int is element i as int64; floats are truncated towards zero.
func (d *Dense) Int(i int) int64 {
	switch s := d.Data.(type) {
	case []int8:
		return int64(s[i])
	case []int16:
		return int64(s[i])
	case []int32:
		return int64(s[i])
	case []int64:
		return s[i]
	case []uint8:
		return int64(s[i])
	case []uint32:
		return int64(s[i])
	case []uint64:
		return int64(s[i])
	case []uint16:
		if d.DType == U16 {
			return int64(s[i])
		}
	case []bool:
		if s[i] {
			return 1
		}
		return 0
	}
	return truncate(d.Float(i))
}

// SetFloat stores v in element i: rounded to the type for floats, truncated to
// 64 bits (NaN is 0, what is beyond them the nearest end) and wrapped for
// integers, v != 0 for bool.
func (d *Dense) SetFloat(i int, v float64) {
	switch s := d.Data.(type) {
	case []float32:
		s[i] = float32(v)
	case []float64:
		s[i] = v
	case []uint16:
		switch d.DType {
		case F16:
			s[i] = F32ToF16(float32(v))
		case BF16:
			s[i] = F32ToBF16(float32(v))
		default:
			d.SetInt(i, truncate(v))
		}
	case []bool:
		s[i] = v != 0
	case []uint64:
		if v >= 1<<63 {
			s[i] = uint64(min(v, math.Nextafter(1<<64, 0)))
		} else {
			s[i] = uint64(truncate(v))
		}
	default:
		d.SetInt(i, truncate(v))
	}
}

// truncate is v towards zero as an integer. ONNX leaves NaN and what is beyond
// the integers open, Go leaves it to the machine: here NaN is 0 and the rest the
// nearest end, so that every host and the emitted C agree.
func truncate(v float64) int64 {
	switch {
	case v != v:
		return 0
	case v <= math.MinInt64:
		return math.MinInt64
	case v >= 1<<63:
		return math.MaxInt64
	}
	return int64(v)
}

// SetInt stores v in element i, wrapped to the type.
func (d *Dense) SetInt(i int, v int64) {
	switch s := d.Data.(type) {
	case []int8:
		if d.DType == I4 {
			v = v << 60 >> 60
		}
		s[i] = int8(v)
	case []int16:
		s[i] = int16(v)
	case []int32:
		s[i] = int32(v)
	case []int64:
		s[i] = v
	case []uint8:
		if d.DType == U4 {
			v &= 15
		}
		s[i] = uint8(v)
	case []uint32:
		s[i] = uint32(v)
	case []uint64:
		s[i] = uint64(v)
	case []bool:
		s[i] = v != 0
	case []uint16:
		if d.DType == U16 {
			s[i] = uint16(v)
		} else {
			d.SetFloat(i, float64(v))
		}
	default:
		d.SetFloat(i, float64(v))
	}
}

// Floats copies all elements as float64.
func (d *Dense) Floats() []float64 {
	out := make([]float64, d.Len())
	switch s := d.Data.(type) {
	case []float32:
		for i, v := range s {
			out[i] = float64(v)
		}
	case []float64:
		copy(out, s)
	case []int8:
		for i, v := range s {
			out[i] = float64(v)
		}
	default:
		for i := range out {
			out[i] = d.Float(i)
		}
	}
	return out
}

// Int64s copies all elements as int64.
func (d *Dense) Int64s() []int64 {
	out := make([]int64, d.Len())
	for i := range out {
		out[i] = d.Int(i)
	}
	return out
}

// FromFloats is a tensor of type dt with the given values, each rounded (for
// floats) or truncated (for integers) to the type.
func FromFloats(dt DType, shape []int, v []float64) *Dense {
	d := New(dt, shape)
	for i, x := range v {
		d.SetFloat(i, x)
	}
	return d
}

// Cast converts element by element as ONNX Cast does between numeric types:
// floats to integers as SetFloat says, integers wrap, anything but zero is true.
func (d *Dense) Cast(dt DType) *Dense {
	if d.DType == dt {
		return d
	}
	out := New(dt, d.Shape)
	switch s := d.Data.(type) {
	case []float32:
		if dt == F64 {
			for i, o := 0, out.Data.([]float64); i < len(s); i++ {
				o[i] = float64(s[i])
			}
			return out
		}
	case []float64:
		if dt == F32 {
			for i, o := 0, out.Data.([]float32); i < len(s); i++ {
				o[i] = float32(s[i])
			}
			return out
		}
	}
	if (d.DType.IsInt() || d.DType == Bool) && !dt.IsFloat() {
		for i, n := 0, d.Len(); i < n; i++ {
			out.SetInt(i, d.Int(i))
		}
		return out
	}
	for i, n := 0, d.Len(); i < n; i++ {
		out.SetFloat(i, d.Float(i))
	}
	return out
}

// Strides are the row-major strides of a shape, in elements.
func Strides(shape []int) []int {
	s := make([]int, len(shape))
	n := 1
	for i := len(shape) - 1; i >= 0; i-- {
		s[i] = n
		n *= shape[i]
	}
	return s
}

// Squeezed is a shape without its dimensions of size 1.
func Squeezed(shape []int) []int {
	return slices.DeleteFunc(slices.Clone(shape), func(d int) bool { return d == 1 })
}

// Transpose permutes the dimensions: output dimension i is input dimension
// perm[i], as in ONNX Transpose.
func (d *Dense) Transpose(perm []int) *Dense {
	shape := make([]int, len(perm))
	st := Strides(d.Shape)
	pst := make([]int, len(perm))
	for i, p := range perm {
		shape[i], pst[i] = d.Shape[p], st[p]
	}
	out := New(d.DType, shape)
	Gather(out, d, shape, pst, 0)
	return out
}

// Pick is a tensor of a shape with element idx[i] of d in place i, zero where that is below 0.
func (d *Dense) Pick(shape, idx []int) *Dense {
	return &Dense{DType: d.DType, Shape: slices.Clone(shape), Data: storageOf(d.DType).pick(d.Data, idx)}
}

// Put stores element i of src, of the same type, in place idx[i]; later ones win.
func (d *Dense) Put(idx []int, src *Dense) { storageOf(d.DType).put(d.Data, idx, src.Data) }

// Copy copies n elements of src, of the same type, from j on to place i and on.
func (d *Dense) Copy(i int, src *Dense, j, n int) { storageOf(d.DType).copy(d.Data, i, src.Data, j, n) }

// Fill stores the first element of src, of the same type, in n places from i on.
func (d *Dense) Fill(i, n int, src *Dense) { storageOf(d.DType).fill(d.Data, i, n, src.Data) }

// Slice is a copy of indices lo to hi, the end excluded, of a dimension.
func (d *Dense) Slice(axis, lo, hi int) *Dense {
	shape, strides := slices.Clone(d.Shape), Strides(d.Shape)
	shape[axis] = hi - lo
	out := New(d.DType, shape)
	Gather(out, d, shape, strides, lo*strides[axis])
	return out
}

// Take is a copy of some indices of a dimension, in the order given.
func (d *Dense) Take(axis int, indices []int) *Dense {
	shape := slices.Clone(d.Shape)
	shape[axis] = len(indices)
	out := New(d.DType, shape)
	inner := Count(d.Shape[axis+1:])
	for o := range Count(d.Shape[:axis]) {
		for to, from := range indices {
			out.Copy((o*len(indices)+to)*inner, d, (o*d.Shape[axis]+from)*inner, inner)
		}
	}
	return out
}

// Gather fills dst (row-major over shape) from src elements at base plus the
// dot product of index and strides: the one loop behind transpose, slice,
// broadcast and flip. Strides may be zero or negative.
func Gather(dst, src *Dense, shape, strides []int, base int) {
	storageOf(src.DType).gather(dst.Data, src.Data, shape, strides, base)
}

func gather[T any](dst, src []T, shape, strides []int, base int) {
	if len(dst) == 0 {
		return
	}
	r := len(shape)
	if r == 0 {
		dst[0] = src[base]
		return
	}
	idx := make([]int, r)
	inner, is := shape[r-1], strides[r-1]
	for o := 0; o < len(dst); o += inner {
		p := base
		for k := 0; k < inner; k++ {
			dst[o+k] = src[p]
			p += is
		}
		for a := r - 2; a >= 0; a-- {
			idx[a]++
			base += strides[a]
			if idx[a] < shape[a] {
				break
			}
			base -= strides[a] * shape[a]
			idx[a] = 0
		}
	}
}

// Uniform is the one value that all elements have, as a vector of one; false
// when they differ or there are none.
func (d *Dense) Uniform() (*Dense, bool) {
	if d.Len() == 0 {
		return nil, false
	}
	b, s := d.Bytes(), d.DType.Size()
	for i := s; i < len(b); i++ {
		if b[i] != b[i-s] {
			return nil, false
		}
	}
	v, err := FromBytes(d.DType, []int{1}, b[:s])
	return v, err == nil
}

// Equal reports the same type, shape and bits.
func Equal(a, b *Dense) bool {
	if a.DType != b.DType || len(a.Shape) != len(b.Shape) {
		return false
	}
	for i := range a.Shape {
		if a.Shape[i] != b.Shape[i] {
			return false
		}
	}
	ab, bb := a.Bytes(), b.Bytes()
	return string(ab) == string(bb)
}

// String is a short description, not the data.
func (d *Dense) String() string { return fmt.Sprintf("%s%v", d.DType, d.Shape) }
