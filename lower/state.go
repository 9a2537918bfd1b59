package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
	"github.com/nncc/nncc/schedule"
)

// Tie names recurrent state: the output that a run hands to the next one as an
// input.
type Tie struct {
	Out, In string
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

// indices are the places of ties among the outputs and inputs of g.
func indices(g *ir.Graph, ties []Tie) ([]quant.Tie, error) {
	var out []quant.Tie
	for _, t := range ties {
		k := quant.Tie{Out: -1, In: -1}
		for i, n := range g.OutNames {
			if n == t.Out {
				k.Out = i
			}
		}
		for i, v := range g.In {
			if v.Name == t.In {
				k.In = i
			}
		}
		if k.Out < 0 || k.In < 0 {
			return nil, fmt.Errorf("BUG: state %s=%s is not in the graph", t.Out, t.In)
		}
		out = append(out, k)
	}
	return out, nil
}

// handOver gives the outputs that are state the types of their inputs: the
// quantisation of either may come from the model.
func handOver(g *ir.Graph, ties []Tie) error {
	at, err := indices(g, ties)
	if err != nil {
		return err
	}
	for i, t := range at {
		v, want := g.Out[t.Out], g.In[t.In].Type
		have := v.Type
		switch {
		case have.DType == want.DType && have.Quant.Equal(want.Quant):
			continue
		case have.Quantised() && want.Quantised():
			n, err := g.InsertBefore(nil, op.Requantize, v.Name+".state", nil, 1, v)
			if err != nil {
				return err
			}
			n.Out[0].Type = have.WithQuant(want.DType, want.Quant)
			v = n.Out[0]
		case want.Quantised() && have.DType.IsFloat():
			if v, err = quant.Linear(g, nil, op.QuantizeLinear, v, want); err != nil {
				return err
			}
		case have.Quantised() && want.DType.IsFloat():
			if v, err = quant.Linear(g, nil, op.DequantizeLinear, v, have); err != nil {
				return err
			}
		default:
			return &ir.Diag{Code: "state-type", Node: "output " + ties[i].Out, Msg: fmt.Sprintf("is %s, the input %s that it is handed on to is %s; want one type", have, ties[i].In, want)}
		}
		g.SetOutput(t.Out, v)
	}
	return nil
}

// states are the values of the program's state.
func (r *Result) states(ties []Tie) ([]schedule.Tie, error) {
	at, err := indices(r.Graph, ties)
	if err != nil {
		return nil, err
	}
	var out []schedule.Tie
	for i, t := range at {
		out = append(out, schedule.Tie{In: r.Graph.In[t.In], Out: r.Graph.Out[t.Out], Init: ties[i].Init})
	}
	return out, nil
}

// inner are the inputs and outputs that hold state.
func (r *Result) inner(g *ir.Graph) map[*ir.Value]bool {
	m := map[*ir.Value]bool{}
	for _, t := range r.Ties {
		for _, v := range g.In {
			if v.Name == t.In {
				m[v] = true
			}
		}
		for i, v := range g.Out {
			if g.OutNames[i] == t.Out {
				m[v] = true
			}
		}
	}
	return m
}

// stream gives the form of g that is fed a few frames at a time.
func (r *Result) stream(g *ir.Graph, o stream.Options, d *dumper) (*ir.Graph, error) {
	s, err := stream.Apply(g, o)
	if err != nil {
		return nil, err
	}
	r.Streamed = s
	o.Hop = s.Hop
	r.Slides = &o
	for _, x := range s.States {
		r.Ties = append(r.Ties, Tie{Out: x.Out, In: x.In, Init: x.Init})
	}
	if err := ownOutputs(s.Graph); err != nil {
		return nil, err
	}
	return s.Graph, d.stage("stream", s.Graph)
}
