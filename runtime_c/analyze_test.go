// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// accepted are the findings of cppcheck that are no faults.
var accepted = []struct{ rule, why string }{
	{"shiftTooManyBitsSigned", "right shifts of negative numbers are arithmetic: GCC, Clang, Arm Compiler 6 and IAR " +
		"define it, the kernels rely on it"},
	{"invalidFunctionArg", "ONNX wants the logarithm of 0: minus infinity"},
	{"uninitvar:src/mla/*", "mla_dims fills members through an array of their addresses"},
	{"ctuuninitvar:src/mla/*", "the same, seen from the kernels"},
}

// TestStaticAnalysis runs the analyzers of clang, GCC and cppcheck over the C that
// goes into firmware: neither has anything to say, but for what accepted
// lists. A sample by default; NNCC_LONG takes every file (make analyze).
func TestStaticAnalysis(t *testing.T) {
	dir := t.TempDir()
	testenv.OK(t, WriteTree(dir))
	t.Chdir(dir)
	sources, err := filepath.Glob("src/*/*.c")
	testenv.Require(t, err == nil && len(sources) != 0, "no sources (%v)", err)
	if !testenv.Long() {
		var sample []string
		for i := 0; i < len(sources); i += len(sources)/6 + 1 {
			sample = append(sample, sources[i])
		}
		sources = sample
	}
	include := includes(t)
	cppcheck := []string{"--quiet", "--std=c99", "--enable=warning,portability,performance", "--inline-suppr",
		"--suppress=missingIncludeSystem", "--max-configs=64"}
	for _, a := range accepted {
		cppcheck = append(cppcheck, "--suppress="+a.rule)
	}
	for _, tool := range []struct {
		program string
		files   int // at a time
		args    []string
	}{
		{"clang", 16, []string{"--analyze", "-Xclang", "-analyzer-output=text", "-std=c99"}},
		{"gcc", 1, []string{"-fanalyzer", "-std=c99", "-O1", "-S", "-o", os.DevNull}},
		{"cppcheck", 16, cppcheck},
	} {
		t.Run(tool.program, func(t *testing.T) {
			testenv.Tool(t, tool.program, tool.program)
			for files := range slices.Chunk(sources, tool.files) {
				args := slices.Concat(tool.args, include, files)
				out, err := exec.Command(tool.program, args...).CombinedOutput()
				testenv.Check(t, err == nil && len(out) <= 0, "%v\n%s", err, out)
			}
		})
	}
}

// includes are the flags for every folder with a header below the current one.
func includes(t *testing.T) []string {
	headers := testenv.Must(filepath.Glob("*/*/*.h"))(t)
	var include []string
	for _, h := range headers {
		if dir := "-I" + filepath.Dir(h); !slices.Contains(include, dir) {
			include = append(include, dir)
		}
	}
	return include
}
