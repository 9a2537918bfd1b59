// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"math"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
)

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

// floated notes a quantised node that is computed in float, as m: what is quantised behind it
// may be off, by the rounding between two steps and by what the integer form misses.
func (r *Result) floated(n, m *ir.Node) {
	if r.floatSteps == nil {
		r.floatSteps = map[string]int64{}
	}
	note := func(q *ir.Node) {
		if q.Op == op.QuantizeLinear {
			r.floatSteps[q.Name] = 1 + int64(math.Ceil(ir.QuantError(n)))
		}
	}
	note(m)
	for _, v := range m.Out {
		for _, u := range v.Uses() {
			note(u.Node)
		}
	}
}

// FloatSteps gives by how many steps a QuantizeLinear of Reference may be off what Whole has
// there as a node on integers.
func (r *Result) FloatSteps(n *ir.Node) int64 { return r.floatSteps[n.Name] }
