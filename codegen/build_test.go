// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// find is the model of the list with a prefix.
func find(t testing.TB, prefix string) *model {
	for _, m := range models() {
		if m.prefix == prefix {
			return m.generate(t)
		}
	}
	t.Fatal("no model " + prefix)
	return nil
}

// libraryNames are functions of the C library and the compiler that code of a
// model may call.
var libraryNames = regexp.MustCompile(`^(mem(cpy|set|move)|__aeabi_\w+|__gnu_thumb1_case_\w+|` +
	`(exp|tanh|log|pow|sqrt|fabs|round|floor|ceil|erf)f|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$`)

// symbols of an object or archive by type letter: "T name".
func symbols(t testing.TB, dir, file string) []string {
	var out []string
	for _, l := range strings.Split(run(t, dir, testenv.Tool(t, "cc", "nm"), file), "\n") {
		f := strings.Fields(l)
		if len(f) == 3 {
			f = f[1:]
		}
		if len(f) == 2 && len(f[0]) == 1 {
			out = append(out, strings.Join(f, " "))
		}
	}
	return out
}

// nopie keeps constants with addresses in them where firmware has them: with
// position-independent code the host's loader relocates them.
const nopie = "CFLAGS=-O1 -fno-pie"

// TestMake builds the emitted folder as a user does: make, another compiler,
// other flags, a core, clean.
func TestMake(t *testing.T) {
	mk := testenv.Tool(t, "cc", "make")
	testenv.Tool(t, "cc", "gcc")
	dir := filepath.Join(t.TempDir(), "a folder")
	m := find(t, "qnative")
	m.write(t, dir)
	run(t, dir, mk, "-j2", nopie)
	if out := run(t, dir, mk, nopie); strings.Contains(out, " -c ") || strings.Contains(out, "rcs") {
		t.Errorf("the second make builds again:\n%s", out)
	}
	checkSymbols(t, dir, "libqnative.a", "qnative")
	if out := run(t, dir, mk, "CFLAGS=-Os -DX='\"y\"'"); !strings.Contains(out, "qnative.c") {
		t.Errorf("other flags build nothing:\n%s", out)
	}
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "nncc", "nncc.h"), []byte(m.file("nncc/nncc.h")+"\n"),
		0o644))
	if out := run(t, dir, mk, "CFLAGS=-Os -DX='\"y\"'"); !strings.Contains(out, "qnative.c") {
		t.Errorf("a changed header builds nothing:\n%s", out)
	}
	t.Run("clang", func(t *testing.T) {
		run(t, dir, mk, "CC="+testenv.Tool(t, "clang", "clang"))
	})
	t.Run("arm", func(t *testing.T) {
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		run(t, dir, mk, "CC=arm-none-eabi-gcc", "AR=arm-none-eabi-ar", "CPUFLAGS=-mcpu=cortex-m4 -mthumb",
			"CFLAGS=-Os "+strings.Join(warnings[1:], " "))
		checkSymbols(t, dir, "libqnative.a", "qnative")
	})
	run(t, dir, mk, "clean")
	_, err := os.Stat(filepath.Join(dir, "build"))
	testenv.Check(t, err != nil, "make clean leaves build")
}

// checkSymbols: everything defined belongs to the model or the runtime, nothing
// is writable, and nothing is wanted that firmware may not have.
func checkSymbols(t *testing.T, dir, lib, prefix string) {
	t.Helper()
	defined := map[string]bool{}
	list := symbols(t, dir, lib)
	for _, s := range list {
		if s[0] >= 'A' && s[0] <= 'Z' && s[0] != 'U' {
			defined[s[2:]] = true
		}
	}
	for _, s := range list {
		kind, name := s[0], s[2:]
		if strings.HasPrefix(name, "$") || strings.HasPrefix(name, ".L") {
			continue // mapping symbols
		}
		switch kind {
		case 'D', 'd', 'B', 'b', 'C':
			t.Errorf("%s: %s is writable", lib, name)
		case 'T', 'R', 'W', 'V':
			if !strings.HasPrefix(name, prefix+"_") && !strings.HasPrefix(name, "nncc_") &&
				!strings.HasPrefix(name, "arm_") {
				t.Errorf("%s defines %s", lib, name)
			}
		case 'U':
			testenv.Check(t, defined[name] || libraryNames.MatchString(name), "%s wants %s", lib, name)
		}
	}
}

// TestSymbols: a float model, with weights.
func TestSymbols(t *testing.T) {
	mk := testenv.Tool(t, "cc", "make")
	testenv.Tool(t, "cc", "gcc")
	for _, p := range []string{"plain", "hostile"} {
		dir := t.TempDir()
		find(t, p).write(t, dir)
		run(t, dir, mk, nopie)
		checkSymbols(t, dir, "lib"+p+".a", p)
	}
}

