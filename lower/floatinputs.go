// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"cmp"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/op"
)

// FloatInputs says why inputs of a quantised model, given as imported, stay float: what
// reads them is no QuantizeLinear.
func (r *Result) FloatInputs(model *ir.Graph) diag.List {
	if r.Precision == "float32" || !Quantised(model) {
		return nil
	}
	var out diag.List
	for _, v := range r.Graph.In {
		if !v.Type.DType.IsFloat() {
			continue
		}
		for _, x := range model.In {
			if n := firstReader(x); x.Name == v.Name && n != nil {
				d := diag.Notef("float-input", v.Name,
					"input %s stays float: %s reads it before it is quantised, or it is quantised in several ways",
					v.Name, n)
				out = append(out, d)
			}
		}
	}
	return out.From("interface")
}

// firstReader is the first node behind an input that does not only move its
// values; a QuantizeLinear where there is no other.
func firstReader(v *ir.Value) *ir.Node {
	var last *ir.Node
	for _, u := range v.Uses() {
		n := u.Node
		if n.Op.Quant == ir.QMove && len(n.Out) == 1 {
			n = firstReader(n.Out[0])
		}
		if n != nil && n.Op != op.QuantizeLinear {
			return n
		}
		last = cmp.Or(n, last)
	}
	return last
}
