// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/cost"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
)

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
