// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/cmd/internal/driver"
	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/verify"
)

// rustTarget is a board's target in Rust, QEMU's machine for it, and what the object of a
// kernel says of the core that it was compiled for.
type rustTarget struct{ triple, machine, cpu, attribute string }

var rustTargets = map[string]rustTarget{
	"cortex-m4": {"thumbv7em-none-eabihf", "mps2-an386",
		"-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", "Tag_CPU_arch: v7E-M"},
	"cortex-m55": {"thumbv8m.main-none-eabihf", "mps3-an547",
		"-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto", "Tag_MVE_arch"},
}

// debianRust is the compiler whose sources Debian has, too.
const debianRust = "/usr/bin/rustc"

// rustCore builds the library core for a target, of which Debian has the sources only, and
// gives the folder that rustc takes in place of its own. It is kept beside compiled kernels.
func rustCore(t *testing.T, triple string) string {
	t.Helper()
	sources := testenv.Must(filepath.Glob("/usr/src/rustc-*/library/core/src/lib.rs"))(t)
	if _, err := os.Stat(debianRust); err != nil || len(sources) == 0 {
		t.Skip("no sources of Rust's core (Debian's rustc and rust-src)")
	}
	kept := testenv.Get("NNCC_OBJECTS")
	if kept == "" {
		kept = t.TempDir()
	}
	kept = filepath.Join(kept, strings.Split(sources[0], "/")[3]+"-"+triple)
	if _, err := os.Stat(kept); err == nil {
		return kept
	}
	root := t.TempDir()
	lib := filepath.Join(root, "lib", "rustlib", triple, "lib")
	require(t, os.MkdirAll(lib, 0o777))
	// The compiler's own functions, memcpy and the like, are in the C library.
	builtins := filepath.Join(t.TempDir(), "builtins.rs")
	putText(t, builtins, "#![feature(compiler_builtins)]\n#![compiler_builtins]\n#![no_std]\n")
	for _, args := range [][]string{{"core", sources[0]}, {"compiler_builtins", builtins, "--sysroot", root}} {
		args = append(args[1:], "--crate-name", args[0], "--crate-type", "rlib", "--edition", "2021", "--target",
			triple, "-C", "panic=abort", "-C", "embed-bitcode=no", "-A", "warnings", "--out-dir", lib)
		cmd := exec.CommandContext(t.Context(), debianRust, args...)
		cmd.Env = append(os.Environ(), "RUSTC_BOOTSTRAP=1")
		b, err := cmd.CombinedOutput()
		testenv.Require(t, err == nil, "%v\n%s", err, b)
	}
	if testenv.Get("NNCC_OBJECTS") != "" && os.Rename(root, kept) == nil {
		return kept
	}
	return root
}

// rustApp builds an application that uses a crate, and gives the program and the crate's
// objects.
func rustApp(t *testing.T, b rustTarget, crate, sysroot string) (elf, objects string) {
	t.Helper()
	dir, home := t.TempDir(), t.TempDir()
	main := testenv.Must(os.ReadFile(filepath.Join("testdata", "rust", "main.rs")))(t)
	putText(t, filepath.Join(home, "config.toml"), "[source.crates-io]\nreplace-with = \"debian\"\n"+
		"[source.debian]\ndirectory = \"/usr/share/cargo/registry\"\n")
	putText(t, filepath.Join(dir, "main.rs"), string(main))
	putText(t, filepath.Join(dir, "Cargo.toml"), fmt.Sprintf("[package]\nname = \"app\"\nversion = \"0.1.0\"\n"+
		"edition = \"2021\"\n[[bin]]\nname = \"app\"\npath = \"main.rs\"\n[dependencies]\ndigits = { path = %q }\n"+
		"[profile.release]\npanic = \"abort\"\n[workspace]\n", crate))
	script := testenv.Must(filepath.Abs(filepath.Join("..", "..", "nncc", "examples", "freertos", "qemu.ld")))(t)
	flags := "--sysroot " + sysroot + " -C linker=arm-none-eabi-gcc"
	for _, f := range append(strings.Fields(b.cpu), "-T"+script, "-nostartfiles", "-lc", "-lgcc", "-lm") {
		flags += " -C link-arg=" + f
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/cargo", "build", "--offline", "--release", "--target", b.triple)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CARGO_HOME="+home, "RUSTC="+debianRust, "RUSTFLAGS="+flags)
	text, err := cmd.CombinedOutput()
	testenv.Require(t, err == nil, "%v\n%s", err, text)
	out := filepath.Join(dir, "target", b.triple, "release")
	libs := testenv.Must(filepath.Glob(filepath.Join(out, "build", "digits-*", "out", "libdigits_c.a")))(t)
	testenv.Require(t, len(libs) == 1, "archives of the crate: %q", libs)
	return filepath.Join(out, "app"), libs[0]
}

