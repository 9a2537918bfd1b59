// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"context"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
)

// Extremes are the instructions of a layer.
type Extremes struct {
	Step *program.Step
	Text string // of the node
	// Counts are those with the operands as drawn, then with each kind of data of
	// program.Extremes; fewer where a layer before it failed.
	Counts []uint64
	// Seen of them were followed in the first run; Bound is the most there can be if loops
	// turn as often, or NoBound says why that is not known.
	Seen, Bound uint64
	NoBound     error
}

// RunExtremes builds the layers for a board, fills their operands with extreme data, and
// gives the instructions of each.
func (m *Guarded) RunExtremes(t *testing.T, spec *boards.Spec) []Extremes {
	t.Helper()
	im, c := m.build(t, spec, run.BuildOptions{Trace: true})
	defer im.Close()
	cases := []run.Case{c}
	for _, e := range m.plan.Program.Extremes() {
		x := run.Case{Inputs: c.Inputs}
		for _, f := range e.Fills {
			x.Fills = append(x.Fills, run.Fill(f))
		}
		cases = append(cases, x)
	}
	counts := testenv.Must(run.Filled(context.Background(), spec, im, 0, 1, cases))(t)
	seen := testenv.Must(run.Cycles(context.Background(), spec, im, []run.Job{{Cases: cases[:1]}}, 0, 0))(t)
	var out []Extremes
	for i, s := range m.plan.Program.Steps {
		x := Extremes{Step: s, Text: lineOf(m.graph, m.plan.Nodes[i].Out[0].Name)}
		for _, steps := range counts {
			if i < len(steps) {
				x.Counts = append(x.Counts, steps[i])
			}
		}
		x.Seen = testenv.Must(seen.Program.Seen(seen.Steps[i]))(t)
		if more, err := seen.More(i); err != nil {
			x.NoBound = err
		} else if i < len(counts[0]) {
			x.Bound = counts[0][i] + more
		}
		out = append(out, x)
	}
	return out
}
