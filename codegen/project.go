// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"encoding/xml"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/nncc/nncc/ir/lists"
)

// job is a file that a template prints.
type job struct{ path, tmpl string }

// project is a build system for which Generate writes files, beside the sources
// and without changing them.
type project struct {
	name string
	jobs func(v *firmwareView) []job
	// more are files that need the list of all others; nil for none.
	more func(v *firmwareView, files []File) []File
	// archive is a file made of all others, terms included; nil for none.
	archive func(v *firmwareView, files []File) (File, error)
}

var projects = []project{
	{name: "make", jobs: func(*firmwareView) []job { return []job{{"Makefile", "Makefile.tmpl"}} }},
	{name: "cmake", jobs: func(*firmwareView) []job { return []job{{"CMakeLists.txt", "CMakeLists.txt.tmpl"}} }},
	{name: "zephyr", jobs: func(*firmwareView) []job {
		return []job{
			{"zephyr/module.yml", "zephyr-module.yml.tmpl"},
			{"zephyr/Kconfig", "zephyr-Kconfig.tmpl"},
			{"zephyr/CMakeLists.txt", "zephyr-CMakeLists.txt.tmpl"},
			{"samples/zephyr/CMakeLists.txt", "zephyr-app-CMakeLists.txt.tmpl"},
			{"samples/zephyr/prj.conf", "zephyr-prj.conf.tmpl"},
			{"samples/zephyr/fpu.conf", "zephyr-fpu.conf.tmpl"},
			{"samples/zephyr/sample.yaml", "zephyr-sample.yaml.tmpl"},
			{"samples/zephyr/src/main.c", "zephyr-main.c.tmpl"},
		}
	}},
	{name: "cmsis-pack", archive: packFile, jobs: func(v *firmwareView) []job {
		return []job{
			{packVendor + "." + v.Name + ".pdsc", "pack.pdsc.tmpl"},
			{v.Name + ".clayer.yml", "clayer.yml.tmpl"},
			{"samples/csolution/" + v.Name + ".csolution.yml", "csolution.yml.tmpl"},
			{"samples/csolution/infer.cproject.yml", "cproject.yml.tmpl"},
			{"samples/csolution/main.c", "sample.c.tmpl"},
		}
	}},
	{name: "cmake-package", jobs: func(*firmwareView) []job {
		return []job{
			{"samples/cmake/CMakeLists.txt", "consumer-CMakeLists.txt.tmpl"},
			{"samples/cmake/main.c", "sample.c.tmpl"},
		}
	}},
	{name: "platformio", jobs: func(*firmwareView) []job {
		return []job{
			{"library.json", "library.json.tmpl"},
			{"samples/platformio/platformio.ini", "platformio.ini.tmpl"},
			{"samples/platformio/src/main.c", "sample.c.tmpl"},
		}
	}},
	{name: "rust", jobs: func(*firmwareView) []job {
		return []job{
			{"Cargo.toml", "Cargo.toml.tmpl"},
			{"rust/build.rs", "build.rs.tmpl"},
			{"rust/lib.rs", "lib.rs.tmpl"},
			{"rust/examples/infer.rs", "infer.rs.tmpl"},
			{"rust/tests/runs.rs", "runs.rs.tmpl"},
		}
	}},
	{name: "arduino", more: arduinoFiles, jobs: func(v *firmwareView) []job {
		return []job{
			{"library.properties", "library.properties.tmpl"},
			{"keywords.txt", "keywords.txt.tmpl"},
			{sketchFolder(v) + v.Name + "_once.ino", "once.ino.tmpl"},
		}
	}},
}

// samples is the folder of applications for build systems.
const samples = "samples/"

// Projects are the names of the build systems that Generate can write for.
func Projects() []string {
	return lists.Map(projects, func(p project) string { return p.name })
}

// packVendor stands in front of the pack's name.
const packVendor = "nncc"

// PackVendor is packVendor for templates.
func (v *firmwareView) PackVendor() string { return packVendor }

var semver = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+`)

// PackVersion is nncc's version in the form that packs and libraries need.
func (v *firmwareView) PackVersion() string {
	if m := semver.FindString(v.Version); m != "" {
		return m
	}
	return "0.0.0"
}

// xmlText escapes text for XML.
func xmlText(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

// sketchFolder is where the example of an Arduino library is.
func sketchFolder(v *firmwareView) string { return "examples/" + v.Name + "_once/" }

// arduinoFiles are the folder src/ of an Arduino library: the IDE compiles what
// is below it, with src/ as the only include path. Every source and header of
// the model has a file there that includes it, in one flat folder (names of
// files are unique), and headers that the model's source names with their folder
// a second one; what the assembler includes is there as a copy. The sketch has weights files
// that are bound as text: files of other kinds do not come to the compiler.
func arduinoFiles(v *firmwareView, files []File) []File {
	var out []File
	forward := func(from, to string) {
		first := ""
		if v.IsAssembled(to) && v.hasFallback(to) {
			// Cores for Arduino compile for link time optimisation, and no file otherwise.
			first = "#define NNCC_NO_INCBIN\n"
		}
		out = append(out, File{from, fmt.Appendf(nil, "/* For Arduino, which compiles src/. */\n%s#include \"%s%s\"\n",
			first, strings.Repeat("../", strings.Count(from, "/")), to)})
	}
	for _, f := range files {
		base := path.Base(f.Path)
		if strings.HasPrefix(f.Path, samples) {
			continue
		}
		switch path.Ext(f.Path) {
		case ".c", ".h", ".hpp":
			forward("src/"+base, f.Path)
			if in := strings.TrimPrefix(f.Path, "nncc/"); in != base && v.includes(in) {
				forward("src/"+in, f.Path)
			}
		case ".bin", ".lm":
			if !v.isWeightsFile(base) {
				out = append(out, File{"src/" + base, f.Data})
			}
		}
	}
	for _, m := range v.Models {
		if m.Bound != nil && m.Bound.Sketch() != "" {
			out = append(out, File{sketchFolder(v) + m.Bound.Sketch(), byteText(m.Bound.data)})
		}
	}
	return out
}
