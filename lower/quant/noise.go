// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// roundings says of every single rounding to 8 bits how much noise it leaves in the
// outputs of a graph, as a share of the signal: what a mix of precisions is predicted
// from. Each is measured alone, so that rounding the others does not hide it.
type roundings struct {
	values  map[int][]float64 // of activations, by the ID of the float value and output
	weights map[int][]float64 // of the weights and biases of a node, by its ID
}

// noiseSamples bounds the samples that roundings are measured on.
const noiseSamples = 8

// measureRoundings rounds the activations and the weights of a float graph one by one.
func measureRoundings(g *ir.Graph, opt Options) *roundings {
	c := insert(g.Clone(), opt)
	l := newLinks(c.g, c.before)
	n := min(len(opt.Samples), noiseSamples)
	parts := make([]*noiseParts, n)
	forSamples(n, g.Nodes, func(_, i int) { parts[i] = l.measure(opt.Samples[i*len(opt.Samples)/n]) })
	return l.shares(parts)
}

// links is a quantised graph of which any rounding can be switched on alone.
type links struct {
	g      *ir.Graph
	fixed  map[*ir.Value]*tensor.Dense // what constants alone give
	real   map[*ir.Node]*ir.Value      // of a DequantizeLinear, the float value that it stands for
	skip   map[*ir.Node]bool           // QuantizeLinear nodes of these
	order  map[*ir.Node]int
	values []*ir.Value // that are rounded
	nodes  []*ir.Node  // that have rounded constants
	consts map[*ir.Node]map[int]*tensor.Dense
}

// newLinks finds the roundings of g; before is the graph without them.
func newLinks(g, before *ir.Graph) *links {
	l := &links{g: g, fixed: fail.Must(interp.Fixed(g)), real: map[*ir.Node]*ir.Value{}, skip: map[*ir.Node]bool{},
		order: lists.Places(g.Nodes), consts: map[*ir.Node]map[int]*tensor.Dense{}}
	was := lists.By(before.Nodes, func(n *ir.Node) int { return n.ID })
	seen := map[*ir.Value]bool{}
	for _, n := range g.Nodes {
		if len(n.Out) > 0 && l.fixed[n.Out[0]] != nil {
			continue
		}
		if n.Op == op.DequantizeLinear && n.In[0].Def != nil && n.In[0].Def.Op == op.QuantizeLinear {
			q := n.In[0].Def
			l.real[n], l.skip[q] = q.In[0], true
			if !seen[q.In[0]] {
				seen[q.In[0]] = true
				l.values = append(l.values, q.In[0])
			}
		}
		if b := was[n.ID]; b != nil && len(b.In) == len(n.In) {
			l.rounded(n, b)
		}
	}
	return l
}

// rounded notes the constants that a node had before they were rounded.
func (l *links) rounded(n, before *ir.Node) {
	for i, v := range before.In {
		if v != nil && v.Const != nil && n.In[i] != nil && l.fixed[n.In[i]] != nil &&
			slices.Equal(v.Const.Shape, n.In[i].Type.Shape) {
			if l.consts[n] == nil {
				l.consts[n] = map[int]*tensor.Dense{}
				l.nodes = append(l.nodes, n)
			}
			l.consts[n][i] = v.Const
		}
	}
}

// noiseParts are energies on one sample, by output.
type noiseParts struct {
	signal          []float64
	values, weights [][]float64 // as links.values and links.nodes
}

// measure runs a sample without roundings of activations, and then with each alone;
// the weights of one node after the other are those of before.
func (l *links) measure(in Sample) *noiseParts {
	base := map[*ir.Value]*tensor.Dense{}
	for i, v := range l.g.In {
		base[v] = in[i]
	}
	l.run(base, base, 0, true)
	p := &noiseParts{signal: lists.Map(l.g.Out, func(v *ir.Value) float64 { return energy(l.get(base, v), nil) })}
	for _, v := range l.values {
		changed, from := l.round(base, v)
		p.values = append(p.values, l.noise(base, changed, from))
	}
	p.weights = lists.Map(l.nodes, func(n *ir.Node) []float64 { return l.noise(base, l.exact(base, n), l.order[n]) })
	return p
}

