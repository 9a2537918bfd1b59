package refc_test

import (
	"bytes"
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
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/target"
	"github.com/nncc/nncc/lower/target/refc"
	"github.com/nncc/nncc/schedule"
)

// kase is a small graph that is compiled to C, run, and compared with the
// interpreter.
type kase struct {
	name string
	src  string // graph in text form
	// order, when set, is the memory order forced upon the operands of Same
	// kernels that have its rank: "nhwc" or a list such as "2013".
	order string
	// tol bounds max|a-b| / max|b| of float outputs; 0: defaultTol.
	tol float64
	// in replaces the seeded inputs.
	in []*tensor.Dense
	// kernel, when set, is the row that the last node must be lowered by.
	kernel string
	// route, when set, is the function that the last node must call.
	route string
}

// defaultTol is a few ulp of the largest output.
const defaultTol = 1e-6

// model is a case on its way through the compiler.
type model struct {
	kase
	prefix string
	graph  *ir.Graph // as parsed, for the interpreter
	in     []*tensor.Dense
	info   *codegen.Info
	files  []codegen.File
	types  []ir.Type // of the outputs
	arena  int
}

var table = target.NewTable(refc.Kernels)

// order is the memory order that a case forces on a value of the given rank.
func (k *kase) forced(rank int) []int {
	if k.order == "nhwc" {
		return ir.NHWC(rank)
	}
	if len(k.order) != rank {
		return nil
	}
	o := make([]int, rank)
	for i, c := range k.order {
		o[i] = int(c - '0')
	}
	return o
}

// layouts are the demands of the chosen kernels, with the case's order put in
// the place of "any order".
func (k *kase) layouts(t testing.TB) layout.Rules {
	return func(n *ir.Node) target.Layout {
		c, err := table.Choose(n, &target.Options{})
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		l := c.Kernel.Layout(n)
		rank := n.Out[0].Type.Rank()
		if o := k.forced(rank); l.Kind == target.Same && o != nil {
			l = target.Layout{Kind: target.Fixed}
			for _, v := range n.In {
				if v != nil && v.Type.Rank() == rank {
					l.In = append(l.In, o)
				} else {
					l.In = append(l.In, nil)
				}
			}
			for range n.Out {
				l.Out = append(l.Out, o)
			}
		}
		return l
	}
}

