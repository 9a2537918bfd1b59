// SPDX-License-Identifier: Apache-2.0

package codegen_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/call"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/preprocess"
	"github.com/nncc/nncc/ir/program"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/kernel"
	"github.com/nncc/nncc/lower/layout"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
	"github.com/nncc/nncc/schedule"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

var table = bug.Must(lower.Kernels([]string{"cmsisnn", "refc"}, kernel.Options{}))

// model is a small graph on its way to C.
type model struct {
	prefix string
	src    string // body of the graph's text
	native bool
	opt    codegen.Options
	unit   codegen.Model

	// copies: every other constant is staged, the others are fetched where steps read them.
	copies bool
	// kept are inputs of src and the outputs that become them: state.
	kept [][2]string
	// parts: the arena lies in three memories, or two of them.
	parts bool
	// chained: some steps of the program are calls of chains.
	chained bool

	// net, when set, is taken instead of src, through all passes in the given
	// precision.
	net       *ir.Graph
	precision option.Precision

	graph *ir.Graph
	prog  *program.Program
	info  *codegen.Info
	files []codegen.File
}

// generate takes the graph through layout, kernels and schedule to files; no
// pass changes src before.
func (m *model) generate(t testing.TB) *model {
	t.Helper()
	if m.net != nil {
		m.lower(t)
	} else {
		m.schedule(t)
	}
	for k, s := range m.prog.Steps {
		if m.chained {
			s.Chain = []string{"", "a", "b"}[k/2%3]
		}
	}
	return m.emit(t)
}

// emit prints the program.
func (m *model) emit(t testing.TB) *model {
	t.Helper()
	o := m.opt
	if o.Board == "" {
		o.Board, o.Version = "host", "test"
	}
	if o.Projects == nil {
		o.Projects = []string{"make", "cmake"}
	}
	unit := m.unit
	unit.Program, unit.Prefix = m.prog, m.prefix
	if unit.Source == "" {
		unit.Source = m.prefix + ".onnx"
	}
	files, infos, err := codegen.Generate([]codegen.Model{unit}, o)
	testenv.OK(t, err)
	m.files, m.info = files, infos[0]
	return m
}

// lower takes net through the whole pipeline.
func (m *model) lower(t testing.TB) {
	o := lower.Options{Precision: m.precision, Legalize: true, NativeIO: m.native,
		Libraries: []string{"cmsisnn", "refc"}}
	if m.precision != option.Float32 {
		o.Quant = quant.Options{Method: option.MinMax, Source: quant.SyntheticSource,
			Samples: quant.SyntheticSamples(m.net.In, 1, 1)}
	}
	r := testenv.Must(lower.Run(m.net, o))(t)
	m.graph = r.Graph
	m.take(t, r.Program)
}

// schedule gives the nodes of src kernels, orders and places.
func (m *model) schedule(t testing.TB) {
	g, low := m.lowered(t)
	states := m.states(t, g)
	r := testenv.Must(schedule.Build(g, low, states...))(t)
	if m.parts {
		r = inParts(t, r.Program.ArenaBytes, g, low, states)
	}
	m.graph = g
	m.take(t, r.Program)
}

// states are those of kept.
func (m *model) states(t testing.TB, g *ir.Graph) []schedule.StateBinding {
	t.Helper()
	var out []schedule.StateBinding
	for _, x := range m.kept {
		in := slices.IndexFunc(g.In, func(v *ir.Value) bool { return v.Name == x[0] })
		to := slices.Index(g.OutNames, x[1])
		testenv.Require(t, in >= 0 && to >= 0, "no input %s or output %s", x[0], x[1])
		out = append(out, schedule.StateBinding{In: g.In[in], Out: g.Out[to]})
	}
	return out
}

// inParts divides an arena that takes so many bytes in one piece.
func inParts(t testing.TB, whole int, g *ir.Graph, low map[*ir.Node]*call.Lowered,
	states []schedule.StateBinding) *schedule.Result {
	t.Helper()
	for _, share := range []int{60, 75, 90} {
		n := whole * share / 100
		r, _, err := schedule.BuildIn(schedule.Pools{List: []schedule.Pool{{Name: "DTCM", Bytes: n},
			{Name: "ram-2.x", Bytes: n, Cost: 0.5}, {Name: "int", Bytes: n, Cost: 1}}}, schedule.Medium, g, low,
			states...)
		if err == nil && len(r.Program.Parts) > 1 {
			return r
		}
	}
	t.Fatal("the arena is in one piece")
	return nil
}

