// SPDX-License-Identifier: Apache-2.0

package lower

import "github.com/nncc/nncc/ir"

// Slack gives how far the result of a node of the program may be from that of
// the model by definition, in steps: interpolated functions of int16 values, and
// kernels that say so (ir.OpDef.QError).
func (r *Result) Slack() func(n *ir.Node) float64 {
	errors := map[string]float64{}
	for _, f := range r.interpolated {
		errors[f.Anchor] = f.Error
	}
	return func(n *ir.Node) float64 {
		if e, ok := errors[n.Name]; ok {
			return e
		}
		return ir.QuantError(n)
	}
}