// installed makes what a user has who installed CMSIS-NN: headers in one
// folder, a library in another.
func installed(t testing.TB) (include, lib string) {
	dir := t.TempDir()
	include = filepath.Join(dir, "Include")
	testenv.OK(t, os.MkdirAll(include, 0o755))
	args := []string{"-std=c99", "-O0", "-IInclude", "-c"}
	for _, f := range runtimec.All() {
		p, ok := strings.CutPrefix(f.Path, "cmsis_nn/")
		if !ok && (strings.Contains(p, "/") || !strings.HasSuffix(p, ".h")) {
			continue // of headers outside of the family, those that any family may include
		}
		at := filepath.Join(dir, p)
		if strings.HasSuffix(p, ".h") {
			at = filepath.Join(include, p)
		} else if strings.HasPrefix(p, "arm_nnfunctions") {
			continue
		} else {
			args = append(args, p)
		}
		testenv.OK(t, os.WriteFile(at, f.Data, 0o644))
	}
	run(t, dir, testenv.Tool(t, "cc", "gcc"), args...)
	objs, _ := filepath.Glob(filepath.Join(dir, "*.o"))
	lib = filepath.Join(dir, "libcmsis-nn.a")
	run(t, dir, testenv.Tool(t, "cc", "ar"), append([]string{"rcs", lib}, objs...)...)
	testenv.OK(t, os.Chmod(lib, 0o444))
	return include, lib
}

//
//go:embed testdata/callerC.c
var callerC string

// TestInstalledCMSIS links another build of CMSIS-NN by make and by CMake: the
// folder's own sources stay out, results are the same.
func TestInstalledCMSIS(t *testing.T) {
	mk := testenv.Tool(t, "cc", "make")
	gcc := testenv.Tool(t, "cc", "gcc")
	include, lib := installed(t)
	dir := t.TempDir()
	find(t, "quantised").write(t, dir)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "caller.c"), []byte(callerC), 0o644))
	call := func(inc string) string {
		run(t, dir, gcc, "-I.", "-Inncc", "-I"+inc, "caller.c", "libquantised.a", "-lm", "-o", "caller")
		return run(t, dir, filepath.Join(dir, "caller"))
	}
	run(t, dir, mk, "-j2")
	own := call("nncc/cmsis_nn")
	out := run(t, dir, mk, "-j2", "CMSIS_NN_INCLUDE="+include, "CMSIS_NN_LIB="+lib)
	testenv.Check(t, !strings.Contains(out, "cmsis_nn/arm_"), "the folder's own CMSIS-NN is compiled, too:\n%s", out)
	got := call(include)
	testenv.Check(t, got == own && own != "", "linked: %s, own sources: %s", got, own)
	run(t, dir, mk, "-j2")
	testenv.Equal(t, call("nncc/cmsis_nn"), own, "back to own sources")
	t.Run("cmake", func(t *testing.T) {
		cmake := testenv.Tool(t, "cmake", "cmake")
		user := t.TempDir()
		lists := fmt.Sprintf("cmake_minimum_required(VERSION 3.13)\nproject(user C)\nadd_subdirectory(%q "+
			"model)\nadd_executable(caller %q)\ntarget_link_libraries(caller quantised)\n",
			dir, filepath.Join(dir, "caller.c"))
		testenv.OK(t, os.WriteFile(filepath.Join(user, "CMakeLists.txt"), []byte(lists), 0o644))
		for _, args := range [][]string{nil, {"-DCMSIS_NN_INCLUDE=" + include, "-DCMSIS_NN_LIB=" + lib}} {
			run(t, user, cmake, append(args, "-B", "out", ".")...)
			run(t, user, cmake, "--build", "out")
			testenv.Equal(t, run(t, user, filepath.Join(user, "out", "caller")), own, args)
		}
	})
}

// TestCMakeNames: a model may be called what CMake keeps for itself.
func TestCMakeNames(t *testing.T) {
	cmake := testenv.Tool(t, "cmake", "cmake")
	testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	m := &model{prefix: "test", src: "in %x : f32[2]\n%y = Relu(%x)\nout \"y\" = %y"}
	m.generate(t).write(t, dir)
	run(t, dir, cmake, "-B", "out", ".")
	run(t, dir, cmake, "--build", "out")
	_, err := os.Stat(filepath.Join(dir, "out", "libtest.a"))
	testenv.Check(t, err == nil, "%v", err)
}

// fat has more weights than C text is used for.
func fat(prefix string, rows int) *model {
	return &model{prefix: prefix, src: fmt.Sprintf(`
		in %%x : f32[1,%d]
		const %%w : f32[%d,20] = rand 1
		const %%b : f32[20] = rand 2
		%%y = Gemm(%%x, %%w, %%b)
		out "y" = %%y`, rows, rows)}
}

//
//go:embed testdata/fatMain.c
var fatMain string

