// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/boards/stack"
	"github.com/nncc/nncc/ir/irtest/testenv"
	runtimec "github.com/nncc/nncc/runtime_c"
)

// cross is the compiler of a board with its flags.
func cross(t *testing.T, board string) (string, []string) {
	t.Helper()
	spec := testenv.Must(boards.Load(board))(t)
	cc := spec.Toolchain.Prefix + spec.Toolchain.CC
	testenv.Tool(t, "arm-gcc", cc)
	return cc, spec.RunCPU()
}

// link compiles sources and links all of them, called or not. It gives the
// program and what the compiler says of its functions' stack.
func link(t *testing.T, board string, sources []string, flags ...string) (*stack.Program, []usage) {
	t.Helper()
	cc, cpu := cross(t, board)
	dir := t.TempDir()
	var abs []string
	for _, s := range sources {
		a := testenv.Must(filepath.Abs(s))(t)
		abs = append(abs, a)
	}
	tool := func(args ...string) {
		t.Helper()
		cmd := exec.Command(cc, slices.Concat(cpu, flags, args)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	tool(append([]string{"-std=c99", "-fstack-usage", "-c"}, abs...)...)
	objects, err := filepath.Glob(filepath.Join(dir, "*.o"))
	testenv.Require(t, err == nil && len(objects) == len(sources), "%d objects of %d sources (%v)", len(objects),
		len(sources), err)
	tool(append(objects, "-nostartfiles", "-Wl,-e,0", "-Wl,--no-gc-sections", "-lm", "-o", "program.elf")...)
	p := testenv.Must(stack.Read(filepath.Join(dir, "program.elf")))(t)
	return p, usages(t, dir)
}

// usage is a line of -fstack-usage.
type usage struct {
	file, name string
	bytes      int
	dynamic    bool
}

var usageRE = regexp.MustCompile(`^(.*):\d+:\d+:(\S+)\t(\d+)\t(\S+)$`)

func usages(t *testing.T, dir string) []usage {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.su"))
	testenv.Require(t, err == nil && len(files) != 0, "no .su files (%v)", err)
	var out []usage
	for _, f := range files {
		data := testenv.Must(os.ReadFile(f))(t)
		for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
			m := usageRE.FindStringSubmatch(line)
			if m == nil {
				testenv.Require(t, line == "", "%s: %q", f, line)
				continue
			}
			n, _ := strconv.Atoi(m[3])
			out = append(out, usage{filepath.Base(m[1]), m[2], n, m[4] == "dynamic"})
		}
	}
	return out
}

// source writes a C file: a text in front of one of testdata.
func source(t *testing.T, text, name string) []string {
	t.Helper()
	p := filepath.Join(t.TempDir(), "source.c")
	text += string(testenv.Must(os.ReadFile(filepath.Join("testdata", name)))(t))
	testenv.OK(t, os.WriteFile(p, []byte(text), 0o666))
	return []string{p}
}

func noPointers(string) []string { return nil }

// every core of another instruction set.
var cores = []string{"cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m55"}

var levels = []string{"-O0", "-O1", "-O2", "-Os"}

// TestFrames: frames of all sizes, with floating-point registers and without,
// are those that the compiler knows; the deepest path is their sum.
func TestFrames(t *testing.T) {
	text := "#include <string.h>\nvolatile int sink;\n"
	for _, n := range []int{4, 60, 508, 516, 1024, 1100, 4096, 5000, 70000} {
		text += fmt.Sprintf("__attribute__((noinline)) int frame%d(int x) { volatile char a[%d]; a[x] = (char)x; "+
			"a[0] = 1; sink = a[x]; return a[0] + sink; }\n", n, n)
	}
	files := source(t, text, "frames.c")
	for _, core := range cores {
		for _, level := range levels {
			t.Run(core+level, func(t *testing.T) {
				p, us := link(t, core, files, level)
				frame := map[string]int{}
				for _, u := range us {
					frame[u.name] = u.bytes
					f := p.Functions[p.Find(u.name)]
					testenv.Check(t, f.Frame == u.bytes && f.Dynamic == "" && !f.Indirect,
						"%+v, the compiler says %d bytes", f, u.bytes)
				}
				way, err := p.Deepest("outer", noPointers)
				testenv.OK(t, err)
				// A call in the tail of a function does not lie above its frame; that
				// is not looked at.
				if want := frame["outer"] + frame["inner"] + frame["frame516"]; way.Bytes != want ||
					len(way.Names) != 3 {
					t.Errorf("outer takes %d bytes by %v, want %d", way.Bytes, way.Names, want)
				}
				if way, err = p.Deepest("copies", noPointers); err != nil || way.Bytes < frame["copies"] {
					t.Errorf("copies: %+v, %v", way, err)
				}
			})
		}
	}
}

// TestNoBound: what has no bound is an error that says where.
func TestNoBound(t *testing.T) {
	files := source(t, "", "unbounded.c")
	table := func(caller string) []string {
		if caller == "through" || caller == "tail" {
			return []string{"kernel_a", "kernel_b"}
		}
		return nil
	}
	for _, core := range cores {
		for _, level := range levels {
			t.Run(core+level, func(t *testing.T) {
				p, us := link(t, core, files, level)
				for _, c := range []struct{ entry, want string }{
					{"top", "recursion: top > even > odd > even"},
					{"self", "recursion: self > self"},
					{"sized", "sized: .*stack"},
					{"taken", "taken: .*stack"},
					{"through", "through calls through a pointer"},
					{"tail", "tail calls through a pointer"},
					{"missing", "no function missing"},
				} {
					way, err := p.Deepest(c.entry, noPointers)
					if err == nil || !regexp.MustCompile(c.want).MatchString(err.Error()) {
						if level != "-O0" && c.entry == "top" && err != nil && strings.HasPrefix(err.Error(),
							"recursion: ") {
							continue // one of the two is part of the other
						}
						t.Errorf("%s: %v, %v; want %q", c.entry, way, err, c.want)
					}
				}
				frame := map[string]int{}
				for _, u := range us {
					frame[u.name] = u.bytes
				}
				for _, entry := range []string{"through", "tail"} {
					way, err := p.Deepest(entry, table)
					if err != nil || way.Bytes != frame[entry]+frame["kernel_b"] ||
						!slices.Equal(way.Names, []string{entry, "kernel_b"}) {
						t.Errorf("%s with a table: %+v, %v", entry, way, err)
					}
				}
			})
		}
	}
}

// TestAssembly: pushes that no compiler knows of count.
func TestAssembly(t *testing.T) {
	for _, core := range cores[1:] {
		files := source(t, "", "pushes.c")
		p, _ := link(t, core, files, "-O2")
		way, err := p.Deepest("bare", noPointers)
		testenv.Check(t, err == nil && way.Bytes == 36+20+16+8, "%s: %+v, %v", core, way, err)
	}
}

// FuzzDecode: no bytes confuse the decoder.
func FuzzRead(f *testing.F) {
	f.Add([]byte("\x7fELF"))
	if p, err := os.ReadFile(os.Args[0]); err == nil {
		f.Add(p[:min(len(p), 1<<12)])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "x")
		testenv.OK(t, os.WriteFile(name, data, 0o666))
		_, _ = stack.Read(name)
	})
}

