// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

var contractFlags = strings.Fields("-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes " +
	"-Wmissing-prototypes -Werror")

// emit writes the mini model and its harness, as the code generator does.
func emit(t testing.TB, spec *boards.Spec) string {
	t.Helper()
	dir := writeMini(t)
	for _, f := range run.HarnessFiles(spec, miniModel) {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.OK(t, os.WriteFile(p, f.Data, 0o644))
	}
	return dir
}

// The harness is as free of warnings as the contract wants the model to be.
func TestHarnessHasNoWarnings(t *testing.T) {
	check := func(t *testing.T, dir, cc string, flags ...string) {
		files, err := filepath.Glob(filepath.Join(dir, "harness", "*.c"))
		if err != nil || len(files) < 3 {
			t.Fatal(files, err)
		}
		args := append(append(append([]string{}, flags...), contractFlags...), "-O2", "-fsyntax-only", "-I"+dir)
		if out, err := exec.Command(cc, append(args, files...)...).CombinedOutput(); err != nil {
			t.Errorf("%s %v: %v\n%s", cc, flags, err, out)
		}
	}
	host := testenv.Must(boards.Load("host"))(t)
	for _, cc := range []string{"gcc", "clang"} {
		t.Run(cc, func(t *testing.T) {
			testenv.Tool(t, map[string]string{"gcc": "cc", "clang": "clang"}[cc], cc)
			check(t, emit(t, host), cc)
		})
	}
	// One board for each architecture.
	for _, name := range []string{"cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33", "cortex-m55"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := load(t, name)
			dir := emit(t, spec)
			check(t, dir, "arm-none-eabi-gcc", spec.Toolchain.CPU...)
			if _, err := exec.LookPath("clang"); err == nil {
				check(t, dir, "clang", append([]string{"--target=arm-none-eabi"},
					withoutFPUAuto(spec.Toolchain.CPU)...)...)
			}
		})
	}
}

// withoutFPUAuto: clang derives the FPU from -mcpu and knows no -mfpu=auto.
func withoutFPUAuto(flags []string) (out []string) {
	for _, f := range flags {
		if f != "-mfpu=auto" {
			out = append(out, f)
		}
	}
	return out
}

// The folder as emitted is what Build takes when no Model is given, and the
// harness is the same for the same input.
func TestEmittedFolder(t *testing.T) {
	for _, name := range []string{"host", "cortex-m3"} {
		t.Run(name, func(t *testing.T) {
			spec := load(t, name)
			im := testenv.Must(run.Build(context.Background(), spec, emit(t, spec), run.BuildOptions{Opt: "speed"}))(t)
			defer im.Close()
			t.Logf("%+v", im.Sizes)
			checkSizes(t, im)
			c := miniCase(0, 5)
			res := testenv.Must(run.Run(context.Background(), spec, im, []run.Case{c}))(t)
			want, _ := miniOutputs(c, 0)
			testenv.Check(t, bytes.Equal(res.Cases[0].Outputs[0], want[0]) && res.Layers == nil,
				"outputs differ, or layers %v of an image without trace", res.Layers)
			a, b := run.HarnessFiles(spec, miniModel), run.HarnessFiles(spec, miniModel)
			for i := range a {
				if a[i].Path != b[i].Path || !bytes.Equal(a[i].Data, b[i].Data) || !strings.HasPrefix(a[i].Path,
					"harness/") {
					t.Errorf("file %d: %s, %s", i, a[i].Path, b[i].Path)
				}
			}
		})
	}
}

