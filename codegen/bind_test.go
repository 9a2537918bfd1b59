// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
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
	if m.info.Layout == "" || m.info.Layout != other.info.Layout || len(m.info.States) != 1 {
		t.Fatalf("layouts %q and %q, states %+v", m.info.Layout, other.info.Layout, m.info.States)
	}
	dir = t.TempDir()
	m.write(t, dir)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "second.bin"), []byte(other.file("one_weights.bin")), 0o644))
	first, second = sequence(t, m, 2), sequence(t, other, 2)
	if slices.Equal(first[0], first[1]) || slices.Equal(first[0], second[0]) || slices.Equal(second[0], second[1]) {
		t.Fatalf("%v and %v: nothing is tested", first, second)
	}
	return m, dir, first, second
}

const bindClass = `#include <cstdio>
#include "one.hpp"
alignas(16) static unsigned char first[ONE_WEIGHTS_FILE_BYTES], second[ONE_WEIGHTS_FILE_BYTES];
alignas(16) static unsigned char arena[ONE_ARENA_BYTES], state[ONE_STATE_BYTES];
static int load(const char *name, unsigned char *to)
{
    std::FILE *const f = std::fopen(name, "rb");
    const bool all = f != nullptr && std::fread(to, 1, sizeof first, f) == sizeof first;
    return (f == nullptr || std::fclose(f) != 0 || !all) ? 1 : 0;
}
template <class M> static int infer(M &model)
{
    int bad = 0;
    for (int turn = 1; turn <= 2; turn++) {
        for (auto &x : model.input_x()) { x = static_cast<std::int8_t>(turn); }
        bad += model.run() != NNCC_OK;
        std::printf("%d %d\n", model.output_y()[0], model.output_y()[1]);
    }
    return bad;
}
int main()
{
    static nncc::one_model model;
    nncc::one_session session(arena, state);
    int bad = load("one_weights.bin", first) + load("second.bin", second);
    bad += model.run() != NNCC_ERR_UNBOUND;
    bad += model.step(0) != NNCC_ERR_UNBOUND;
    bad += model.reset() != NNCC_ERR_UNBOUND;
    bad += session.reset() != NNCC_ERR_UNBOUND;
    bad += nncc::one_model::bind(first, sizeof first - 1) != NNCC_ERR_WEIGHTS_SHORT;
    bad += nncc::one_model::bind(first, sizeof first) != NNCC_OK;
    bad += infer(model); /* the first run begins the sequence */
    bad += session.reset() != NNCC_OK;
    bad += infer(session);
    bad += session.bind(second, sizeof second) != NNCC_OK;
    bad += model.reset() != NNCC_OK;
    bad += infer(model);
    bad += session.reset() != NNCC_OK;
    bad += infer(session);
    return bad;
}
`

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
	if got := run(t, dir, filepath.Join(dir, "main")); got != want.String() {
		t.Errorf("%q, want %q", got, want.String())
	}
}

const bindCrate = `use one::{bind, Arena, Error, Model, State, Weights};
static FIRST: Weights = Weights(*include_bytes!("../../one_weights.bin"));
static SECOND: Weights = Weights(*include_bytes!("../../second.bin"));

fn infer(arena: &mut Arena, state: &mut State) -> Vec<i8> {
    let mut out = Vec::new();
    let mut model = Model::new(arena, state);
    for turn in 1..3 {
        model.input_x().fill(turn);
        out.extend_from_slice(model.run().unwrap().output_y());
    }
    out
}

#[test]
fn state_is_behind_bind() {
    let mut arena = Box::new(Arena::new());
    assert!(std::panic::catch_unwind(State::new).is_err());
    unsafe { bind(&FIRST) }.unwrap();
    let mut state = State::new();
    assert_eq!(infer(&mut arena, &mut state), [%s]);
    static mut DAMAGED: Weights = Weights(*include_bytes!("../../second.bin"));
    unsafe { (*std::ptr::addr_of_mut!(DAMAGED)).0[90] ^= 1 };
    assert_eq!(unsafe { bind(&*std::ptr::addr_of!(DAMAGED)) }, Err(Error::WeightsDamaged));
    state.reset(); // what was bound stays so
    assert_eq!(infer(&mut arena, &mut state), [%[1]s]);
    unsafe { bind(&SECOND) }.unwrap();
    state.reset();
    assert_eq!(infer(&mut arena, &mut state), [%s]);
    assert_eq!(infer(&mut arena, &mut State::new()), [%[2]s]);
}
`

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
