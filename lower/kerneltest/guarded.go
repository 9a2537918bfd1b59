// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/schedule"
)

// Guarded is a graph of independent layers as C, every buffer between guards.
type Guarded struct {
	Rows   map[string]int    // layers by the kernel that took them
	Near   bool              // floats may differ in the last bits, as C libraries do
	Within float64           // Near for float32 where the last bits have consequences, as in recurrent layers
	takes  map[string]string // the kernel that computes a node, by its name
	graph  *ir.Graph         // as built, for the interpreter
	in     []*tensor.Dense
	inputs []port // as the harness gives them, and the outputs as it reads them: state is behind the others
	out    []port
	plan   *schedule.Result
	gaps   []region
	state  int        // where the state lies in the memory of the arena, which it ends
	each   bool       // every layer by itself, with a status: see RunCases
	over   []Distance // inputs that results may lie over, and those that RunOverlaps tries
	tried  []Distance
	behind int // where memory for tests begins, behind the buffers
	info   *codegen.Info
	files  []codegen.File
}

// region is a run of bytes in the arena.
type region struct{ Off, Bytes int }

// port is input or output i of the graph, which a function in C finds.
type port struct {
	i    int
	t    ir.Type
	io   run.IO
	kept bool // state that is copied behind the last step
}

const layersPrefix = "layers"

// Guard lowers a graph, which it consumes, with the kernels of table, and
// gives every buffer a place of its own between guards.
func Guard(t testing.TB, g *ir.Graph, table kernel.Table, opt kernel.Options, seed uint64) *Guarded {
	t.Helper()
	return GuardRows(t, g, func(n *ir.Node) *kernel.Plan {
		c, err := table.Match(n, &opt)
		if err != nil {
			t.Fatalf("%v\n%s", err, n)
		}
		return c.Plan
	}, nil, seed)
}

// GuardRows is Guard with the plan of each node. Kernels that take
// operands in any one order get them in order(rank); nil: as in the graph.
func GuardRows(t testing.TB, g *ir.Graph, match func(n *ir.Node) *kernel.Plan, order func(rank int) []int,
	seed uint64) *Guarded {
	t.Helper()
	return guardRows(t, g, match, order, seed, false)
}

// guardRows is GuardRows; each makes room behind the arena for the status of every step.
func guardRows(t testing.TB, g *ir.Graph, match func(n *ir.Node) *kernel.Plan, order func(rank int) []int, seed uint64,
	each bool) *Guarded {
	t.Helper()
	irtest.Verify(t, g)
	var pairs [][2]int
	if each {
		pairs = statesOf(g)
	}
	m := &Guarded{each: each, Rows: map[string]int{}, takes: map[string]string{}, graph: g.Clone(),
		in: irtest.Inputs(g, seed)}
	plans := map[*ir.Node]*kernel.Plan{}
	plan := func(n *ir.Node) *kernel.Plan {
		if plans[n] == nil {
			plans[n] = match(n)
		}
		return plans[n]
	}
	rules := func(n *ir.Node) kernel.Layout { return forced(order, n, plan(n).Layout) }
	// Inputs and outputs stay in the kernels' own order: no conversions.
	if err := layout.Assign(g, rules, layout.Options{NativeIO: true}); err != nil {
		t.Fatalf("layout: %v", err)
	}
	low, stated := map[*ir.Node]*call.Lowered{}, map[*ir.Node][]call.Overlap{}
	for _, n := range g.Nodes {
		c := plan(n)
		l := c.Lower()
		if (l.View || len(l.Parts) > 0) && n.Op.View == ir.NoView {
			t.Errorf("%s lowers %s without code, but the definition of the operator says no View", c.Kernel.Name, n)
		}
		if !each {
			stated[n], l.Overlap = l.Overlap, nil // the layers run twice on the same inputs
		}
		m.Rows[c.Kernel.Name]++
		m.takes[n.Name] = c.Kernel.Name + " (" + l.Kernel + ")"
		low[n] = l
	}
	var err error
	var states []schedule.StateBinding
	for _, x := range pairs {
		if in, out := g.In[x[0]], g.Out[x[1]]; in.Type.SameMemory(out.Type.Order) {
			states = append(states, schedule.StateBinding{In: in, Out: out})
		}
	}
	if m.plan, err = schedule.Build(g, low, states...); err != nil {
		t.Fatalf("schedule: %v", err)
	}
	m.spread()
	if each {
		m.plan.Program.ArenaBytes += len(m.plan.Nodes) + -len(m.plan.Nodes)&15
	} else {
		m.behind = m.plan.Program.ArenaBytes
		m.plan.Program.ArenaBytes += m.overlaps(low, stated)
	}
	files, infos, err := codegen.Generate([]codegen.Model{{Program: m.plan.Program, Prefix: layersPrefix,
		Source: layersPrefix}}, codegen.Options{Board: "test"})
	if err != nil {
		t.Fatalf("codegen: %v", err)
	}
	m.files, m.info = called(files), infos[0]
	m.ports(g)
	return m
}

