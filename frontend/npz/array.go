// SPDX-License-Identifier: Apache-2.0

// Package npz reads and writes NumPy's .npy and .npz files.
//
// Files are untrusted input: sizes are overflow-checked, memory grows only with
// bytes that really arrive, and archives that expand beyond what deflate can do
// or beyond Limits are refused. Format facts: NumPy's "NPY format" note,
// versions 1.0 to 3.0, and the ZIP format for .npz.
package npz

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/ir/bug"
)

// Array is a dense numeric array in row-major (C) order, whatever the order and
// byte order in the file were.
type Array struct {
	// DType is one of bool, int8, int16, int32, int64, uint8, uint16, uint32,
	// uint64, float16, float32, float64, complex64, complex128.
	DType string
	// Shape holds the extents, outermost first; empty for a rank-0 array.
	Shape []int
	// Data is the typed slice with the product of Shape elements: []bool, []int8, …,
	// []float32, []float64, []complex64, []complex128; float16 is []uint16 with the
	// IEEE binary16 bit patterns.
	Data any
}

// New makes an Array from a typed slice; the dtype follows from the slice's type
// (a []uint16 is uint16: use NewFloat16 for half-precision bit patterns).
func New(shape []int, data any) (*Array, error) {
	dt, n := typeOf(data)
	if dt == "" {
		return nil, fmt.Errorf("npz: a %T cannot be stored; want a slice of a numeric type or bool", data)
	}
	want, err := elements(shape)
	if err != nil {
		return nil, err
	}
	if n != want {
		return nil, fmt.Errorf("npz: %d values for shape %v, want %d", n, shape, want)
	}
	return &Array{DType: dt, Shape: slices.Clone(shape), Data: data}, nil
}

// NewFloat16 makes a float16 Array from binary16 bit patterns.
func NewFloat16(shape []int, bits []uint16) (*Array, error) {
	a, err := New(shape, bits)
	if err != nil {
		return nil, err
	}
	a.DType = "float16"
	return a, nil
}

// Len is the number of elements.
func (a *Array) Len() int {
	_, n := typeOf(a.Data)
	return n
}

// ElemSize is the size of one element in a file, in bytes.
func (a *Array) ElemSize() int { return dtypes[a.DType].size }

