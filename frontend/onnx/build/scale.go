// SPDX-License-Identifier: Apache-2.0

package build

import (
	"math"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
)

// leastScale is the smallest normal number of float32: below it, one over the
// scale is no number, and a step has not the precision that it should have.
const leastScale = 0x1p-126

// CheckScale checks the scale in input i, of data that are dequantised with it;
// nil: something is quantised. It is a number that is finite and not negative, and no
// input of the model; scales that the model computes (dynamic quantisation) are left
// to run time. Only constants may have steps of no size: then all of them are 0, as
// weights of a channel that is off.
func (n *Node) CheckScale(i int, data *ir.Value) {
	s := n.Input(i)
	if s == nil {
		return // the arity is checked elsewhere
	}
	name := ""
	if i < len(n.InNames) {
		name = " " + model.Quote(n.InNames[i])
	}
	if s.IsInput() {
		n.Fail(n.Dynamicf("scale-dynamic", s,
			"the scale%s is an input of the model, want a constant (bind it with --set)", name))
	}
	if s.Const == nil {
		return
	}
	for k := range s.Const.Len() {
		v := s.Const.Float(k)
		n.Want(v == v && !math.IsInf(v, 0), "scale-value", "the scale%s holds %v at index %d, want a finite number",
			name, v, k)
		n.Want(v >= 0, "scale-value", "the scale%s holds %v at index %d, want a positive number", name, v, k)
		n.Want(v >= leastScale || data != nil && data.Const != nil, "scale-value",
			"the scale%s holds %v at index %d, want at least %g: data have no steps of that size", name, v, k,
			leastScale)
	}
}