// statesOf pairs inputs of every second layer with outputs of their type, or with themselves as outputs: state.
func statesOf(g *ir.Graph) (pairs [][2]int) {
	for k, n := range g.Nodes {
		taken := map[int]bool{}
		for _, v := range n.In {
			i, o := slices.Index(g.In, v), -1
			if i < 0 || k%2 == 0 || taken[i] || len(v.Uses()) > 1 {
				continue
			}
			taken[i] = true
			for _, y := range n.Out {
				at := slices.Index(g.Out, y)
				used := slices.ContainsFunc(pairs, func(p [2]int) bool { return p[1] == at })
				if at >= 0 && !used && y.Type.Equal(v.Type) {
					o = at
				}
			}
			if o < 0 {
				o, g.Out, g.OutNames = len(g.Out), append(g.Out, v), append(g.OutNames, v.Name+".kept")
			}
			pairs = append(pairs, [2]int{i, o})
		}
	}
	return pairs
}

// ports lists the inputs and outputs of the graph: those that the model has functions for, and its state.
func (m *Guarded) ports(g *ir.Graph) {
	p := m.plan.Program
	in, out := map[int]bool{}, map[int]bool{}
	for _, x := range p.States {
		in[x.In], out[x.Out] = true, true
	}
	list := func(values []*ir.Value, hidden map[int]bool, infos []codegen.IOInfo) (ports []port) {
		for i, v := range values {
			if !hidden[i] {
				x := infos[len(ports)]
				io := run.IO{Name: x.Name, CFunc: layersPrefix + "_" + x.CName, Bytes: x.Bytes}
				ports = append(ports, port{i: i, t: v.Type, io: io})
			}
		}
		return ports
	}
	m.inputs, m.out = list(g.In, in, m.info.Inputs), list(g.Out, out, m.info.Outputs)
	for i, x := range p.States {
		io := run.IO{Name: fmt.Sprint("state", i), CFunc: fmt.Sprintf("layers_kept_%d", i),
			Bytes: p.Buffers[p.Inputs[x.In].Buffer].Type.Bytes()}
		m.inputs = append(m.inputs, port{i: x.In, t: g.In[x.In].Type, io: io})
		m.out = append(m.out, port{i: x.Out, t: g.Out[x.Out].Type, io: io, kept: !p.InPlace(x)})
	}
}

// given are inputs of the graph as the harness gives them.
func (m *Guarded) given(in []*tensor.Dense) (out [][]byte) {
	for _, x := range m.inputs {
		out = append(out, in[x.i].Transpose(x.t.OrderOrIdentity()).Bytes())
	}
	return out
}

// gapBytes is the least number of bytes between buffers.
const gapBytes = 32

// spread moves every buffer to a place of its own and notes what lies between.
func (m *Guarded) spread() {
	p := m.plan.Program
	at := 0
	gap := func() {
		end := (at + gapBytes + program.Align - 1) / program.Align * program.Align
		m.gaps = append(m.gaps, region{at, end - at})
		at = end
	}
	gap()
	inside := make([]int, len(p.Buffers)) // how far an alias lies behind the beginning of the other buffer
	for i, b := range p.Buffers {
		if b.AliasOf >= 0 {
			inside[i] = b.Offset - p.Buffers[b.AliasOf].Offset
		}
	}
	for _, kept := range []bool{false, true} {
		if kept {
			m.state = at
		}
		for i := range p.Buffers {
			if b := &p.Buffers[i]; b.AliasOf < 0 && b.Kept == kept {
				b.Offset = at - m.state
				at += b.Bytes
				gap()
			}
		}
	}
	for i := range p.Buffers {
		if a := p.Buffers[i].AliasOf; a >= 0 {
			p.Buffers[i].Offset = p.Buffers[a].Offset + inside[i]
		}
	}
	p.ArenaBytes, p.StateBytes = at, at-m.state
}

//go:embed testdata/*.c.tmpl
var testSources embed.FS

var testTemplates = template.Must(template.ParseFS(testSources, "testdata/*.c.tmpl"))

