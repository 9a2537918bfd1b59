// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/state"
)

// Reals takes a step and gives the outputs that the caller sees, integers that stand
// for reals dequantised.
func Reals(r *state.Runner, in []*tensor.Dense) ([]*tensor.Dense, error) {
	outs, err := r.Step(in)
	if err != nil {
		return nil, err
	}
	all := lists.Map(r.Outputs(), func(i int) *tensor.Dense { return Dequantised(outs[i], RealType(r.Graph.Out[i])) })
	return all, nil
}

// RealType is the type of a value with its quantisation, which in a model that has its
// own stands in the QuantizeLinear that makes it, before whatever moves data.
func RealType(v *ir.Value) ir.Type {
	for x := v; x.Type.Quant == nil && x.Def != nil; x = x.Def.In[0] {
		if x.Def.Op == op.QuantizeLinear {
			if t, ok := quant.Params(x.Def); ok {
				return v.Type.WithQuant(v.Type.DType, t.Quant)
			}
			break
		}
		if x.Def.Op.Quant != ir.QMove || len(x.Def.In) == 0 || x.Def.In[0] == nil {
			break
		}
	}
	return v.Type
}
