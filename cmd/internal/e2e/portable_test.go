// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

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
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