// An installed kernel library takes the place of DIR/nncc/cmsis_nn.
func TestLinkedKernels(t *testing.T) {
	spec := load(t, "cortex-m4")
	dir, inst := writeMini(t), t.TempDir()
	obj, lib := filepath.Join(inst, "kernel.o"), filepath.Join(inst, "libcmsis-nn.a")
	args := append(append([]string{}, spec.Toolchain.CPU...), "-Os", "-ffunction-sections", "-c",
		filepath.Join(dir, "nncc", "kernel.c"), "-o", obj)
	for _, cmd := range []*exec.Cmd{exec.Command("arm-none-eabi-gcc", args...), exec.Command("arm-none-eabi-ar", "rcs",
		lib, obj)} {
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	testenv.OK(t, os.Rename(filepath.Join(dir, "nncc", "kernel.h"), filepath.Join(inst, "kernel.h")))
	testenv.OK(t, os.Mkdir(filepath.Join(dir, "nncc", "cmsis_nn"), 0o755))
	// Our own copy must not be compiled.
	testenv.OK(t, os.Rename(filepath.Join(dir, "nncc", "kernel.c"), filepath.Join(dir, "nncc", "cmsis_nn", "kernel.c")))
	im, err := run.Build(context.Background(), spec, dir, run.BuildOptions{Model: &miniModel, CMSISInclude: inst,
		CMSISLib: lib})
	testenv.OK(t, err)
	defer im.Close()
	testenv.Check(t, im.Sizes.By[run.Kernels].Text >= 50, "the library's code is not counted: %+v", im.Sizes)
	c := miniCase(0, 9)
	res := testenv.Must(run.Run(context.Background(), spec, im, []run.Case{c}))(t)
	want, _ := miniOutputs(c, 0)
	testenv.Check(t, bytes.Equal(res.Cases[0].Outputs[0], want[0]), "outputs differ")
}

// A model of megabytes runs on every machine that has them, and a model that
// has no room is told how much is missing.
func TestBigModels(t *testing.T) {
	big := func(t *testing.T, weights, arena int) string {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"big.h": fmt.Sprintf(`#include <stdint.h>
#define BIG_ARENA_BYTES %du
int8_t *big_x(void *arena);
const int8_t *big_y(const void *arena);
int32_t big_run(void *arena);
`, arena),
			"big.c": fmt.Sprintf(`#include "big.h"
extern const int8_t big_weights[%d];
int8_t *big_x(void *arena) { return (int8_t *)arena; }
const int8_t *big_y(const void *arena) { return (const int8_t *)arena + %d; }
int32_t big_run(void *arena) { ((int8_t *)arena)[%d] = (int8_t)(*(int8_t *)arena + big_weights[%d]); return 0; }
`, weights, arena-1, arena-1, weights-1),
			"big_weights.S": `	.section .rodata.big_weights,"a"
	.global big_weights
big_weights:
	.incbin "big_weights.bin"
`,
		} {
			testenv.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
		data := make([]byte, weights)
		data[weights-1] = 17
		testenv.OK(t, os.WriteFile(filepath.Join(dir, "big_weights.bin"), data, 0o644))
		return dir
	}
	model := run.Model{Name: "big", Header: "big.h", ArenaMacro: "BIG_ARENA_BYTES", RunFunc: "big_run",
		Inputs:  []run.IO{{Name: "x", CFunc: "big_x", Bytes: 1}},
		Outputs: []run.IO{{Name: "y", CFunc: "big_y", Bytes: 1}}}
	for _, c := range []struct {
		board          string
		weights, arena int
		missing        uint64 // at least
	}{
		{"cortex-m3", 6 << 20, 5 << 20, 0},
		{"cortex-m7", 6 << 20, 5 << 20, 0},
		{"cortex-m33", 6 << 20, 5 << 20, 0},
		{"cortex-m55", 7 << 20, 5 << 20, 0},
		{"cortex-m33", 18 << 20, 1 << 10, 2 << 20},
		{"microbit", 1 << 10, 20 << 10, 4 << 10},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", c.board, c.weights>>10, c.arena>>10), func(t *testing.T) {
			t.Parallel()
			spec := load(t, c.board)
			im, err := run.Build(context.Background(), spec, big(t, c.weights, c.arena),
				run.BuildOptions{Model: &model})
			var fit *run.FitError
			if c.missing > 0 {
				if !errors.As(err, &fit) || fit.Missing < c.missing || fit.Missing > c.missing+(64<<10) {
					t.Errorf("got %v, want at least %d bytes missing", err, c.missing)
				}
				return
			}
			testenv.OK(t, err)
			defer im.Close()
			testenv.Check(t, im.Sizes.Weights() == uint64(c.weights) && im.Sizes.Arena == uint64(c.arena), "%+v",
				im.Sizes)
			res := testenv.Must(run.Run(context.Background(), spec, im, []run.Case{{Inputs: [][]byte{{25}}}}))(t)
			testenv.Equal(t, res.Cases[0].Outputs[0][0], 42)
		})
	}
}

func TestGlueRefusesWhatIsNoIdentifier(t *testing.T) {
	for _, m := range []run.Model{
		{Header: "x.h", ArenaMacro: "A B", RunFunc: "f"},
		{Header: "x.h\"\n#error", ArenaMacro: "A", RunFunc: "f"},
		{Header: "x.h", ArenaMacro: "A", RunFunc: "f", Inputs: []run.IO{{CFunc: "x*/"}}},
	} {
		func() {
			defer func() {
				r := recover()
				testenv.Check(t, r != nil, "accepted %+v", m)
			}()
			run.Glue(m)
		}()
	}
}

// The mini model, testdata/mini, stands for an emitted folder. Its first input selects what
// it does: behave, count to a number, or one of the ways to go wrong.
var miniModel = run.Model{
	Name: "mini", Header: "mini.h", ArenaMacro: "MINI_ARENA_BYTES",
	Inputs:  []run.IO{{"mode", "mini_mode", 16}, {"x", "mini_x", 512}},
	Outputs: []run.IO{{"y", "mini_y", 512}, {"sum", "mini_sum", 4}},
	RunFunc: "mini_run", ResetFunc: "mini_reset", StateMacro: "MINI_STATE_BYTES",
	Steps: []string{"scale", "sum", "mode"},
}

func writeMini(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	testenv.OK(t, os.CopyFS(dir, os.DirFS("testdata/mini")))
	return dir
}

// miniCase makes inputs from a seed; miniOutputs is what the model computes,
// with the state before and after.
func miniCase(mode int8, seed uint32) run.Case {
	m, x := make([]byte, 16), make([]byte, 512)
	m[0] = byte(mode)
	for i := range x {
		seed = seed*1664525 + 1013904223
		x[i] = byte(seed >> 24)
	}
	return run.Case{Inputs: [][]byte{m, x}}
}

func miniOutputs(c run.Case, state int32) ([][]byte, int32) {
	weights := [16]int32{1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}
	y := make([]byte, 512)
	for i, b := range c.Inputs[1] {
		v := max(-128, min(127, int32(int8(b))*weights[i&15]))
		y[i] = byte(int8(v))
		state += v
	}
	u := uint32(state)
	return [][]byte{y, {byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}}, state
}

// load reads a board and skips if its tools are missing.
func load(t testing.TB, name string) *boards.Spec {
	t.Helper()
	s := testenv.Must(boards.Load(name))(t)
	if s.Core == "host" {
		testenv.Tool(t, "cc", s.Toolchain.CC)
	} else {
		testenv.Tool(t, "arm-gcc", s.Toolchain.Prefix+s.Toolchain.CC)
		testenv.Tool(t, "qemu", "qemu-system-arm")
	}
	return s
}