// TestRustOnTarget: the crate in an application without std: cross-compiled by cargo, its C
// for the board's core, run under QEMU step by step, with the interpreter's result.
func TestRustOnTarget(t *testing.T) {
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	boards := []string{"cortex-m4"}
	if testenv.Long() {
		boards = append(boards, "cortex-m55")
	}
	for _, board := range testenv.Boards(boards...) {
		t.Run(board, func(t *testing.T) {
			b := rustTargets[board]
			sysroot := rustCore(t, b.triple)
			c := digitsConfig(board)
			c.Project = "rust"
			o := mustCompile(t, c)
			crate := t.TempDir()
			require(t, files.WriteTree(crate, files.Of(o.Files)))
			elf, objects := rustApp(t, b, crate, sysroot)
			said, err := exec.CommandContext(t.Context(), "arm-none-eabi-readelf", "-A", objects).Output()
			testenv.Check(t, err == nil && strings.Contains(string(said), b.attribute), "%v: no object has %s\n%s",
				err, b.attribute, said)
			text, err := exec.CommandContext(t.Context(), "qemu-system-arm", "-M", b.machine, "-display", "none",
				"-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel",
				elf).CombinedOutput()
			if want := rustSays(t, o); err != nil || string(text) != want {
				t.Errorf("%v: the application says %q, want %q", err, text, want)
			}
		})
	}
}

// rustSays is what the application prints.
func rustSays(t *testing.T, o *driver.Compiled) string {
	t.Helper()
	x := make([]int8, 28*28)
	for i := range x {
		x[i] = -128
		if i%27 < 4 {
			x[i] = 127
		}
	}
	ports := o.Lowered.Ports()
	y := testenv.Must(ports.Step([]*tensor.Dense{tensor.Of(ports.Inputs()[0].Type.Shape, x)}))(t)
	out := strings.ReplaceAll(fmt.Sprint(tensor.As[int8](y[0])), " ", ", ")
	return fmt.Sprintf("%s\n%s %s\n", out, o.Info.Prefix, o.Lowered.Program.Steps[0].Name)
}

// rtosBoard is a machine that the FreeRTOS example runs on.
type rtosBoard struct {
	machine, cpu string
	second       option.Precision // of the second model
	defines      []string         // where the example's own do not fit
	light        float64          // white in the second model's input
}

var rtosBoards = map[string]rtosBoard{
	"cortex-m3": {"mps2-an385", "-mcpu=cortex-m3 -mthumb", option.Int16x8,
		[]string{"LISTEN_PERIOD=500u", "LOOK_LIGHT=INT16_MAX"}, math.MaxInt16},
	"cortex-m4": {"mps2-an386", "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16", option.Float32, nil, 1},
	"cortex-m55": {"mps3-an547", "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -mfpu=auto", option.Float32,
		[]string{"configCPU_CLOCK_HZ=32000000u"}, 1},
}

// rtosModels are the two models of the example in one firmware, in a folder.
func rtosModels(t *testing.T, board string) (*driver.Firmware, string) {
	t.Helper()
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	var list []*driver.Config
	for _, name := range []string{"listen", "look"} {
		c := config(filepath.Join(digits, "digits.onnx"), board)
		c.Name, c.Cases = name, 1
		if name == "look" {
			c.Precision = rtosBoards[board].second
		}
		if c.Precision != option.Float32 {
			c.Calib = []string{filepath.Join(digits, "digits_calib.npz")}
		}
		list = append(list, c)
	}
	f := testenv.Must(driver.Compile(list...))(t)
	dir := folder(t, f.Files)
	return f, dir
}

