// SPDX-License-Identifier: Apache-2.0

package kerneltest_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"path/filepath"
	"regexp"
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
	"github.com/nncc/nncc/lower/board"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kerneltest"
	runtimec "github.com/nncc/nncc/runtime_c"
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
	wish      int // of wishes
}

// matrix asks every row of a board's table about random layers of every one of
// its operators in every precision.
type matrix struct {
	t        *testing.T
	table    kernel.Table
	opt      kernel.Options
	rand     *rand.Rand
	outcomes map[cell]*outcome
	kept     map[string]int  // layers that run, by what they are examples of
	called   map[string]bool // functions of the layers that run
	layers   []layer
	sizes    sizes
	skip     func(k *kernel.Kernel) bool // rows that others have run, nil: none
	only     *regexp.Regexp              // names of rows, or of functions that they call; nil: all
	n        int
}

// sizes of a run: draws of an operator in a precision, layers that run for a row in one and for the functions that a
// row calls, whether every operator of a row counts by itself, and every text of attributes.
type sizes struct {
	draws, keep  int
	products     int // times as many draws of products, of which kernels have many variants
	each, signed bool
}

// program is the number of layers in one program.
const program = 80

// newMatrix asks the rows of a board's table about layers, as many as NNCC_RANDOM says, that run on machine.
func newMatrix(t *testing.T, table string, s sizes) *matrix {
	t.Helper()
	spec := load(t, table)
	opt := kernel.Options{Core: coreOf(spec), Memo: map[any]any{}}
	rows, err := lower.Kernels(spec.Kernels, opt)
	testenv.OK(t, err)
	from, n := testenv.Range(t, 1)
	s.draws, s.keep, s.each = s.draws*n, s.keep*n, s.each || n > 1
	s.products = max(s.products, 1)
	m := &matrix{t: t, table: rows, opt: opt, sizes: s, rand: rand.New(rand.NewPCG(7, uint64(12+from))),
		outcomes: map[cell]*outcome{}, kept: map[string]int{}, called: map[string]bool{}}
	if v := testenv.Get("NNCC_KERNEL"); v != "" {
		m.only = regexp.MustCompile(v)
	}
	return m
}

// load is the description of a board.
func load(t *testing.T, name string) *boards.Spec {
	t.Helper()
	spec, err := boards.Load(name)
	testenv.OK(t, err)
	return spec
}

