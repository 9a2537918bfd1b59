// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/quant"
)

// Requantize gives the outputs that are state the types of their inputs:
// the quantisation of either may come from the model.
func Requantize(g *ir.Graph, bindings []Binding) (err error) {
	defer fail.Catch(&err)
	for i, t := range fail.Must(Indices(g, bindings)) {
		v, want := g.Out[t.Out], g.In[t.In].Type
		have := v.Type
		switch {
		case have.DType == want.DType && have.Quant.Equal(want.Quant):
			continue
		case have.Quantised() && want.Quantised():
			n := fail.Must(g.InsertBefore(nil, op.Requantize, v.Name+".state", nil, 1, v))
			n.Out[0].Type = have.WithQuant(want.DType, want.Quant)
			v = n.Out[0]
		case want.Quantised() && have.DType.IsFloat():
			v = fail.Must(quant.Linear(g, nil, op.QuantizeLinear, v, want))
			v.Type = have.WithQuant(want.DType, want.Quant)
		case have.Quantised() && want.DType.IsFloat():
			v = fail.Must(quant.Linear(g, nil, op.DequantizeLinear, v, have))
		default:
			return &ir.Diag{Code: "state-type", Node: "output " + bindings[i].Out,
				Msg: fmt.Sprintf("is %s, the input %s that it is handed on to is %s; want one type", have,
					bindings[i].In, want)}
		}
		g.SetOutput(t.Out, v)
	}
	return nil
}
