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
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/postprocess"
	"github.com/nncc/nncc/ir/tensor"
)

// everything is a model with an arena in parts, state, preprocessing, postprocessing, and
// constants that are bound at run time and read from copies.
func everything(prefix string) *model {
	return &model{prefix: prefix, parts: true, copies: true, kept: [][2]string{{"h", "n"}},
		opt: codegen.Options{WeightsFile: true},
		unit: codegen.Model{Preprocess: []codegen.Preprocess{cameraOf("x")}, Postprocess: &codegen.Postprocess{
			Outputs: []string{"y"}, Classes: &postprocess.Classes{Count: 6, Top: 2, Threshold: []float32{0.1}}}},
		src: `
		in %x : i8[1,3,5,7] q(0.0078125:0)
		in %h : i8[1,4,3,5] q(0.1:3)
		const %w : i8[4,3,3,3] q(axis=0,0.01:0,0.02:0,0.015:0,0.0125:0) = rand 1
		const %b : i32[4] q(axis=0,0.000078125:0,0.00015625:0,0.0001171875:0,0.00009765625:0) = {100,-200,300,-400}
		const %v : i8[6,60] q(0.01:0) = rand 2
		const %k : i32[6] q(0.001:0) = {10,-20,30,-40,50,-60}
		%c : i8[1,4,3,5] q(0.1:3) = Conv(%x, %w, %b)
		%n : i8[1,4,3,5] q(0.1:3) = Add(%c, %h)
		%f : i8[1,60] q(0.1:3) = Flatten(%n)
		%y : i8[1,6] q(0.2:-5) = Gemm(%f, %v, %k) {transB=1}
		out "n" = %n
		out "y" = %y`}
}

// sample is a folder with samples.
type sample struct {
	name  string // of the folder's library
	dir   string
	zeros string // what samples print, by the interpreter
	// flags say where weights files lie, and sources put them there.
	flags, sources []string
}

// sampleFolders are folders of one model and of several, with their projects' files.
func sampleFolders(t *testing.T, projects ...string) map[string]*sample {
	t.Helper()
	alone := func(m *model) []*model { return []*model{m} }
	parted, whole := find(t, "plain"), everything("whole")
	parted.prefix, parted.parts = "parted", true
	whole.parts = false
	out := map[string]*sample{}
	for name, list := range map[string][]*model{"fat": alone(fat("fat", 1000)),
		"quantised": alone(find(t, "quantised")), "hostile": alone(find(t, "hostile")),
		"types": alone(find(t, "types")), "parted": alone(parted),
		"everything": alone(everything("everything")), "models": drawnSeveral(),
		// Several with state, copies and constants that are bound.
		"bound models": {whole, recurrent("kept", "1,2,3,4,5,6,7,8", 0.25, 4)}} {
		out[name] = newSample(t, list, projects)
	}
	return out
}

// newSample writes the folder of models that share one.
func newSample(t *testing.T, list []*model, projects []string) *sample {
	t.Helper()
	s := &sample{name: "models"}
	var units []codegen.Model
	o := codegen.Options{Board: "host", Version: "test", Projects: projects}
	for _, m := range list {
		m.copies = m.copies || m.prefix == "quantised"
		m.generate(t)
		o.WeightsFile, o.Notes = m.opt.WeightsFile, append(o.Notes, m.opt.Notes...)
		if m.opt.Board != "" {
			o.Board = m.opt.Board
		}
		unit := m.unit
		unit.Program, unit.Prefix = m.prog, m.prefix
		if unit.Source == "" {
			unit.Source = m.prefix + ".onnx"
		}
		units = append(units, unit)
	}
	files, infos, err := codegen.Generate(units, o)
	testenv.OK(t, err)
	for i, m := range list {
		m.files, m.info = files, infos[i]
		s.zeros += m.zeros(t)
	}
	if len(list) == 1 {
		s.name = list[0].prefix
	}
	s.dir = filepath.Join(t.TempDir(), s.name)
	list[0].write(t, s.dir)
	for _, m := range list {
		s.bind(t, m)
	}
	return s
}

