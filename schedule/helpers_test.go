// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/schedule"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

var table = bug.Must(lower.Kernels([]string{"cmsisnn", "refc"}, kernel.Options{}))

// lowered gives every node of a graph its kernel, without any pass before: what
// stands in the text is what is scheduled.
func lowered(t testing.TB, src string) (*ir.Graph, map[*ir.Node]*call.Lowered) {
	t.Helper()
	g := irtest.Parse(t, "graph \"g\" {"+src+"\n}")
	plans := table.Plans(&kernel.Options{})
	testenv.OK(t, layout.Assign(g, plans.Layout, layout.Options{}))
	low := testenv.Must(plans.Lowered(g.Nodes))(t)
	return g, low
}

// replayed runs a program on seeded inputs and compares it with the
// interpreter, bit for bit.
func replayed(g *ir.Graph, r *schedule.Result, seeds ...uint64) error {
	for _, seed := range seeds {
		in := irtest.Inputs(g, seed)
		want, err := interp.Run(g, in, nil)
		if err != nil {
			return err
		}
		got, err := r.Replay(in)
		if err != nil {
			return err
		}
		for i := range want {
			if !slices.Equal(got[i].Bytes(), want[i].Bytes()) {
				return fmt.Errorf("seed %d: output %s differs from the interpreter's", seed, g.OutNames[i])
			}
		}
	}
	return nil
}

// built schedules a graph and puts the program through all checks.
func built(t testing.TB, g *ir.Graph, low map[*ir.Node]*call.Lowered,
	states ...schedule.StateBinding) *schedule.Result {
	t.Helper()
	r, err := schedule.Build(g, low, states...)
	testenv.Require(t, err == nil, "%v\n%s", err, g)
	p := r.Program
	if err := replayed(g, r, 1, 2); err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	return r
}

// compile takes an imported graph through the whole lowering.
func compile(g *ir.Graph, o lower.Options) (*lower.Result, error) {
	o.Legalize, o.Libraries = true, []string{"cmsisnn", "refc"}
	if o.Precision != option.Float32 && !lower.Quantised(g) {
		o.Quant = quant.Options{Method: option.MinMax, Source: quant.SyntheticSource,
			Samples: quant.SyntheticSamples(g.In,
				1, 1)}
	}
	o.StopAfter = "lowering" // tests plan for themselves
	return lower.Run(g, o)
}

// load imports a model of the shared test data; nil where the importer cannot.
func load(t testing.TB, file string) *ir.Graph {
	t.Helper()
	m := testenv.Must(onnx.Load(file, onnx.Limits{}))(t)
	g, err := onnx.Import(m, onnx.ImportOptions{})
	testenv.Require(t, err == nil, "not imported: %v", err)
	return g
}

// bound adds up the live storages of a program's buffers as a reader of the
// report does.
func bound(p *program.Program) int {
	most := 0
	for k := range max(len(p.Steps), 1) {
		n := 0
		for _, b := range p.Buffers {
			if b.AliasOf < 0 && !b.Kept && b.First <= k && k <= b.Last {
				n += (b.Bytes + 15) &^ 15
			}
		}
		most = max(most, n)
	}
	return most
}
