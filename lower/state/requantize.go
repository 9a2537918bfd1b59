// SPDX-License-Identifier: Apache-2.0

package state

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/quant"
)

// Requantize gives the outputs that are state the types of their inputs:
// the quantisation of either may come from the model.
func Requantize(g *ir.Graph, bindings []Binding) error {
	at, err := Indices(g, bindings)
	if err != nil {
		return err
	}
	for i, t := range at {
		v, want := g.Out[t.Out], g.In[t.In].Type
		have := v.Type
		switch {
		case have.DType == want.DType && have.Quant.Equal(want.Quant):
			continue
		case have.Quantised() && want.Quantised():
			n, err := g.InsertBefore(nil, op.Requantize, v.Name+".state", nil, 1, v)
			if err != nil {
				return err
			}
			n.Out[0].Type = have.WithQuant(want.DType, want.Quant)
			v = n.Out[0]
		case want.Quantised() && have.DType.IsFloat():
			if v, err = quant.Linear(g, nil, op.QuantizeLinear, v, want); err != nil {
				return err
			}
			v.Type = have.WithQuant(want.DType, want.Quant)
		case have.Quantised() && want.DType.IsFloat():
			if v, err = quant.Linear(g, nil, op.DequantizeLinear, v, have); err != nil {
				return err
			}
		default:
			return &ir.Diag{Code: "state-type", Node: "output " + bindings[i].Out,
				Msg: fmt.Sprintf("is %s, the input %s that it is handed on to is %s; want one type", have,
					bindings[i].In, want)}
		}
		g.SetOutput(t.Out, v)
	}
	return nil
}