// bind puts the weights file of a model into memory, as a flash of its own would have it.
func (s *sample) bind(t *testing.T, m *model) {
	t.Helper()
	if m.info.WeightsFile == "" {
		return
	}
	dir, name := t.TempDir(), m.prefix+"_flash"
	file := filepath.Join(dir, "file.bin")
	const assembled = "__asm__(\".section .rodata\\n.balign 16\\n.global %[1]s\\n%[1]s:\\n.incbin \\\"%[2]s\\\"\\n\" " +
		"\".text\\n\");\nextern const unsigned char %[1]s[];\n"
	for path, text := range map[string]string{file: m.file(m.info.WeightsFile),
		filepath.Join(dir, "flash.h"): fmt.Sprintf("extern const unsigned char %s[];\n", name),
		filepath.Join(dir, name+".c"): fmt.Sprintf(assembled, name, file)} {
		testenv.OK(t, os.WriteFile(path, []byte(text), 0o644))
	}
	s.flags = append(s.flags, "-include", filepath.Join(dir, "flash.h"), "-D"+strings.ToUpper(m.prefix)+
		"_WEIGHTS_FILE_AT="+name)
	s.sources = append(s.sources, filepath.Join(dir, name+".c"))
}

// cmake are arguments for a sample's project.
func (s *sample) cmake(t *testing.T) []string {
	t.Helper()
	if len(s.sources) == 0 {
		return nil
	}
	var objects []string
	for _, x := range s.sources {
		o := filepath.Join(t.TempDir(), "flash.o")
		run(t, s.dir, testenv.Tool(t, "cc", "gcc"), "-c", x, "-o", o)
		objects = append(objects, o)
	}
	return []string{"-DCMAKE_C_FLAGS=" + strings.Join(s.flags, " "),
		"-DCMAKE_EXE_LINKER_FLAGS=" + strings.Join(objects, " ")}
}

