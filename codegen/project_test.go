// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	_ "embed"
	"encoding/xml"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// withProject is the folder of a model with the files of one build system.
func withProject(t *testing.T, m *model, project string) (*model, string) {
	t.Helper()
	m.opt.Projects = []string{project}
	m.generate(t)
	dir := filepath.Join(t.TempDir(), m.prefix)
	m.write(t, dir)
	return m, dir
}

// projectModels have all kinds of files: weights as text, as a binary, helpers,
// CMSIS-NN functions, names and texts that mean harm.
func projectModels(t *testing.T) []*model {
	ms := []*model{fat("fat", 1000)}
	for _, m := range models() {
		if slices.Contains([]string{"quantised", "qnative", "hostile", "types", "scalars", "empty"}, m.prefix) {
			ms = append(ms, m)
		}
	}
	testenv.Require(t, len(ms) == 7, "models are missing")
	return ms
}

// modelSources are the C files of a model, and those of CMSIS-NN functions.
func modelSources(m *model) (own, cmsis []string) {
	for _, f := range m.files {
		switch {
		case path.Ext(f.Path) != ".c" || strings.HasPrefix(f.Path, "src/") || strings.HasPrefix(f.Path, "samples/"):
		case strings.HasPrefix(f.Path, "nncc/cmsis_nn/"):
			cmsis = append(cmsis, f.Path)
		default:
			own = append(own, f.Path)
		}
	}
	return own, cmsis
}

// hostObjects compiles a model's files in dir for this machine, weights without .incbin.
func hostObjects(t *testing.T, dir string, m *model) []string {
	t.Helper()
	own, cmsis := modelSources(m)
	gcc := testenv.Tool(t, "cc", "gcc")
	run(t, dir, gcc, slices.Concat(includes, []string{"-DNNCC_NO_INCBIN", "-c"}, own, cmsis)...)
	objects := testenv.Must(filepath.Glob(filepath.Join(dir, "*.o")))(t)
	return objects
}

// zephyrMock is an application with the functions of Zephyr's build system that
// a module uses; CMake's own do the same.
var zephyrMock = `cmake_minimum_required(VERSION 3.13)
project(app C)
` + zephyrFunctions + `set(CONFIG_NNCC_%s y)
add_subdirectory(%q module)
file(WRITE ${CMAKE_BINARY_DIR}/main.c "#include \"%s.h\"\nint main(void) { return (int)%[4]s_run(0) == 0; }\n")
add_executable(app ${CMAKE_BINARY_DIR}/main.c)
target_link_libraries(app nncc_%[4]s m)
`

//
//go:embed testdata/zephyrFunctions.txt
var zephyrFunctions string

