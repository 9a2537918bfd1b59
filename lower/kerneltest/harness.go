// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/schedule"
)

// Model is a graph on its way through the compiler.
type Model struct {
	name   string    // in messages
	prefix string    // of C names
	graph  *ir.Graph // as built, for the interpreter
	in     []*tensor.Dense
	info   *codegen.Info
	files  []codegen.File
	types  []ir.Type // of the outputs
	arena  int
	tol    float64
	Funcs  map[string]int // functions called
}

// Setup is what a test wants of a model beside its graph.
type Setup struct {
	// Name stands in messages; "": the prefix.
	Name string
	Core kernel.Core
	// Seed makes the inputs where In does not give them.
	Seed uint64
	In   []*tensor.Dense
	// Order is forced upon the operands of Same kernels that have its rank.
	Order func(rank int) []int
	// Tol bounds max|a-b| / max|b| of float outputs; 0: bit for bit.
	Tol float64
}

// Compile takes a graph, which it consumes, to C for a core with the kernels of
// a table; the inputs follow from seed.
func Compile(t testing.TB, table kernel.Table, prefix string, g *ir.Graph, core kernel.Core, seed uint64) *Model {
	t.Helper()
	return Setup{Core: core, Seed: seed}.Compile(t, table, prefix, g)
}

// forced is a kernel's demand with the test's order in the place of "any order".
func (s Setup) forced(n *ir.Node, l kernel.Layout) kernel.Layout {
	rank := n.Out[0].Type.Rank()
	lower := func(v *ir.Value) bool { return v != nil && v.Const == nil && v.Type.Rank() < rank }
	if n.Op.Pattern <= ir.Broadcast && slices.ContainsFunc(n.In, lower) {
		return l // layout gives them the rank of the result first
	}
	if s.Order == nil || l.Kind != kernel.Same || s.Order(rank) == nil {
		return l
	}
	l = kernel.Layout{Kind: kernel.Fixed, In: make([][]int, len(n.In)), Out: make([][]int, len(n.Out))}
	for i, v := range n.In {
		if v != nil && v.Type.Rank() == rank {
			l.In[i] = s.Order(rank)
		}
	}
	for i := range n.Out {
		l.Out[i] = s.Order(rank)
	}
	return l
}

// Compile takes a graph, which it consumes, to C with the kernels of a table.
func (s Setup) Compile(t testing.TB, table kernel.Table, prefix string, g *ir.Graph) *Model {
	t.Helper()
	irtest.Verify(t, g)
	m := &Model{name: cmp.Or(s.Name, prefix), prefix: prefix, graph: g.Clone(), in: s.In, tol: s.Tol,
		Funcs: map[string]int{}}
	if m.in == nil {
		m.in = irtest.Inputs(g, s.Seed)
	}
	plans := table.Plans(&kernel.Options{Core: s.Core})
	rules := func(n *ir.Node) kernel.Layout {
		if _, err := plans.Of(n); err != nil {
			t.Fatalf("%s: %v\n%s", m.name, err, g)
		}
		return s.forced(n, plans.Layout(n))
	}
	if err := layout.Assign(g, rules, layout.Options{}); err != nil {
		t.Fatalf("%s: layout: %v", m.name, err)
	}
	irtest.Verify(t, g)
	low, err := plans.Lowered(g.Nodes)
	if err != nil {
		t.Fatalf("%s: %v\n%s", m.name, err, g)
	}
	for _, l := range low {
		m.Funcs[l.Kernel]++
	}
	r, err := schedule.Build(g, low)
	if err != nil {
		t.Fatalf("%s: schedule: %v\n%s", m.name, err, g)
	}
	m.arena = r.Program.ArenaBytes
	files, infos, err := codegen.Generate([]codegen.Model{{Program: r.Program, Prefix: prefix, Source: prefix}},
		codegen.Options{Board: "test"})
	if err != nil {
		t.Fatalf("%s: codegen: %v\n%s", m.name, err, g)
	}
	m.files, m.info = called(files), infos[0]
	for _, v := range g.Out {
		m.types = append(m.types, v.Type)
	}
	return m
}

// called leaves out the helpers between reals and inputs and outputs, which no test of kernels calls: of a model with
// hundreds of inputs they take a compiler longer than all kernels.
func called(files []codegen.File) []codegen.File {
	return slices.DeleteFunc(slices.Clone(files), func(f codegen.File) bool {
		return strings.HasSuffix(f.Path, "_io.c")
	})
}