// source is C of testdata for the layers.
func source(name string, view any) []byte {
	var b bytes.Buffer
	err := testTemplates.ExecuteTemplate(&b, name+".c.tmpl", view)
	bug.If(err != nil, "%w", err)
	return b.Bytes()
}

// guarded is C that runs the layers twice between guards of different content
// and holds outputs and guards against each other: layers_guarded returns 0,
// the status of the model, 1000 and the number of a guard that was written to,
// or 100000 and that of an output that differs. With each, see RunCases, it runs every layer by itself, between
// guards, whatever the layers before it gave: 0 where each has the status that layers_expected holds, else 200000 and
// 16 times the step with its status.
func (m *Guarded) guarded() []byte {
	if m.tried != nil {
		return m.distances(m.tried)
	}
	var work, out []region
	inside := func(at int) bool { // a view leaves its result in an input, or in a part of one
		return slices.ContainsFunc(m.info.Inputs, func(x codegen.IOInfo) bool {
			return at >= x.Offset && at < x.Offset+max(x.Bytes, 1)
		})
	}
	for _, x := range m.info.Outputs {
		out = append(out, region{x.Offset, x.Bytes})
		if !inside(x.Offset) {
			work = append(work, region{x.Offset, x.Bytes})
		}
	}
	for _, x := range m.plan.Program.Buffers {
		if x.IsScratch() {
			work = append(work, region{x.Offset, x.Bytes})
		}
	}
	state, steps := "", len(m.plan.Nodes)
	if len(m.info.States) > 0 {
		state = fmt.Sprintf("a + %d,", m.state)
	}
	return source("guarded", struct {
		Gaps, Work, Outputs []region
		Each                bool
		State               string
		Steps, Expected     int
	}{m.gaps, work, out, m.each, state, steps, m.plan.Program.ArenaBytes - steps - -steps&15})
}

func writeFile(t testing.TB, dir, path string, data []byte) {
	t.Helper()
	p := filepath.Join(dir, filepath.FromSlash(path))
	testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
	testenv.OK(t, os.WriteFile(p, data, 0o644))
}

// strict are the flags that emitted C must survive.
const strict = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes " +
	"-Werror"

// RunBoard builds the layers for a board with its default flags, runs them
// under QEMU, compares, and gives the instructions of every layer by its node's
// name.
func (m *Guarded) RunBoard(t *testing.T, spec *boards.Spec, opt run.BuildOptions) map[string]uint64 {
	t.Helper()
	im, c := m.build(t, spec, opt)
	defer im.Close()
	res := testenv.Must(run.Run(context.Background(), spec, im, []run.Case{c}))(t)
	if s := int(res.Cases[0].Status); s >= 100000 && s-100000 < len(m.graph.Out) {
		d := m.graph.Out[s-100000].Def
		t.Errorf("two runs differ: %s by %s\n%s", d, m.takes[d.Name], lineOf(m.graph, d.Out[0].Name))
		return nil
	} else if s != 0 {
		m.written(t, s)
		return nil
	}
	m.compare(t, res.Cases[0].Outputs)
	counts := map[string]uint64{}
	for i, n := range res.Layers {
		counts[m.plan.Nodes[i].Name] = n
	}
	return counts
}

// written says which guard a status names that was written to.
func (m *Guarded) written(t *testing.T, s int) {
	t.Helper()
	at := m.gaps[max(0, min(s-1000, len(m.gaps)-1))].Off
	for _, b := range m.plan.Program.Buffers {
		if b.Kept {
			b.Offset += m.state
		}
		if s >= 1000 && b.Offset+b.Bytes == at {
			t.Errorf("the bytes behind %s were written to: %v\n%s", b.Name, m.takes[b.Name],
				lineOf(m.graph, strings.TrimSuffix(b.Name, ".relayout")))
		}
	}
	t.Errorf("status %d", s)
}

// build builds the layers for a board; Trace has every step run once, between no guards.
func (m *Guarded) build(t *testing.T, spec *boards.Spec, opt run.BuildOptions) (*run.Image, run.Case) {
	t.Helper()
	if spec.Runner.Kind == "qemu" {
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		testenv.Tool(t, "qemu", "qemu-system-arm")
	} else {
		testenv.Tool(t, "cc", "gcc")
	}
	dir := t.TempDir()
	h := run.Model{Name: layersPrefix, Header: layersPrefix + ".h", ArenaMacro: m.info.ArenaMacro,
		RunFunc: "layers_guarded", Steps: m.info.StepNames}
	if opt.Trace {
		h.RunFunc = layersPrefix + "_run" // a step runs once
	}
	declared := m.declare(&h)
	for _, f := range m.files {
		data := f.Data
		if f.Path == layersPrefix+".h" {
			data = bytes.Replace(data, []byte("nncc_status layers_run("), []byte(declared+"\nnncc_status layers_run("),
				1)
		} else if f.Path == layersPrefix+".c" && m.tried != nil {
			data = movable(m.tried, data)
		}
		writeFile(t, dir, f.Path, data)
	}
	for _, f := range run.HarnessFiles(spec, h) {
		writeFile(t, dir, f.Path, f.Data)
	}
	if !opt.Trace {
		writeFile(t, dir, "guarded.c", m.guarded())
	}
	im := testenv.Must(run.Build(context.Background(), spec, dir, opt))(t)
	return im, run.Case{Inputs: m.given(m.in)}
}

