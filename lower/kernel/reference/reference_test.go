// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/kernel/cmsisnn"
	"github.com/nncc/nncc/lower/kernel/loops"
	"github.com/nncc/nncc/lower/kernel/reference"
	"github.com/nncc/nncc/lower/kerneltest"
)

var table = kernel.NewTable(reference.Kernels)

// promised are the operators that nncc compiles in float32 and in int8: T
// stands for the element type, Q for a quantisation, W for one of weights.
//
//go:embed testdata/promised.txt
var promised string

// sample is the graph of a promised operator in float32 or int8.
func sample(t *testing.T, line, dtype string) *ir.Graph {
	_, body, _ := strings.Cut(line, ": ")
	q, w := "", ""
	if dtype == "i8" {
		q, w = "q(0.05:3)", "q(0.02:0)"
	}
	fill := func(s string) string {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "T[", dtype+"["), " W", " "+w)
		s = strings.ReplaceAll(s, " Q", " "+q)
		if dtype == "f32" {
			s = strings.ReplaceAll(s, "q(0.00390625:-128)", "")
		}
		return s
	}
	src := ""
	parts := strings.Split(body, "; ")
	for _, p := range parts[:len(parts)-1] {
		f := strings.SplitN(fill(p), " ", 3)
		typ, data, _ := strings.Cut(f[2], " {")
		switch {
		case f[0] == "in":
			src += "in %" + f[1] + " : " + f[2] + "\n"
		case data != "":
			src += "const %" + f[1] + " : " + typ + " = {" + data + "\n"
		default:
			src += "const %" + f[1] + " : " + typ + " = rand 3\n"
		}
	}
	typ, node, _ := strings.Cut(fill(parts[len(parts)-1]), " = ")
	outs := "%o : " + typ
	if strings.HasPrefix(node, "Split") {
		outs += ", %p : " + typ
	}
	src += "const %axis : i64[1] = {2}\n" + outs + " = " + node + "\nout \"o\" = %o"
	g, err := ir.Parse("graph \"g\" {\n"+src+"\n}", op.Get)
	testenv.Require(t, err == nil, "%s: %v\n%s", line, err, src)
	return g
}

// TestEveryPromisedOperator asserts a row for every operator of the main job:
// of this package or of loops in float32, of either library in int8.
func TestEveryPromisedOperator(t *testing.T) {
	for _, lib := range []struct {
		dtype string
		table kernel.Table
	}{{"f32", kernel.NewTable(reference.Kernels, loops.Kernels)},
		{"i8", kernel.NewTable(cmsisnn.Kernels, reference.Kernels)}} {
		for _, line := range strings.Split(strings.TrimSpace(promised), "\n") {
			g := sample(t, line, lib.dtype)
			n := g.Nodes[len(g.Nodes)-1]
			_, err := lib.table.Match(n, &kernel.Options{})
			testenv.Check(t, err == nil, "%s: %v", lib.dtype, err)
		}
	}
}

// TestRows checks that rows have what lists print and compilations need.
func TestRows(t *testing.T) {
	for _, k := range reference.Kernels {
		if k.Name == "" || k.Doc == "" || k.Library == "" || len(k.Ops) == 0 || k.Layout == nil || k.Lower == nil {
			t.Errorf("kernel %q lacks a field", k.Name)
		}
	}
}

// TestRefusals checks that what has no kernel is refused with what was found
// and what is wanted.
func TestRefusals(t *testing.T) {
	for _, c := range []struct{ src, want string }{
		{"in %x : i32[3]\nin %y : i32[3]\n%o = Add(%x, %y)", "input 0 is int32, want float32"},
		{"in %x : f32[1,2,3,3,3]\nconst %w : f32[2,2,2,2,2] = rand 1\n%o = Conv(%x, %w)",
			"3 spatial dimensions, want 1 or 2"},
		{"in %x : f32[1,2,4,4]\n%o, %i = MaxPool(%x) {kernel_shape=[2,2]}", "want output 0 only"},
		{"in %x : i8[4] q(0.1:0)\n%o : i16[4] q(0.001:0) = Sigmoid(%x)", "want one byte an element and one scale"},
		{"in %x : f32[0,3]\n%o = Softmax(%x)", "want no dimension of size 0"},
		{"in %x : f32[3,4]\nin %s : f32[]\n%o = QuantizeLinear(%x, %s)", "computed at run time, want a constant"},
		{"in %x : f32[2,2,2,2,2,2,2,2,2]\n%o = Transpose(%x)", "9 runs of dimensions move apart, want at most 8"},
		{"in %x : f32[2,2,2,2,2,2,2,2,2]\n%o = Transpose(%x) {perm=[1,0,2,3,4,5,6,7,8]}", ""},
		{"in %x : f32[1,2,4,4]\nconst %s : f32[4] = {1,2,1,1}\n%o = Resize(%x, -, %s)", "resamples batch or channels"},
	} {
		g, err := ir.Parse("graph \"g\" {\n"+c.src+"\nout \"o\" = %o\n}", op.Get)
		testenv.OK(t, err)
		_, err = table.Match(g.Nodes[0], &kernel.Options{})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.src, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want ...%s", c.src, err, c.want)
		}
	}
}

