// SPDX-License-Identifier: Apache-2.0

// Package tensor holds dense tensors: element types, shapes and data.
package tensor

import "fmt"

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