// TestWeightsBinary: above 64 KiB weights are included by the assembler; C text
// stands in where NNCC_NO_INCBIN is set, with the same results.
func TestWeightsBinary(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	m := fat("fat", 1000).generate(t)
	if !m.info.WeightBinary || m.info.WeightBytes != 80080 || len(m.file("fat_weights.bin")) != 80080 {
		t.Fatalf("binary %v, %d bytes, file of %d", m.info.WeightBinary, m.info.WeightBytes,
			len(m.file("fat_weights.bin")))
	}
	for _, f := range m.files {
		if strings.HasPrefix(f.Path, "fat") && !strings.HasSuffix(f.Path, ".bin") &&
			!strings.HasSuffix(f.Path, ".inc") && len(f.Data) > 5000 {
			t.Errorf("%s has %d bytes", f.Path, len(f.Data))
		}
	}
	m.write(t, dir)
	testenv.OK(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(fatMain), 0o644))
	build := func(cc string, flags ...string) string {
		args := slices.Concat(warnings, []string{"-O1"}, flags, includes, []string{"main.c"},
			sources([]*model{m}, false), sources([]*model{m}, true), []string{"-lm", "-o", "run"})
		run(t, dir, cc, args...)
		return run(t, dir, filepath.Join(dir, "run"))
	}
	want := build(gcc)
	got := build(gcc, "-DNNCC_NO_INCBIN")
	testenv.Check(t, got == want && want != "", "C text gives %s, the binary %s", got, want)
	testenv.Equal(t, build(gcc, "-flto"), want, "with link-time optimisation")
	t.Run("clang", func(t *testing.T) {
		clang := testenv.Tool(t, "clang", "clang")
		for _, flags := range [][]string{nil, {"-DNNCC_NO_INCBIN"}} {
			testenv.Equal(t, build(clang, flags...), want, flags)
		}
	})
	t.Run("arm", func(t *testing.T) {
		cc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		for _, flag := range []string{"-mcpu=cortex-m0plus", "-mcpu=cortex-m55"} {
			run(t, dir, cc, slices.Concat(warnings, includes, []string{flag, "-mthumb", "-Os", "-c", "fat_weights.c",
				"-o", "w.o"})...)
			testenv.Check(t, slices.Contains(symbols(t, dir, "w.o"), "R fat_weights_bin"),
				"%s: %q", flag, symbols(t, dir, "w.o"))
			run(t, dir, cc, slices.Concat(warnings, includes, []string{flag, "-mthumb", "-Os", "-c", "fat.c", "-o",
				"f.o"})...)
		}
	})
}

// TestWeightsTooLargeForText: no megabytes of C; without an assembler include
// the compiler's message says what to do.
func TestWeightsTooLargeForText(t *testing.T) {
	m := fat("huge", 4000).generate(t)
	testenv.Check(t, m.file("huge_weights.inc") == "" && len(m.file("huge_weights.bin")) == 320080,
		"text of %d bytes, binary of %d", len(m.file("huge_weights.inc")), len(m.file("huge_weights.bin")))
	gcc := testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	m.write(t, dir)
	run(t, dir, gcc, slices.Concat(warnings, includes, []string{"-c", "huge_weights.c"})...)
	out,
		err := try(dir, gcc, slices.Concat(warnings, includes, []string{"-DNNCC_NO_INCBIN", "-c", "huge_weights.c"})...)
	if err == nil || !strings.Contains(out, "link huge_weights.bin as huge_weights_bin, aligned to 16 bytes") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestSharing: equal arrays and equal parameters are written once.
func TestSharing(t *testing.T) {
	m := (&model{prefix: "twice", src: `
		in %x : f32[1,3,6,6]
		const %w : f32[3,3,3,3] = rand 1
		const %v : f32[3,3,3,3] = rand 1
		%a = Conv(%x, %w) {pads=[1,1,1,1]}
		%b = Conv(%a, %v) {pads=[1,1,1,1]}
		%c = Conv(%b, %w) {pads=[1,1,1,1]}
		out "y" = %c`}).generate(t)
	n := strings.Count(m.file("twice_weights.h"), "extern ")
	testenv.Check(t, n == 1, "%d arrays, want 1:\n%s", n, m.file("twice_weights.h"))
	if n := strings.Count(m.file("twice.c"), "static const nncc_conv2d_params "); n != 1 {
		t.Errorf("%d parameter structs, want 1:\n%s", n, m.file("twice.c"))
	}
	testenv.Check(t, m.info.WeightBytes == 324, "%d bytes of weights", m.info.WeightBytes)
}

// TestDeterministic: the same model gives the same bytes.
func TestDeterministic(t *testing.T) {
	for i := range models() {
		a, b := models()[i].generate(t), models()[i].generate(t)
		if !slices.EqualFunc(a.files, b.files, func(x, y codegen.File) bool {
			return x.Path == y.Path &&
				string(x.Data) == string(y.Data)
		}) {
			t.Errorf("%s: two generations differ", a.prefix)
		}
		for k := 1; k < len(a.files); k++ {
			testenv.Check(t, a.files[k-1].Path < a.files[k].Path, "%s: files are not sorted", a.prefix)
		}
	}
}

// TestPaths: nothing of the machine is in the files.
func TestPaths(t *testing.T) {
	wd := testenv.Must(os.Getwd())(t)
	for _, m := range models() {
		for _, f := range m.generate(t).files {
			testenv.Check(t, !strings.Contains(string(f.Data), wd) && !strings.Contains(string(f.Data), "/tmp/"),
				"%s: %s names a folder of this machine", m.prefix, f.Path)
		}
	}
}