// kernels writes all C of emitted folders; the flags name its headers' folders.
func kernels(t *testing.T) (sources, include []string) {
	t.Helper()
	files := testenv.Must(runtimec.Files(runtimec.Functions()...))(t)
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
				testenv.Check(t, err == nil, "%v", err)
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
				testenv.Check(t, !u.dynamic, "%s: %s takes from the stack what is only known at run time", u.file,
					u.name)
				// Inlined everywhere, a static function of several files, or assembly: the compiler says 0.
				if count[u.name] != 1 || u.bytes == 0 {
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
			testenv.Check(t, same >= 10*more, "%d frames are the compiler's, %d larger", same, more)
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
	testenv.Require(t, err == nil && len(graphs) == len(sources), "%d call graphs of %d sources (%v)", len(graphs),
		len(sources), err)
	calls := map[string][]string{}
	indirect := map[string]bool{}
	for _, g := range graphs {
		data := testenv.Must(os.ReadFile(g))(t)
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
		testenv.Check(t, len(targets) != 0, "%s calls through a pointer: runtimec.PointerTargets does not know it",
			title)
		for callee := range calls {
			if slices.Contains(targets, plain(callee)) {
				calls[title] = append(calls[title], callee)
			}
		}
	}
	testenv.Check(t, len(indirect) != 0, "no call through a pointer")
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
