// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"sync"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// evaluator runs a graph on many samples as the reference interpreter does, but for sums
// of convolutions and matrix products, which are in float32 (op.Approximate). What depends
// on constants alone, such as dequantised weights, is computed and packed once.
type evaluator struct {
	g     *ir.Graph
	plans map[*ir.Node]*plan
}

// plan is what an evaluator knows of a node that is a product or depends on constants.
type plan struct {
	once     sync.Once
	product  func(in []*tensor.Dense) *tensor.Dense
	constant []*tensor.Dense
	err      error
}

// newEvaluator plans; g must not change before the last run.
func newEvaluator(g *ir.Graph) *evaluator {
	e := &evaluator{g, map[*ir.Node]*plan{}}
	for _, n := range g.Nodes {
		if weightAxis(n) >= 0 || allFixed(e, n) {
			e.plans[n] = &plan{}
		}
	}
	return e
}

// allFixed reports a node that depends on constants alone.
func allFixed(e *evaluator, n *ir.Node) bool {
	for _, v := range n.In {
		if v != nil && v.Const == nil && (v.Def == nil || weightAxis(v.Def) >= 0 || e.plans[v.Def] == nil) {
			return false
		}
	}
	return len(n.In) > 0
}

// constant is v where it is one, or depends on constants alone; nil otherwise.
func (e *evaluator) constant(v *ir.Value) (*tensor.Dense, error) {
	if v == nil || v.Const != nil {
		if v == nil {
			return nil, nil
		}
		return v.Const, nil
	}
	p := e.plans[v.Def]
	if v.Def == nil || p == nil || weightAxis(v.Def) >= 0 {
		return nil, nil
	}
	p.once.Do(func() {
		in := make([]*tensor.Dense, len(v.Def.In))
		for i, x := range v.Def.In {
			if in[i], p.err = e.constant(x); p.err != nil {
				return
			}
		}
		p.constant, p.err = ir.EvalNode(v.Def, in)
	})
	if p.err != nil {
		return nil, p.err
	}
	for i, x := range v.Def.Out {
		if x == v {
			return p.constant[i], nil
		}
	}
	return nil, nil
}

// productOf is how n, which has weights, is evaluated; nil where the interpreter does it.
func (e *evaluator) productOf(n *ir.Node) (func(in []*tensor.Dense) *tensor.Dense, error) {
	p := e.plans[n]
	p.once.Do(func() {
		var fixed [3]*tensor.Dense
		for i := 1; i < min(len(n.In), len(fixed)); i++ {
			if fixed[i], p.err = e.constant(n.In[i]); p.err != nil {
				return
			}
		}
		p.product = op.Approximate(n, fixed[1], fixed[2])
	})
	return p.product, p.err
}

// evaluation is one run, node by node.
type evaluation struct {
	*interp.Evaluation
	of *evaluator
}

// start begins a run as interp.Start does.
func (e *evaluator) start(in Sample, obs interp.Observer) (*evaluation, error) {
	r, err := interp.Start(e.g, in, obs)
	return &evaluation{r, e}, err
}

// step evaluates the next node.
func (r *evaluation) step() error {
	n := r.Next()
	p := r.of.plans[n]
	switch {
	case p == nil:
		return r.Step()
	case weightAxis(n) < 0:
		if _, err := r.of.constant(n.Out[0]); err != nil {
			return err
		}
		return r.StepTo(p.constant)
	}
	f, err := r.of.productOf(n)
	if err != nil {
		return err
	}
	if f == nil {
		return r.Step()
	}
	in := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if v != nil {
			in[i] = r.Value(v)
		}
	}
	return r.StepTo([]*tensor.Dense{f(in)})
}

// run is interp.Run.
func (e *evaluator) run(in Sample, obs interp.Observer) ([]*tensor.Dense, error) {
	r, err := e.start(in, obs)
	if err != nil {
		return nil, err
	}
	for r.Left() > 0 {
		if err := r.step(); err != nil {
			return nil, err
		}
	}
	return r.Outputs(), nil
}
