// Package interp is the reference interpreter: it runs a graph node by node,
// in float as the ONNX specification says and on quantised values with the
// exact integer arithmetic of the operators' definitions.
package interp

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// Observer sees every value as soon as it is computed.
type Observer func(v *ir.Value, d *tensor.Dense)

// Run evaluates g on inputs in graph order and returns its outputs. Inputs
// must have the graph's types and shapes. obs may be nil.
func Run(g *ir.Graph, inputs []*tensor.Dense, obs Observer) ([]*tensor.Dense, error) {
	if len(inputs) != len(g.In) {
		return nil, fmt.Errorf("graph %s has %d inputs, got %d", g.Name, len(g.In), len(inputs))
	}
	env := make(map[*ir.Value]*tensor.Dense, len(g.Nodes))
	left := make(map[*ir.Value]int, len(g.Nodes))
	for _, v := range g.Out {
		left[v]++
	}
	for i, v := range g.In {
		d := inputs[i]
		if d.DType != v.Type.DType || !slices.Equal(d.Shape, v.Type.Shape) {
			return nil, &ir.Diag{Code: "input-type", Node: "input " + v.Name, Msg: fmt.Sprintf("got %s%v, want %s%v",
				d.DType, d.Shape, v.Type.DType, v.Type.Shape)}
		}
		env[v] = d
		left[v] += len(v.Uses())
		if obs != nil {
			obs(v, d)
		}
	}
	get := func(v *ir.Value) *tensor.Dense {
		if v == nil {
			return nil
		}
		if v.Const != nil {
			return v.Const
		}
		return env[v]
	}
	for _, n := range g.Nodes {
		in := make([]*tensor.Dense, len(n.In))
		for i, v := range n.In {
			in[i] = get(v)
		}
		out, err := ir.EvalNode(n, in)
		if err != nil {
			return nil, err
		}
		for i, v := range n.Out {
			if i >= len(out) || out[i] == nil {
				return nil, bug.Errorf("%s gave no output %d", n, i)
			}
			if out[i].DType != v.Type.DType || !slices.Equal(out[i].Shape, v.Type.Shape) {
				return nil, bug.Errorf("%s gave %s for output %s of type %s", n, out[i], v, v.Type)
			}
			env[v] = out[i]
			left[v] += len(v.Uses())
			if obs != nil {
				obs(v, out[i])
			}
			if left[v] == 0 {
				delete(env, v)
			}
		}
		for _, v := range n.In {
			if v != nil && v.Const == nil {
				if left[v]--; left[v] == 0 {
					delete(env, v)
				}
			}
		}
	}
	res := make([]*tensor.Dense, len(g.Out))
	for i, v := range g.Out {
		res[i] = get(v)
	}
	return res, nil
}