// rtosExample runs the example's Makefile. The kernel is an installed one.
func rtosExample(t *testing.T, board, models, kernel string, defines ...string) (map[string]string, error) {
	t.Helper()
	b := rtosBoards[board]
	defs := ""
	for _, d := range append(b.defines, defines...) {
		defs += " -D" + d
	}
	makefile := filepath.Join("..", "..", "nncc", "examples", "freertos", "Makefile")
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-f", makefile, "MODELS="+models, "MACHINE="+b.machine,
		"CPU="+b.cpu, "OUT="+t.TempDir(), "DEFINES="+defs,
		"FREERTOS_INCLUDE="+filepath.Join(kernel, "include")+" "+filepath.Join(kernel, board),
		"FREERTOS_LIB="+filepath.Join(kernel, board, "libfreertos.a"))
	text, err := cmd.CombinedOutput()
	said := map[string]string{}
	for _, line := range strings.Split(string(text), "\n") {
		if name, value, ok := strings.Cut(line, " "); ok {
			said[name] = value
		}
	}
	testenv.Require(t, said["tick"] != "", "%v\n%s", err, text)
	t.Logf("%s", text)
	return said, err
}

// TestFreeRTOS: two models on one arena and a task with a deadline, under the kernel that
// the environment names: no deadline is missed, no result differs from the
// interpreter's, the stacks are those that verify says; and a deadline that has not the
// highest priority is missed.
func TestFreeRTOS(t *testing.T) {
	kernel := testenv.Get("NNCC_FREERTOS")
	testenv.SkipIf(t, kernel == "", "no FreeRTOS kernel in NNCC_FREERTOS")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for board := range rtosBoards {
		t.Run(board, func(t *testing.T) {
			f, dir := rtosModels(t, board)
			verdicts := testenv.Must(f.Verify(context.Background()))(t)
			said, err := rtosExample(t, board, dir, kernel, "LISTEN_STACK_BYTES="+strconv.Itoa(verdicts[0].AtMost()),
				"LOOK_STACK_BYTES="+strconv.Itoa(verdicts[1].AtMost()))
			if err != nil || said["missed"] != "0" || said["wrong"] != "0" || said["control"] != "999" ||
				said["given_up"] == "0" || said["look"] == "0" {
				t.Errorf("%v: %v", err, said)
			}
			for i, o := range f.Models {
				light := []float64{math.MaxInt8, rtosBoards[board].light}[i]
				sameAsInterpreted(t, o, said[o.Info.Prefix+"_output"], light)
			}
			latest := testenv.Must(strconv.Atoi(said["latest"]))(t)
			if tick, err := strconv.Atoi(said["tick"]); err != nil || latest*20 > tick {
				t.Errorf("control is done %d of %d clocks after its tick", latest, tick)
			}
		})
	}
	t.Run("wrong priority", func(t *testing.T) {
		_, dir := rtosModels(t, "cortex-m4")
		said, err := rtosExample(t, "cortex-m4", dir, kernel, "CONTROL_PRIORITY=1u")
		testenv.Check(t, err != nil && said["missed"] != "0", "nothing is missed: %v", said)
	})
}

// rtosDeclared are declarations of what the example takes of the kernel.
//
//go:embed testdata/rtosDeclared.c
var rtosDeclared string

// TestFreeRTOSCompiles: the example compiles with the emitted headers, without warnings,
// where no kernel is at hand.
func TestFreeRTOSCompiles(t *testing.T) {
	gcc := testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	_, dir := rtosModels(t, "cortex-m4")
	for _, name := range []string{"FreeRTOS.h", "task.h", "semphr.h"} {
		putText(t, filepath.Join(dir, name), rtosDeclared)
	}
	example := filepath.Join("..", "..", "nncc", "examples", "freertos")
	args := append(strings.Fields(rtosBoards["cortex-m4"].cpu), "-std=gnu99", "-O2", "-Wall", "-Wextra",
		"-Werror", "-I"+dir, "-I"+example, "-fsyntax-only", filepath.Join(example, "app.c"),
		filepath.Join(example, "board_qemu.c"))
	b, err := exec.CommandContext(t.Context(), gcc, args...).CombinedOutput()
	testenv.Check(t, err == nil, "%v\n%s", err, b)
}

// sameAsInterpreted holds an output in hexadecimal bytes against the interpreter's for the
// example's picture.
func sameAsInterpreted(t *testing.T, o *driver.Compiled, text string, light float64) {
	t.Helper()
	got := testenv.Must(hex.DecodeString(strings.ReplaceAll(text, " ", "")))(t)
	ports := o.Lowered.Ports()
	in := ports.Inputs()[0].Type
	x := tensor.New(in.DType, in.Shape)
	for i := range x.Len() {
		v := 0.0
		if in.DType == tensor.I8 {
			v = math.MinInt8
		}
		if i%27 < 4 {
			v = light
		}
		x.SetFloat(i, v)
	}
	y := testenv.Must(ports.Step([]*tensor.Dense{x}))(t)
	z := testenv.Must(verify.FromMemory(got, o.Lowered.Graph.Out[0].Type))(t)
	for i := range y[0].Len() {
		if d := math.Abs(z.Float(i) - y[0].Float(i)); d > 0 && (in.DType.IsInt() || d > 1e-6) {
			t.Errorf("%s: output %d is %g, want %g", o.Info.Prefix, i, z.Float(i), y[0].Float(i))
		}
	}
}