// lowered gives the nodes of src kernels.
func (m *model) lowered(t testing.TB) (*ir.Graph, map[*ir.Node]*call.Lowered) {
	t.Helper()
	g := irtest.Parse(t, "graph \"g\" {"+m.src+"\n}")
	plans := table.Plans(&kernel.Options{})
	testenv.OK(t, layout.Assign(g, plans.Layout, layout.Options{NativeIO: m.native}))
	low := testenv.Must(plans.Lowered(g.Nodes))(t)
	return g, low
}

// take takes a program, with copies of its constants where those are asked for.
func (m *model) take(t testing.TB, p *program.Program) {
	if m.prog = p; m.copies {
		copyConstants(t, p)
	}
}

// file is the text of an emitted file, "" when there is none.
func (m *model) file(name string) string {
	for _, f := range m.files {
		if f.Path == name {
			return string(f.Data)
		}
	}
	return ""
}

func (m *model) write(t testing.TB, dir string) {
	t.Helper()
	for _, f := range m.files {
		p := filepath.Join(dir, f.Path)
		testenv.OK(t, os.MkdirAll(filepath.Dir(p), 0o755))
		testenv.OK(t, os.WriteFile(p, f.Data, 0o644))
	}
}

// run runs a command in dir and returns its output; a failure fails the test.
func run(t testing.TB, dir, name string, args ...string) string {
	t.Helper()
	out, err := try(dir, name, args...)
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out[:min(len(out), 4000)])
	}
	return out
}

func try(dir, name string, args ...string) (string, error) {
	var out bytes.Buffer
	c := exec.Command(name, args...)
	c.Dir, c.Stdout, c.Stderr = dir, &out, &out
	err := c.Run()
	return out.String(), err
}

// warnings are the flags under which emitted C has none.
var warnings = strings.Fields("-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wstrict-prototypes " +
	"-Wmissing-prototypes -Werror")

var includes = strings.Fields("-I. -Inncc -Inncc/cmsis_nn")

// models are small networks that show every form the emitted C can have.
func models() (list []*model) {
	more := map[string]model{
		"plain":   {unit: codegen.Model{Classes: map[string][]string{"y": {"a", "*/ \"\\\n??/", "ä"}}}},
		"native":  {native: true},
		"qnative": {native: true},
		"camera":  {unit: codegen.Model{Preprocess: []codegen.Preprocess{cameraOf("x"), soundOf("z")}}},
		"hostile": {unit: codegen.Model{Source: "*/ int evil; /* ??/\n\\"}, opt: codegen.Options{Board: "a*/b",
			Notes: []string{"line\none `x` */"}}},
	}
	for _, f := range bug.Must(txtar.ParseFile("testdata/graphs/models.txtar")).Files {
		m := more[f.Name]
		m.prefix, m.src = f.Name, string(f.Data)
		list = append(list, &m)
	}
	return list
}

// cameraOf is preprocessing of frames for an input [1,3,5,7].
func cameraOf(input string) codegen.Preprocess {
	m := &preprocess.Image{Format: preprocess.RGB565, Width: 20, Height: 10, OutWidth: 7, OutHeight: 5, Channels: 3}
	m.Place(preprocess.Fit)
	v := preprocess.Values{Scale: 1. / 127.5, Mean: 1, Std: 1}
	return codegen.Preprocess{Input: input, Image: m, Values: []preprocess.Values{v, v, v},
		Strides: preprocess.Strides{Row: 7, Column: 1, Channel: 35}, Says: "frames */ become %s \\"}
}

// soundOf is preprocessing of samples for an input [2,30].
func soundOf(input string) codegen.Preprocess {
	return codegen.Preprocess{Input: input, Says: "samples",
		Sound: &preprocess.Sound{Frames: 2, Window: 30, Hop: 10, Scale: 1. / 32768}}
}
