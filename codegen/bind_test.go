// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// recurrent is a quantised layer with state whose weights, scales and zero points are a training.
func recurrent(prefix, kernel string, scale float64, zero int) *model {
	return &model{prefix: prefix, kept: [][2]string{{"h", "n"}}, opt: codegen.Options{WeightsFile: true},
		src: fmt.Sprintf(`
		in %%x : i8[1,4] q(0.5:-3)
		in %%h : i8[1,2] q(%[2]g:%[3]d)
		const %%w : i8[2,4] q(%[2]g:0) = {%[1]s}
		const %%b : i32[2] q(%[4]g:0) = {3,-9}
		%%g : i8[1,2] q(%[2]g:%[3]d) = Gemm(%%x, %%w, %%b) {transB=1}
		%%n : i8[1,2] q(%[2]g:%[3]d) = Add(%%g, %%h)
		%%y : i8[1,2] q(%[2]g:%[3]d) = Relu(%%n)
		out "n" = %%n
		out "y" = %%y`, kernel, scale, zero, scale/2)}
}

// sequence is what a model gives in runs from the beginning of a sequence on, on inputs that
// are filled with the number of the run; the first output becomes the second input.
func sequence(t *testing.T, m *model, runs int) [][]int64 {
	t.Helper()
	h := m.graph.In[1].Type
	state := tensor.New(h.DType, h.Shape)
	for i := range state.Len() {
		state.SetInt(i, int64(h.Quant.Zero[0]))
	}
	var out [][]int64
	for k := range runs {
		x := tensor.New(m.graph.In[0].Type.DType, m.graph.In[0].Type.Shape)
		for i := range x.Len() {
			x.SetInt(i, int64(k+1))
		}
		y := irtest.Run(t, m.graph, []*tensor.Dense{x, state})
		state, out = y[0], append(out, y[1].Int64s())
	}
	return out
}

// trained are two trainings of one network, in one folder, and what each gives in two runs.
func trained(t *testing.T, projects ...string) (m *model, dir string, first, second [][]int64) {
	t.Helper()
	m, other := recurrent("one", "1,2,3,4,5,6,7,8", 0.25, 4), recurrent("one", "9,-8,7,-6,5,-4,3,2", 0.125, -7)
	m.opt.Projects = projects
	m.generate(t)
	other.generate(t)
	testenv.Require(t, m.info.Layout != "" && m.info.Layout == other.info.Layout && len(m.info.States) == 1,
		"layouts %q and %q, states %+v", m.info.Layout, other.info.Layout, m.info.States)
	dir = t.TempDir()
	m.write(t, dir)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "second.bin"), []byte(other.file("one_weights.bin")), 0o644))
	first, second = sequence(t, m, 2), sequence(t, other, 2)
	if slices.Equal(first[0], first[1]) || slices.Equal(first[0], second[0]) || slices.Equal(second[0], second[1]) {
		t.Fatalf("%v and %v: nothing is tested", first, second)
	}
	return m, dir, first, second
}

//
//go:embed testdata/bindClass.cpp
var bindClass string

// TestStateBehindBind: the class in C++ of a model whose state is in the numbers of a weights
// file: nothing runs before one is bound, the first run begins a sequence, and a reset behind
// another file does so in its numbers.
func TestStateBehindBind(t *testing.T) {
	m, dir, first, second := trained(t)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.cpp"), []byte(bindClass), 0o644))
	objects := hostObjects(t, dir, m)
	run(t, dir, testenv.Tool(t, "cc", "g++"), slices.Concat(cppWarnings, includes, []string{"-std=c++11", "-o", "main",
		"main.cpp"}, objects, []string{"-lm"})...)
	var want strings.Builder
	for _, x := range slices.Concat(first, first, second, second) {
		fmt.Fprintf(&want, "%d %d\n", x[0], x[1])
	}
	testenv.Equal(t, run(t, dir, filepath.Join(dir, "main")), want.String())
}

//
//go:embed testdata/bindCrate.rs
var bindCrate string

// TestRustStateBehindBind is the same for the crate.
func TestRustStateBehindBind(t *testing.T) {
	testenv.Tool(t, "cargo", "cargo")
	m, dir, first, second := trained(t, "rust")
	list := func(x [][]int64) string {
		return strings.ReplaceAll(strings.Trim(fmt.Sprint(slices.Concat(x...)), "[]"), " ", ", ")
	}
	for path, text := range map[string]string{
		"rust/tests/bind.rs": fmt.Sprintf(bindCrate, list(first), list(second)),
		"Cargo.toml": strings.Replace(m.file("Cargo.toml"), "[build-dep", "[[test]]\nname = \"bind\"\n"+
			"path = \"rust/tests/bind.rs\"\n\n[build-dep", 1)} {
		testenv.OK(t, os.WriteFile(filepath.Join(dir, path), []byte(text), 0o644))
	}
	cargo(t, dir, t.TempDir(), "test", "--offline", "--quiet", "--test", "bind")
}
