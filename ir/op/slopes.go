// SPDX-License-Identifier: Apache-2.0

package op

import "github.com/nncc/nncc/ir"

// slopes marks an operator as linear in two operands: their weighted sum, or
// whether it is above or below 0.
func slopes(d *ir.OpDef, a, b float64) *ir.OpDef {
	d.Slopes = []float64{a, b}
	return d
}

// Linear are the operators with slopes, in the order of their names.
func Linear() []*ir.OpDef {
	var l []*ir.OpDef
	for _, d := range All() {
		if d.Slopes != nil {
			l = append(l, d)
		}
	}
	return l
}
