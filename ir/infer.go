// SPDX-License-Identifier: Apache-2.0

package ir

import (
	"fmt"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/tensor"
)

// InferNode runs the operator's checks of arity and attributes and its Infer, and holds constants against
// its limits.
func InferNode(n *Node) (_ []Type, err error) {
	defer fail.Catch(&err)
	op := n.Op
	if len(n.In) < op.MinIn || op.MaxIn >= 0 && len(n.In) > op.MaxIn {
		want := fmt.Sprintf("%d to %d", op.MinIn, op.MaxIn)
		if op.MaxIn < 0 {
			want = fmt.Sprintf("at least %d", op.MinIn)
		}
		return nil, Errf(n, "arity", "has %d inputs, want %s", len(n.In), want)
	}
	for i := 0; i < op.MinIn; i++ {
		if n.In[i] == nil {
			return nil, Errf(n, "arity", "input %d is missing", i)
		}
	}
	for _, s := range op.Attrs {
		if a, ok := n.Attrs[s.Name]; ok && a.Kind != s.Kind {
			return nil, Errf(n, "attr-kind", "attribute %s has the wrong type", s.Name)
		} else if !ok && s.Required {
			return nil, Errf(n, "attr-missing", "attribute %s is required", s.Name)
		}
	}
	types := fail.Must(op.Infer(n))
	if op.Limits != nil {
		fail.Check(checkLimits(n, op.Limits(n), n.ConstIn))
	}
	if len(types) < len(n.Out) {
		return nil, Errf(n, "arity", "gives %d outputs, %d are used", len(types), len(n.Out))
	}
	for i := range n.Out {
		if _, err := tensor.Elems(types[i].Shape); err != nil {
			return nil, Errf(n, "shape", "output %d: %v", i, err)
		}
	}
	return types, nil
}

// Reinfer recomputes the types of a node's outputs after its inputs or
// attributes changed. The outputs keep their quantisation, and their memory order
// where the rank is the same.
func (g *Graph) Reinfer(n *Node) error {
	types, err := InferNode(n)
	if err != nil {
		return err
	}
	for i, v := range n.Out {
		old := v.Type
		t := types[i]
		if old.Quant != nil {
			t.DType, t.Quant = old.DType, old.Quant
		}
		if len(old.Shape) == len(t.Shape) {
			t.Order = old.Order
		}
		v.Type = t
	}
	return nil
}
