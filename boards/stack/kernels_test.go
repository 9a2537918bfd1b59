// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// kernels writes all C of emitted folders; the flags name its headers' folders.
func kernels(t *testing.T) (sources, include []string) {
	t.Helper()
	files, err := runtimec.Files(runtimec.Functions()...)
	testenv.OK(t, err)
	dir := t.TempDir()
	for _, f := range files {
		p := filepath.Join(dir, filepath.FromSlash(f.Path))
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		testenv.OK(t, os.WriteFile(p, f.Data, 0o666))
		if i := "-I" + filepath.Dir(p); !slices.Contains(include, i) {
			include = append(include, i)
		}
		if strings.HasSuffix(p, ".c") {
			sources = append(sources, p)
		}
	}
	return sources, include
}

// TestKernels: in all kernels together nothing calls itself, takes memory from
// the stack by a number in a register, or calls through a pointer where
// runtimec.PointerTargets knows none; frames are those of -fstack-usage, or more
// where assembly pushes. One core by default; NNCC_LONG takes each.
func TestKernels(t *testing.T) {
	testenv.Slow(t)
	sources, include := kernels(t)
	type build struct{ core, level string }
	builds := []build{{"cortex-m4", "-O2"}}
	if testenv.Long() {
		builds = nil
		for _, core := range cores {
			for _, level := range levels {
				builds = append(builds, build{core, level})
			}
		}
	}
	for _, b := range builds {
		t.Run(b.core+b.level, func(t *testing.T) {
			p, us := link(t, b.core, sources, append([]string{b.level, "-ffp-contract=off"}, include...)...)
			deepest := stack.Path{}
			for _, name := range runtimec.Functions() {
				if p.Find(name) < 0 {
					continue // a table, or a function that this core has not
				}
				way, err := p.Deepest(name, runtimec.PointerTargets)
				if err != nil {
					t.Error(err)
				}
				if way.Bytes > deepest.Bytes {
					deepest = way
				}
			}
			t.Logf("the deepest of all: %d bytes, %v", deepest.Bytes, deepest.Names)
			count := map[string]int{}
			for _, f := range p.Functions {
				count[f.Name]++
			}
			same, more := 0, 0
			for _, u := range us {
				if u.dynamic {
					t.Errorf("%s: %s takes from the stack what is only known at run time", u.file, u.name)
				}
				if count[u.name] != 1 { // inlined everywhere, or a static function of several files
					continue
				}
				switch f := p.Functions[p.Find(u.name)]; {
				case f.Frame < u.bytes:
					t.Errorf("%s: frame of %d bytes, the compiler says %d", u.name, f.Frame, u.bytes)
				case f.Frame > u.bytes:
					more++
					t.Logf("%s: %d bytes, the compiler says %d", u.name, f.Frame, u.bytes)
				default:
					same++
				}
			}
			if same < 10*more {
				t.Errorf("%d frames are the compiler's, %d larger", same, more)
			}
		})
	}
}

var (
	edgeRE  = regexp.MustCompile(`^edge: \{ sourcename: "([^"]*)" targetname: "([^"]*)"`)
	frameRE = regexp.MustCompile(`^node: \{ title: "([^"]*)" label: ".*\\n\d+ bytes \(([^)]*)\)"`)
)

// TestCallsOnHost is the same in the sources, before anything is inlined: the
// compiler's call graph of all kernels has no circle, and runtimec.PointerTargets
// knows each call through a pointer.
func TestCallsOnHost(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		testenv.Lacks(t, "cc", "gcc: not found")
	}
	if err := exec.Command("gcc", "-fcallgraph-info=su", "-x", "c", "-c", os.DevNull, "-o",
		filepath.Join(t.TempDir(), "x.o")).Run(); err != nil {
		t.Skip("this gcc has no -fcallgraph-info")
	}
	sources, include := kernels(t)
	dir := t.TempDir()
	cmd := exec.Command("gcc", slices.Concat([]string{"-std=c99", "-O0", "-fcallgraph-info=su", "-S"}, include,
		sources)...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	graphs, err := filepath.Glob(filepath.Join(dir, "*.ci"))
	if err != nil || len(graphs) != len(sources) {
		t.Fatalf("%d call graphs of %d sources (%v)", len(graphs), len(sources), err)
	}
	calls := map[string][]string{}
	indirect := map[string]bool{}
	for _, g := range graphs {
		data, err := os.ReadFile(g)
		testenv.OK(t, err)
		for _, line := range strings.Split(string(data), "\n") {
			if m := frameRE.FindStringSubmatch(line); m != nil {
				calls[m[1]] = append(calls[m[1]], []string{}...)
				// "dynamic,bounded" are the arguments of a call.
				if m[2] == "dynamic" {
					t.Errorf("%s takes from the stack what is only known at run time", m[1])
				}
			}
			m := edgeRE.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			if m[2] == "__indirect_call" {
				indirect[m[1]] = true
			} else {
				calls[m[1]] = append(calls[m[1]], m[2])
			}
		}
	}
	// static ones have their file in front
	plain := func(title string) string { return title[strings.LastIndex(title, ":")+1:] }
	for title := range indirect {
		targets := runtimec.PointerTargets(plain(title))
		if len(targets) == 0 {
			t.Errorf("%s calls through a pointer: runtimec.PointerTargets does not know it", title)
		}
		for callee := range calls {
			if slices.Contains(targets, plain(callee)) {
				calls[title] = append(calls[title], callee)
			}
		}
	}
	if len(indirect) == 0 {
		t.Error("no call through a pointer")
	}
	state := map[string]int{} // 1: on the way, 2: done
	var visit func(way []string)
	visit = func(way []string) {
		f := way[len(way)-1]
		switch state[f] {
		case 1:
			t.Errorf("recursion: %v", way)
			return
		case 2:
			return
		}
		state[f] = 1
		for _, g := range calls[f] {
			visit(append(slices.Clone(way), g))
		}
		state[f] = 2
	}
	for f := range calls {
		visit([]string{f})
	}
}