// spectra draws layers of all lengths up to most that keep says, as one graph.
func spectra(rng *rand.Rand, most int, keep func(n int) bool) string {
	modes := []string{"constant", "reflect", "edge"}
	types := []string{"f32[%d,%d]", "i8[%d,%d] q(0.02:-7)", "i16[%d,%d] q(0.001:0)"}
	var b strings.Builder
	for n := 2; n <= most; n++ {
		if !qref.FFTLength(n) || !keep(n) {
			continue
		}
		lead := rng.IntN(2) * rng.IntN(n)
		window := []int{n - lead, 1 + rng.IntN(n-lead)}[rng.IntN(2)]
		pad, over, step := rng.IntN(2)*rng.IntN(n), rng.IntN(n), 1+rng.IntN(n)
		samples := max(pad, over) + 1 + rng.IntN(3*n)
		frames := min(5, max(1, (samples+over-n+pad)/step+1))
		bins := []int{n/2 + 1, 1 + rng.IntN(n), n}[rng.IntN(3)]
		fmt.Fprintf(&b, "in %%x%d : %s\nconst %%w%d : f32[%d] = rand %d\n", n,
			fmt.Sprintf(types[rng.IntN(3)], 1+rng.IntN(2), samples), n, window, n)
		fmt.Fprintf(&b, "%%o%d = nncc.Spectrum(%%x%d, %%w%d) {length=%d, frames=%d, step=%d, lead=%d, bins=%d, "+
			"pad=%d, mode=%q, power=%d, fixed=%d}\nout \"o%d\" = %%o%d\n", n, n, n, n, frames, step, lead, bins, pad,
			modes[rng.IntN(3)], rng.IntN(2), rng.IntN(2), n, n)
	}
	return b.String()
}

// parse is a graph of a text without its frame.
func parse(t *testing.T, src string) *ir.Graph {
	t.Helper()
	return testenv.Must(ir.Parse("graph \"g\" {\n"+src+"\n}", op.Get))(t)
}

// TestSpectrum: the C gives the interpreter's bits, on the host for lengths of every kind.
func TestSpectrum(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	kerneltest.Host(t, table, 0, parse(t, spectra(rng, 1024, func(n int) bool {
		return n < 40 || testenv.Long() || rng.IntN(8) == 0
	})))
}

// TestCast: from every element type to every one.
func TestCast(t *testing.T) {
	types := []string{"f32", "u8", "i8", "u16", "i16", "i32", "i64", "bool", "u32"}
	codes := []int{1, 2, 3, 4, 5, 6, 7, 9, 12}
	var b strings.Builder
	for _, from := range types {
		fmt.Fprintf(&b, "in %%%s : %s[2,3,4,5]\n", from, from)
		for k, to := range types {
			fmt.Fprintf(&b, "%%%[1]s.%[2]s = Cast(%%%[1]s) {to=%[3]d}\nout \"%[1]s.%[2]s\" = %%%[1]s.%[2]s\n", from, to,
				codes[k])
		}
	}
	kerneltest.Host(t, table, 0, parse(t, b.String()))
}

// TestSparse: filter banks and scattered weights, with and without a background.
func TestSparse(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	var b strings.Builder
	for i := range 12 {
		rows, in, out, run := 1+rng.IntN(9), 33+rng.IntN(100), 6+rng.IntN(15), rng.IntN(12)
		w := slices.Repeat([]string{[]string{"0", "0.25", "-0.5"}[i%3]}, in*out)
		for o := range out {
			at := o*in + rng.IntN(in-run+1)
			for k := range run {
				w[at+k] = fmt.Sprintf("%.4f", rng.NormFloat64())
			}
		}
		fmt.Fprintf(&b, "in %%x%d : f32[%d,%d]\nconst %%w%[1]d : f32[%[4]d,%[3]d] = {%[5]s}\n", i, rows, in, out,
			strings.Join(w, ","))
		fmt.Fprintf(&b, "const %%b%[1]d : f32[%[2]d] = rand 2\n%%o%[1]d = Gemm(%%x%[1]d, %%w%[1]d, %%b%[1]d) "+
			"{transB=1, act_min=-0.75}\nout \"o%[1]d\" = %%o%[1]d\n", i, out)
	}
	m := kerneltest.Host(t, table, 3e-6, parse(t, b.String()))
	if n := m.Rows["nncc_sparse_f32"]; n != 12 {
		t.Errorf("%d layers in the kernel for sparse weights, want 12", n)
	}
}

// TestNotInPlace: the result does not lie over an operand that is part of another one, which is read again.
func TestNotInPlace(t *testing.T) {
	slice := "const %s : i64[1] = {0}\nconst %e : i64[1] = {1}\n"
	for _, src := range []string{
		"in %i : f32[4,32]\n" + slice + "%x = Neg(%i)\n%y = Slice(%x, %s, %e)\n%o = Add(%x, %y)",
		"in %i : f32[1,32]\n%a = Neg(%i)\n%b = Exp(%i)\n%x = Concat(%a, %b) {axis=0}\n%o = Sub(%x, %a)",
		"in %i : i8[4,8] q(0.1:0)\nconst %k : i64[] = {0}\n%x : i8[4,8] q(0.1:0) = Relu(%i)\n" +
			"%y : i8[8] q(0.1:0) = Gather(%x, %k)\n%o : i8[4,8] q(0.2:0) = Sub(%x, %y)",
	} {
		g := parse(t, src+"\nout \"o\" = %o")
		n := g.Nodes[len(g.Nodes)-1]
		c, err := table.Match(n, &kernel.Options{})
		testenv.OK(t, err)
		if l := c.Lower(); len(l.Overlap) > 0 {
			t.Errorf("%s by %s may lie over %v\n%s", n, l.Kernel, l.Overlap, src)
		}
	}
}
