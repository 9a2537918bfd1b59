// SPDX-License-Identifier: Apache-2.0

package fidelity

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// Model runs a graph by its own semantics, case after case. What depends on
// constants alone, such as dequantised weights, is computed once.
type Model struct {
	g     *ir.Graph
	fixed map[*ir.Value]*tensor.Dense
}

// NewModel evaluates what depends on constants alone.
func NewModel(g *ir.Graph) (*Model, error) {
	e := &Model{g: g, fixed: map[*ir.Value]*tensor.Dense{}}
	for _, n := range g.Nodes {
		if !e.isFixed(n) {
			continue
		}
		out, err := evalNode(n, func(v *ir.Value) *tensor.Dense { return e.fixed[v] })
		if err != nil {
			return nil, err
		}
		for i, v := range n.Out {
			e.fixed[v] = out[i]
		}
	}
	return e, nil
}

// isFixed reports a node whose results are the same in every case.
func (e *Model) isFixed(n *ir.Node) bool {
	for _, v := range n.In {
		if v != nil && v.Const == nil && e.fixed[v] == nil {
			return false
		}
	}
	return !n.Op.Impure
}

// Graph is what is evaluated.
func (e *Model) Graph() *ir.Graph { return e.g }

// Run gives the outputs for inputs in graph order.
func (e *Model) Run(in []*tensor.Dense) ([]*tensor.Dense, error) { return e.run(in, nil) }

// run evaluates the graph. seen, when set, is given every value that is
// computed, and returns what its readers get.
func (e *Model) run(in []*tensor.Dense, seen func(v *ir.Value, d *tensor.Dense) (*tensor.Dense, error)) (
	[]*tensor.Dense, error) {
	if len(in) != len(e.g.In) {
		return nil, bug.Errorf("the model has %d inputs, got %d", len(e.g.In), len(in))
	}
	env := make(map[*ir.Value]*tensor.Dense, len(e.g.Nodes))
	left := make(map[*ir.Value]int, len(e.g.Nodes))
	for i, v := range e.g.In {
		env[v] = in[i]
	}
	for _, v := range e.g.Out {
		left[v]++
	}
	get := func(v *ir.Value) *tensor.Dense {
		switch {
		case v.Const != nil:
			return v.Const
		case e.fixed[v] != nil:
			return e.fixed[v]
		}
		return env[v]
	}
	for _, n := range e.g.Nodes {
		if len(n.Out) > 0 && e.fixed[n.Out[0]] != nil {
			continue
		}
		out, err := evalNode(n, get)
		if err != nil {
			return nil, err
		}
		for i, v := range n.Out {
			if seen != nil {
				if out[i], err = seen(v, out[i]); err != nil {
					return nil, err
				}
			}
			env[v] = out[i]
			left[v] += len(v.Uses())
		}
		for _, v := range n.In {
			if v != nil && v.Def != nil && e.fixed[v] == nil {
				if left[v]--; left[v] == 0 {
					delete(env, v)
				}
			}
		}
	}
	out := make([]*tensor.Dense, len(e.g.Out))
	for i, v := range e.g.Out {
		out[i] = get(v)
	}
	return out, nil
}

// evalNode evaluates a node on constants and what get gives.
func evalNode(n *ir.Node, get func(v *ir.Value) *tensor.Dense) ([]*tensor.Dense, error) {
	out, err := ir.EvalOn(n, get)
	if err != nil {
		return nil, err
	}
	for i, v := range n.Out {
		if i >= len(out) || out[i] == nil {
			return nil, bug.Errorf("%s gave no output %d", n, i)
		}
		if !slices.Equal(out[i].Shape, v.Type.Shape) {
			return nil, bug.Errorf("%s gave %s for output %s of type %s", n, out[i], v, v.Type)
		}
	}
	return out, nil
}