// TestLinkedLibrary verifies the shipped model with an installed CMSIS-NN on
// every core that the environment names one for, also with builds that round
// once: these are recognised, and the interpreter follows them.
func TestLinkedLibrary(t *testing.T) {
	inc := testenv.Get("CMSIS_NN_INCLUDE")
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, b := range []struct{ board, env, rounding string }{
		{"cortex-m0plus", "CMSIS_NN_LIB_M0PLUS", "double"}, {"cortex-m3", "CMSIS_NN_LIB_M3", "double"},
		{"cortex-m4", "CMSIS_NN_LIB_M4", "double"},
		{"cortex-m7", "CMSIS_NN_LIB_M7", "double"}, {"cortex-m33", "CMSIS_NN_LIB_M33", "double"},
		{"cortex-m55", "CMSIS_NN_LIB_M55", "double"},
		{"host", "CMSIS_NN_LIB", "double"}, {"host", "CMSIS_NN_LIB_SINGLE", "single"},
		{"cortex-m4", "CMSIS_NN_LIB_M4_SINGLE", "single"}, {"cortex-m55", "CMSIS_NN_LIB_M55_SINGLE", "single"},
	} {
		t.Run(b.env, func(t *testing.T) {
			lib := testenv.Get(b.env)
			if inc == "" || lib == "" {
				t.Skipf("set CMSIS_NN_INCLUDE and %s to a build of CMSIS-NN for %s (%s rounding)", b.env, b.board,
					b.rounding)
			}
			if b.board != "host" {
				testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
				testenv.Tool(t, "qemu", "qemu-system-arm")
			}
			c := driver.Defaults()
			c.Model, c.Board, c.Calib = filepath.Join(digits, "digits.onnx"), b.board,
				[]string{filepath.Join(digits, "digits_calib.npz")}
			c.CMSISInclude, c.CMSISLib, c.Kernels, c.Cases = inc, lib, option.CMSISNN, 4
			o := mustCompile(t, &c)
			v := mustVerify(t, o)
			testenv.Check(t, v.Mismatches == 0 && v.Failure == "" && v.Rounding == b.rounding,
				"%d mismatches, %q rounding %s, want %s", v.Mismatches, v.Failure, v.Rounding, b.rounding)
			if b.rounding == "single" {
				differs(t, o)
			}
		})
	}
}

