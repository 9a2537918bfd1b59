// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kerneltest"
)

// cell is a row of a table with a precision.
type cell struct {
	row       *kernel.Kernel
	precision kerneltest.Precision
}

// outcome counts what a row said to layers of a precision.
type outcome struct{ taken, refused int }

// layer is a drawn node with the row that took it.
type layer struct {
	graph     *ir.Graph
	row       *kernel.Kernel
	precision kerneltest.Precision
}

// matrix asks every row of a board's table about random layers of every one of
// its operators in every precision.
type matrix struct {
	t        *testing.T
	table    kernel.Table
	opt      kernel.Options
	rand     *rand.Rand
	outcomes map[cell]*outcome
	kept     map[string]int // layers to run by row, precision and, in a long run, operator
	layers   []layer
	n        int
}

// sizes of a run: draws of an operator in a precision, layers that run for a
// row in one, and whether every operator of a row counts by itself.
type sizes struct {
	draws, keep int
	each        bool
}

// sample is the number of layers that run on a board in a short test.
const sample = 120

// program is the number of layers in one program.
const program = 60

// newMatrix asks the rows of a board's table: about few layers, or for NNCC_RANDOM about many of every row.
func newMatrix(t *testing.T, spec *boards.Spec) (*matrix, sizes) {
	t.Helper()
	opt := kernel.Options{Core: coreOf(spec), Memo: map[any]any{}}
	table, err := lower.Kernels(spec.Kernels, opt)
	if err != nil {
		t.Fatal(err)
	}
	from, n := testenv.Range(t, 0)
	m := &matrix{t: t, table: table, opt: opt, rand: rand.New(rand.NewPCG(7, uint64(12+from))),
		outcomes: map[cell]*outcome{}, kept: map[string]int{}}
	s := sizes{draws: 6, keep: 1}
	if n > 0 {
		s = sizes{draws: 4 * n, keep: n, each: true}
	}
	m.fill(s)
	return m, s
}

// trim leaves n layers of those that were kept.
func (m *matrix) trim(n int) {
	if len(m.layers) > n {
		m.rand.Shuffle(len(m.layers), func(i, j int) { m.layers[i], m.layers[j] = m.layers[j], m.layers[i] })
		m.layers = m.layers[:n]
	}
}

// report logs what the rows took and how many layers of each precision run.
func (m *matrix) report() {
	taken, refused, cells := 0, 0, 0
	for _, o := range m.outcomes {
		taken += o.taken
		refused += o.refused
		if o.taken > 0 {
			cells++
		}
	}
	run := map[kerneltest.Precision]int{}
	for _, l := range m.layers {
		run[l.precision]++
	}
	m.t.Logf("%d rows; %d taken, %d refused; %d cells of row and precision take something; %d layers run: %v",
		len(m.rows()), taken, refused, cells, len(m.layers), run)
}

func (m *matrix) draw(d *ir.OpDef, p kerneltest.Precision, s sizes, wanted func(k *kernel.Kernel) bool) {
	m.n++
	g, valid := kerneltest.Draw(m.rand, d, p, fmt.Sprintf("l%d", m.n))
	if g == nil {
		return
	}
	n := g.Nodes[0]
	for _, k := range m.table[d] {
		if !wanted(k) {
			continue
		}
		c := cell{k, p}
		o := m.outcomes[c]
		if o == nil {
			o = &outcome{}
			m.outcomes[c] = o
		}
		if len(k.CheckLegality(kernel.NewNode(n, &m.opt))) > 0 {
			o.refused++
			continue
		}
		if !valid || huge(g) {
			continue
		}
		o.taken++
		key := k.Name + "/" + string(p)
		if s.each {
			key += "/" + d.Name
		}
		if m.kept[key] >= s.keep {
			continue
		}
		if _, err := interp.Run(g, irtest.Inputs(g, 1), nil); err != nil {
			if bug.Is(err) {
				m.t.Errorf("%v\n%s", err, g)
			}
			continue // data that the operator does not take
		}
		m.kept[key]++
		m.layers = append(m.layers, layer{g, k, p})
	}
}

// huge graphs have no place in a test.
func huge(g *ir.Graph) bool {
	return slices.ContainsFunc(slices.Concat(g.In, g.Out), func(v *ir.Value) bool { return v.Type.Elems() > 1<<20 })
}

// inner is the text of a graph without its frame.
func inner(g *ir.Graph) string {
	s := g.String()
	return s[strings.IndexByte(s, '\n')+1 : strings.LastIndexByte(s, '}')]
}

// fill draws until every row has layers that it takes and, if it has rules,
// layers that it refuses.
func (m *matrix) fill(s sizes) {
	ops := map[*ir.OpDef]bool{}
	for d := range m.table {
		ops[d] = true
	}
	var list []*ir.OpDef
	for d := range ops {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *ir.OpDef) int { return cmp.Compare(a.Domain+a.Name, b.Domain+b.Name) })
	everyKernel := func(*kernel.Kernel) bool { return true }
	for _, d := range list {
		for _, p := range kerneltest.Precisions {
			for range s.draws {
				m.draw(d, p, s, everyKernel)
			}
		}
	}
	for _, k := range m.rows() {
		for try := 0; try < 20_000 && m.missing(k) != ""; try++ {
			d := k.Ops[m.rand.IntN(len(k.Ops))]
			m.draw(d, kerneltest.Precisions[m.rand.IntN(len(kerneltest.Precisions))], s,
				func(x *kernel.Kernel) bool { return x == k })
		}
		if why := m.missing(k); why != "" {
			m.t.Errorf("%s (%s): %s", k.Name, k.Doc, why)
		}
	}
}

