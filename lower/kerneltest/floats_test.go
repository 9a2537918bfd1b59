// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/kerneltest"
)

// floatDraws are the layers of an operator that are drawn on int8, of which the floatLayers largest are measured.
const floatDraws, floatLayers = 60, 3

// slower is what is no noise: layers of a few values differ by what is done once.
const slower = 1.06

// slowerPath are boards, operators and the reason why int8 may take more instructions than float32 there.
const slowerPath = "testdata/slower_than_float32.csv"

// TestFloats: layers of an operator take no more instructions on int8 than the same layers on float32, all of them
// together, or the table says why.
func TestFloats(t *testing.T) {
	if !testenv.Long() {
		t.Skip("thousands of layers under QEMU: NNCC_LONG=1")
	}
	for _, name := range testenv.Boards("cortex-m55", "cortex-m4", "cortex-m0plus") {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			m := newMatrix(t, name, sizes{})
			var twins [2][]layer // int8, float32
			for _, d := range op.All() {
				for _, pair := range m.twins(d) {
					for i, l := range pair {
						twins[i] = append(twins[i], l)
					}
				}
			}
			counts := [2]map[string]uint64{{}, {}}
			for i, layers := range twins {
				for some := range slices.Chunk(layers, program) {
					g := m.program(some, 0)
					for node, n := range g.RunBoard(t, spec, run.BuildOptions{Opt: "speed", Trace: true}) {
						var k int
						if _, err := fmt.Sscanf(node, "m%d_", &k); err == nil {
							counts[i][some[k].graph.Nodes[0].Op.Name] += n
						}
					}
				}
			}
			why := map[string]string{}
			for _, r := range kerneltest.ReadTable(t, slowerPath) {
				if r[0] == name {
					why[r[1]] = r[2]
				}
			}
			var log strings.Builder
			for _, d := range slices.Sorted(maps.Keys(counts[0])) {
				ratio := float64(counts[0][d]) / float64(counts[1][d])
				fmt.Fprintf(&log, "\n%-36s %8d %8d %.2f", d, counts[0][d], counts[1][d], ratio)
				testenv.Check(t, ratio <= slower || why[d] != "",
					"%s: %.2f of the instructions on float32, and %s has no reason", d, ratio, slowerPath)
				testenv.Check(t, ratio > slower || why[d] == "",
					"%s: %.2f of the instructions on float32: %q is no reason", d, ratio, why[d])
			}
			t.Log(log.String())
			testenv.Check(t, len(counts[0]) >= 60, "%d operators: the test shows nothing", len(counts[0]))
		})
	}
}

// coded is the type of a quantised value.
var coded = regexp.MustCompile(`: (?:i8|i32)(\[[0-9,]*\]) q\S*\([^)]*\)`)

// twins are the largest drawn layers of an operator on int8, each beside the same on float32.
func (m *matrix) twins(d *ir.OpDef) [][2]layer {
	var pairs [][2]layer
	size := func(p [2]layer) int { return p[0].graph.In[0].Type.Elems() + p[0].graph.Out[0].Type.Elems() }
	for range floatDraws {
		m.n++
		g, valid := kerneltest.Draw(m.rand, d, kerneltest.Int8, fmt.Sprintf("l%d", m.n))
		if !valid || huge(g) || len(g.In) == 0 || g.In[0].Type.Quant == nil {
			continue
		}
		f, err := ir.Parse(coded.ReplaceAllString(g.String(), ": f32$1"), op.Get)
		if err != nil || len(f.Verify()) > 0 || f.Out[0].Type.Quant != nil {
			continue
		}
		var p [2]layer
		for i, x := range []*ir.Graph{g, f} {
			if c, err := m.table.Match(x.Nodes[0], &m.opt); err == nil {
				p[i] = layer{graph: x, row: c.Plan.Kernel, precision: kerneltest.Int8}
			}
		}
		if p[0].row != nil && p[1].row != nil {
			pairs = append(pairs, p)
		}
	}
	slices.SortStableFunc(pairs, func(a, b [2]layer) int { return cmp.Compare(size(b), size(a)) })
	return pairs[:min(len(pairs), floatLayers)]
}
