// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// analysed are the programs whose text the analyzers read: one by default,
// with NNCC_LONG=1 every reference model for every kind of core, quantised
// and in float.
func analysed(t *testing.T) map[string]*driver.Compiled {
	t.Helper()
	c := digitsConfig("cortex-m4")
	o := mustCompile(t, c)
	list := map[string]*driver.Compiled{"digits": o}
	if !testenv.Long() {
		return list
	}
	for _, m := range sharedModels(t) {
		for _, board := range []string{"host", "cortex-m0plus", "cortex-m4", "cortex-m55", "mla-host"} {
			for _, precision := range []option.Precision{option.Auto, option.Float32} {
				c := config(filepath.Join(shared(t), "models", m+".onnx"), board)
				c.Precision, c.IO = precision, map[option.Precision]option.IO{option.Auto: option.FloatIO,
					option.Float32: option.QuantizedIO}[precision]
				if o, err := c.Compile(); err == nil {
					list[m+"/"+board+"/"+precision.String()] = o
				} else {
					t.Logf("%s for %s, %s: %v", m, board, precision, err)
				}
			}
		}
	}
	return list
}

// emitted writes a program; it gives the model's own sources and the folders of
// its headers. The kernels are analysed in runtime_c, all of them.
func emitted(t *testing.T, o *driver.Compiled) (dir string, sources, include []string) {
	t.Helper()
	dir = t.TempDir()
	require(t, files.WriteTree(dir, files.Of(o.Files)))
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources (%v)", err)
	}
	for _, f := range o.Files {
		if i := "-I" + filepath.Join(dir, filepath.Dir(f.Path)); strings.HasSuffix(f.Path, ".h") &&
			!strings.HasPrefix(f.Path, "harness/") && !slices.Contains(include, i) {
			include = append(include, i)
		}
	}
	return dir, sources, include
}

// TestStaticAnalysis runs the analyzers of clang, GCC and cppcheck over what
// nncc writes for a model: they have nothing to say.
func TestStaticAnalysis(t *testing.T) {
	testenv.Slow(t)
	for name, o := range analysed(t) {
		t.Run(name, func(t *testing.T) {
			_, sources, include := emitted(t, o)
			for _, tool := range [][]string{
				{"clang", "--analyze", "-Xclang", "-analyzer-output=text", "-std=c99"},
				{"gcc", "-fanalyzer", "-std=c99", "-O1", "-S", "-o", os.DevNull},
				{"cppcheck", "--quiet", "--std=c99", "--enable=warning,portability,performance", "--inline-suppr",
					"--suppress=missingIncludeSystem",
					"--suppress=shiftTooManyBitsSigned"}, // in headers: runtime_c says why
			} {
				if _, err := exec.LookPath(tool[0]); err != nil {
					t.Logf("%s: not found", tool[0])
					continue
				}
				for _, s := range sources {
					if out,
						err := exec.Command(tool[0],
						slices.Concat(tool[1:], include, []string{s})...).CombinedOutput(); err != nil ||
						len(out) > 0 {
						t.Errorf("%s %s: %v\n%s", tool[0], filepath.Base(s), err, out)
					}
				}
			}
		})
	}
}

// TestMISRA: in what nncc writes for a model, cppcheck's addon finds the rules
// broken that runtime_c/MISRA.md lists for it, all of them and no others.
func TestMISRA(t *testing.T) {
	testenv.Slow(t)
	if _, err := exec.LookPath("cppcheck"); err != nil {
		testenv.Lacks(t, "cppcheck", "cppcheck: not found")
	}
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "runtime_c", "MISRA.md"))
	require(t, err)
	listed := map[string]bool{} // found
	for _, m := range regexp.MustCompile(`(?m)^\| (\d+\.\d+) \| [a-z, ]*emitted \|`).FindAllStringSubmatch(string(text),
		-1) {
		listed[m[1]] = false
	}
	for name, o := range analysed(t) {
		dir, sources, include := emitted(t, o)
		args := []string{"--addon=misra", "--std=c99", "--quiet", "--suppress=missingIncludeSystem",
			"--template={file}:{line}: {id}"}
		out, err := exec.Command("cppcheck", slices.Concat(args, include, sources)...).CombinedOutput()
		if err != nil || strings.Contains(string(out), "misra.py") {
			t.Skipf("cppcheck cannot run its addon: %v\n%s", err, out)
		}
		for _, m := range regexp.MustCompile(`(\S+): misra-c2012-(\d+\.\d+)`).FindAllStringSubmatch(string(out), -1) {
			if strings.HasPrefix(m[1], filepath.Join(dir, "nncc")+string(filepath.Separator)) {
				continue // the kernels' headers
			}
			if _, ok := listed[m[2]]; !ok {
				t.Errorf("%s: %s breaks rule %s: mend it, or explain it in runtime_c/MISRA.md", name,
					filepath.Base(m[1]), m[2])
			}
			listed[m[2]] = true
		}
	}
	for r, found := range listed {
		if !found {
			t.Errorf("runtime_c/MISRA.md lists rule %s for emitted files, which keep it", r)
		}
	}
}