// TestZephyr builds modules by their CMake file, and reads their Kconfig where
// Debian's python3-kconfiglib is there.
func TestZephyr(t *testing.T) {
	cmake := testenv.Tool(t, "cmake", "cmake")
	testenv.Tool(t, "cc", "gcc")
	for _, m := range projectModels(t) {
		t.Run(m.prefix, func(t *testing.T) {
			m, dir := withProject(t, m, "zephyr")
			got := m.file("zephyr/module.yml")
			testenv.Check(t, strings.Contains(got, "name: "+m.prefix+"\n"), "%v", got)
			app := t.TempDir()
			text := fmt.Sprintf(zephyrMock, strings.ToUpper(m.prefix), filepath.Join(dir, "zephyr"), m.prefix, m.prefix)
			testenv.OK(t, os.WriteFile(filepath.Join(app, "CMakeLists.txt"), []byte(text), 0o644))
			run(t, app, cmake, "-B", "out", ".")
			run(t, app, cmake, "--build", "out")
			run(t, app, filepath.Join(app, "out", "app"))
		})
	}
	t.Run("two", func(t *testing.T) { // modules of one application share kernels
		app := t.TempDir()
		text := "cmake_minimum_required(VERSION 3.13)\nproject(app C)\n" + zephyrFunctions
		main := ""
		for _, p := range []string{"quantised", "qnative"} {
			_, dir := withProject(t, find(t, p), "zephyr")
			text += fmt.Sprintf("set(CONFIG_NNCC_%s y)\nadd_subdirectory(%q %s)\n", strings.ToUpper(p),
				filepath.Join(dir, "zephyr"), p)
			main = fmt.Sprintf("#include \"%s.h\"\n", p) + main
		}
		main += "int main(void) { return quantised_run(0) == NNCC_OK || qnative_run(0) == NNCC_OK; }\n"
		// Zephyr links its libraries whole.
		text += "add_executable(app main.c)\ntarget_link_libraries(app -Wl,--whole-archive nncc_quantised " +
			"nncc_qnative -Wl,--no-whole-archive m)\n"
		for name, s := range map[string]string{"CMakeLists.txt": text, "main.c": main} {
			testenv.OK(t, os.WriteFile(filepath.Join(app, name), []byte(s), 0o644))
		}
		run(t, app, cmake, "-B", "out", ".")
		run(t, app, cmake, "--build", "out")
		run(t, app, filepath.Join(app, "out", "app"))
	})
	t.Run("Kconfig", func(t *testing.T) {
		_, dir := withProject(t, find(t, "quantised"), "zephyr")
		out := kconfig(t, dir, "", `
vendor = k.syms["NNCC_QUANTISED_CMSIS_NN"]
print(k.syms["NNCC_QUANTISED"].str_value, vendor.str_value, vendor.assignable,
    k.named_choices["NNCC_QUANTISED_ARENA"].selection.name, k.warnings)`)
		testenv.Check(t, out == "y n (0, 2) NNCC_QUANTISED_ARENA_NOINIT []", "%v", out)
	})
	t.Run("Kconfig of parts", func(t *testing.T) {
		m, dir := withProject(t, everything("net"), "zephyr")
		for _, dtcm := range []bool{false, true} {
			script, want, chosen := "print(k.warnings", "[]", ""
			if dtcm {
				chosen = "zephyr,dtcm"
			}
			for _, x := range m.info.ArenaParts {
				symbol, at := "NNCC_NET_ARENA_"+strings.ToUpper(x.Field), "_NOINIT"
				if dtcm && x.Region == "DTCM" {
					at = "_DTCM"
				}
				script += fmt.Sprintf(", k.named_choices[%q].selection.name", symbol+"_PART")
				want += " " + symbol + at
			}
			out := kconfig(t, dir, chosen, script+")")
			testenv.Check(t, out == want && len(m.info.ArenaParts) >= 2, "%s, want %s", out, want)
		}
	})
}

// kconfig is what a script prints of a module's options, on a board that has a memory chosen.
func kconfig(t *testing.T, dir, chosen, script string) string {
	t.Helper()
	if _, err := try(dir, "python3", "-c", "import kconfiglib"); err != nil {
		t.Skip("python3-kconfiglib is not installed")
	}
	app := t.TempDir()
	for file, text := range map[string]string{
		"Kconfig": "config CMSIS_NN\n\tbool \"library\"\n\tdefault y\n\nsource \"" + filepath.Join(dir, "zephyr",
			"Kconfig") + "\"\n",
		// Stands for that of Zephyr, which looks into the device tree.
		"kconfigfunctions.py": fmt.Sprintf("def enabled(kconf, name, memory):\n"+
			"    return \"y\" if memory == %q else \"n\"\n"+
			"functions = {\"dt_chosen_enabled\": (enabled, 1, 1)}\n", chosen)} {
		testenv.OK(t, os.WriteFile(filepath.Join(app, file), []byte(text), 0o644))
	}
	return strings.TrimSpace(run(t, app, "python3", "-c", "import kconfiglib\nk = kconfiglib.Kconfig(\"Kconfig\")\n"+
		script))
}

// pdsc is what a pack's description says about its files.
type pdsc struct {
	Name       string `xml:"name"`
	Components []struct {
		Variant   string `xml:"Cvariant,attr"`
		Default   bool   `xml:"isDefaultVariant,attr"`
		Condition string `xml:"condition,attr"`
		Files     []struct {
			Category string `xml:"category,attr"`
			Name     string `xml:"name,attr"`
		} `xml:"files>file"`
	} `xml:"components>component"`
	Conditions []struct {
		ID string `xml:"id,attr"`
	} `xml:"conditions>condition"`
}