// differs checks that one rounding changes some value of the model: else
// nothing was shown.
func differs(t *testing.T, o *driver.Compiled) {
	t.Helper()
	g := o.Lowered.Graph
	cases := mustCases(t, o.Config, o)
	values := func() (all [][]byte) {
		if _, err := interp.Run(g, cases[0].Inputs,
			func(_ *ir.Value, d *tensor.Dense) { all = append(all, d.Bytes()) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	once := values()
	for _, n := range g.Nodes {
		op.SetRounding(n, fixp.DoubleRounding)
	}
	testenv.Check(t, !slices.EqualFunc(once, values(), slices.Equal[[]byte]),
		"no value of the model depends on the rounding")
}

// dialects are ways to compile emitted C that must not matter: every standard
// from C99 on, levels of optimisation, aliasing, the sign of char, the size of
// enumerations.
var dialects = []struct{ cc, opt, flags string }{
	{"gcc", "-O3", "-std=gnu17 -fno-strict-aliasing -funsigned-char"},
	{"clang", "-O2", "-std=c11 -fshort-enums -fstrict-aliasing"},
	{"gcc", "-O0", "-std=c99 -fshort-enums -fsigned-char"},
	{"gcc", "-Os", "-std=c11 -fstrict-aliasing"},
	{"gcc", "-O1", "-std=c99 -funsigned-char"},
	{"gcc", "-O2", "-std=gnu17 -fno-strict-aliasing"},
	{"clang", "-O0", "-std=gnu17 -funsigned-char"},
	{"clang", "-O1", "-std=c99 -fno-strict-aliasing"},
	{"clang", "-O3", "-std=c11 -funsigned-char"},
	{"clang", "-Os", "-std=gnu17 -fshort-enums"},
}

// digitsFor is the shipped model for a board.
func digitsFor(t *testing.T, board string, precision option.Precision) *driver.Compiled {
	t.Helper()
	c := digitsConfig(board)
	c.Precision, c.Cases = precision, 2
	return mustCompile(t, c)
}

// TestDialects: however it is compiled, a program gives the interpreter's
// results. Two ways by default, all with NNCC_LONG.
func TestDialects(t *testing.T) {
	testenv.Slow(t)
	list := dialects[:2]
	if testenv.Long() {
		list = dialects
	}
	for i, board := range []string{"cortex-m4", "cortex-m55"} {
		o := digitsFor(t, board, []option.Precision{option.Auto, option.Float32}[i])
		for _, d := range list {
			t.Run(board+"/"+d.cc+d.opt, func(t *testing.T) {
				testenv.Tool(t, d.cc, d.cc)
				onHost(t, o, mustCases(t, o.Config, o), d.cc, run.BuildOptions{Opt: d.opt,
					ExtraCFlags: strings.Fields(d.flags)})
			})
		}
	}
}

// TestClangForArm: Clang takes the bodies for every core, in assembly and with
// intrinsics, without a warning. It needs a C library's headers for Arm.
func TestClangForArm(t *testing.T) {
	testenv.Slow(t)
	testenv.Tool(t, "clang", "clang")
	const newlib = "/usr/include/newlib"
	if !fileExists(newlib) {
		testenv.Lacks(t, "arm-gcc", "no headers of newlib in "+newlib)
	}
	warnings := strings.Fields("-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes " +
		"-Wmissing-prototypes -Werror")
	for _, board := range []string{"cortex-m0plus", "cortex-m4", "cortex-m55"} {
		t.Run(board, func(t *testing.T) {
			o := digitsFor(t, board, option.Auto)
			dir, sources, include := emitted(t, o)
			for _, f := range o.Files {
				if strings.HasPrefix(f.Path, "nncc/") && strings.HasSuffix(f.Path, ".c") {
					sources = append(sources, filepath.Join(dir, filepath.FromSlash(f.Path)))
				}
			}
			// Clang's default, and GCC's word for it
			cpu := slices.DeleteFunc(slices.Clone(o.Board.RunCPU()), func(f string) bool { return f == "-mfpu=auto" })
			args := slices.Concat([]string{"--target=arm-none-eabi", "-isystem", newlib, "-std=c99", "-O1", "-c"}, cpu,
				warnings, include, sources)
			cmd := exec.Command("clang", args...)
			cmd.Dir = t.TempDir()
			out, err := cmd.CombinedOutput()
			testenv.Check(t, err == nil && len(out) <= 0, "%v\n%s", err, out)
		})
	}
}

// TestChips: the shipped model compiles for every chip, and fits into it or is said region
// by region not to. With NNCC_LONG, it is a quantised keyword spotting network where there
// is one, and runs on the machine that stands in.
func TestChips(t *testing.T) {
	model := filepath.Join("..", "..", "nncc", "examples", "digits", "digits.onnx")
	precision := option.Float32
	if testenv.Long() {
		testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
		testenv.Tool(t, "qemu", "qemu-system-arm")
		if dir := sharedata.Dir(); dir != "" {
			model, precision = filepath.Join(dir, "models", "kws_int8.onnx"), option.Auto
		}
	}
	for _, name := range boards.List() {
		if s, err := boards.Load(name); err != nil || !s.IsChip() {
			continue
		}
		t.Run(name, func(t *testing.T) { tryChip(t, model, name, precision) })
	}
}

// tryChip compiles for a chip and compares the warnings with the placement.
func tryChip(t *testing.T, model, name string, precision option.Precision) {
	c := config(model, name)
	c.Precision, c.Cases = precision, 1
	o := mustCompile(t, c)
	said := slices.ContainsFunc(o.Report.Warnings, func(w string) bool { return strings.Contains(w, "missing") })
	testenv.Check(t, said != o.Placement.Fits(), "fits: %t, warnings: %q", o.Placement.Fits(), o.Report.Warnings)
	for _, r := range o.Placement.Regions {
		if r.Used() > 0 {
			t.Log(r)
		}
	}
	if !testenv.Long() || !o.Placement.Fits() {
		return
	}
	v := mustVerify(t, o)
	testenv.Check(t, v.Mismatches <= 0 && v.Failure == "", "%d mismatches, %s", v.Mismatches, v.Failure)
}