// round rounds a value for all that read it rounded, and gives the place of the first of
// these.
func (l *links) round(base map[*ir.Value]*tensor.Dense, v *ir.Value) (_ map[*ir.Value]*tensor.Dense, _ int) {
	changed, from := map[*ir.Value]*tensor.Dense{}, len(l.g.Nodes)
	for n, x := range l.real {
		if x != v {
			continue
		}
		q := fail.Must(ir.EvalOn(n.In[0].Def, func(w *ir.Value) *tensor.Dense { return l.get(base, w) }))
		d := fail.Must(ir.EvalOn(n, func(w *ir.Value) *tensor.Dense {
			if w == n.In[0] {
				return q[0]
			}
			return l.get(base, w)
		}))
		changed[n.Out[0]], from = d[0], min(from, l.order[n])
	}
	return changed, from
}

// exact are the results of a node with the constants that it had before.
func (l *links) exact(base map[*ir.Value]*tensor.Dense, n *ir.Node) map[*ir.Value]*tensor.Dense {
	args := make([]*tensor.Dense, len(n.In))
	for i, v := range n.In {
		if args[i] = l.consts[n][i]; args[i] == nil && v != nil {
			args[i] = l.get(base, v)
		}
	}
	outs := fail.Must(ir.EvalNode(n, args))
	changed := map[*ir.Value]*tensor.Dense{}
	for i, v := range n.Out {
		changed[v] = outs[i]
	}
	return changed
}

// get is a value of a run, or a constant.
func (l *links) get(env map[*ir.Value]*tensor.Dense, v *ir.Value) *tensor.Dense {
	switch {
	case v.Const != nil:
		return v.Const
	case l.fixed[v] != nil:
		return l.fixed[v]
	}
	return env[v]
}

// noise runs what depends on changed values, from a node on, and gives by how much the
// outputs differ.
func (l *links) noise(base, changed map[*ir.Value]*tensor.Dense, from int) []float64 {
	l.run(base, changed, from, false)
	return lists.Map(l.g.Out, func(v *ir.Value) float64 {
		if d := changed[v]; d != nil {
			return energy(l.get(base, v), d)
		}
		return 0
	})
}

// run evaluates nodes from a place on without roundings, all of them or those that read
// something in into, as far as they are not there yet. What is not in into stands in
// base.
func (l *links) run(base, into map[*ir.Value]*tensor.Dense, from int, all bool) {
	get := func(v *ir.Value) *tensor.Dense {
		if d := into[v]; d != nil {
			return d
		}
		return l.get(base, v)
	}
	for _, n := range l.g.Nodes[from:] {
		if l.skip[n] || len(n.Out) == 0 || l.fixed[n.Out[0]] != nil || into[n.Out[0]] != nil {
			continue
		}
		if x := l.real[n]; x != nil {
			if d := into[x]; d != nil {
				into[n.Out[0]] = d
			}
			continue
		}
		if !all && !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return v != nil && into[v] != nil }) {
			continue
		}
		outs := fail.Must(ir.EvalOn(n, get))
		for i, v := range n.Out {
			into[v] = outs[i]
		}
	}
}

// energy is that of a, or of the difference from b; what is not finite has none.
func energy(a, b *tensor.Dense) float64 {
	sum := 0.0
	for i, n := 0, a.Len(); i < n; i++ {
		x := a.Float(i)
		if x-x != 0 {
			continue
		}
		if b != nil {
			if x -= b.Float(i); x-x != 0 {
				continue
			}
		}
		sum += x * x
	}
	return sum
}

// shares are the energies of all samples as shares of the signal.
func (l *links) shares(parts []*noiseParts) *roundings {
	r := &roundings{values: map[int][]float64{}, weights: map[int][]float64{}}
	outs := len(l.g.Out)
	signal := make([]float64, outs)
	for _, p := range parts {
		for o, x := range p.signal {
			signal[o] += x
		}
	}
	share := func(of func(p *noiseParts) []float64) []float64 {
		s := make([]float64, outs)
		for _, p := range parts {
			for o, x := range of(p) {
				if signal[o] > 0 {
					s[o] += x / signal[o]
				}
			}
		}
		return s
	}
	for k, v := range l.values {
		r.values[v.ID] = share(func(p *noiseParts) []float64 { return p.values[k] })
	}
	for k, n := range l.nodes {
		r.weights[n.ID] = share(func(p *noiseParts) []float64 { return p.weights[k] })
	}
	return r
}