const mainHead = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void get(void *p, size_t n) { if (n > 0 && fread(p, 1, n, stdin) != n) { exit(3); } }
static void put(const void *p, size_t n) { if (n > 0) { (void)fwrite(p, 1, n, stdout); } }
`

const warnings = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror " +
	"-ffp-contract=off -O0 "

// RunHost compiles all models into one program, runs it once, and compares
// every output; everything runs under the sanitizers.
func RunHost(t *testing.T, models []*Model) {
	t.Helper()
	cc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	write := func(path string, data []byte) { writeFile(t, dir, path, data) }
	var src, kernels, stdin bytes.Buffer
	seen := map[string]bool{}
	var alone []string // sources that are compiled one by one, the others as one file
	src.WriteString(mainHead)
	kernels.WriteString("typedef int nncc_not_empty; /* ISO C wants a declaration */\n")
	for _, m := range models {
		for _, f := range m.files {
			switch {
			case seen[f.Path]:
			case !strings.HasPrefix(f.Path, "nncc/"):
				write(f.Path, f.Data)
				if strings.HasSuffix(f.Path, ".c") {
					fmt.Fprintf(&src, "#include %q\n", f.Path)
				}
			default:
				seen[f.Path] = true
				write(f.Path, f.Data)
				switch {
				case !strings.HasSuffix(f.Path, ".c"):
				case strings.HasPrefix(f.Path, "nncc/helium/"): // shared bodies, told apart by macros
					alone = append(alone, f.Path)
				default:
					fmt.Fprintf(&kernels, "#include %q\n", f.Path)
				}
			}
		}
	}
	src.WriteString("int main(void)\n{\n    void *a;\n    int status;\n")
	for _, m := range models {
		fmt.Fprintf(&src, "    a = aligned_alloc(16, %d); memset(a, 0xa5, %d);\n", (m.arena+15)&^15, m.arena)
		for i, x := range m.info.Inputs {
			fmt.Fprintf(&src, "    get(%s_%s(a), %d);\n", m.prefix, x.CName, x.Bytes)
			stdin.Write(m.in[i].Bytes())
		}
		fmt.Fprintf(&src, "    status = (int)%s_run(a); put(&status, sizeof status);\n", m.prefix)
		for _, x := range m.info.Outputs {
			fmt.Fprintf(&src, "    put(%s_%s(a), %d);\n", m.prefix, x.CName, x.Bytes)
		}
		src.WriteString("    free(a);\n")
	}
	src.WriteString("    return 0;\n}\n")
	write("main.c", src.Bytes())
	write("kernels.c", kernels.Bytes())
	flags, sanitize := warnings+"-I. -Inncc -Inncc/cmsis_nn ", "-fsanitize=address,undefined -fno-sanitize-recover=all "
	gcc := func(args string) {
		cmd := exec.Command(cc, strings.Fields(args)...)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %v\n%s", args, err, msg[:min(len(msg), 6000)])
		}
	}
	gcc(flags + "-std=c11 -c main.c") // models only pass pointers on; C11 for aligned_alloc
	gcc(flags + sanitize + "-std=c99 -c kernels.c")
	objects := "main.o kernels.o "
	for i, f := range alone {
		o := fmt.Sprintf("alone%d.o", i)
		gcc(flags + sanitize + "-std=c99 -c " + f + " -o " + o)
		objects += o + " "
	}
	gcc(sanitize + objects + " -lm -o run")
	var out, msg bytes.Buffer
	cmd := exec.Command(filepath.Join(dir, "run"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &stdin, &out, &msg
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if err := cmd.Run(); err != nil {
		t.Fatalf("running: %v\n%s", err, msg.Bytes()[:min(msg.Len(), 6000)])
	}
	for _, m := range models {
		status := out.Next(4)
		if len(status) < 4 || status[0] != 0 {
			t.Errorf("%s: status %v\n%s", m.name, status, m.graph)
		}
		var got [][]byte
		for _, ty := range m.types {
			got = append(got, bytes.Clone(out.Next(ty.Bytes())))
		}
		m.compare(t, got)
	}
}

// compare judges the outputs of a model against the interpreter.
func (m *Model) compare(t *testing.T, got [][]byte) {
	t.Helper()
	want, err := interp.Run(m.graph, m.in, nil)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	for i := range m.types {
		w := want[i].Bytes()
		if bytes.Equal(w, got[i]) || m.near(t, i, want[i], got[i]) {
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
		t.Errorf("%s: output %s: %d of %d bytes differ, first at %d", m.name, m.graph.OutNames[i], n, len(w), first)
	}
}

// near reports whether output i is float and within the tolerance.
func (m *Model) near(t *testing.T, i int, want *tensor.Dense, got []byte) bool {
	t.Helper()
	if m.tol == 0 || !m.types[i].DType.IsFloat() {
		return false
	}
	d, err := tensor.FromBytes(m.types[i].DType, m.types[i].Shape, got)
	if err != nil {
		t.Fatalf("%s: output %s: %v", m.name, m.graph.OutNames[i], err)
	}
	diff := irtest.Diff(d, want)
	if diff > m.tol {
		t.Logf("%s: output %s: max|a-b|/max|b| = %.3g, at most %.3g is allowed\n%s\ngot  %v\nwant %v", m.name,
			m.graph.OutNames[i], diff, m.tol, m.graph, values(d), values(want))
	}
	return diff <= m.tol
}

func values(d *tensor.Dense) string {
	s := fmt.Sprint(d.Data)
	return s[:min(len(s), 400)]
}