// rows are the rows of the table, each once.
func (m *matrix) rows() []*kernel.Kernel {
	seen := map[*kernel.Kernel]bool{}
	var out []*kernel.Kernel
	for _, ks := range m.table {
		for _, k := range ks {
			if !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	slices.SortFunc(out, func(a, b *kernel.Kernel) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Doc, b.Doc), cmp.Compare(a.Ops[0].Name, b.Ops[0].Name))
	})
	return out
}

// missing says which outcome no layer of a row has had.
func (m *matrix) missing(k *kernel.Kernel) string {
	var sum outcome
	for _, p := range kerneltest.Precisions {
		if o := m.outcomes[cell{k, p}]; o != nil {
			sum.taken += o.taken
			sum.refused += o.refused
		}
	}
	switch {
	case sum.taken == 0 && !m.foreign(k):
		return "takes no layer that was drawn"
	case sum.refused == 0 && len(k.Rules) > 0:
		return "refuses no layer that was drawn"
	}
	return ""
}

// foreign: the row is for another core.
func (m *matrix) foreign(k *kernel.Kernel) bool {
	return slices.ContainsFunc(k.Rules, func(r kernel.Rule) bool {
		return r.Code == "CORE" && r.Check(kernel.NewNode(nil, &m.opt)) != ""
	})
}

// programs are the layers that run, some at a time.
func (m *matrix) programs(f func(g *kerneltest.Guarded)) {
	for from := 0; from < len(m.layers); from += program {
		var text strings.Builder
		row := map[string]*kernel.Kernel{}
		text.WriteString("graph \"layers\" {\n")
		for i, l := range m.layers[from:min(len(m.layers), from+program)] {
			text.WriteString(strings.ReplaceAll(inner(l.graph),
				l.graph.Nodes[0].Name[:strings.LastIndexByte(l.graph.Nodes[0].Name, '_')+1], fmt.Sprintf("m%d_", i)))
		}
		text.WriteString("}\n")
		g, err := ir.Parse(text.String(), op.Get)
		if err != nil {
			m.t.Fatalf("%v\n%.4000s", err, text.String())
		}
		for i, l := range m.layers[from:min(len(m.layers), from+program)] {
			row[g.Nodes[i].Name] = l.row
		}
		order := func(rank int) []int { return nil }
		if from/program%2 == 1 {
			order = func(rank int) []int {
				if rank < 3 {
					return nil
				}
				return ir.NHWC(rank)
			}
		}
		opt := m.opt
		opt.Generic = from/program%3 == 2
		x := kerneltest.GuardRows(m.t, g, func(n *ir.Node) *kernel.Plan {
			if k := row[n.Name]; k != nil {
				p, reasons := k.Match(kernel.NewNode(n, &opt))
				if p == nil {
					m.t.Fatalf("%s takes the layer no more: %v\n%s", k.Name, reasons, n)
				}
				return p
			}
			c, err := m.table.Match(n, &opt) // what conversions between orders need
			if err != nil {
				m.t.Fatal(err)
			}
			return c.Plan
		}, order, accepted(g, uint64(from+1)))
		x.Near, x.Within = true, 256.0/(1<<24) // as verify allows
		f(x)
	}
}

// accepted is a seed of inputs, given or behind, that all layers take: no integer is divided by 0.
func accepted(g *ir.Graph, seed uint64) uint64 {
	for range 50 {
		if _, err := interp.Run(g, irtest.Inputs(g, seed), nil); err == nil {
			break
		}
		seed += 1000
	}
	return seed
}

// coreOf is the core of a board.
func coreOf(spec *boards.Spec) kernel.Core {
	return kernel.Core{MVE: spec.ISA.HasMVE(), DSP: spec.ISA.DSP, FPU: spec.ISA.HasFPU(), Host: spec.Core == "host",
		Armv6M: spec.Core == "cortex-m0" || spec.Core == "cortex-m0plus"}
}

// TestMatrix: every row of every board's table meets random layers of every
// operator that it computes, in every precision. Some it must take, some it
// must refuse, and what it takes gives the interpreter's results: under the
// sanitizers between guards, and on the board. NNCC_RANDOM=N runs N
// layers of every row, operator and precision on all boards or those of
// NNCC_BOARDS, a plain go test a sample on some.
func TestMatrix(t *testing.T) {
	for _, name := range testenv.Boards("host", "cortex-m55", "cortex-m4", "cortex-m0plus", "cortex-m3", "cortex-m7",
		"cortex-m33") {
		t.Run(name, func(t *testing.T) {
			spec, err := boards.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			m, s := newMatrix(t, spec)
			m.report()
			if !s.each && slices.Contains([]string{"cortex-m3", "cortex-m7", "cortex-m33"}, name) {
				return // the same tables and, nearly, instructions as on another core
			}
			if !s.each {
				m.trim(sample)
			}
			m.programs(func(g *kerneltest.Guarded) {
				if m.opt.Core.Host {
					g.RunBoard(t, spec, run.BuildOptions{Sanitize: true, Opt: "-O0"})
				} else {
					g.RunBoard(t, spec, run.BuildOptions{})
				}
			})
		})
	}
}

// TestMatrixIntrinsics: what the rows take gives the same results without GNU assembly, by the board's compiler and
// by clang. NNCC_RANDOM and NNCC_BOARDS as for TestMatrix.
func TestMatrixIntrinsics(t *testing.T) {
	for _, name := range testenv.Boards("cortex-m55", "cortex-m4") {
		t.Run(name, func(t *testing.T) {
			kerneltest.Intrinsics(t, name, func(t *testing.T, spec *boards.Spec, opt run.BuildOptions) {
				m, s := newMatrix(t, spec)
				if !s.each {
					m.trim(few)
				}
				m.report()
				m.programs(func(g *kerneltest.Guarded) { g.RunBoard(t, spec, opt) })
			})
		})
	}
}