// zeros is what a sample prints: the outputs of the first run on zeros, by the interpreter.
func (m *model) zeros(t *testing.T) string {
	t.Helper()
	var in []*tensor.Dense
	for _, v := range m.graph.In {
		d := tensor.New(v.Type.DType, v.Type.Shape)
		if q := v.Type.Quant; q != nil && q.Axis < 0 {
			lo, hi := v.Type.DType.IntRange()
			for i := range d.Len() {
				d.SetInt(i, min(max(int64(q.Zero[0]), lo), hi)) // the zero point of an input may lie outside
			}
		}
		in = append(in, d)
	}
	var b strings.Builder
	for i, d := range irtest.Run(t, m.graph, in) {
		k := slices.IndexFunc(m.info.Outputs, func(x codegen.IOInfo) bool { return x.Name == m.graph.OutNames[i] })
		if k < 0 { // state
			continue
		}
		fmt.Fprintf(&b, "%s:", m.info.Outputs[k].CName)
		d = d.Transpose(m.info.Outputs[k].Type.OrderOrIdentity())
		for e := range d.Len() {
			if d.DType.IsFloat() {
				fmt.Fprintf(&b, " %g", d.Float(e))
			} else {
				fmt.Fprintf(&b, " %d", d.Int(e))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// printed is what the C sample of a folder prints, built by a compiler alone: what the
// interpreter computes.
func (s *sample) printed(t *testing.T, file string) string {
	t.Helper()
	exe := filepath.Join(t.TempDir(), "sample")
	args := slices.Concat([]string{"-o", exe, "-I.", "-Inncc", "-Inncc/cmsis_nn"}, s.flags, []string{file}, s.sources,
		sourcesBelow(t, s.dir), []string{"-lm"})
	run(t, s.dir, testenv.Tool(t, "cc", "gcc"), args...)
	out := run(t, s.dir, exe)
	testenv.Require(t, strings.Contains(out, ":") && sameNumbers(out, s.zeros), "the sample prints %q, want %q", out,
		s.zeros)
	return out
}

// sourcesBelow are the C files of a folder that are not applications.
func sourcesBelow(t *testing.T, dir string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"*.c", "nncc/*.c", "nncc/*/*.c"} {
		found := testenv.Must(filepath.Glob(filepath.Join(dir, pattern)))(t)
		out = append(out, found...)
	}
	return out
}

// TestCMakePackage installs folders and builds their samples, which find them, from folders
// of their own.
func TestCMakePackage(t *testing.T) {
	cmake := testenv.Tool(t, "cmake", "cmake")
	for name, s := range sampleFolders(t, "cmake-package") { // with what it needs of cmake
		t.Run(name, func(t *testing.T) {
			work, dir := t.TempDir(), s.dir
			run(t, work, cmake, "-S", dir, "-B", "lib", "-DCMAKE_INSTALL_PREFIX="+filepath.Join(work, "prefix"))
			run(t, work, cmake, "--build", "lib", "--target", "install")
			want := s.printed(t, "samples/cmake/main.c")
			flags := s.cmake(t)
			app := filepath.Join(work, "app")
			testenv.OK(t, os.CopyFS(app, os.DirFS(filepath.Join(dir, "samples", "cmake"))))
			all := consumer(t, s.name, dir, work)
			if err := os.RemoveAll(dir); err != nil { // what was installed has to do
				t.Fatal(err)
			}
			run(t, all, cmake, "-S", ".", "-B", "out", "-DCMAKE_PREFIX_PATH="+filepath.Join(work, "prefix"))
			run(t, all, cmake, "--build", "out")
			run(t, app, cmake, append(flags, "-S", ".", "-B", "out",
				"-DCMAKE_PREFIX_PATH="+filepath.Join(work, "prefix"))...)
			run(t, app, cmake, "--build", "out")
			testenv.Equal(t, run(t, app, filepath.Join(app, "out", "infer")), want, "the sample prints")
		})
	}
}

// consumer is a project of CMake that includes every header of an installed folder that is an
// application's, in C and in C++, and asks for its files.
func consumer(t *testing.T, name, dir, work string) string {
	t.Helper()
	includes, asks := "", ""
	for _, f := range namesIn(t, dir, "*.h") {
		if !strings.HasSuffix(f, "_names.h") && !strings.HasSuffix(f, "_sections.h") &&
			(!strings.HasSuffix(f, "_weights.h") || name == "everything") {
			includes += "#include \"" + f + "\"\n"
		}
	}
	class := ""
	for _, f := range namesIn(t, dir, "*.hpp") {
		class += "#include \"" + f + "\"\n"
	}
	if name == "everything" {
		for _, f := range []string{"_preprocess.h", "_postprocess.h", "_stage.h", "_weights.h"} {
			testenv.Check(t, strings.Contains(includes, f), "no header %s in %s", f, includes)
		}
		asks = "if(NOT EXISTS \"${everything_WEIGHTS_FILE}\" OR\n" +
			"   NOT EXISTS \"${everything_LINKER_DIR}/everything_sections.ld\")\n" +
			"  message(FATAL_ERROR \"${everything_WEIGHTS_FILE} ${everything_LINKER_DIR}\")\nendif()\n"
	}
	at := filepath.Join(work, "all")
	testenv.OK(t, os.Mkdir(at, 0o777))
	for file, text := range map[string]string{"all.c": includes + "int main(void) { return 0; }\n",
		"all.cpp": class + includes + "int main() { return 0; }\n",
		"CMakeLists.txt": "cmake_minimum_required(VERSION 3.13)\nproject(users C CXX)\nset(CMAKE_CXX_STANDARD 11)\n" +
			"find_package(" + name + " CONFIG REQUIRED)\n" + asks +
			"add_executable(user all.c)\nadd_executable(userpp all.cpp)\n" +
			"get_property(target DIRECTORY PROPERTY IMPORTED_TARGETS)\n" +
			"target_link_libraries(user ${target})\ntarget_link_libraries(userpp ${target})\n"} {
		testenv.OK(t, os.WriteFile(filepath.Join(at, file), []byte(text), 0o644))
	}
	return at
}

// namesIn are files of a folder by their names.
func namesIn(t *testing.T, dir, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	testenv.Require(t, err == nil && len(found) != 0, "%s: %q, %v", pattern, found, err)
	for i, f := range found {
		found[i] = filepath.Base(f)
	}
	return found
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
	testenv.OK(t, os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o644))
	return run(t, dir, "env", append([]string{"CARGO_HOME=" + home, "CARGO_TARGET_DIR=" + filepath.Join(home, "target"),
		program}, args...)...)
}

// TestRust: crates build offline, pass their tests, and their example prints what the C
// sample does.
func TestRust(t *testing.T) {
	testenv.Tool(t, "cargo", "cargo")
	home := t.TempDir()
	for name, s := range sampleFolders(t, "rust", "cmake-package") {
		t.Run(name, func(t *testing.T) {
			want, dir, home := s.printed(t, "samples/cmake/main.c"), s.dir, home
			if name != s.name { // cargo would take two crates of one name for the same
				home = t.TempDir()
			}
			cargo(t, dir, home, "test", "--offline", "--quiet", "--test", "runs")
			got := cargo(t, dir, home, "run", "--offline", "--quiet", "--example", "infer")
			testenv.Check(t, !strings.Contains(got, "warning"), "%v", got)
			testenv.Check(t, sameNumbers(got, want), "the example prints %q, want %q", got, want)
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
	for name, s := range sampleFolders(t, "platformio") {
		t.Run(name, func(t *testing.T) {
			dir := s.dir
			var l struct {
				Name, Version, License, Headers string
				Examples                        []struct {
					Base  string
					Files []string
				}
				Build struct{ SrcFilter, Flags []string }
			}
			b := testenv.Must(os.ReadFile(filepath.Join(dir, "library.json")))(t)
			testenv.OK(t, json.Unmarshal(b, &l))
			testenv.Check(t, l.Name == s.name && l.License != "" && l.Version != "" && len(l.Examples) == 1, "%+v", l)
			args := slices.Concat(l.Build.Flags, s.flags, s.sources)
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
			testenv.Equal(t, run(t, dir, exe), s.printed(t, "samples/platformio/src/main.c"))
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
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o777))
		text = strings.ReplaceAll(text, "${library_of_module}", "${NNCC_STAND_IN_LIBRARY}")
		text = strings.Replace(text, "set(library ${name})",
			"set(library ${name})\n  set(NNCC_STAND_IN_LIBRARY ${name} PARENT_SCOPE)", 1)
		testenv.OK(t, os.WriteFile(p, []byte(text), 0o644))
	}
	for name, s := range sampleFolders(t, "zephyr", "cmake-package") {
		t.Run(name, func(t *testing.T) {
			want, dir := s.printed(t, "samples/cmake/main.c")+s.name+": done\n", s.dir
			out := t.TempDir()
			run(t, dir, cmake, append(s.cmake(t), "-S", "samples/zephyr", "-B", out, "-DZephyr_DIR="+zephyr)...)
			run(t, dir, cmake, "--build", out)
			testenv.Equal(t, run(t, dir, filepath.Join(out, "app")), want)
		})
	}
}

// TestCsolutionSample: the sample prints what that of CMake does, and the pack is the same
// whenever it is written.
func TestCsolutionSample(t *testing.T) {
	for name, s := range sampleFolders(t, "cmsis-pack", "cmake-package") {
		a, b := s.printed(t, "samples/cmake/main.c"), s.printed(t, "samples/csolution/main.c")
		testenv.Check(t, a == b, "%s: %q, want %q", name, b, a)
	}
	pack := func() string {
		m := find(t, "quantised")
		m.opt = codegen.Options{Projects: []string{"cmsis-pack"}, CPUFlags: []string{"-mcpu=cortex-m55"},
			Board: "host", Version: "1.2.3"}
		return m.generate(t).file("nncc.quantised.1.2.3.pack")
	}
	a, b := pack(), pack()
	testenv.Check(t, a != "" && a == b, "two packs of %d and %d bytes are not the same", len(a), len(b))
}
