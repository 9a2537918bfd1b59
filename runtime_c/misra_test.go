// SPDX-License-Identifier: Apache-2.0

package runtimec

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// misraRules are the rules that MISRA.md lists for "kernels" or "emitted".
func misraRules(t *testing.T, where string) []string {
	t.Helper()
	text := testenv.Must(os.ReadFile("MISRA.md"))(t)
	var rules []string
	row := regexp.MustCompile(`(?m)^\| (\d+\.\d+) \| ([a-z, ]+) \| [^|]+ \| [^|]+ \|$`)
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		if slices.Contains(strings.Split(m[2], ", "), where) {
			rules = append(rules, m[1])
		}
	}
	testenv.Require(t, len(rules) != 0, "MISRA.md lists nothing for %s", where)
	return rules
}

// TestMISRA: cppcheck's addon finds no other rules broken in the kernels than
// MISRA.md explains. One file a family by default; NNCC_LONG=1 takes every
// file, and then each line has to be needed.
func TestMISRA(t *testing.T) {
	if _, err := exec.LookPath("cppcheck"); err != nil {
		testenv.Lacks(t, "cppcheck", "cppcheck: not found")
	}
	dir := t.TempDir() // the addon leaves files beside the sources
	testenv.OK(t, WriteTree(dir))
	families := testenv.Must(filepath.Glob(filepath.Join(dir, "src", "*")))(t)
	all := testenv.Long()
	var list, include []string
	for _, family := range families {
		files, err := filepath.Glob(filepath.Join(family, "*.c"))
		testenv.Require(t, err == nil && len(files) != 0, "%s: no sources (%v)", family, err)
		if !all {
			files = files[len(files)/3:][:1]
		}
		list = append(list, files...)
		include = append(include, "-I"+family, "-I"+filepath.Join(dir, "include", filepath.Base(family)))
	}
	listed := misraRules(t, "kernels")
	found := map[string]bool{}
	args := []string{"--addon=misra", "--std=c99", "--quiet", "--inline-suppr", "--suppress=missingIncludeSystem",
		"--template={file}:{line}: {id}"}
	for files := range slices.Chunk(list, 16) {
		out, err := exec.Command("cppcheck", slices.Concat(args, include, files)...).CombinedOutput()
		if strings.Contains(string(out), "misra.py") || err != nil {
			t.Skipf("cppcheck cannot run its addon: %v\n%s", err, out)
		}
		for _, m := range regexp.MustCompile(`(\S+): misra-c2012-(\d+\.\d+)`).FindAllStringSubmatch(string(out), -1) {
			if !found[m[2]] && !slices.Contains(listed, m[2]) {
				t.Errorf("%s breaks rule %s: mend it, or explain it in MISRA.md", m[1], m[2])
			}
			found[m[2]] = true
		}
	}
	testenv.Check(t, len(found) != 0, "the addon found nothing at all: it does not work")
	for _, r := range listed {
		testenv.Check(t, !all || found[r], "MISRA.md lists rule %s for kernels, which keep it", r)
	}
}