// lowered chooses and lowers every node of a graph whose layouts are set.
func lowered(t testing.TB, name string, g *ir.Graph) map[*ir.Node]schedule.Lowering {
	low := map[*ir.Node]schedule.Lowering{}
	for _, n := range g.Nodes {
		c, err := table.Choose(n, &target.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		l, err := c.Kernel.Lower(n, &target.Options{})
		if err != nil {
			t.Fatalf("%s: %s: %v", name, c.Kernel.Name, err)
		}
		low[n] = schedule.Lowering{Low: l, Choice: c}
	}
	return low
}

func (k kase) build(t testing.TB, i int) *model {
	t.Helper()
	m := &model{kase: k, prefix: fmt.Sprintf("m%03d", i)}
	g, err := ir.Parse("graph \"g\" {\n"+k.src+"\n}", op.Get)
	if err != nil {
		t.Fatalf("%s: %v\n%s", k.name, err, k.src)
	}
	if errs := g.Verify(); len(errs) > 0 {
		t.Fatalf("%s: %v\n%s", k.name, errs, g)
	}
	m.graph = g.Clone()
	m.in = k.in
	if m.in == nil {
		m.in = irtest.Inputs(g, uint64(i)+1)
	}
	if k.kernel != "" {
		c, err := table.Choose(g.Nodes[len(g.Nodes)-1], &target.Options{})
		if err != nil || c.Kernel.Name != k.kernel {
			t.Fatalf("%s: kernel %v (%v), want %s", k.name, c.Kernel, err, k.kernel)
		}
	}
	if err := layout.Assign(g, k.layouts(t), layout.Options{}); err != nil {
		t.Fatalf("%s: layout: %v", k.name, err)
	}
	if errs := g.Verify(); len(errs) > 0 {
		t.Fatalf("%s: after layout: %v\n%s", k.name, errs, g)
	}
	low := lowered(t, k.name, g)
	if k.route != "" {
		found := false
		for n, l := range low {
			found = found || n.Op == m.graph.Nodes[len(m.graph.Nodes)-1].Op && l.Low.Kernel == k.route
		}
		if !found {
			t.Errorf("%s: no node calls %s", k.name, k.route)
		}
	}
	p, err := schedule.Build(g, low)
	if err != nil {
		t.Fatalf("%s: schedule: %v\n%s", k.name, err, g)
	}
	m.arena = p.ArenaBytes
	m.files, m.info, err = codegen.Generate(p, codegen.Options{Prefix: m.prefix, Source: k.name, Board: "host"})
	if err != nil {
		t.Fatalf("%s: codegen: %v\n%s", k.name, err, g)
	}
	for _, v := range g.Out {
		m.types = append(m.types, v.Type)
	}
	return m
}

const mainHead = `#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void get(void *p, size_t n) { if (n > 0 && fread(p, 1, n, stdin) != n) { exit(3); } }
static void put(const void *p, size_t n) { if (n > 0) { (void)fwrite(p, 1, n, stdout); } }
`

// runCases compiles all cases into one program with the sanitizers, runs it
// once, and compares every output.
func runCases(t *testing.T, cases []kase) {
	t.Helper()
	cc, err := exec.LookPath("gcc")
	if err != nil {
		if slices.Contains(strings.Split(os.Getenv("NNCC_REQUIRE"), ","), "cc") {
			t.Fatal("gcc: not found, but NNCC_REQUIRE lists cc")
		}
		t.Skip("gcc not found")
	}
	dir := t.TempDir()
	write := func(path string, data []byte) {
		p := filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var models []*model
	var src, kernels, stdin bytes.Buffer
	seen := map[string]bool{}
	src.WriteString(mainHead)
	for i, k := range cases {
		m := k.build(t, i)
		models = append(models, m)
		for _, f := range m.files {
			switch {
			case !strings.HasPrefix(f.Path, "nncc/"):
				write(f.Path, f.Data)
				if strings.HasSuffix(f.Path, ".c") && !strings.HasSuffix(f.Path, "_io.c") { // float helpers are not under test
					fmt.Fprintf(&src, "#include %q\n", f.Path)
				}
			case !seen[f.Path]:
				seen[f.Path] = true
				write(f.Path, f.Data)
				if strings.HasSuffix(f.Path, ".c") {
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
	const warn = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Werror -O0 -ffp-contract=off -I. -Inncc -Inncc/cmsis_nn "
	const sanitize = "-fsanitize=address,undefined -fno-sanitize-recover=all "
	gcc := func(args string) {
		cmd := exec.Command(cc, strings.Fields(args)...)
		cmd.Dir = dir
		if msg, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("gcc %s: %v\n%s", args, err, head(msg))
		}
	}
	gcc(warn + "-std=c11 -c main.c") // models only pass pointers on; C11 for aligned_alloc
	gcc(warn + sanitize + "-std=c99 -c kernels.c")
	gcc(sanitize + "main.o kernels.o -lm -o run")
	var out, msg bytes.Buffer
	cmd := exec.Command(filepath.Join(dir, "run"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = &stdin, &out, &msg
	cmd.Env = append(os.Environ(), "ASAN_OPTIONS=detect_leaks=0")
	if err := cmd.Run(); err != nil {
		t.Fatalf("running: %v\n%s", err, head(msg.Bytes()))
	}
	for _, m := range models {
		m.compare(t, &out)
	}
}

func head(b []byte) []byte { return b[:min(len(b), 6000)] }

// compare reads the outputs of one model and judges them.
func (m *model) compare(t *testing.T, out *bytes.Buffer) {
	t.Helper()
	status := out.Next(4)
	if len(status) < 4 || status[0] != 0 {
		t.Errorf("%s: status %v", m.name, status)
	}
	want, err := interp.Run(m.graph, m.in, nil)
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	for i, ty := range m.types {
		got, err := tensor.FromBytes(ty.DType, ty.Shape, out.Next(ty.Bytes()))
		if err != nil {
			t.Fatalf("%s: output %d: %v", m.name, i, err)
		}
		tol := 0.0
		if ty.DType.IsFloat() {
			if tol = m.tol; tol == 0 {
				tol = defaultTol
			}
		}
		if d := irtest.Diff(got, want[i]); d > tol {
			t.Errorf("%s: output %d: max|a-b|/max|b| = %.3g, at most %.3g is allowed\n%s\ngot  %v\nwant %v", m.name, i, d, tol, m.src, values(got), values(want[i]))
		}
	}
}

func values(d *tensor.Dense) string {
	s := fmt.Sprint(d.Data)
	return s[:min(len(s), 400)]
}
