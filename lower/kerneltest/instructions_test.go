// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/nncc/nncc/boards/paths"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kerneltest"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// countError is how far two measurements of the same instructions may differ: what the report
// of a step costs is taken away from each (boards/run/README.md).
const countError = 4

// few is the number of layers that are measured on a board in a short test.
const few = 24

// TestInstructions: what the manifest says data decides of a kernel's instructions holds
// for layers with extreme data. Those of fixed kernels are the same every time; those of
// kernels with branches stay below the bound that is read from the machine code. A sample;
// NNCC_LONG runs some layers of every row, NNCC_RANDOM=N more of them.
func TestInstructions(t *testing.T) {
	for _, name := range testenv.Boards("cortex-m55", "cortex-m4", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			if spec.Runner.Kind != "qemu" {
				return // instructions are counted under QEMU
			}
			m := newMatrix(t, name, sizes{draws: 4, keep: 1})
			m.fill()
			if !testenv.Long() && testenv.Count(t, 0) == 0 {
				m.trim(few)
			}
			seen := map[runtimec.Dependence]int{}
			m.programs(func(g *kerneltest.Guarded) {
				for _, x := range g.RunExtremes(t, spec) {
					d := codegen.Dependence(x.Step, spec.Features())
					seen[d]++
					checkInstructions(t, &x, d)
				}
			})
			t.Logf("layers: %d fixed, %d with branches, %d with loops", seen[runtimec.Fixed],
				seen[runtimec.Branches], seen[runtimec.Loops])
			testenv.Check(t, seen[runtimec.Fixed] != 0 && seen[runtimec.Branches] != 0,
				"no layer was fixed, or none had branches")
		})
	}
}

// checkInstructions holds what was measured of a layer against its dependence.
func checkInstructions(t *testing.T, x *kerneltest.Extremes, d runtimec.Dependence) {
	for _, c := range x.Step.Calls {
		_, ok := runtimec.DependenceOf(c.Func, nil)
		testenv.Check(t, ok || c.Code != nil, "%s is no row of runtime_c/kernels.csv", c.Func)
	}
	if len(x.Counts) < 2 {
		return // data that the layers refuse
	}
	least, most := slices.Min(x.Counts), slices.Max(x.Counts)
	if n := x.Counts[0]; x.Seen+countError < n || n+countError < x.Seen {
		t.Errorf("%d instructions were counted, %d followed\n%s", n, x.Seen, x.Text)
	}
	testenv.Check(t, !errors.Is(x.NoBound, paths.ErrUnknownWays), "%s: %v\n%s", x.Step.Kernel, x.NoBound, x.Text)
	switch {
	case d == runtimec.Fixed && least != most:
		t.Errorf("%s: data decides: %d to %d instructions (%v); runtime_c/kernels.csv says that they are fixed\n%s",
			x.Step.Kernel, least, most, x.Counts, x.Text)
	case d == runtimec.Branches && x.NoBound == nil && x.Bound < most:
		t.Errorf("%s: %d instructions, at most %d expected (%v); does data decide how often loops turn?\n%s",
			x.Step.Kernel, most, x.Bound, x.Counts, x.Text)
	}
}

// TestCosts: every kernel between which prices choose has one on every instruction set, or unpriced.csv says why not.
// Portable functions and loops are nobody's alternative: they are the last of the rows of their layers.
func TestCosts(t *testing.T) {
	for _, name := range []string{"cortex-m55", "cortex-m4", "cortex-m3", "cortex-m0plus"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			m := newMatrix(t, name, sizes{draws: 12, keep: 3, each: true})
			m.fill()
			target := cost.Target{ISA: board.ISA(spec), Makes: map[string]string{cmsisnn.Library: "nncc"}}
			missing, priced := map[string]string{}, 0
			for _, l := range m.layers {
				if !kernel.IsOptimized(l.row.Library) {
					continue
				}
				p, _ := l.row.Match(kernel.NewNode(l.graph.Nodes[0], &m.opt))
				x := p.Layer()
				if k := x.Geometry.Kind; !k.Alike() || !target.Measured(k) || p.Lower().View {
					continue
				}
				switch c := p.Cost(&target); {
				case c.Known():
					priced++
				case target.Unpriced(x.Variant) == "":
					missing[x.Variant] = c.Unknown
				}
			}
			for _, v := range slices.Sorted(maps.Keys(missing)) {
				t.Errorf("%s: %s; measure it (lower/cost/README.md) or say in lower/cost/unpriced.csv why not",
					target.ISA, missing[v])
			}
			testenv.Check(t, priced >= 100, "%d layers with a price: the test shows nothing", priced)
		})
	}
}
