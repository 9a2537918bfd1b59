// SPDX-License-Identifier: Apache-2.0

// Package tensor holds dense tensors: element types, shapes and data.
package tensor

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/nncc/nncc/ir/bug"
)

// DType is the element type of a tensor.
type DType uint8

// The element types of ONNX that nncc computes with. I4 and U4 are held one
// element per byte here; packing is the business of files and emitted C.
const (
	Invalid DType = iota
	F32
	F64
	F16
	BF16
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	I4
	U4
	Bool
)

var dtypeInfo = [...]struct {
	name, onnx string
	bits       int
}{
	Invalid: {"invalid", "undefined", 0},
	F32:     {"f32", "float", 32}, F64: {"f64", "double", 64}, F16: {"f16", "float16", 16},
	BF16: {"bf16", "bfloat16", 16},
	I8:   {"i8", "int8", 8}, I16: {"i16", "int16", 16}, I32: {"i32", "int32", 32}, I64: {"i64", "int64", 64},
	U8: {"u8", "uint8", 8}, U16: {"u16", "uint16", 16}, U32: {"u32", "uint32", 32}, U64: {"u64", "uint64", 64},
	I4: {"i4", "int4", 4}, U4: {"u4", "uint4", 4}, Bool: {"bool", "bool", 8},
}

// String is the short name used in IR text: f32, i8, bool, ...
func (d DType) String() string {
	if int(d) < len(dtypeInfo) {
		return dtypeInfo[d].name
	}
	return fmt.Sprintf("dtype(%d)", uint8(d))
}

// Epsilon is the unit in the last place of 1 in a float type; that of float32
// for all others.
func (d DType) Epsilon() float64 {
	switch d {
	case F64:
		return 0x1p-52
	case F16:
		return 0x1p-10
	case BF16:
		return 0x1p-7
	}
	return 0x1p-23
}

// ONNXName is the name ONNX gives the type: float, int8, bool, ...
func (d DType) ONNXName() string {
	if int(d) < len(dtypeInfo) {
		return dtypeInfo[d].onnx
	}
	return d.String()
}

// ParseDType is the inverse of String.
func ParseDType(s string) (DType, bool) {
	for i, x := range dtypeInfo {
		if i > 0 && x.name == s {
			return DType(i), true
		}
	}
	return Invalid, false
}

// Bits is the size of one element in emitted memory (4 for I4 and U4).
func (d DType) Bits() int { return dtypeInfo[d].bits }

// Size is the bytes of one element in emitted memory; I4 and U4 count as 1,
// which is how activations of these types are stored.
func (d DType) Size() int { return (dtypeInfo[d].bits + 7) / 8 }

// IsFloat reports F32, F64, F16 and BF16.
func (d DType) IsFloat() bool { return d >= F32 && d <= BF16 }

// IsInt reports the integer types, Bool excluded.
func (d DType) IsInt() bool { return d >= I8 && d <= U4 }

// IsSigned reports the signed integer types.
func (d DType) IsSigned() bool { return d >= I8 && d <= I64 || d == I4 }

// IntRange is the smallest and largest value of an integer type. For U64 the
// upper end is clipped to MaxInt64.
func (d DType) IntRange() (lo, hi int64) {
	switch d {
	case U64:
		return 0, 1<<63 - 1
	case Bool:
		return 0, 1
	}
	b := uint(d.Bits())
	if d.IsSigned() {
		return -1 << (b - 1), 1<<(b-1) - 1
	}
	return 0, 1<<b - 1
}

// onnxCodes are the numbers of ONNX's TensorProto.DataType, the value of
// attributes such as Cast's `to`.
var onnxCodes = map[int]DType{
	1: F32, 2: U8, 3: I8, 4: U16, 5: I16, 6: I32, 7: I64, 9: Bool, 10: F16,
	11: F64, 12: U32, 13: U64, 16: BF16, 21: U4, 22: I4,
}

// FromONNX is the type of an ONNX data type number; false for the types that
// nncc does not compute with (strings, complex numbers, 8-bit floats, ...).
func FromONNX(code int) (DType, bool) {
	d, ok := onnxCodes[code]
	return d, ok
}

// ONNXCode is the ONNX data type number of d.
func (d DType) ONNXCode() int {
	for c, x := range onnxCodes {
		if x == d {
			return c
		}
	}
	return 0
}

// F16ToF32 widens IEEE binary16 bits; exact.
func F16ToF32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 31
	man := uint32(h & 0x3ff)
	switch {
	case exp == 31:
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp == 0 && man == 0:
		return math.Float32frombits(sign)
	case exp == 0:
		e := uint32(113)
		for man&0x400 == 0 {
			man <<= 1
			e--
		}
		return math.Float32frombits(sign | e<<23 | (man&0x3ff)<<13)
	}
	return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
}

// F32ToF16 rounds to nearest even, with overflow to infinity and subnormals.
func F32ToF16(f float32) uint16 {
	b := math.Float32bits(f)
	sign := uint16(b>>16) & 0x8000
	e := int(b>>23&255) - 127
	man := b & 0x7fffff
	switch {
	case e == 128 && man != 0:
		return sign | 0x7e00
	case e > 15:
		return sign | 0x7c00
	case e >= -14:
		v := uint32(e+15)<<10 | man>>13
		return sign | uint16(v+roundEven(man, 13, v))
	case e >= -25:
		m := man | 0x800000
		sh := uint(-e - 1) // 23-10 bits plus the distance below the smallest normal
		v := m >> sh
		return sign | uint16(v+roundEven(m, sh, v))
	}
	return sign
}

func roundEven(m uint32, sh uint, v uint32) uint32 {
	rest, half := m&(1<<sh-1), uint32(1)<<(sh-1)
	if rest > half || rest == half && v&1 == 1 {
		return 1
	}
	return 0
}

// F32ToBF16 rounds to nearest even; NaN stays NaN.
func F32ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// Bytes is the little-endian memory image, row-major, one byte per I4/U4
// element, as emitted C and .npy files hold it.
func (d *Dense) Bytes() []byte {
	b, err := binary.Append(make([]byte, 0, d.Len()*d.DType.Size()), binary.LittleEndian, d.Data)
	if err != nil {
		panic(bug.Errorf("tensor data of type %T: %v", d.Data, err))
	}
	return b
}

// FromBytes is the inverse of Bytes; the length must match the shape.
func FromBytes(dt DType, shape []int, b []byte) (*Dense, error) {
	n, err := Elems(shape)
	if err != nil {
		return nil, err
	}
	if len(b) != n*dt.Size() {
		return nil, fmt.Errorf("%s%v needs %d bytes, got %d", dt, shape, n*dt.Size(), len(b))
	}
	d := New(dt, shape)
	if _, err := binary.Decode(b, binary.LittleEndian, d.Data); err != nil {
		panic(bug.Errorf("tensor data of type %T: %v", d.Data, err))
	}
	return d, nil
}

// CopyElem sets element i to element j of src, of the same type, bit for bit.
func (d *Dense) CopyElem(i int, src *Dense, j int) { d.Copy(i, src, j, 1) }
