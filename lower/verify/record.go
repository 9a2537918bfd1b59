// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"slices"

	"github.com/nncc/nncc/frontend/text"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
	"github.com/nncc/nncc/lower/state"
)

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
