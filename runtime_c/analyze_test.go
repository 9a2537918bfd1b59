package runtimec

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStaticAnalysis runs clang's static analyzer and cppcheck over the C that
// goes into firmware: neither has anything to say, but that right shifts of
// negative numbers are arithmetic, which GCC, Clang, Arm Compiler 6 and IAR
// define and the kernels rely on. A sample by default;
// NNCC_ANALYZE=all takes every file (make analyze).
func TestStaticAnalysis(t *testing.T) {
	sources, err := filepath.Glob("src/*/*.c")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources (%v)", err)
	}
	if os.Getenv("NNCC_ANALYZE") != "all" {
		var sample []string
		for i := 0; i < len(sources); i += len(sources)/6 + 1 {
			sample = append(sample, sources[i])
		}
		sources = sample
	}
	headers, err := filepath.Glob("*/*/*.h")
	if err != nil {
		t.Fatal(err)
	}
	var include []string
	for _, h := range headers {
		if dir := "-I" + filepath.Dir(h); !slices.Contains(include, dir) {
			include = append(include, dir)
		}
	}
	for _, tool := range []struct {
		program string
		args    []string
	}{
		{"clang", []string{"--analyze", "-Xclang", "-analyzer-output=text", "-std=c99"}},
		{"cppcheck", []string{"--quiet", "--std=c99", "--enable=warning,portability,performance", "--inline-suppr", "--suppress=missingIncludeSystem", "--suppress=shiftTooManyBitsSigned"}},
	} {
		t.Run(tool.program, func(t *testing.T) {
			if _, err := exec.LookPath(tool.program); err != nil {
				if slices.Contains(strings.Split(os.Getenv("NNCC_REQUIRE"), ","), tool.program) {
					t.Fatalf("not found, but NNCC_REQUIRE lists %s", tool.program)
				}
				t.Skip("not found")
			}
			for files := range slices.Chunk(sources, 16) {
				out, err := exec.Command(tool.program, slices.Concat(tool.args, include, files)...).CombinedOutput()
				if err != nil || len(out) > 0 {
					t.Errorf("%v\n%s", err, out)
				}
			}
		})
	}
}
