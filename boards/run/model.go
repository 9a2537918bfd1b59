// SPDX-License-Identifier: Apache-2.0

// Package run builds the folder that the code generator emits and executes it
// on a board's machine: QEMU with semihosting, or the host. See README.md.
package run

import (
	"bytes"
	"embed"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"text/template"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/runtime_c/port"
	"github.com/nncc/nncc/runtime_c/spdx"
)

// Model says how the harness calls an emitted model. All names are C
// identifiers that Header declares.
type Model struct {
	// Name is the C prefix, `kws`.
	Name string
	// Header is the file to include, `kws.h`.
	Header string
	// ArenaMacro gives the arena's size in bytes, `KWS_ARENA_BYTES`.
	ArenaMacro string
	// Parts of the arena, for a structure of type Arenas; none: it is in one piece.
	Parts  []Part
	Arenas string
	// Inputs and Outputs in the order of the graph.
	Inputs, Outputs []IO
	// RunFunc is `kws_run`; its result is 0 for success.
	RunFunc string
	// StateMacro gives the state's size in bytes, `KWS_STATE_BYTES`, and ResetFunc
	// is `kws_reset`: both empty where the model keeps no state.
	StateMacro, ResetFunc string
	// BindFunc is `kws_bind`, and WeightsFile the file in the emitted folder that it
	// takes; empty where constants are linked.
	BindFunc, WeightsFile string
	// StageFunc is `kws_stage`, and StagedMacro the size of the memory that it takes;
	// empty where no constant has a copy.
	StageFunc, StagedMacro string
	// Steps names what nncc_trace reports: step i is called Steps[i].
	Steps []string
}

// Part is a part of an arena.
type Part struct {
	Region string // of the board
	Field  string // of the structure
	Macro  string // its size in bytes
}

// IO is one input or output.
type IO struct {
	// Name is for people.
	Name string
	// CFunc gives the address in the arena, `kws_input_1`.
	CFunc string
	// Bytes in memory.
	Bytes int
}

// File is one file of the harness, with a slash-separated path in the
// emitted folder.
type File struct {
	Path string
	Data []byte
}

// HarnessDir is the folder below the emitted one that holds the harness.
const HarnessDir = "harness"

//go:embed tmpl
var templateFiles embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").Funcs(template.FuncMap{
	"split": func(models []Model) bool {
		return slices.ContainsFunc(models, func(m Model) bool { return len(m.Parts) > 0 })
	},
}).ParseFS(templateFiles, "tmpl/*"))

// written is a file of the harness by its template.
func written(name string, view any) []byte {
	var b bytes.Buffer
	err := templates.ExecuteTemplate(&b, name+".tmpl", view)
	bug.If(err != nil, "%w", err)
	return spdx.Stamp(name, b.Bytes(), spdx.Emitted)
}

var (
	identRE  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerRE = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*\.h$`)
)

// Glue renders harness/model_glue.c.
func Glue(models ...Model) []byte {
	for _, m := range models {
		m.check()
	}
	return written("model_glue.c", models)
}

// check panics where a name is not what C takes.
func (m *Model) check() {
	ids := []string{m.ArenaMacro, m.RunFunc}
	for _, x := range m.Parts {
		ids = append(ids, m.Arenas, x.Field, x.Macro)
	}
	if m.StateMacro != "" {
		ids = append(ids, m.StateMacro, m.ResetFunc)
	}
	if m.BindFunc != "" {
		ids = append(ids, m.BindFunc)
	}
	if m.StageFunc != "" {
		ids = append(ids, m.StageFunc, m.StagedMacro)
	}
	for _, io := range append(append([]IO(nil), m.Inputs...), m.Outputs...) {
		ids = append(ids, io.CFunc)
		bug.If(io.Bytes < 0, "run.Glue: %s has %d bytes", io.CFunc, io.Bytes)
	}
	for _, id := range ids {
		bug.If(!identRE.MatchString(id), "run.Glue: %q is not a C identifier", id)
	}
	bug.If(!headerRE.MatchString(m.Header), "run.Glue: %q is not a header", m.Header)
}

// HarnessFiles gives all files below DIR/harness for a board, sorted by path:
// start-up, semihosting, main program, glue to the models and, for a Cortex-M, link.ld.
func HarnessFiles(spec *boards.Spec, models ...Model) []File {
	port := []string{"common", "cortex_m"}
	if spec.Core == "host" {
		port[1] = "host"
	}
	files := []File{{path.Join(HarnessDir, "model_glue.c"), Glue(models...)}}
	for _, dir := range port {
		files = append(files, portFiles(dir)...)
	}
	if spec.Core != "host" {
		files = append(files, File{path.Join(HarnessDir, "link.ld"), linkScript(spec, firstChoice(spec, models))})
	}
	sort.Slice(files, func(i, j int) bool { return files[i].Path < files[j].Path })
	return files
}

func portFiles(dir string) []File {
	entries, err := fs.ReadDir(port.FS, dir)
	bug.If(err != nil, "runtime_c/port: %w", err)
	var out []File
	for _, e := range entries {
		if ext := path.Ext(e.Name()); ext != ".c" && ext != ".h" {
			continue
		}
		data, err := fs.ReadFile(port.FS, path.Join(dir, e.Name()))
		bug.If(err != nil, "runtime_c/port: %w", err)
		out = append(out, File{path.Join(HarnessDir, e.Name()), data})
	}
	return out
}