// trim leaves n small layers of those that were kept: what runs is logged instruction by instruction.
func (m *matrix) trim(n int) {
	m.layers = slices.DeleteFunc(m.layers, func(l layer) bool { return l.graph.Out[0].Type.Elems() > 2048 })
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

func (m *matrix) draw(d *ir.OpDef, p kerneltest.Precision, wanted func(k *kernel.Kernel) bool) {
	m.n++
	g, valid := kerneltest.Draw(m.rand, d, p, fmt.Sprintf("l%d", m.n))
	if g == nil {
		return
	}
	for _, k := range m.table[d] {
		if !wanted(k) || m.skip != nil && m.skip(k) {
			continue
		}
		c := cell{k, p}
		o := m.outcomes[c]
		if o == nil {
			o = &outcome{}
			m.outcomes[c] = o
		}
		plan, _ := k.Match(kernel.NewNode(g.Nodes[0], &m.opt))
		switch {
		case plan == nil:
			o.refused++
		case valid && !huge(g):
			o.taken++
			m.take(layer{graph: g, row: k, precision: p}, plan)
		}
	}
}

// take keeps a layer that is one of the first examples of something: of its row in a precision, of the functions that
// it calls, or of an operator with some attributes.
func (m *matrix) take(l layer, plan *kernel.Plan) {
	n, name := l.graph.Nodes[0], l.row.Name
	examples := []string{name + "/" + string(l.precision)}
	if m.sizes.each {
		examples[0] += "/" + n.Op.Name
	}
	functions := variant(plan)
	if m.only != nil && !m.only.MatchString(name) && !m.only.MatchString(functions) {
		return
	}
	examples = append(examples, name+" "+functions)
	if m.sizes.signed {
		attrs := fmt.Sprint(n.Attrs)
		if kerneltest.Special(n.Op) { // values of attributes are drawn
			attrs = fmt.Sprint(slices.Sorted(maps.Keys(n.Attrs)))
		}
		examples = append(examples, fmt.Sprint(l.precision == kerneltest.Float, n.Op.Name, len(n.In), attrs))
	}
	m.keep(l, functions, examples...)
	if kernel.IsOptimized(l.row.Library) {
		for l.wish = 1; l.wish < len(wishes); l.wish++ {
			opt := m.wished(l.wish)
			if p, _ := l.row.Match(kernel.NewNode(n, &opt)); p != nil && variant(p) != functions {
				m.keep(l, variant(p), fmt.Sprint(name, l.wish, variant(p)))
			}
		}
	}
}

// wishes are options by which a row takes a layer in another way: none, by functions that take any shape, with
// constants that are bound at run time.
var wishes = []func(o *kernel.Options){
	func(*kernel.Options) {}, func(o *kernel.Options) { o.Generic = true }, func(o *kernel.Options) { o.Bound = true }}

func (m *matrix) wished(wish int) kernel.Options {
	opt := m.opt
	wishes[wish](&opt)
	return opt
}

// variant names the functions that a plan calls, and those that they call in turn where they choose.
func variant(p *kernel.Plan) string {
	l := p.Lower()
	return strings.Join(append(l.Functions(), l.Route), " ")
}

// keep has a layer run if it is one of the first examples of anything.
func (m *matrix) keep(l layer, functions string, examples ...string) {
	if !slices.ContainsFunc(examples, func(e string) bool { return m.kept[e] < m.sizes.keep }) {
		return
	}
	if _, err := interp.Run(l.graph, irtest.Inputs(l.graph, 1), nil); err != nil {
		if bug.Is(err) {
			m.t.Errorf("%v\n%s", err, l.graph)
		}
		return // data that the operator does not take
	}
	for _, e := range examples {
		m.kept[e]++
	}
	m.layers = append(m.layers, l)
	for _, f := range strings.Fields(functions) {
		m.called[f] = true
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
func (m *matrix) fill() {
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
			draws := m.sizes.draws + 3*kerneltest.FormsOf(d)
			if d.MACs != nil && kerneltest.Special(d) { // of which kernels have many variants
				draws *= m.sizes.products
			}
			for range draws {
				m.draw(d, p, everyKernel)
			}
		}
	}
	for _, k := range m.rows() {
		for try := 0; try < 20_000 && m.missing(k) != ""; try++ {
			d := k.Ops[m.rand.IntN(len(k.Ops))]
			m.draw(d, kerneltest.Precisions[m.rand.IntN(len(kerneltest.Precisions))],
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
	case m.skip != nil && m.skip(k):
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
	slices.SortStableFunc(m.layers, func(a, b layer) int { return cmp.Compare(a.wish, b.wish) })
	for from, count := 0, 0; from < len(m.layers); count++ {
		to := from + 1
		for to < min(len(m.layers), from+program) && m.layers[to].wish == m.layers[from].wish {
			to++
		}
		f(m.program(m.layers[from:to], count))
		from = to
	}
}

// program are layers as one program. Every other one has them in the order of NHWC where kernels take any.
func (m *matrix) program(layers []layer, count int) *kerneltest.Guarded {
	m.t.Helper()
	var text strings.Builder
	row := map[string]*kernel.Kernel{}
	text.WriteString("graph \"layers\" {\n")
	for i, l := range layers {
		text.WriteString(strings.ReplaceAll(inner(l.graph),
			l.graph.Nodes[0].Name[:strings.LastIndexByte(l.graph.Nodes[0].Name, '_')+1], fmt.Sprintf("m%d_", i)))
	}
	text.WriteString("}\n")
	g, err := ir.Parse(text.String(), op.Get)
	if err != nil {
		m.t.Fatalf("%v\n%.4000s", err, text.String())
	}
	for i, l := range layers {
		row[g.Nodes[i].Name] = l.row
	}
	order := func(rank int) []int {
		if count%2 == 0 || rank < 3 {
			return nil
		}
		return ir.NHWC(rank)
	}
	opt := m.wished(layers[0].wish)
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
	}, order, accepted(g, uint64(count+1)))
	x.Near, x.Within = true, 256.0/(1<<24) // as verify allows
	return x
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
		Armv6M: spec.Core == "cortex-m0" || spec.Core == "cortex-m0plus", Order: board.Order(spec)}
}

// machine is where layers of the rows of some tables run.
type machine struct {
	name   string
	board  string
	tables []string
	long   bool // with NNCC_LONG alone
	build  func(t *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions)
	skip   func(k *kernel.Kernel) bool
}

func plain(_ *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions) {
	return spec, run.BuildOptions{}
}

func noAsm(_ *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions) {
	return spec, kerneltest.NoAsm()
}

func clang(t *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions) {
	return kerneltest.Clang(t, spec), kerneltest.NoAsm()
}

func sanitized(_ *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions) {
	return spec, kerneltest.Sanitized()
}

// library is an installed CMSIS-NN in the place of nncc's sources.
func library(t *testing.T, spec *boards.Spec) (*boards.Spec, run.BuildOptions) {
	name := "CMSIS_NN_LIB"
	if core, ok := strings.CutPrefix(spec.Name, "cortex-"); ok {
		name += "_" + strings.ToUpper(core)
	}
	opt := run.BuildOptions{CMSISInclude: testenv.Get("CMSIS_NN_INCLUDE"), CMSISLib: testenv.Get(name)}
	if opt.CMSISInclude == "" || opt.CMSISLib == "" {
		t.Skipf("set CMSIS_NN_INCLUDE and %s to compare with a build of CMSIS-NN", name)
	}
	return spec, opt
}

func foreign(k *kernel.Kernel) bool { return k.Library != cmsisnn.Library }

// portable rows run the same on other cores.
func portable(k *kernel.Kernel) bool { return !kernel.IsOptimized(k.Library) }

// machines are the host, which runs the portable bodies of all kernels, a board of every kind of core, and compilers
// without assembly.
var machines = []machine{
	{"host", "host", []string{"host", "cortex-m55", "cortex-m4", "cortex-m3"}, false, sanitized, nil},
	{"cortex-m55", "cortex-m55", nil, false, plain, nil},
	{"cortex-m4", "cortex-m4", nil, false, plain, nil},
	{"cortex-m0plus", "cortex-m0plus", nil, false, plain, nil},
	{"cortex-m3", "cortex-m3", nil, false, plain, portable},
	{"cortex-m55 gcc", "cortex-m55", nil, false, noAsm, portable},
	{"cortex-m4 gcc", "cortex-m4", nil, false, noAsm, portable},
	{"host CMSIS-NN", "host", nil, false, library, foreign},
	{"cortex-m4 CMSIS-NN", "cortex-m4", nil, false, library, foreign},
	{"cortex-m55 CMSIS-NN", "cortex-m55", nil, false, library, foreign},
	{"cortex-m55 clang", "cortex-m55", nil, true, clang, nil},
	{"cortex-m4 clang", "cortex-m4", nil, true, clang, nil},
	{"cortex-m4 chips", "cortex-m4", []string{"stm32l4r5zi"}, false, plain, portable},
	{"cortex-m7 chips", "cortex-m7", []string{"stm32h7a3"}, false, plain, portable},
	{"cortex-m7", "cortex-m7", nil, true, plain, nil},
	{"cortex-m33", "cortex-m33", nil, true, plain, nil},
}

// TestKernels: every row of every board's table meets random layers of every operator that it computes, in every
// precision. Some it must take, some it must refuse, and what it takes gives the interpreter's results: under the
// sanitizers between guards, and on the board. Every row in every precision and every function is run. NNCC_KERNEL
// names some of them, NNCC_RANDOM=N runs N layers of every row, operator and precision, NNCC_BOARDS says where.
func TestKernels(t *testing.T) {
	for _, x := range machines {
		t.Run(x.name, func(t *testing.T) {
			v := testenv.Boards()
			if v != nil && !slices.Contains(v, x.board) || v == nil && x.long && !testenv.Long() {
				t.Skip("NNCC_LONG is not set, or NNCC_BOARDS names others")
			}
			spec, opt := x.build(t, load(t, x.board))
			kept, before, called := map[string]int{}, map[string]bool{}, map[string]bool{}
			tables := tablesOf(x)
			for i, table := range tables {
				m := newMatrix(t, table, sizes{draws: 4, products: 20, keep: 1, signed: x.board == "host"})
				m.skip, m.kept, m.called = x.skip, kept, called
				if i > 0 { // what is portable is the same on all cores
					m.skip = func(k *kernel.Kernel) bool { return portable(k) && before[k.Name] }
				}
				m.fill()
				if !strings.HasSuffix(x.name, "CMSIS-NN") {
					m.reach(x.skip == nil && i == len(tables)-1)
				}
				m.report()
				m.programs(func(g *kerneltest.Guarded) { g.RunBoard(t, spec, opt) })
				for _, l := range m.layers {
					before[l.row.Name] = true
				}
			}
		})
	}
}

func tablesOf(x machine) []string {
	if x.tables == nil {
		return []string{x.board}
	}
	return x.tables
}

// reach draws until layers call all functions of the core's families, and the portable ones where these are asked
// for. testdata/unrun.csv has patterns of those that have no layers, with the reason.
func (m *matrix) reach(portable bool) {
	if m.only != nil {
		return
	}
	core := m.opt.Core
	families := []struct {
		prefix string
		here   bool
	}{{"nncc_helium_", core.MVE}, {"nncc_dsp_", core.DSP && !core.MVE},
		{"nncc_plain_batch_matmul_", !core.DSP && !core.Host && !core.Armv6M},
		{"nncc_plain_widen_sums_", !core.DSP && !core.Host && !core.Armv6M}, {"nncc_plain_", !core.DSP && !core.Host},
		{"arm_convolve_1_x_n_", core.MVE && portable}, {"nncc_conv2d_packed_", core.FPU && portable},
		{"nncc_depthwise_conv2d_packed_", core.FPU && portable}}
	own := func(function string) bool {
		for _, o := range []kernel.Order{kernel.Ahead, kernel.Short} {
			has := strings.HasPrefix(function, "nncc_dsp_") && strings.Contains(function, string(o)+"_")
			if has || core.Order == o {
				return has && core.Order == o
			}
		}
		for _, f := range families {
			if strings.HasPrefix(function, f.prefix) {
				return f.here
			}
		}
		return portable
	}
	ops := []*ir.OpDef{op.Conv, op.Conv, op.Conv, op.Gemm, op.MatMul, op.Fused, op.Add, op.Max, op.Concat}
	var left []string
	for range 100 {
		if left = uncalled(m.t, m.called, own); len(left) == 0 {
			return
		}
		for range 400 {
			m.draw(ops[m.rand.IntN(len(ops))], kerneltest.Precisions[1+m.rand.IntN(3)],
				func(k *kernel.Kernel) bool { return kernel.IsOptimized(k.Library) })
		}
	}
	m.t.Errorf("no layer calls %v; draw some (forms.txt), or say in testdata/unrun.csv why not", left)
}

// uncalled are functions that are wanted and that neither those called are nor what these need.
func uncalled(t *testing.T, called map[string]bool, wanted func(function string) bool) []string {
	t.Helper()
	ran := map[string]bool{}
	for f := range called {
		if files, err := runtimec.Files(f); err == nil {
			for _, file := range files {
				ran[file.Path] = true
			}
		}
	}
	reasons := kerneltest.ReadTable(t, filepath.Join("testdata", "unrun.csv"))
	var left []string
	for _, file := range runtimec.All() {
		f := strings.TrimSuffix(path.Base(file.Path), ".c")
		excused := slices.ContainsFunc(reasons, func(r []string) bool {
			ok, err := path.Match(r[0], f)
			return err == nil && ok
		})
		if strings.HasSuffix(file.Path, ".c") && wanted(f) && !ran[file.Path] && !excused {
			left = append(left, f)
		}
	}
	return left
}
