package lower

import (
	"fmt"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/lower/stream"
	"github.com/nncc/nncc/schedule"
)

// StateBinding names recurrent state: the output that a run hands to the next one as an
// input.
type StateBinding struct {
	Out, In string
	Init    *tensor.Dense // what In holds before the first run; nil: zero
}

// stateIndices are the places of state among the outputs and inputs of g.
func stateIndices(g *ir.Graph, bindings []StateBinding) ([]quant.StateBinding, error) {
	var out []quant.StateBinding
	for _, t := range bindings {
		k := quant.StateBinding{Out: -1, In: -1}
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
			return nil, bug.Errorf("state %s=%s is not in the graph", t.Out, t.In)
		}
		out = append(out, k)
	}
	return out, nil
}

// requantizeState gives the outputs that are state the types of their inputs:
// the quantisation of either may come from the model.
func requantizeState(g *ir.Graph, bindings []StateBinding) error {
	at, err := stateIndices(g, bindings)
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
			return &ir.Diag{Code: "state-type", Node: "output " + bindings[i].Out,
				Msg: fmt.Sprintf("is %s, the input %s that it is handed on to is %s; want one type", have,
					bindings[i].In, want)}
		}
		g.SetOutput(t.Out, v)
	}
	return nil
}

// states are the values of the program's state.
func (r *Result) states() ([]schedule.StateBinding, error) {
	at, err := stateIndices(r.Graph, r.StateBindings)
	if err != nil {
		return nil, err
	}
	var out []schedule.StateBinding
	for i, t := range at {
		out = append(out, schedule.StateBinding{In: r.Graph.In[t.In], Out: r.Graph.Out[t.Out],
			Init: r.StateBindings[i].Init})
	}
	return out, nil
}

// stateValues are the inputs and outputs that hold state.
func (r *Result) stateValues() map[*ir.Value]bool {
	m := map[*ir.Value]bool{}
	for _, t := range r.StateBindings {
		for _, v := range r.Graph.In {
			if v.Name == t.In {
				m[v] = true
			}
		}
		for i, v := range r.Graph.Out {
			if r.Graph.OutNames[i] == t.Out {
				m[v] = true
			}
		}
	}
	return m
}

// toStream is the stage stream: the form of the graph that is fed a few frames
// at a time.
func (s *State) toStream() error {
	o := *s.facts.Stream
	made, err := stream.Apply(s.Graph, o)
	if err != nil {
		return err
	}
	o.Hop = made.Hop
	s.Streamed, s.Slides, s.Graph = made, &o, made.Graph
	for _, x := range made.States {
		s.StateBindings = append(s.StateBindings, StateBinding{Out: x.Out, In: x.In, Init: x.Init})
	}
	return op.OwnOutputs(s.Graph)
}
