// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// lockstepSamples bounds how many samples are held in memory at once. More of them refine
// weights and biases no better: over the shared data, 16 gave the ratios of 32.
const lockstepSamples = 16

// lockstep runs the quantised graph node by node over all samples, so that
// parameters of a node can be changed once its quantised inputs are known and
// before anything reads its output. Of what DequantizeLinear gives, only the
// integers are kept: every reader makes the reals anew.
type lockstep struct {
	in []Sample
	// env holds the values of every sample that are still needed, left how many
	// readers are to come.
	env  []map[*ir.Value]*tensor.Dense
	left map[*ir.Value]int
	// keep is a value of which the reals are kept until the next node's turn, by sample.
	keep   *ir.Value
	reals  []*tensor.Dense
	memory memories // for reals that are soon dropped
}

// lockstepInputs are the samples that lockstep looks at.
func lockstepInputs(samples []Sample) []Sample {
	n := min(len(samples), lockstepSamples)
	return lists.Make(n, func(i int) Sample { return samples[i*len(samples)/n] })
}

// runLockstep visits every node of the quantised graph that is also in float
// (matched by ID), after its inputs and before its evaluation.
func runLockstep(float, quantised *ir.Graph, samples []Sample, visit func(l *lockstep, nf, nq *ir.Node)) {
	l := &lockstep{in: lockstepInputs(samples), left: map[*ir.Value]int{}}
	for _, n := range quantised.Nodes {
		if n.Op == op.DequantizeLinear {
			continue
		}
		for _, v := range n.In {
			if v != nil {
				l.left[integers(v)]++
			}
		}
	}
	for _, s := range l.in {
		q := map[*ir.Value]*tensor.Dense{}
		for k := range s {
			q[quantised.In[k]] = s[k]
		}
		l.env = append(l.env, q)
	}
	l.reals = make([]*tensor.Dense, len(l.env))
	byID := lists.By(float.Nodes, func(n *ir.Node) int { return n.ID })
	done := map[*ir.Node]bool{}
	for _, nq := range slices.Clone(quantised.Nodes) {
		if nf := byID[nq.ID]; nf != nil {
			visit(l, nf, nq)
		}
		if nq.Op == op.DequantizeLinear || done[nq] {
			continue
		}
		next := onlyQuantised(nq)
		done[next] = true
		l.step(nq, next)
		l.keep = nil
		clear(l.reals)
	}
}

// integers is what is kept of v.
func integers(v *ir.Value) *ir.Value {
	if v.Def != nil && v.Def.Op == op.DequantizeLinear {
		return v.Def.In[0]
	}
	return v
}

// onlyQuantised is the QuantizeLinear that alone reads the results of n, or nil.
func onlyQuantised(n *ir.Node) *ir.Node {
	if len(n.Out) != 1 || len(n.Out[0].Uses()) != 1 {
		return nil
	}
	q := n.Out[0].Uses()[0].Node
	if q.Op != op.QuantizeLinear || q.In[0] != n.Out[0] {
		return nil
	}
	for _, v := range q.In[1:] {
		if v != nil && v.Const == nil {
			return nil
		}
	}
	return q
}

// step evaluates n on every sample, and then, unless it is nil, the node that
// quantises its results, and drops what nobody will read.
func (l *lockstep) step(n, next *ir.Node) {
	var quantise kernel
	if next != nil {
		quantise = linearKernel(next)
	}
	l.eval(n, next != nil, func(s int, out []*tensor.Dense) {
		switch {
		case quantise != nil:
			q := tensor.New(next.Out[0].Type.DType, next.Out[0].Type.Shape)
			quantise(out, []*tensor.Dense{q})
			out = []*tensor.Dense{q}
		case next != nil:
			out = evalIn(next, map[*ir.Value]*tensor.Dense{n.Out[0]: out[0]})
		}
		for i, v := range cmp.Or(next, n).Out {
			if l.left[v] > 0 {
				l.env[s][v] = out[i]
			}
		}
	})
	for _, v := range n.In {
		if v == nil {
			continue
		}
		v = integers(v)
		if l.left[v]--; l.left[v] <= 0 {
			for s := range l.env {
				delete(l.env[s], v)
			}
		}
	}
}

// eval evaluates n for every sample and gives the results to each, on all cores, which drops
// them if dropped is true. What depends on constants alone, such as dequantised weights, is
// computed once.
func (l *lockstep) eval(n *ir.Node, dropped bool, each func(s int, out []*tensor.Dense)) {
	constants := l.constants(n)
	own, _ := kernelOf(n, constants[:len(n.In)])
	forSamples(len(l.env), []*ir.Node{n}, func(_, s int) {
		in := slices.Clone(constants[:len(n.In)])
		memory := l.memory.get()
		defer l.memory.put(memory)
		for i, v := range n.In {
			if v != nil && in[i] == nil {
				from := memory
				if own == nil || v == l.keep { // others may hand parts of it on
					from = nil
				}
				if in[i] = l.value(s, v, from); in[i] == nil {
					fail.Check(bug.Errorf("%s: value %s is not there", n, v))
				}
				if from != nil && l.env[s][v] == nil {
					defer memory.give(in[i])
				}
			}
		}
		if own == nil {
			each(s, fail.Must(ir.EvalNode(n, in)))
			return
		}
		out := make([]*tensor.Dense, len(n.Out))
		for i, v := range n.Out {
			if dropped {
				out[i] = memory.take(v.Type)
				defer memory.give(out[i])
			} else {
				out[i] = tensor.New(v.Type.DType, v.Type.Shape)
			}
		}
		own(in, out)
		each(s, out)
	})
}

// constants are the inputs of n, three at least, that are constants, dequantised ones among
// them; nil for others.
func (l *lockstep) constants(n *ir.Node) []*tensor.Dense {
	in := make([]*tensor.Dense, max(len(n.In), 3))
	for i, v := range n.In {
		switch {
		case v == nil:
		case v.Const != nil:
			in[i] = v.Const
		case v.Def != nil && v.Def.Op == op.DequantizeLinear && allConst(v.Def):
			in[i] = evalIn(v.Def, nil)[0]
		}
	}
	return in
}

// value is v of one sample, nil where it is not kept, in the given memory where it is made anew,
// unless that is nil.
func (l *lockstep) value(s int, v *ir.Value, memory buffers) *tensor.Dense {
	if d := l.env[s][v]; d != nil || v.Def == nil || v.Def.Op != op.DequantizeLinear {
		return d
	}
	if v == l.keep && l.reals[s] != nil {
		return l.reals[s]
	}
	d := l.dequantised(s, v, memory)
	if v == l.keep {
		l.reals[s] = d
	}
	return d
}

// dequantised are the reals of v, of integers that are kept.
func (l *lockstep) dequantised(s int, v *ir.Value, memory buffers) *tensor.Dense {
	k, x := linearKernel(v.Def), l.env[s][v.Def.In[0]]
	if k == nil || x == nil {
		return evalIn(v.Def, l.env[s])[0]
	}
	var d *tensor.Dense
	if memory != nil {
		d = memory.take(v.Type)
	} else {
		d = tensor.New(v.Type.DType, v.Type.Shape)
	}
	k([]*tensor.Dense{x}, []*tensor.Dense{d})
	return d
}

func allConst(n *ir.Node) bool {
	return !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return v != nil && v.Const == nil })
}

// evalIn evaluates one node with the values of env.
func evalIn(n *ir.Node, env map[*ir.Value]*tensor.Dense) []*tensor.Dense {
	return fail.Must(ir.EvalOn(n, func(v *ir.Value) *tensor.Dense { return env[v] }))
}
