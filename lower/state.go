// SPDX-License-Identifier: Apache-2.0

package lower

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
	"github.com/nncc/nncc/schedule"
)

func (r *Result) states() (out []schedule.StateBinding) {
	for i, t := range fail.Must(state.Indices(r.Graph, r.StateBindings)) {
		out = append(out, schedule.StateBinding{In: r.Graph.In[t.In], Out: r.Graph.Out[t.Out],
			Init: r.StateBindings[i].Init})
	}
	return out
}

func (r *Result) stateValues() map[*ir.Value]bool {
	m := map[*ir.Value]bool{}
	for _, t := range r.StateBindings {
		if i := slices.Index(ir.Names(r.Graph.In), t.In); i >= 0 {
			m[r.Graph.In[i]] = true
		}
		if i := slices.Index(r.Graph.OutNames, t.Out); i >= 0 {
			m[r.Graph.Out[i]] = true
		}
	}
	return m
}

// toStream is the stage stream: the form of the graph that is fed a few frames
// at a time.
func (s *State) toStream() {
	o := *s.facts.Stream
	made := fail.Must(stream.Apply(s.Graph, o))
	o.Hop = made.Hop
	s.Streamed, s.Slides, s.Graph = made, &o, made.Graph
	for _, x := range made.States {
		s.StateBindings = append(s.StateBindings, state.Binding{Out: x.Out, In: x.In, Init: x.Init})
	}
	fail.Check(op.OwnOutputs(s.Graph))
}

// Ports runs the program: its inputs and outputs are those of the firmware.
func (r *Result) Ports() *state.Runner { return state.New(r.Graph, r.StateBindings) }

// Interface is Ports with inputs as users have them: without the channels that
// PadInput adds.
func (r *Result) Interface() *state.Runner {
	g := r.Graph
	if r.Aligned != nil && len(r.Aligned.Inputs) > 0 {
		g = r.Reference
	}
	return state.New(g, r.StateBindings)
}

// Windows runs an earlier version of the graph: on whole windows, where the
// firmware is fed a few frames at a time.
func (r *Result) Windows(g *ir.Graph) *state.Runner { return state.Sliding(g, r.Named(), r.Slides) }

// Named is the state that the user named, without that of a stream.
func (r *Result) Named() []state.Binding {
	n := len(r.StateBindings)
	if r.Streamed != nil {
		n -= len(r.Streamed.States)
	}
	return r.StateBindings[:n]
}
