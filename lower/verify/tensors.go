// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"cmp"
	"slices"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/state"
)

// Tensor is an intermediate value of a model, beside those of its program that stand for
// it; of either there may be none.
type Tensor struct {
	Model   *ir.Value
	Program []Held
}

// Held is a value of the program, with how far it is from the model's tensor.
type Held struct {
	Value *ir.Value
	// SQNR is the signal-to-noise ratio in dB over all runs; nil where the model has no
	// signal there, or no tensor. MaxDiff is the largest difference.
	SQNR    *float64
	MaxDiff float64
}

// Tensors lays what a program computed beside what its model did, in the order of the
// model; values of the program that stand for no tensor of it come last, one by one.
// legal is the graph behind the float rewrites.
//
// A value of the program says which quantised tensor it holds (ir.Value.Holds). In a model
// that nncc quantised, this tensor is a value of legal, and a value of legal is the tensor
// of the model from whose nodes it was made and which has the same numbers: a rewritten
// convolution has the name of the old one and holds what followed it.
func Tensors(model, program *Recorder, legal *ir.Graph, r *lower.Result) (_ []Tensor, err error) {
	defer fail.Catch(&err)
	m := &matcher{model: model, result: r, legal: map[string]*ir.Value{}, names: map[string]*ir.Value{},
		order: map[*ir.Value]int{}, outputs: map[string][]*ir.Value{}}
	m.prepare(legal)
	out := make([]Tensor, len(model.Values))
	for i, v := range model.Values {
		out[i].Model = v
	}
	for _, w := range program.Values {
		v := m.tensorOf(w, program)
		if v == nil {
			out = append(out, Tensor{Program: []Held{{Value: w}}})
			continue
		}
		t := &out[m.order[v]]
		t.Program = append(t.Program, compared(model.Runs[v], program.Runs[w], v, w))
	}
	return out, nil
}

// matcher finds the tensor of a model that a value stands for.
type matcher struct {
	model   *Recorder
	result  *lower.Result
	legal   map[string]*ir.Value          // by name
	data    map[*ir.Value][]*tensor.Dense // of legal, by run
	names   map[string]*ir.Value          // of the model
	outputs map[string][]*ir.Value
	order   map[*ir.Value]int
	holders map[string]*ir.Value // quantised tensors of the graph that the program stands for
}

func (m *matcher) prepare(legal *ir.Graph) {
	for i, v := range m.model.Values {
		m.names[v.Name], m.order[v] = v, i
		if v.Def != nil {
			for _, name := range append(slices.Clone(v.Def.Origin), v.Def.Name) {
				m.outputs[name] = append(m.outputs[name], v)
			}
		}
	}
	m.holders = map[string]*ir.Value{}
	if m.result.Model != nil {
		for _, n := range m.result.Model.Nodes {
			for _, v := range n.Out {
				m.holders[v.Name] = v
			}
		}
	}
	if legal == nil || len(legal.In) != len(m.model.Graph.In) {
		return
	}
	m.data = map[*ir.Value][]*tensor.Dense{}
	runs := 1
	for _, v := range m.model.Graph.In {
		runs = min(len(m.model.Runs[v]), mostRuns)
	}
	for k := range runs {
		var in []*tensor.Dense
		for i, v := range m.model.Graph.In {
			in = append(in, fail.Must(fidelity.Real(m.model.Runs[v][k], v.Type, legal.In[i].Type)))
		}
		fail.Must(fidelity.Evaluate(legal, in, func(v *ir.Value, d *tensor.Dense) error {
			m.legal[v.Name], m.data[v] = v, append(m.data[v], d)
			return nil
		}))
	}
}

// tensorOf is the tensor of the model that a value of the program stands for; nil: none,
// or one with another order of elements.
func (m *matcher) tensorOf(w *ir.Value, program *Recorder) *ir.Value {
	for _, v := range m.candidates(w, program.Graph) {
		if v != nil && slices.Equal(tensor.Squeezed(v.Type.Shape), tensor.Squeezed(w.Type.Shape)) {
			return v
		}
	}
	return nil
}

// candidates are the tensors that a value of the program may stand for, the likeliest
// first.
func (m *matcher) candidates(w *ir.Value, g *ir.Graph) []*ir.Value {
	var out []*ir.Value
	if i := slices.Index(g.In, w); i >= 0 && len(g.In) == len(m.model.Graph.In) {
		out = append(out, m.model.Graph.In[i])
	}
	if i := slices.Index(g.Out, w); i >= 0 && len(g.Out) == len(m.model.Graph.Out) {
		out = append(out, m.model.Graph.Out[i])
	}
	for _, name := range w.Holds {
		t := m.holders[name]
		switch {
		case m.result.Model != m.result.QDQ: // the model's own
			out = append(out, m.names[name])
		case t != nil && t.Def != nil && t.Def.Op == op.QuantizeLinear:
			out = append(out, m.made(m.legal[t.Def.In[0].Name]))
		}
	}
	if w.Type.Quant == nil && w.Type.DType.IsFloat() {
		out = append(out, m.made(m.legal[w.Name]))
	}
	return slices.DeleteFunc(out, func(v *ir.Value) bool { return v == nil })
}

