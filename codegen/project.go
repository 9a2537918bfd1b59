// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	_ "embed"
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
	name  string
	files []job
	// more are files that need the list of all others; nil for none.
	more func(v *firmwareView, files []File) []File
	// archive is a file made of all others, terms included; nil for none.
	archive func(v *firmwareView, files []File) (File, error)
}

//go:embed projects.txt
var projectFiles string

var projects = func() (list []project) {
	for line := range strings.Lines(projectFiles) {
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		if k := len(list) - 1; k < 0 || list[k].name != f[0] {
			list = append(list, project{name: f[0]})
		}
		p := &list[len(list)-1]
		p.files = append(p.files, job{f[1], f[2] + ".tmpl"})
		switch p.name {
		case "cmsis-pack":
			p.archive = packFile
		case "arduino":
			p.more = arduinoFiles
		}
	}
	return list
}()

// jobs are the files for a firmware.
func (p *project) jobs(v *firmwareView) []job {
	names := strings.NewReplacer("VENDOR", packVendor, "NAME", v.Name)
	return lists.Map(p.files, func(j job) job { return job{names.Replace(j.path), j.tmpl} })
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
