// SPDX-License-Identifier: Apache-2.0

package fidelity

import (
	"cmp"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
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
	fixed, err := interp.Fixed(g)
	return &Model{g, fixed}, err
}

// Graph is what is evaluated.
func (e *Model) Graph() *ir.Graph { return e.g }

// Run gives the outputs for inputs in graph order.
func (e *Model) Run(in []*tensor.Dense) ([]*tensor.Dense, error) { return e.run(in, nil) }

// run evaluates the graph. seen, when set, is given every value that is
// computed, and returns what its readers get.
func (e *Model) run(in []*tensor.Dense,
	seen func(v *ir.Value, d *tensor.Dense) (*tensor.Dense, error)) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	r := fail.Must(interp.Start(e.g, in, nil))
	for r.Left() > 0 {
		n := r.Next()
		out := lists.Map(n.Out, func(v *ir.Value) *tensor.Dense { return e.fixed[v] })
		if len(out) == 0 || out[0] == nil {
			out = fail.Must(ir.EvalOn(n, r.Value))
			for i, v := range n.Out {
				if seen == nil || i >= len(out) || out[i] == nil {
					continue
				}
				out[i] = fail.Must(seen(v, out[i]))
			}
		}
		fail.Check(r.StepTo(out))
	}
	return r.Outputs(), nil
}

// Evaluate runs a graph and shows every value, then those in the bodies of an accelerator's segments.
func Evaluate(g *ir.Graph, in []*tensor.Dense,
	see func(v *ir.Value, d *tensor.Dense) error) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	var failed error
	args := map[*ir.Value]*tensor.Dense{}
	for _, n := range g.Nodes {
		if n.Op == op.Segment {
			for _, v := range n.In {
				args[v] = v.Const
			}
		}
	}
	outs, err := interp.Run(g, in, func(v *ir.Value, d *tensor.Dense) {
		if _, ok := args[v]; ok {
			args[v] = d
		}
		if failed == nil {
			failed = see(v, d)
		}
	})
	fail.Check(cmp.Or(failed, err))
	for _, n := range g.Nodes {
		if n.Op != op.Segment {
			continue
		}
		fail.Must(Evaluate(n.Body[0], lists.Map(n.In, func(v *ir.Value) *tensor.Dense { return args[v] }), see))
	}
	return outs, nil
}
