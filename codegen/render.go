// SPDX-License-Identifier: Apache-2.0

package codegen

import (
	"bytes"
	"embed"
	"maps"
	"path"
	"strings"
	"text/template"

	"github.com/go-task/slim-sprig/v3"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/runtime_c/ctext"
)

//go:embed tmpl
var tmplFS embed.FS

// allowed are the sprig functions that templates may use: text only. Numbers
// and decisions are made in Go, where a wrong type is an error and not zero.
var allowed = []string{"join", "quote", "replace", "ternary", "base", "toJson"}

// own are functions that sprig has not.
var own = template.FuncMap{"xml": xmlText, "word": makeWord, "md": markdown}

func funcs() template.FuncMap {
	all := sprig.HermeticTxtFuncMap()
	m := template.FuncMap{}
	for _, n := range allowed {
		m[n] = all[n]
	}
	maps.Copy(m, own)
	return m
}

var templates = template.Must(template.New("").Funcs(funcs()).Option("missingkey=error").ParseFS(tmplFS, "tmpl/*.tmpl"))

func render(name string, view any) ([]byte, error) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, view); err != nil {
		return nil, bug.Errorf("template %s: %w", name, err)
	}
	return tidy(b.Bytes()), nil
}

// tidy drops trailing blanks and runs of empty lines that templates leave.
func tidy(b []byte) []byte {
	var out []string
	for _, l := range strings.Split(string(b), "\n") {
		l = strings.TrimRight(l, " \t")
		if l == "" && len(out) > 0 && out[len(out)-1] == "" {
			continue
		}
		out = append(out, l)
	}
	return []byte(strings.Trim(strings.Join(out, "\n"), "\n") + "\n")
}

// jobs are the model's sources.
func (v *modelView) jobs() (list []job) {
	weights, before, behind := v.HasWeights(), v.Preprocesses(), v.Postprocesses()
	for _, x := range []struct {
		is        bool
		end, tmpl string
	}{
		{true, ".h", "model.h"}, {true, ".c", "model.c"}, {true, ".hpp", "model.hpp"}, {true, "_names.h", "names.h"},
		{weights, "_weights.h", v.weightsTemplate() + ".h"}, {weights, "_weights.c", v.weightsTemplate() + ".c"},
		{v.HasCopies(), "_stage.h", "stage.h"}, {v.Staged != nil, "_stage.c", "stage.c"},
		{len(v.Images) > 0, "_images.h", "images.h"}, {len(v.Images) > 0, "_images.c", "images.c"},
		{v.NeedsHelpers(), "_io.c", "io.c"},
		{before, "_preprocess.h", "preprocess.h"}, {before, "_preprocess.c", "preprocess.c"},
		{behind, "_postprocess.h", "postprocess.h"}, {behind, "_postprocess.c", "postprocess.c"},
	} {
		if x.is {
			list = append(list, job{v.Prefix + x.end, x.tmpl + ".tmpl"})
		}
	}
	return list
}

// renderJobs prints files of one view.
func renderJobs(view any, jobs []job) ([]File, error) {
	var files []File
	for _, j := range jobs {
		b, err := render(j.tmpl, view)
		if err != nil {
			return nil, err
		}
		if ext := path.Ext(j.path); ext == ".c" || ext == ".h" || ext == ".hpp" {
			b = ctext.Fold(b)
		}
		files = append(files, File{j.path, b})
	}
	return files, nil
}
