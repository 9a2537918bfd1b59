// SPDX-License-Identifier: Apache-2.0

package call

import (
	"fmt"

	"github.com/nncc/nncc/ir/tensor"
)

// CType is the C type of an element.
func CType(d tensor.DType) string {
	switch d {
	case tensor.F32:
		return "float"
	case tensor.F64:
		return "double"
	case tensor.Bool, tensor.U4:
		return "uint8_t"
	case tensor.I4:
		return "int8_t"
	case tensor.F16, tensor.BF16:
		return "uint16_t"
	}
	if d.IsSigned() {
		return fmt.Sprintf("int%d_t", d.Bits())
	}
	return fmt.Sprintf("uint%d_t", d.Bits())
}
