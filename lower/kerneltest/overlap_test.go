// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"slices"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestOverlap: results may lie over inputs as kernels state it (call.Overlap), at the least distance and at others, and
// no less is possible in some layer of every row: a statement that is one element too small fails. NNCC_BOARDS says
// where, NNCC_LONG everywhere, at all levels of optimisation; a plain go test compiles the portable bodies for the
// host.
// NNCC_KERNEL measures rows and functions, whatever they state: -v lists what was found.
func TestOverlap(t *testing.T) {
	for _, x := range machines {
		t.Run(x.name, func(t *testing.T) {
			if v := testenv.Boards(); v != nil && !slices.Contains(v, x.board) ||
				v == nil && x.name != "host" && !testenv.Long() {
				t.Skip("NNCC_LONG is not set, or NNCC_BOARDS names others")
			}
			spec, opt := x.build(t, load(t, x.board))
			opt.Sanitize = false // values that overlap have no guards
			levels := []string{opt.Opt}
			if testenv.Long() {
				levels = []string{"-O0", "-O1", "-O2", "-O3"}
			}
			for _, table := range tablesOf(x) {
				m := newMatrix(t, table, sizes{draws: 4, products: 20, keep: 1})
				m.fill()
				if m.only == nil {
					m.layers = slices.DeleteFunc(m.layers, func(l layer) bool { return !m.overlaps(l) })
				}
				for _, level := range levels {
					opt.Opt = level
					m.measure(spec, opt)
				}
			}
		})
	}
}

// overlaps: the row says that the layer's result may lie over an input.
func (m *matrix) overlaps(l layer) bool {
	p, _ := l.row.Match(kernel.NewNode(l.graph.Nodes[0], &m.opt))
	return p != nil && len(p.Lower().Overlap) > 0
}

// measure measures the distances of the layers, and holds them against what rows state.
func (m *matrix) measure(spec *boards.Spec, opt run.BuildOptions) {
	m.t.Helper()
	// By kernel, the layers with a distance, those alike as one, and whether some need all of it.
	stated, met := map[string]map[kerneltest.Side]bool{}, map[string]bool{}
	m.programs(func(g *kerneltest.Guarded) {
		all := m.only != nil
		for _, d := range g.RunOverlaps(m.t, spec, opt, func(d *kerneltest.Distance) bool {
			return all || d.Stated != nil
		}) {
			m.t.Log(d)
			if d.Failed >= 0 {
				m.t.Errorf("wrong at a distance of %d bytes: %s\n%s", d.Failed, d, d.Node)
			}
			for _, x := range d.Sides() {
				if stated[x.Name] == nil {
					stated[x.Name] = map[kerneltest.Side]bool{}
				}
				stated[x.Name][x] = true
				met[x.Name] = met[x.Name] || x.Least > x.Stated-d.Pixel
			}
		}
	})
	for k, layers := range stated {
		if !met[k] && len(layers) > 3 {
			m.t.Errorf("%s states more than it needs in each of %d layers", k, len(layers))
		}
	}
}