// declare gives the harness its inputs and outputs, and what the header says of them.
func (m *Guarded) declare(h *run.Model) string {
	declared := "int layers_guarded(void *arena);"
	for _, x := range m.inputs {
		h.Inputs = append(h.Inputs, x.io)
	}
	if m.each {
		h.Inputs = append(h.Inputs, run.IO{Name: "expected", CFunc: "layers_expected", Bytes: len(m.plan.Nodes)})
		declared += "\nuint8_t *layers_expected(void *arena);"
	}
	for _, x := range m.out {
		h.Outputs = append(h.Outputs, x.io)
	}
	if m.tried != nil {
		h.Outputs = append(h.Outputs, run.IO{Name: "least", CFunc: "layers_least", Bytes: 16 * len(m.tried)})
		declared += "\nconst uint8_t *layers_least(const void *arena);"
	}
	for i, x := range m.plan.Program.States {
		declared += fmt.Sprintf("\n#define layers_kept_%d(arena) ((uint8_t *)(uintptr_t)(arena) + %d)", i,
			m.state+m.plan.Program.Buffers[m.plan.Program.Inputs[x.In].Buffer].Offset)
	}
	return declared
}

// compare judges the outputs, in memory order, against the interpreter.
func (m *Guarded) compare(t *testing.T, got [][]byte) {
	t.Helper()
	want := testenv.Must(interp.Run(m.graph, m.in, nil))(t)
	m.same(t, got, want)
}

// same holds outputs, in memory order, against what is wanted; nil: anything.
func (m *Guarded) same(t *testing.T, got [][]byte, want []*tensor.Dense) {
	t.Helper()
	bad := 0
	for i, x := range m.out {
		if want[x.i] == nil {
			continue
		}
		w := want[x.i].Transpose(x.t.OrderOrIdentity()).Bytes()
		if bytes.Equal(w, got[i]) || m.Near && near(x.t, w, got[i], max(m.Within, 1e-6)) {
			continue
		}
		n, first := 0, -1
		for k := range w {
			if k >= len(got[i]) || got[i][k] != w[k] {
				if n++; first < 0 {
					first = k
				}
			}
		}
		if bad++; bad <= 10 {
			v := m.graph.Out[x.i]
			if v.Def == nil {
				t.Errorf("state %s is written to\n%s", v, lineOf(m.graph, v.Uses()[0].Node.Out[0].Name))
				continue
			}
			t.Errorf("%d of %d bytes differ, first at %d: %s by %s\n%s", n, len(w), first, v.Def, m.takes[v.Def.Name],
				lineOf(m.graph, v.Def.Out[0].Name))
		}
	}
	if bad > 10 {
		t.Errorf("%d layers differ", bad)
	}
}

// near reports floats that differ by a rounding of the type's (for float32, by
// as much as given), relative to the largest.
func near(ty ir.Type, want, got []byte, f32 float64) bool {
	tol := map[tensor.DType]float64{tensor.F32: f32, tensor.F64: 1e-13, tensor.F16: 1e-3, tensor.BF16: 8e-3}[ty.DType]
	a, errA := tensor.FromBytes(ty.DType, ty.Shape, got)
	b, errB := tensor.FromBytes(ty.DType, ty.Shape, want)
	return ty.DType.IsFloat() && errA == nil && errB == nil && irtest.Diff(a, b) <= tol
}

// lineOf is the text of the node that makes a value, with the types of what it reads.
func lineOf(g *ir.Graph, value string) string {
	var b strings.Builder
	for _, n := range g.Nodes {
		if n.Out[0].Name != value {
			continue
		}
		for _, v := range n.In {
			if v != nil {
				fmt.Fprintf(&b, "  %s : %.300s\n", v, v.Type)
			}
		}
	}
	for _, l := range strings.Split(g.String(), "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), "%"+value+" ") {
			b.WriteString(l)
		}
	}
	return b.String()
}
