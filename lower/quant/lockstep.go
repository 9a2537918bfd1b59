package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// lockstepSamples bounds how many samples are held in memory at once.
const lockstepSamples = 32

// lockstep runs the float graph and the quantised one side by side, node by
// node over all samples, so that parameters of a node can be changed once its
// quantised inputs are known and before anything reads its output.
type lockstep struct {
	float, quant *ir.Graph
	in           []Sample
	// envF and envQ hold the values of every sample that are still needed.
	envF, envQ []map[*ir.Value]*tensor.Dense
	leftF      map[*ir.Value]int
	leftQ      map[*ir.Value]int
}

// runLockstep visits every node of the quantised graph that is also in float
// (matched by ID), after its inputs and before its evaluation.
func runLockstep(float, quantised *ir.Graph, samples []Sample, visit func(l *lockstep, nf, nq *ir.Node) error) error {
	n := min(len(samples), lockstepSamples)
	l := &lockstep{float: float, quant: quantised, leftF: uses(float), leftQ: uses(quantised)}
	for i := range n {
		s := samples[i*len(samples)/n]
		l.in = append(l.in, s)
		f, q := map[*ir.Value]*tensor.Dense{}, map[*ir.Value]*tensor.Dense{}
		for k := range s {
			f[float.In[k]], q[quantised.In[k]] = s[k], s[k]
		}
		l.envF, l.envQ = append(l.envF, f), append(l.envQ, q)
	}
	byID := make(map[int]*ir.Node, len(float.Nodes))
	for _, nd := range float.Nodes {
		byID[nd.ID] = nd
	}
	for _, nq := range slices.Clone(quantised.Nodes) {
		nf := byID[nq.ID]
		if nf != nil {
			if err := visit(l, nf, nq); err != nil {
				return err
			}
			if err := l.step(nf, l.envF, l.leftF); err != nil {
				return err
			}
		}
		if err := l.step(nq, l.envQ, l.leftQ); err != nil {
			return err
		}
	}
	return nil
}

func uses(g *ir.Graph) map[*ir.Value]int {
	left := map[*ir.Value]int{}
	for _, n := range g.Nodes {
		for _, v := range n.In {
			if v != nil {
				left[v]++
			}
		}
	}
	return left
}

// step evaluates n on every sample and drops what nobody will read.
func (l *lockstep) step(n *ir.Node, env []map[*ir.Value]*tensor.Dense, left map[*ir.Value]int) error {
	out, err := l.eval(n, env)
	if err != nil {
		return err
	}
	for s := range env {
		for i, v := range n.Out {
			env[s][v] = out[s][i]
		}
	}
	for _, v := range n.In {
		if v == nil {
			continue
		}
		if left[v]--; left[v] <= 0 {
			for s := range env {
				delete(env[s], v)
			}
		}
	}
	return nil
}

// eval gives the outputs of n for every sample. Nodes of constants alone, such
// as dequantised weights, are computed once.
func (l *lockstep) eval(n *ir.Node, env []map[*ir.Value]*tensor.Dense) ([][]*tensor.Dense, error) {
	out := make([][]*tensor.Dense, len(env))
	if allConst(n) {
		o, err := evalIn(n, nil)
		if err != nil {
			return nil, err
		}
		for s := range out {
			out[s] = o
		}
		return out, nil
	}
	err := forSamples(len(env), func(_, s int) (err error) {
		out[s], err = evalIn(n, env[s])
		return err
	})
	return out, err
}

func allConst(n *ir.Node) bool {
	for _, v := range n.In {
		if v != nil && v.Const == nil {
			return false
		}
	}
	return true
}

// evalIn evaluates one node with the values of env.
func evalIn(n *ir.Node, env map[*ir.Value]*tensor.Dense) ([]*tensor.Dense, error) {
	return ir.EvalOn(n, func(v *ir.Value) *tensor.Dense { return env[v] })
}

// refresh evaluates a node on constants that was inserted after the run began.
func (l *lockstep) refresh(n *ir.Node) error {
	o, err := evalIn(n, nil)
	if err != nil {
		return err
	}
	for s := range l.envQ {
		l.envQ[s][n.Out[0]] = o[0]
	}
	l.leftQ[n.Out[0]]++
	return nil
}

// linearPart is n without its absorbed activation.
func linearPart(n *ir.Node) *ir.Node {
	bare := n.Bare()
	bare.DropAttr("act_min", "act_max")
	return bare
}
