// SPDX-License-Identifier: Apache-2.0

package tensor

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
