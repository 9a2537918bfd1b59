// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// folderOfSeveral writes the folder of three models.
func folderOfSeveral(t *testing.T, projects ...string) string {
	t.Helper()
	files, _ := several(t, projects...)
	m := &model{prefix: "models", files: files}
	dir := filepath.Join(t.TempDir(), "models")
	m.write(t, dir)
	return dir
}

// sampleFolders are folders of one model and of several, with their projects' files.
func sampleFolders(t *testing.T, projects ...string) map[string]string {
	t.Helper()
	out := map[string]string{"models": folderOfSeveral(t, projects...)}
	for _, m := range []*model{fat("fat", 1000), find(t, "quantised"), find(t, "hostile"), find(t, "types")} {
		m.opt.Projects, m.copies = projects, m.prefix == "quantised"
		m.generate(t)
		out[m.prefix] = filepath.Join(t.TempDir(), m.prefix)
		m.write(t, out[m.prefix])
	}
	return out
}

// printed is what the C sample of a folder prints, built by a compiler alone.
func printed(t *testing.T, dir, sample string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "sample")
	args := append([]string{"-o", exe, "-I.", "-Inncc", "-Inncc/cmsis_nn", sample}, sourcesBelow(t, dir)...)
	run(t, dir, testenv.Tool(t, "cc", "gcc"), append(args, "-lm")...)
	out := run(t, dir, exe)
	if !strings.Contains(out, ":") {
		t.Fatalf("the sample prints %q", out)
	}
	return out
}

// sourcesBelow are the C files of a folder that are not applications.
func sourcesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.c", "nncc/*.c", "nncc/*/*.c"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// TestCMakePackage installs folders and builds their samples, which find them, from folders
// of their own.
func TestCMakePackage(t *testing.T) {
	cmake := testenv.Tool(t, "cmake", "cmake")
	for name, dir := range sampleFolders(t, "cmake-package") { // with what it needs of cmake
		t.Run(name, func(t *testing.T) {
			work := t.TempDir()
			run(t, work, cmake, "-S", dir, "-B", "lib", "-DCMAKE_INSTALL_PREFIX="+filepath.Join(work, "prefix"))
			run(t, work, cmake, "--build", "lib", "--target", "install")
			want := printed(t, dir, "samples/cmake/main.c")
			app := filepath.Join(work, "app")
			if err := os.CopyFS(app, os.DirFS(filepath.Join(dir, "samples", "cmake"))); err != nil {
				t.Fatal(err)
			}
			if err := os.RemoveAll(dir); err != nil { // what was installed has to do
				t.Fatal(err)
			}
			run(t, app, cmake, "-S", ".", "-B", "out", "-DCMAKE_PREFIX_PATH="+filepath.Join(work, "prefix"))
			run(t, app, cmake, "--build", "out")
			if got := run(t, app, filepath.Join(app, "out", "infer")); got != want {
				t.Errorf("the sample prints %q, want %q", got, want)
			}
		})
	}
}

// debianCrates is where Debian's librust-*-dev packages put sources of crates.
const debianCrates = "/usr/share/cargo/registry"

// cargo runs cargo in a folder, with Debian's crates and without the network.
func cargo(t *testing.T, dir, home string, args ...string) string {
	t.Helper()
	program := testenv.Tool(t, "cargo", "cargo")
	if found, err := filepath.Glob(debianCrates + "/cc-1*"); err != nil || len(found) == 0 {
		testenv.Lacks(t, "cargo", "the crate cc is not installed (librust-cc-dev)")
	}
	config := fmt.Sprintf("[source.crates-io]\nreplace-with = \"debian\"\n[source.debian]\ndirectory = %q\n",
		debianCrates)
	if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	return run(t, dir, "env", append([]string{"CARGO_HOME=" + home, "CARGO_TARGET_DIR=" + filepath.Join(home, "target"),
		program}, args...)...)
}

// TestRust: crates build offline, pass their tests, and their example prints what the C
// sample does.
func TestRust(t *testing.T) {
	testenv.Tool(t, "cargo", "cargo")
	home := t.TempDir()
	for name, dir := range sampleFolders(t, "rust", "cmake-package") {
		t.Run(name, func(t *testing.T) {
			want := printed(t, dir, "samples/cmake/main.c")
			cargo(t, dir, home, "test", "--offline", "--quiet", "--test", "runs")
			got := cargo(t, dir, home, "run", "--offline", "--quiet", "--example", "infer")
			if strings.Contains(got, "warning") {
				t.Error(got)
			}
			if !sameNumbers(got, want) {
				t.Errorf("the example prints %q, want %q", got, want)
			}
		})
	}
}

// sameNumbers compares what two samples print, arrays of Rust with lists of C, whose %g
// has six digits.
func sameNumbers(a, b string) bool {
	words := func(s string) []string {
		return strings.Fields(strings.NewReplacer("[", " ", "]", " ", ",", " ").Replace(s))
	}
	return slices.EqualFunc(words(a), words(b), func(a, b string) bool {
		x, err := strconv.ParseFloat(a, 64)
		y, err2 := strconv.ParseFloat(b, 64)
		return a == b || err == nil && err2 == nil && math.Abs(x-y) <= 1e-5*math.Max(math.Abs(x), math.Abs(y))
	})
}