// sameDB is the signal-to-noise ratio from which on two float tensors are the same one:
// rewrites round in another order, nothing more.
const sameDB = 60

// mostRuns is how many runs tell tensors apart.
const mostRuns = 4

// made is the tensor of the model that a value behind the float rewrites is: of those of
// its name and of the nodes that it was made from, the last one that has its numbers.
func (m *matcher) made(x *ir.Value) *ir.Value {
	if x == nil || m.data[x] == nil {
		return nil
	}
	list := []*ir.Value{m.names[x.Name]}
	if x.Def != nil {
		for _, name := range x.Def.Origin {
			list = append(list, m.outputs[name]...)
		}
	}
	var last *ir.Value
	for _, v := range list {
		if v == nil || last != nil && m.order[v] < m.order[last] ||
			!slices.Equal(tensor.Squeezed(v.Type.Shape), tensor.Squeezed(x.Type.Shape)) {
			continue
		}
		h := compared(m.model.Runs[v], m.data[x], v, x)
		if h.MaxDiff == 0 || h.SQNR != nil && *h.SQNR >= sameDB {
			last = v
		}
	}
	return last
}

// compared is how far the values got of w are from those of v, over all runs.
func compared(want, got []*tensor.Dense, v, w *ir.Value) Held {
	h := Held{Value: w}
	var ratio interp.Ratio
	p, q := meanings(v, w)
	for k := range min(len(want), len(got)) {
		a, b := fidelity.Reals(want[k], p), fidelity.Reals(got[k], q)
		ratio.Add(a, b)
		for i := range a.Len() {
			h.MaxDiff = max(h.MaxDiff, Finite(fidelity.Distance(a, b, i)))
		}
	}
	if db, ok := ratio.DB(); ok {
		h.SQNR = &db
	}
	return h
}

// meanings are those of a tensor and of the value that stands for it: integers of one type
// mean the same, also where a model reads them with another scale than it wrote them with.
func meanings(v, w *ir.Value) (p, q *ir.Quant) {
	p, q = Meaning(v), Meaning(w)
	if v.Type.DType == w.Type.DType {
		q = cmp.Or(q, p)
		p = q
	}
	return p, q
}

// Real is what a value stands for: integers of a quantised tensor as reals, others as they
// are.
func Real(d *tensor.Dense, v *ir.Value) *tensor.Dense { return fidelity.Reals(d, Meaning(v)) }

// Meaning is the quantisation of the integers of a value, which in a model of its own
// quantisation stands in the nodes around it; nil: they stand for themselves.
func Meaning(v *ir.Value) *ir.Quant {
	if t := RealType(v); t.Quant != nil {
		return t.Quant
	}
	return op.Meant(v).Quant
}

// Recorder keeps what a graph computes, run after run: every value that depends on an
// input, those in the bodies of an accelerator's segments among them.
type Recorder struct {
	Graph  *ir.Graph
	Values []*ir.Value // in the order in which they are computed, the inputs first
	Runs   map[*ir.Value][]*tensor.Dense
	Limit  int // bytes that may be kept; 0: any number
	bytes  int
	known  bool // Values is complete
}

// Record makes a runner keep what it computes from now on. limit bounds the bytes.
func Record(r *state.Runner, limit int) *Recorder {
	rec := &Recorder{Graph: r.Graph, Runs: map[*ir.Value][]*tensor.Dense{}, Limit: limit}
	r.Eval = rec.run
	return rec
}

func (r *Recorder) run(in []*tensor.Dense) ([]*tensor.Dense, error) {
	now := map[*ir.Value]*tensor.Dense{}
	outs, err := fidelity.Evaluate(r.Graph, in, func(v *ir.Value, d *tensor.Dense) error {
		now[v] = d
		r.bytes += d.Len() * d.DType.Size()
		if r.Limit > 0 && r.bytes > r.Limit {
			return text.Errorf("the intermediate values take more than %d bytes; want fewer samples or steps, or "+
				"--limit data=N", r.Limit)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !r.known {
		r.list(r.Graph, map[*ir.Value]bool{}, now)
		r.known = true
	}
	for _, v := range r.Values {
		r.Runs[v] = append(r.Runs[v], now[v])
	}
	return outs, nil
}

// list adds the values of a graph, or of a body, that depend on its inputs.
func (r *Recorder) list(g *ir.Graph, varies map[*ir.Value]bool, now map[*ir.Value]*tensor.Dense) {
	for _, v := range g.In {
		varies[v] = true
		if g == r.Graph {
			r.Values = append(r.Values, v)
		}
	}
	for _, n := range g.Nodes {
		if !n.Op.Impure && !slices.ContainsFunc(n.In, func(v *ir.Value) bool { return varies[v] }) {
			continue
		}
		if n.Op == op.Segment {
			r.list(n.Body[0], varies, now)
		}
		for _, v := range n.Out {
			varies[v] = true
			if now[v] != nil {
				r.Values = append(r.Values, v)
			}
		}
	}
}
