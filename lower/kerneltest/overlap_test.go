// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// TestOverlap: results may lie over inputs as kernels state it (call.Overlap), at the least distance and at others, and
// no kernel could state one element less, which some layer of it would miss: layers are drawn until there is one.
// NNCC_BOARDS says where, NNCC_LONG everywhere, at all levels of optimisation; a plain go test compiles the portable
// bodies for the host, where only portable rows state exactly what they need. NNCC_KERNEL measures rows and functions,
// whatever they state: -v lists what was found.
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
			before := map[string]bool{}
			for _, table := range tablesOf(x) {
				m := newMatrix(t, table, sizes{draws: 4, products: 20, keep: 1})
				m.skip = func(k *kernel.Kernel) bool { return portable(k) && before[k.Name] }
				m.fill()
				if m.only == nil {
					m.layers = slices.DeleteFunc(m.layers, func(l layer) bool { return m.stated(l) == "" })
				}
				spare := map[string]int{}
				for _, level := range levels {
					opt.Opt = level
					m.measure(spec, opt, spare)
				}
				m.exact(spec, opt, spare, x)
				for _, k := range m.rows() {
					before[k.Name] = true
				}
			}
		})
	}
}

// stated is the kernel that says that the layer's result may lie over an input.
func (m *matrix) stated(l layer) string {
	opt := m.wished(l.wish)
	if p, _ := l.row.Match(kernel.NewNode(l.graph.Nodes[0], &opt)); p != nil {
		if low := p.Lower(); len(low.Overlap) > 0 {
			return l.row.Name + " (" + low.Kernel + ")"
		}
	}
	return ""
}

// measure measures the distances of the layers, and holds them against what rows state; spare is the least that a
// kernel could state less.
func (m *matrix) measure(spec *boards.Spec, opt run.BuildOptions, spare map[string]int) {
	m.t.Helper()
	m.programs(func(g *kerneltest.Guarded) {
		all := m.only != nil
		for _, d := range g.RunOverlaps(m.t, spec, opt, func(d *kerneltest.Distance) bool {
			return all || d.Stated != nil
		}) {
			m.t.Log(d)
			if d.Failed >= 0 {
				m.t.Errorf("wrong at a distance of %d bytes: %s\n%s", d.Failed, d, d.Node)
			}
			if n, ok := spare[d.Takes]; d.Spare() >= 0 && (!ok || d.Spare() < n) {
				spare[d.Takes] = d.Spare()
			}
		}
	})
}

// exact draws layers until some layer of every kernel needs all that the kernel states; on the host of portable ones.
func (m *matrix) exact(spec *boards.Spec, opt run.BuildOptions, spare map[string]int, x machine) {
	m.t.Helper()
	if x.name != x.board || x.long || m.only != nil {
		return // other bodies may need less
	}
	for round := 0; round < 6 && (round == 0 || len(m.layers) > 0); round++ {
		m.layers = nil
		for _, k := range m.rows() {
			if of := func(name string, _ int) bool { return strings.HasPrefix(name, k.Name+" (") }; x.board == "host" &&
				kernel.IsOptimized(k.Library) {
				maps.DeleteFunc(spare, of)
			}
			m.draws(k, spare)
		}
		m.measure(spec, opt, spare)
	}
	for name, n := range spare {
		m.t.Log(name, n)
		if n > 0 {
			m.t.Errorf("%s states %d bytes more than any layer needs", name, n)
		}
	}
}

// draws adds layers of the functions of a row that state more than those before needed.
func (m *matrix) draws(k *kernel.Kernel, spare map[string]int) {
	left := map[string]int{}
	for name, n := range spare {
		if n > 0 && strings.HasPrefix(name, k.Name+" (") {
			left[name] = 5
		}
	}
	for try := 0; try < 2000 && len(left) > 0; try++ {
		d, p := k.Ops[m.rand.IntN(len(k.Ops))], kerneltest.Precisions[m.rand.IntN(len(kerneltest.Precisions))]
		if o := m.outcomes[cell{k, p}]; o == nil || o.taken == 0 {
			continue
		}
		m.n++
		g, valid := kerneltest.Draw(m.rand, d, p, fmt.Sprintf("l%d", m.n))
		if g == nil || !valid || g.Out[0].Type.Elems() > 4096 {
			continue
		}
		l := layer{graph: g, row: k, precision: p, wish: m.rand.IntN(len(wishes))}
		if name := m.stated(l); left[name] > 0 {
			m.layers = append(m.layers, l)
			if left[name]--; left[name] == 0 {
				delete(left, name)
			}
		}
	}
}