// TestPlatformIO builds what library.json names as it says; PlatformIO itself is in no
// package of Debian.
func TestPlatformIO(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	for name, dir := range sampleFolders(t, "platformio") {
		t.Run(name, func(t *testing.T) {
			var l struct {
				Name, Version, License, Headers string
				Examples                        []struct {
					Base  string
					Files []string
				}
				Build struct{ SrcFilter, Flags []string }
			}
			b, err := os.ReadFile(filepath.Join(dir, "library.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(b, &l); err != nil {
				t.Fatal(err)
			}
			if l.Name != name || l.License == "" || l.Version == "" || len(l.Examples) != 1 {
				t.Errorf("%+v", l)
			}
			args := slices.Clone(l.Build.Flags)
			for _, f := range l.Examples[0].Files {
				if path := filepath.Join(l.Examples[0].Base, f); filepath.Ext(f) == ".c" {
					args = append(args, path)
				} else if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
					t.Error(err)
				}
			}
			for _, f := range l.Build.SrcFilter {
				if s, ok := strings.CutPrefix(f, "+<"); ok {
					args = append(args, strings.TrimSuffix(s, ">"))
				}
			}
			exe := filepath.Join(t.TempDir(), "sample")
			run(t, dir, gcc, append(args, "-o", exe, "-lm")...)
			if got, want := run(t, dir, exe), printed(t, dir, "samples/platformio/src/main.c"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// zephyrStandIn is a package Zephyr for CMake with the functions that the sample and the
// module use, and the headers of which the sample needs a word.
var zephyrStandIn = map[string]string{
	"ZephyrConfig.cmake": zephyrFunctions + `
include_directories(${CMAKE_CURRENT_LIST_DIR}/include)
set(ZEPHYR_STAND_IN ${CMAKE_CURRENT_LIST_DIR})
macro(project name)
  _project(${name} ${ARGN})
  add_executable(app "")
  file(STRINGS ${CMAKE_CURRENT_SOURCE_DIR}/prj.conf settings REGEX "^CONFIG_")
  foreach(line ${settings})
    string(REGEX MATCH "^(CONFIG_[A-Za-z0-9_]*)=(.*)$" all ${line})
    set(${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
    target_compile_definitions(app PRIVATE ${CMAKE_MATCH_1}=1)
  endforeach()
  foreach(module ${ZEPHYR_EXTRA_MODULES})
    add_subdirectory(${module}/zephyr ${CMAKE_BINARY_DIR}/module)
    target_link_libraries(app -Wl,--whole-archive ${library_of_module} -Wl,--no-whole-archive m)
  endforeach()
endmacro()
`,
	"include/zephyr/kernel.h":              "",
	"include/zephyr/linker/section_tags.h": "#define __noinit __attribute__((section(\".noinit.x\")))\n",
	"include/zephyr/sys/printk.h":          "",
}

// TestZephyrSample builds samples with a stand-in of Zephyr, whose tree is too large for
// tests.
func TestZephyrSample(t *testing.T) {
	cmake := testenv.Tool(t, "cmake", "cmake")
	zephyr := t.TempDir()
	for name, text := range zephyrStandIn {
		p := filepath.Join(zephyr, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		text = strings.ReplaceAll(text, "${library_of_module}", "${NNCC_STAND_IN_LIBRARY}")
		text = strings.Replace(text, "set(library ${name})",
			"set(library ${name})\n  set(NNCC_STAND_IN_LIBRARY ${name} PARENT_SCOPE)", 1)
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, dir := range sampleFolders(t, "zephyr", "cmake-package") {
		t.Run(name, func(t *testing.T) {
			want := printed(t, dir, "samples/cmake/main.c") + name + ": done\n"
			out := t.TempDir()
			run(t, dir, cmake, "-S", "samples/zephyr", "-B", out, "-DZephyr_DIR="+zephyr)
			run(t, dir, cmake, "--build", out)
			if got := run(t, dir, filepath.Join(out, "app")); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestCsolutionSample: the sample prints what that of CMake does, and the pack is the same
// whenever it is written.
func TestCsolutionSample(t *testing.T) {
	for name, dir := range sampleFolders(t, "cmsis-pack", "cmake-package") {
		if a, b := printed(t, dir, "samples/cmake/main.c"), printed(t, dir, "samples/csolution/main.c"); a != b {
			t.Errorf("%s: %q, want %q", name, b, a)
		}
	}
	pack := func() string {
		m := find(t, "quantised")
		m.opt = codegen.Options{Projects: []string{"cmsis-pack"}, CPUFlags: []string{"-mcpu=cortex-m55"},
			Board: "host", Version: "1.2.3"}
		return m.generate(t).file("nncc.quantised.1.2.3.pack")
	}
	if a, b := pack(), pack(); a == "" || a != b {
		t.Errorf("two packs of %d and %d bytes are not the same", len(a), len(b))
	}
}
