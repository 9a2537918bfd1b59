// SPDX-License-Identifier: Apache-2.0

package op

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
)

// roundingAttr marks nodes whose kernel requantises with one rounding.
const roundingAttr = "single_rounding"

// Rounding is how the kernel that computes an int8 node requantises: as
// TensorFlow Lite does, unless SetRounding says that it is a kernel of a
// CMSIS-NN that was built with CMSIS_NN_USE_SINGLE_ROUNDING.
func Rounding(n *ir.Node) fixp.Rounding {
	if _, single := n.Attrs[roundingAttr]; single {
		return fixp.SingleRounding
	}
	return fixp.DoubleRounding
}

// SetRounding makes the reference evaluation of a node round as its kernel
// does. It has no counterpart in ONNX.
func SetRounding(n *ir.Node, r fixp.Rounding) {
	if r == fixp.SingleRounding {
		n.SetAttr(roundingAttr, ir.Int(1))
	} else {
		n.DropAttr(roundingAttr)
	}
}
