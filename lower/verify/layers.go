// SPDX-License-Identifier: Apache-2.0

package verify

import (
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/state"
)

// LayerDifference is the first step whose result differs.
type LayerDifference struct {
	Name       string  `json:"name"`
	Value      string  `json:"value"`
	Case       int     `json:"case"`
	Mismatches int     `json:"mismatches"`
	MaxAbsDiff float64 `json:"max_abs_diff"`
}

// Layers compares what every step left in the arena with the interpreter's values.
type Layers struct {
	Cases      int              // that were looked at
	Mismatches []int            // of every step, over these
	First      *LayerDifference // nil: all are the same

	lowered *lower.Result
	ports   *state.Runner
	want    map[*ir.Value]*tensor.Dense
	full    []*tensor.Dense
	first   int // step of First
}

// NewLayers prepares the comparison.
func NewLayers(r *lower.Result) *Layers {
	n := len(r.Program.Steps)
	l := &Layers{Mismatches: make([]int, n), lowered: r, ports: r.Ports(),
		want: map[*ir.Value]*tensor.Dense{}, first: n}
	l.ports.Eval = func(in []*tensor.Dense) ([]*tensor.Dense, error) {
		clear(l.want)
		l.full = lower.Widened(in, l.ports.Graph.In)
		return interp.Run(l.ports.Graph, l.full, func(v *ir.Value, d *tensor.Dense) { l.want[v] = d })
	}
	return l
}

// Case compares case number k: dumps are the results of all steps, one after the
// other; nil where the case was not looked at and only moves the state on.
func (l *Layers) Case(k int, in Case, dumps [][]byte) (err error) {
	defer fail.Catch(&err)
	if _, err := l.ports.Step(in.Inputs); err != nil || dumps == nil {
		return err
	}
	l.Cases++
	moves := &movement{g: l.ports.Graph, in: l.full, of: l.want, whole: true}
	for i, s := range l.lowered.Program.Steps {
		for _, v := range l.lowered.Schedule.Nodes[i].Out {
			got := fail.Must(FromMemory(l.lowered.Schedule.Buffer(v).Gather(dumps[0]), v.Type))
			dumps = dumps[1:]
			steps := 0
			if FromFloat(v) {
				steps = 1
			}
			n, diff, _ := moves.differ(got, v, steps)
			l.Mismatches[i] += n
			if n > 0 && i < l.first {
				l.first, l.First = i, &LayerDifference{s.Name, v.Name, k, n, diff}
			}
		}
	}
	return nil
}
