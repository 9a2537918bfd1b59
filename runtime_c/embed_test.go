// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"archive/zip"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

func paths(t *testing.T, names ...string) []string {
	t.Helper()
	files := testenv.Must(Files(names...))(t)
	return lists.Map(files, func(f File) string { return f.Path })
}

func TestFilesOfOneFunction(t *testing.T) {
	want := []string{"cmsis_nn/arm_convolve_s8.c", "cmsis_nn/arm_convolve_wrapper_s8.c", "cmsis_nn/arm_nn_math_types.h",
		"cmsis_nn/arm_nn_types.h", "cmsis_nn/arm_nnfunctions.h", "cmsis_nn/nncc_cmsis.h",
		"cmsis_nn/nncc_cmsis_dot4.c", "cmsis_nn/nncc_cmsis_store.c", "nncc.h",
		"nncc_isa.h", "nncc_model.h", "nncc_simd32.h"}
	got := paths(t, "arm_convolve_wrapper_s8")
	testenv.Check(t, slices.Equal(got, want), "got %v\nwant %v", got, want)
	if got := paths(t, "arm_lstm_unidirectional_s8"); !slices.Contains(got, "cmsis_nn/arm_nn_activation_s16.c") {
		t.Errorf("the LSTM lacks its activation: %v", got)
	}
}

func TestUnknownNameIsAnError(t *testing.T) {
	testenv.Refused(t, testenv.Err(Files("arm_convolve_wrapper_s9")), "arm_convolve_wrapper_s9")
}

// TestPack: an archive gives the same files, functions and names.
func TestPack(t *testing.T) {
	b, names := testenv.Must(Pack())(t), Functions()
	x := testenv.Must(unpack(testenv.Must(zip.NewReader(bytes.NewReader(b), int64(len(b))))(t)))(t)
	files, want := testenv.Must(x.Files(names...))(t), testenv.Must(Files(names...))(t)
	testenv.Check(t, reflect.DeepEqual(x.Emitted(files), Shipped().Emitted(want)), "other files")
	testenv.Equal(t, x.Names(files), Shipped().Names(want))
	testenv.Check(t, maps.Equal(x.defines, Shipped().defines), "other functions")
}

// TestPublicFunctionsHaveSources compares the prototypes of the CMSIS-NN header
// with the definitions.
func TestPublicFunctionsHaveSources(t *testing.T) {
	x := Shipped()
	n := 0
	declared, _ := code(string(x.files["cmsis_nn/arm_nnfunctions.h"]()))
	for _, tok := range declared {
		if strings.HasPrefix(tok, "arm_") && tok != "arm_cmsis_nn_status" && tok != "arm_nn_activation_type" &&
			tok != "arm_nn_math_types" && tok != "arm_nn_types" {
			n++
			testenv.Equal(t, x.defines[tok], "cmsis_nn/"+tok+".c", "%s is defined in", tok)
		}
	}
	testenv.Check(t, n >= 40, "only %d prototypes found", n)
}

func TestScan(t *testing.T) {
	text := `
#include "a.h" /* and a "string" */
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
static const int local[2] = {1, 2};
const uint8_t table[256] = {one, 2};
typedef struct { int x; } t;
int prototype(int a);
static int helper(int a) { return other(a); } /* not_called(1) */
// not_called_either();
extern int elsewhere;
__attribute__((noinline)) int first(const t *p)
{
    struct { int y; } q = {3};
    return helper(p->x) + 'x' + table[q.y] + (int)"quoted()"[0];
}
#define M(x) macro_use(x, \
    and_more)
void second(void) { if (1) { first(0); } }
`
	s := scanC(text)
	testenv.Same(t, s.defines, []string{"table", "first", "second"}, "defines")
	testenv.Same(t, s.includes, []string{"a.h"}, "includes")
	var used []string
	uses(text, false, func(t string) { used = append(used, t) })
	for _, u := range []string{"other", "helper", "macro_use", "and_more"} {
		testenv.Check(t, slices.Contains(used, u), "%s is not seen as used", u)
	}
	for _, u := range []string{"not_called", "not_called_either", "quoted"} {
		testenv.Check(t, !slices.Contains(used, u), "%s is seen as used", u)
	}
}