// Float64s converts every element to float64 (bool to 0 and 1, float16 exactly,
// 64-bit integers rounded to nearest). Complex arrays give an error.
func (a *Array) Float64s() ([]float64, error) {
	switch d := a.Data.(type) {
	case []float64:
		return slices.Clone(d), nil
	case []float32:
		return convert[float32, float64](d), nil
	case []uint16:
		if a.DType == "float16" {
			return halves(d), nil
		}
		return convert[uint16, float64](d), nil
	case []int8:
		return convert[int8, float64](d), nil
	case []int16:
		return convert[int16, float64](d), nil
	case []int32:
		return convert[int32, float64](d), nil
	case []int64:
		return convert[int64, float64](d), nil
	case []uint8:
		return convert[uint8, float64](d), nil
	case []uint32:
		return convert[uint32, float64](d), nil
	case []uint64:
		return convert[uint64, float64](d), nil
	case []bool:
		out := make([]float64, len(d))
		for i, b := range d {
			if b {
				out[i] = 1
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("npz: a %s array has no real values", a.DType)
}

// halves are the values of binary16 bit patterns.
func halves(bits []uint16) []float64 {
	out := make([]float64, len(bits))
	for i, b := range bits {
		out[i] = HalfToFloat(b)
	}
	return out
}

// Float32s is Float64s rounded to float32; a float32 array is copied bit for bit.
func (a *Array) Float32s() ([]float32, error) {
	if d, ok := a.Data.([]float32); ok {
		return slices.Clone(d), nil
	}
	f, err := a.Float64s()
	if err != nil {
		return nil, err
	}
	return convert[float64, float32](f), nil
}

// Int64s converts integer and bool arrays; a uint64 beyond int64, or any
// floating-point or complex dtype, gives an error.
func (a *Array) Int64s() ([]int64, error) {
	if a.DType != "float16" {
		switch d := a.Data.(type) {
		case []int64:
			return slices.Clone(d), nil
		case []int32:
			return convert[int32, int64](d), nil
		case []int16:
			return convert[int16, int64](d), nil
		case []int8:
			return convert[int8, int64](d), nil
		case []uint8:
			return convert[uint8, int64](d), nil
		case []uint16:
			return convert[uint16, int64](d), nil
		case []uint32:
			return convert[uint32, int64](d), nil
		case []uint64:
			for i, v := range d {
				if v > math.MaxInt64 {
					return nil, fmt.Errorf("npz: element %d is %d, beyond int64", i, v)
				}
			}
			return convert[uint64, int64](d), nil
		case []bool:
			out := make([]int64, len(d))
			for i, b := range d {
				if b {
					out[i] = 1
				}
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("npz: a %s array is not an integer array", a.DType)
}

type number interface {
	~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~float32 | ~float64
}

func convert[S, D number](s []S) []D {
	out := make([]D, len(s))
	for i, v := range s {
		out[i] = D(v)
	}
	return out
}

// HalfToFloat gives the exact value of an IEEE binary16 bit pattern.
func HalfToFloat(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	exp, frac := int(h>>10&31), float64(h&0x3ff)
	switch exp {
	case 0:
		return math.Copysign(math.Ldexp(frac, -24), sign)
	case 31:
		if frac != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return math.Copysign(math.Ldexp(1024+frac, exp-25), sign)
}

// maxRank bounds the rank of an array in a file; NumPy itself stops at 64.
const maxRank = 64

// elements is the product of the extents, or an error for a negative extent or a
// product that does not fit an int.
func elements(shape []int) (int, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("npz: rank %d, at most %d is possible", len(shape), maxRank)
	}
	n := 1
	zero := false
	for _, d := range shape {
		if d < 0 {
			return 0, fmt.Errorf("npz: negative extent in shape %v", shape)
		}
		if d == 0 {
			zero = true
			continue
		}
		if n > math.MaxInt/d {
			return 0, fmt.Errorf("npz: shape %v overflows the size of memory", shape)
		}
		n *= d
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

func typeOf(data any) (dtype string, n int) {
	switch d := data.(type) {
	case []bool:
		return "bool", len(d)
	case []int8:
		return "int8", len(d)
	case []int16:
		return "int16", len(d)
	case []int32:
		return "int32", len(d)
	case []int64:
		return "int64", len(d)
	case []uint8:
		return "uint8", len(d)
	case []uint16:
		return "uint16", len(d)
	case []uint32:
		return "uint32", len(d)
	case []uint64:
		return "uint64", len(d)
	case []float32:
		return "float32", len(d)
	case []float64:
		return "float64", len(d)
	case []complex64:
		return "complex64", len(d)
	case []complex128:
		return "complex128", len(d)
	}
	return "", 0
}

// dtypeInfo: the code in a .npy header after the byte-order character, and the
// element's size in bytes.
type dtypeInfo struct {
	code string
	size int
}

var dtypes = map[string]dtypeInfo{
	"bool": {"b1", 1}, "int8": {"i1", 1}, "int16": {"i2", 2}, "int32": {"i4", 4}, "int64": {"i8", 8},
	"uint8": {"u1", 1}, "uint16": {"u2", 2}, "uint32": {"u4", 4}, "uint64": {"u8", 8},
	"float16": {"f2", 2}, "float32": {"f4", 4}, "float64": {"f8", 8},
	"complex64": {"c8", 8}, "complex128": {"c16", 16},
}

var byCode = func() map[string]string {
	m := map[string]string{}
	for name, i := range dtypes {
		m[i.code] = name
	}
	return m
}()

// Part is n elements from the given one on, as an array of one dimension; behind
// the last element comes the first again.
func (a *Array) Part(from, n int) *Array {
	p := &Array{DType: a.DType, Shape: []int{n}}
	switch d := a.Data.(type) {
	case []bool:
		p.Data = part(d, from, n)
	case []int8:
		p.Data = part(d, from, n)
	case []int16:
		p.Data = part(d, from, n)
	case []int32:
		p.Data = part(d, from, n)
	case []int64:
		p.Data = part(d, from, n)
	case []uint8:
		p.Data = part(d, from, n)
	case []uint16:
		p.Data = part(d, from, n)
	case []uint32:
		p.Data = part(d, from, n)
	case []uint64:
		p.Data = part(d, from, n)
	case []float32:
		p.Data = part(d, from, n)
	case []float64:
		p.Data = part(d, from, n)
	case []complex64:
		p.Data = part(d, from, n)
	case []complex128:
		p.Data = part(d, from, n)
	default:
		panic(bug.Errorf("npz: %T is not array data", a.Data))
	}
	return p
}

func part[T any](d []T, from, n int) []T {
	if from+n <= len(d) {
		return d[from : from+n : from+n]
	}
	out := make([]T, n)
	for i := range out {
		out[i] = d[(from+i)%len(d)]
	}
	return out
}
