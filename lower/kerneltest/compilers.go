// SPDX-License-Identifier: Apache-2.0

package kerneltest

import (
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// NoAsm builds kernels without GNU assembly: what compilers without it make of them.
func NoAsm() run.BuildOptions {
	return run.BuildOptions{Opt: "speed", ExtraCFlags: []string{"-DNNCC_NO_ASM=1", "-Wall", "-Wextra", "-Wpedantic",
		"-Wconversion", "-Wshadow", "-Werror"}}
}

// Sanitized builds for the host under the address and undefined-behaviour sanitizers, all warnings errors.
func Sanitized() run.BuildOptions {
	return run.BuildOptions{Sanitize: true, Opt: "-O0", ExtraCFlags: strings.Fields(strict)}
}

// clangScript compiles with clang and links with the board's GCC, whose libraries clang's objects fit. Clang has no
// -mfpu=auto; for the core it does the same. Like Arm Compiler and GCC it gets the frame pointer's register and, from
// Armv7-M on, words at any address.
const clangScript = `#!/bin/sh
for a in "$@"; do
    [ "$a" = -c ] && compile=1
    [ "$a" = -mfpu=auto ] || set -- "$@" "$a"
    shift
done
[ -n "$compile" ] || exec %[1]q "$@"
exec %[2]q --target=arm-none-eabi -isystem %[3]q %[4]s "$@"
`

// Clang is a board of the GNU toolchain whose sources clang compiles. Without clang the test ends.
func Clang(t testing.TB, spec *boards.Spec) *boards.Spec {
	t.Helper()
	clang := testenv.Tool(t, "clang", "clang")
	gcc := testenv.Tool(t, "arm-gcc", spec.Toolchain.Prefix+spec.Toolchain.CC)
	lib := testenv.Must(exec.Command(gcc, "-print-file-name=libc.a").Output())(t)
	version := testenv.Must(exec.Command(clang, "--version").Output())(t)
	include := filepath.Join(filepath.Dir(string(lib)), "..", "include")
	flags := "-fomit-frame-pointer"
	if !spec.Armv6M() {
		flags += " -munaligned-access"
	}
	script := fmt.Appendf(nil, clangScript, gcc, clang, include, flags)
	h := fnv.New64a()
	h.Write(script)
	h.Write(version)
	// The same path for the same compiler: kept objects are known by it (boards/run, ObjectsEnv).
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("nncc-test-clang-%x", h.Sum64()))
	path := filepath.Join(dir, "cc")
	if old, err := os.ReadFile(path); err != nil || !slices.Equal(old, script) {
		testenv.OK(t, os.MkdirAll(dir, 0o755))
		tmp := filepath.Join(t.TempDir(), "cc")
		testenv.OK(t, os.WriteFile(tmp, script, 0o755))
		testenv.OK(t, os.Rename(tmp, path))
	}
	own := *spec
	own.Toolchain.Prefix, own.Toolchain.CC = dir+string(filepath.Separator), "cc"
	return &own
}

// Intrinsics runs a test for a board without assembly: with the board's compiler and with clang.
func Intrinsics(t *testing.T, spec *boards.Spec, test func(t *testing.T, spec *boards.Spec, opt run.BuildOptions)) {
	t.Run("gcc", func(t *testing.T) { test(t, spec, NoAsm()) })
	t.Run("clang", func(t *testing.T) { test(t, Clang(t, spec), NoAsm()) })
}
