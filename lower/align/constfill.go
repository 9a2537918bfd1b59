// SPDX-License-Identifier: Apache-2.0

package align

import "github.com/nncc/nncc/ir"

// How new elements of a constant operand are filled.
type constRole uint8

const (
	fillZero constRole = iota // real 0: the zero point where quantised
	fillOne                   // real 1
	fillLast                  // the element before: scales, zero points, exponents
)

// constFill is the role of operand i of n.
func constFill(n *ir.Node, i int) constRole {
	quant := n.Input(i) != nil && n.Input(i).Type.Quant != nil
	switch n.Op.Name {
	case "QuantizeLinear", "DequantizeLinear":
		if i > 0 {
			return fillLast
		}
	case "BatchNormalization":
		if i == 4 { // variance
			return fillOne
		}
	case "Div":
		if i == 1 && !quant {
			return fillOne
		}
		if i == 1 {
			return fillLast
		}
	case "Pow", "Mod", "Where":
		return fillLast
	}
	return fillZero
}