// TestPack: components name all sources and compile by what they name; with
// NNCC_PACK_XSD (PACK.xsd of Open-CMSIS-Pack) and xmllint, the description is
// valid.
func TestPack(t *testing.T) {
	gcc := testenv.Tool(t, "cc", "gcc")
	for _, m := range projectModels(t) {
		t.Run(m.prefix, func(t *testing.T) {
			m, dir := withProject(t, m, "cmsis-pack")
			file := "nncc." + m.prefix + ".pdsc"
			var p pdsc
			testenv.OK(t, xml.Unmarshal([]byte(m.file(file)), &p))
			own, cmsis := modelSources(m)
			for _, c := range p.Components {
				want := slices.Concat(own, cmsis)
				if c.Condition != "" {
					if want = own; len(p.Conditions) != 1 || p.Conditions[0].ID != c.Condition {
						t.Errorf("condition %q of %v", c.Condition, p.Conditions)
					}
				}
				var got []string
				args := slices.Clone(warnings)
				for _, f := range c.Files {
					_, err := os.Stat(filepath.Join(dir, f.Name))
					testenv.Check(t, err == nil, "%v", err)
					switch f.Category {
					case "source":
						got = append(got, f.Name)
					case "include":
						args = append(args, "-I"+f.Name)
					}
				}
				slices.Sort(got)
				slices.Sort(want)
				testenv.Same(t, got, want, "%s: sources", c.Variant)
				if c.Condition == "" {
					run(t, dir, gcc, slices.Concat(args, []string{"-fsyntax-only"}, got)...)
				}
				layer := m.file(m.prefix + ".clayer.yml")
				for _, s := range got {
					testenv.Check(t, strings.Contains(layer, " - file: "+s+"\n"), "the layer lacks %s", s)
				}
			}
			wanted := 1 + min(len(cmsis), 1)
			testenv.Check(t, len(p.Components) == wanted, "%d components, want %d", len(p.Components), wanted)
			if xsd := testenv.Get("NNCC_PACK_XSD"); xsd != "" {
				run(t, dir, "xmllint", "--noout", "--schema", xsd, file)
			}
		})
	}
}

// arduinoMain is what the Arduino core is to a sketch.
const arduinoMain = `#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
struct { void begin(long) {} void print(const char *s) { printf("%%s", s); } void println(const char *s) { puts(s); }
    void println(int x) { printf("%%d\n", x); } void println(unsigned long) { puts("time"); }
    void println(double x) { printf("%%g\n", x); } } Serial;
unsigned long micros() { return 0; }
#include "../%s"
int main() { setup(); loop(); return 0; }
`

// TestArduino builds libraries as the IDE does, everything below src/ with src/
// as the include path, and runs their example.
func TestArduino(t *testing.T) {
	gcc, gpp := testenv.Tool(t, "cc", "gcc"), testenv.Tool(t, "cc", "g++")
	for _, m := range append(projectModels(t), everything("everything")) {
		t.Run(m.prefix, func(t *testing.T) {
			m.copies = m.copies || m.prefix == "quantised"
			m, dir := withProject(t, m, "arduino")
			var objs []string
			err := filepath.WalkDir(filepath.Join(dir, "src"), func(p string, d fs.DirEntry, err error) error {
				if err == nil && path.Ext(p) == ".c" {
					o := filepath.Join(dir, "build-"+d.Name()+".o")
					run(t, t.TempDir(), gcc, "-Os", "-I"+filepath.Join(dir, "src"), "-c", p, "-o", o)
					objs = append(objs, o)
				}
				return err
			})
			own, cmsis := modelSources(m)
			want := len(own) + len(cmsis)
			testenv.Require(t, err == nil && len(objs) == want, "%d sources, want %d: %v", len(objs), want, err)
			sketch := "examples/" + m.prefix + "_once/" + m.prefix + "_once.ino"
			testenv.OK(t, os.WriteFile(filepath.Join(dir, "src", "main.cpp"), fmt.Appendf(nil, arduinoMain, sketch),
				0o644))
			run(t, dir, gpp, append([]string{"-Isrc", "src/main.cpp", "-o", "sketch"}, append(objs, "-lm")...)...)
			out, found := strings.CutPrefix(run(t, dir, filepath.Join(dir, "sketch")), "microseconds: time\n")
			if want := m.zeros(t); !found || !sameNumbers(out, want) {
				t.Errorf("the sketch prints %q, want %q", out, want)
			}
			if p := m.file("library.properties"); !strings.Contains(p, "includes="+m.prefix+".h\n") ||
				strings.Count(p, "=")+1 != strings.Count(p, "\n") {
				t.Error(p)
			}
		})
	}
}

// TestProjects: every project writes files, and none changes the sources.
func TestProjects(t *testing.T) {
	bare := &model{prefix: "m", src: find(t, "quantised").src, opt: codegen.Options{Projects: []string{}}}
	bare.generate(t)
	for _, p := range codegen.Projects() {
		m, _ := withProject(t, &model{prefix: "m", src: bare.src}, p)
		testenv.Check(t, len(m.files) > len(bare.files), "%s: no files", p)
		for _, f := range bare.files {
			if got := m.file(f.Path); got != string(f.Data) && f.Path != "README.md" && f.Path != "NOTICE" {
				t.Errorf("%s changes %s", p, f.Path)
			}
		}
	}
}
