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
	"reflect"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
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
// (a []uint16 is uint16).
func New(shape []int, data any) (_ *Array, err error) {
	defer fail.Catch(&err)
	dt, n := typeOf(data)
	fail.If(dt == "", "npz: a %T cannot be stored; want a slice of a numeric type or bool", data)
	want := fail.Must(elements(shape))
	fail.If(n != want, "npz: %d values for shape %v, want %d", n, shape, want)
	return &Array{DType: dt, Shape: slices.Clone(shape), Data: data}, nil
}

// Len is the number of elements.
func (a *Array) Len() int {
	_, n := typeOf(a.Data)
	return n
}

// Float64s converts every element to float64 (bool to 0 and 1, float16 exactly,
// 64-bit integers rounded to nearest). Complex arrays give an error.
func (a *Array) Float64s() ([]float64, error) {
	dt, ok := tensorTypes[a.DType]
	if !ok {
		return nil, fmt.Errorf("npz: a %s array has no real values", a.DType)
	}
	return a.flat(dt).Floats(), nil
}

// Int64s converts integer and bool arrays; a uint64 beyond int64, or any
// floating-point or complex dtype, gives an error.
func (a *Array) Int64s() (_ []int64, err error) {
	defer fail.Catch(&err)
	dt, ok := tensorTypes[a.DType]
	fail.If(!ok || dt.IsFloat(), "npz: a %s array is not an integer array", a.DType)
	if d, ok := a.Data.([]uint64); ok {
		for i, v := range d {
			fail.If(v > math.MaxInt64, "npz: element %d is %d, beyond int64", i, v)
		}
	}
	return a.flat(dt).Int64s(), nil
}

func (a *Array) flat(dt tensor.DType) *tensor.Dense {
	return &tensor.Dense{DType: dt, Shape: []int{a.Len()}, Data: a.Data}
}

// maxRank bounds the rank of an array in a file; NumPy itself stops at 64.
const maxRank = 64

// elements is the product of the extents, or an error for a negative extent or a
// product that does not fit an int.
func elements(shape []int) (_ int, err error) {
	defer fail.Catch(&err)
	fail.If(len(shape) > maxRank, "npz: rank %d, at most %d is possible", len(shape), maxRank)
	n := 1
	zero := false
	for _, d := range shape {
		fail.If(d < 0, "npz: negative extent in shape %v", shape)
		if d == 0 {
			zero = true
			continue
		}
		fail.If(n > math.MaxInt/d, "npz: shape %v overflows the size of memory", shape)
		n *= d
	}
	if zero {
		return 0, nil
	}
	return n, nil
}

// typeOf is the dtype of a slice and its length; "" where NumPy has none.
func typeOf(data any) (dtype string, n int) {
	if v := reflect.ValueOf(data); v.Kind() == reflect.Slice {
		if name := v.Type().Elem().String(); dtypes[name].slice == v.Type() {
			return name, v.Len()
		}
	}
	return "", 0
}

// dtypeInfo: the code in a .npy header after the byte-order character, the
// element's size in bytes, and the slice that holds the elements.
type dtypeInfo struct {
	code  string
	size  int
	slice reflect.Type
}

func held[T any](code string) dtypeInfo {
	return dtypeInfo{code, int(reflect.TypeFor[T]().Size()), reflect.TypeFor[[]T]()}
}

var dtypes = map[string]dtypeInfo{
	"bool": held[bool]("b1"), "int8": held[int8]("i1"), "int16": held[int16]("i2"), "int32": held[int32]("i4"),
	"int64": held[int64]("i8"), "uint8": held[uint8]("u1"), "uint16": held[uint16]("u2"),
	"uint32": held[uint32]("u4"), "uint64": held[uint64]("u8"), "float16": held[uint16]("f2"),
	"float32": held[float32]("f4"), "float64": held[float64]("f8"), "complex64": held[complex64]("c8"),
	"complex128": held[complex128]("c16"),
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
	d := reflect.ValueOf(a.Data)
	if from+n <= d.Len() {
		return &Array{DType: a.DType, Shape: []int{n}, Data: d.Slice3(from, from+n, from+n).Interface()}
	}
	out := reflect.MakeSlice(d.Type(), n, n)
	for i := 0; i < n; {
		i += reflect.Copy(out.Slice(i, n), d.Slice((from+i)%d.Len(), d.Len()))
	}
	return &Array{DType: a.DType, Shape: []int{n}, Data: out.Interface()}
}

// ToTensor gives an array as a tensor; the data are shared, not copied. Complex
// arrays and arrays of more than tensor.MaxElems elements give an error.
func ToTensor(a *Array) (*tensor.Dense, error) {
	if n, err := tensor.Elems(a.Shape); err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	} else if n != a.Len() {
		return nil, fmt.Errorf("npz: %d values for shape %v, want %d", a.Len(), a.Shape, n)
	}
	dt, ok := tensorTypes[a.DType]
	if !ok {
		return nil, fmt.Errorf("npz: %s arrays are not computed with; want real numbers or bool", a.DType)
	}
	return &tensor.Dense{DType: dt, Shape: slices.Clone(a.Shape), Data: a.Data}, nil
}

var tensorTypes = map[string]tensor.DType{
	"bool": tensor.Bool, "int8": tensor.I8, "int16": tensor.I16, "int32": tensor.I32, "int64": tensor.I64,
	"uint8": tensor.U8, "uint16": tensor.U16, "uint32": tensor.U32, "uint64": tensor.U64,
	"float16": tensor.F16, "float32": tensor.F32, "float64": tensor.F64,
}

// FromTensor gives a tensor as an array. Data are shared where NumPy has the
// type; int4 and uint4 become int8 and uint8, bfloat16 becomes float32 (both
// without loss).
func FromTensor(d *tensor.Dense) *Array {
	switch d.DType {
	case tensor.BF16:
		d = d.Cast(tensor.F32)
	case tensor.F16:
		return &Array{DType: "float16", Shape: slices.Clone(d.Shape), Data: d.Data}
	}
	name, _ := typeOf(d.Data) // the slices of I4 and U4 are those of int8 and uint8
	bug.If(name == "", "npz: tensor of type %s", d.DType)
	return &Array{DType: name, Shape: slices.Clone(d.Shape), Data: d.Data}
}