func TestHeaderPrototypesNeedNothing(t *testing.T) {
	x := testenv.Must(NewLibrary(fstest.MapFS{
		"include/nncc/h.h": {Data: []byte("void a(void);\nvoid b(void);\nstatic inline void i(void) { c(); }\n")},
		"src/nncc/a.c":     {Data: []byte("#include \"h.h\"\nvoid a(void) { }\n")},
		"src/nncc/b.c":     {Data: []byte("#include \"h.h\"\nvoid b(void) { a(); }\n")},
		"src/nncc/c.c":     {Data: []byte("void c(void) { }\n")},
	}))(t)
	files, err := x.Files("a")
	testenv.Check(t, err == nil && len(files) == 3 && files[1].Path == "c.c", "got %v, %v", files, err)
	if _, err := NewLibrary(fstest.MapFS{"src/nncc/a.c": {Data: []byte("void a(void) {}")},
		"src/nncc/b.c": {Data: []byte("void a(void) {}")}}); err == nil {
		t.Error("two definitions of one function pass")
	}
}

// TestClosuresLink checks, with nm, that the files of every CMSIS-NN function leave nothing
// undefined.
func TestClosuresLink(t *testing.T) {
	cc, nm := testenv.Tool(t, "cc", "cc"), testenv.Tool(t, "cc", "nm")
	dir := writeAll(t)
	undefined, defined := map[string][]string{}, map[string][]string{}
	functions := slices.DeleteFunc(Functions(), func(fn string) bool { return !strings.HasPrefix(fn, "arm_") })
	sources := map[string]bool{}
	for _, fn := range functions {
		for _, p := range paths(t, fn) {
			sources[p] = strings.HasSuffix(p, ".c")
		}
	}
	for p, source := range sources {
		if !source {
			continue
		}
		obj := filepath.Join(dir, strings.TrimSuffix(filepath.Base(p), ".c")+".o")
		cmd := exec.Command(cc, append(slices.Clone(warnings), "-O1", "-fno-builtin", "-c", p, "-o", obj)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", p, err, out)
		}
		out := testenv.Must(exec.Command(nm, "-P", "-g", obj).Output())(t)
		for _, l := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			if w := strings.Fields(l); len(w) > 1 && w[1] == "U" {
				undefined[p] = append(undefined[p], w[0])
			} else if len(w) > 1 {
				defined[p] = append(defined[p], w[0])
			}
		}
	}
	libc := []string{"memcpy", "memset", "memmove"}
	for _, fn := range functions {
		have := map[string]bool{}
		for _, p := range paths(t, fn) {
			for _, d := range defined[p] {
				have[d] = true
			}
		}
		for _, p := range paths(t, fn) {
			for _, u := range undefined[p] {
				testenv.Check(t, have[u] || slices.Contains(libc, u), "the files of %s lack %s, which %s needs", fn,
					u, p)
			}
		}
	}
}

// warnings are the contract's flags, for a folder laid out as an emitted one.
var warnings = []string{"-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Wstrict-prototypes",
	"-Wmissing-prototypes", "-Werror", "-Icmsis_nn", "-I."}

// writeAll writes every runtime file as an emitted folder holds it.
func writeAll(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range All() {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.OK(t, os.WriteFile(p, f.Data, 0o644))
	}
	return dir
}

// TestNoWarnings reads every source of CMSIS-NN and the MLA with the compilers
// at hand, and compiles assembly at -O0, where it has the fewest registers.
func TestNoWarnings(t *testing.T) {
	dir := writeAll(t)
	for _, c := range []struct{ name, require, folders, args string }{
		{"clang", "clang", "cmsis_nn mla", "-fsyntax-only"},
		{"arm-none-eabi-gcc", "arm-gcc", "cmsis_nn mla", "-fsyntax-only -mcpu=cortex-m0plus -mthumb"},
		{"arm-none-eabi-gcc", "arm-gcc", "cmsis_nn mla", "-fsyntax-only -mcpu=cortex-m55 -mthumb -mfloat-abi=hard"},
		{"arm-none-eabi-gcc", "arm-gcc", "dsp", "-c -O0 -mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"},
		{"arm-none-eabi-gcc", "arm-gcc", "helium .", "-c -O0 -mcpu=cortex-m55 -mthumb -mfloat-abi=hard"},
	} {
		t.Run(c.name+c.args, func(t *testing.T) {
			args := slices.Concat(warnings, strings.Fields(c.args))
			for _, f := range All() {
				dir, ext := path.Dir(f.Path), path.Ext(f.Path)
				if slices.Contains(strings.Fields(c.folders), dir) && ext == ".c" &&
					(dir != "." || bytes.Contains(f.Data, []byte("__asm"))) {
					args = append(args, f.Path)
				}
			}
			cmd := exec.Command(testenv.Tool(t, c.require, c.name), args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			testenv.Check(t, err == nil, "%v\n%s", err, out)
		})
	}
}
