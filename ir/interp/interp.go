// SPDX-License-Identifier: Apache-2.0

// Package interp is the reference interpreter: it runs a graph node by node,
// in float as the ONNX specification says and on quantised values with the
// exact integer arithmetic of the operators' definitions.
package interp

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Observer sees every value as soon as it is computed.
type Observer func(v *ir.Value, d *tensor.Dense)

// Run evaluates g on inputs in graph order and returns its outputs. Inputs
// must have the graph's types and shapes. obs may be nil.
func Run(g *ir.Graph, inputs []*tensor.Dense, obs Observer) (_ []*tensor.Dense, err error) {
	defer fail.Catch(&err)
	r := fail.Must(Start(g, inputs, obs))
	for r.Left() > 0 {
		fail.Check(r.Step())
	}
	return r.Outputs(), nil
}

// Fixed are the values of g that depend on constants alone.
func Fixed(g *ir.Graph) (_ map[*ir.Value]*tensor.Dense, err error) {
	defer fail.Catch(&err)
	fixed := map[*ir.Value]*tensor.Dense{}
	for _, n := range g.Nodes {
		if n.Op.Impure || slices.ContainsFunc(n.In, func(v *ir.Value) bool {
			return v != nil && v.Const == nil && fixed[v] == nil
		}) {
			continue
		}
		out := fail.Must(ir.EvalOn(n, func(v *ir.Value) *tensor.Dense { return fixed[v] }))
		for i, v := range n.Out {
			fixed[v] = out[i]
		}
	}
	return fixed, nil
}

// Evaluation is one evaluation of a graph, node by node: so that two of them can
// be compared while they run. A value is dropped after its last reader.
type Evaluation struct {
	g       *ir.Graph
	next    int // of g.Nodes
	env     map[*ir.Value]*tensor.Dense
	readers map[*ir.Value]int // that are still to come, graph outputs among them
	obs     Observer
}

// Start begins an evaluation of g as Run makes it; obs sees the inputs at once.
// The graph must not change before the end.
func Start(g *ir.Graph, inputs []*tensor.Dense, obs Observer) (*Evaluation, error) {
	if len(inputs) != len(g.In) {
		return nil, fmt.Errorf("graph %s has %d inputs, got %d", g.Name, len(g.In), len(inputs))
	}
	r := &Evaluation{g: g, env: make(map[*ir.Value]*tensor.Dense), readers: make(map[*ir.Value]int), obs: obs}
	for _, v := range g.Out {
		r.readers[v]++
	}
	for i, v := range g.In {
		d := inputs[i]
		if d.DType != v.Type.DType || !slices.Equal(d.Shape, v.Type.Shape) {
			return nil, &ir.Diag{Code: "input-type", Node: "input " + v.Name, Msg: fmt.Sprintf("got %s%v, want %s%v",
				d.DType, d.Shape, v.Type.DType, v.Type.Shape)}
		}
		r.set(v, d)
	}
	return r, nil
}

// Left is how many nodes are still to be evaluated.
func (r *Evaluation) Left() int { return len(r.g.Nodes) - r.next }

// Next is the node that Step will evaluate.
func (r *Evaluation) Next() *ir.Node { return r.g.Nodes[r.next] }

// Value is v, a constant or one that a node to come reads; nil otherwise.
func (r *Evaluation) Value(v *ir.Value) *tensor.Dense { return r.get(v) }

// Step evaluates the next node.
func (r *Evaluation) Step() (err error) {
	defer fail.Catch(&err)
	n := r.Next()
	in := lists.Map(n.In, func(v *ir.Value) *tensor.Dense { return r.get(v) })
	out := fail.Must(ir.EvalNode(n, in))
	return r.StepTo(out)
}

// Outputs are the graph's outputs, once no node is left.
func (r *Evaluation) Outputs() []*tensor.Dense {
	return lists.Map(r.g.Out, func(v *ir.Value) *tensor.Dense { return r.get(v) })
}

func (r *Evaluation) set(v *ir.Value, d *tensor.Dense) {
	r.env[v] = d
	r.readers[v] += len(v.Uses())
	if r.obs != nil {
		r.obs(v, d)
	}
}

func (r *Evaluation) get(v *ir.Value) *tensor.Dense {
	if v == nil {
		return nil
	}
	if v.Const != nil {
		return v.Const
	}
	return r.env[v]
}

// StepTo is Step of a node whose results the caller has.
func (r *Evaluation) StepTo(out []*tensor.Dense) error {
	n := r.Next()
	r.next++
	for i, v := range n.Out {
		if i >= len(out) || out[i] == nil {
			return bug.Errorf("%s gave no output %d", n, i)
		}
		if out[i].DType != v.Type.DType || !slices.Equal(out[i].Shape, v.Type.Shape) {
			return bug.Errorf("%s gave %s for output %s of type %s", n, out[i], v, v.Type)
		}
		r.set(v, out[i])
		if r.readers[v] == 0 {
			delete(r.env, v)
		}
	}
	r.read(n)
	return nil
}

// Skip leaves the next node out. What depends on it has no value.
func (r *Evaluation) Skip() {
	n := r.Next()
	r.next++
	r.read(n)
}

// read drops the inputs of n that nobody else will read.
func (r *Evaluation) read(n *ir.Node) {
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			if r.readers[v]--; r.readers[v] == 0 {
				delete(r.env, v)
			}
		}
	}
}
