// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/state"
	"github.com/nncc/nncc/lower/stream"
)

// TestGolden runs every file of testdata/stages. A file is called after its
// stage, perhaps with -WHAT behind that, and has, after a comment with lines
//
//	stages: mark, own-outputs     (all that run; the last one is the file's)
//	set: target=m55 align=always  (targets and settings: see settings)
//
// the graph before as "in.ir" and what comes out as "out": the graph, behind
// kernels and lowering a line for each node, behind schedule and fetch the program. With
// -update "out" is rewritten; a new file needs only "in.ir".
func TestGolden(t *testing.T) {
	files, _ := filepath.Glob("testdata/stages/*.txtar")
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { golden(t, f) })
	}
}

func golden(t *testing.T, file string) {
	a := testenv.Must(txtar.ParseFile(file))(t)
	in, want := "", ""
	for _, f := range a.Files {
		switch f.Name {
		case "in.ir":
			in = string(f.Data)
		case "out":
			want = string(f.Data)
		}
	}
	g := irtest.Parse(t, in)
	stages, o := settings(t, g, string(a.Comment))
	s := testenv.Must(lower.RunStages(g, o, stages...))(t)
	got := outcome(s, stages[len(stages)-1])
	if keeps := []string{"import", "mark", "reference"}; got == irtest.Parse(t, in).String() != slices.Contains(keeps,
		stages[len(stages)-1]) {
		t.Errorf("the stage changes the graph: %v", got != in)
	}
	if irtest.Update() {
		a.Files = []txtar.File{{Name: "in.ir", Data: []byte(in)}, {Name: "out", Data: []byte(got)}}
		testenv.OK(t, os.WriteFile(file, txtar.Format(a), 0o644))
		return
	}
	if got != want {
		t.Errorf("differs (-want +got):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}

// settings reads the comment of a golden file.
func settings(t *testing.T, g *ir.Graph, comment string) (stages []string, o lower.Options) {
	t.Helper()
	set := map[string]string{"target": "m55"}
	for _, line := range strings.Split(comment, "\n") {
		if s, ok := strings.CutPrefix(line, "stages: "); ok {
			stages = strings.Split(s, ", ")
		}
		if s, ok := strings.CutPrefix(line, "set: "); ok {
			for _, x := range strings.Fields(s) {
				k, v, _ := strings.Cut(x, "=")
				set[k] = v
			}
		}
	}
	at := slices.IndexFunc(targets(), func(x target) bool { return x.name == set["target"] })
	testenv.Require(t, at >= 0 && len(stages) != 0, "no target %s, or no stages", set["target"])
	o = targets()[at].options(g)
	for k, v := range set {
		switch k {
		case "target":
		case "align":
			o.Align = word[option.Align](t, v)
		case "precision":
			o.Precision = word[option.Precision](t, v)
		case "state":
			out, in, _ := strings.Cut(v, ":")
			o.StateBindings = []state.Binding{{Out: out, In: in}}
		case "stream":
			axis := testenv.Must(strconv.Atoi(v))(t)
			o.Stream = &stream.Options{Axis: axis}
		default:
			t.Fatalf("unknown setting %s", k)
		}
	}
	return stages, o
}

// outcome is what a golden file has of a state behind a stage.
func outcome(s *lower.State, stage string) string {
	var b strings.Builder
	switch stage {
	case "kernels":
		for _, n := range s.Graph.Nodes {
			fmt.Fprintf(&b, "%s: %s\n", n.Name, s.Choices[n].Kernel.Name)
		}
	case "lowering":
		for _, n := range s.Graph.Nodes {
			fmt.Fprintf(&b, "%s: %s", n.Name, s.Low[n].Kernel)
			for _, c := range s.Low[n].Calls {
				fmt.Fprintf(&b, " %s/%d", c.Func, len(c.Args))
			}
			b.WriteString("\n")
		}
	case "schedule", lower.FetchStage:
		b.WriteString(s.Program.String())
	default:
		b.WriteString(s.Graph.String())
		if r := s.Reconstruction(); r != nil {
			b.WriteString(r.String())
		}
	}
	return b.String()
}

// TestGoldensCoverTheTable: every stage has a golden file; those of the float
// passes are in testdata/legal.
func TestGoldensCoverTheTable(t *testing.T) {
	for _, s := range lower.Table {
		dir, name := "stages", s.Name
		if s.Pass != "" {
			dir, name = "legal", s.Pass
		}
		files, _ := filepath.Glob("testdata/" + dir + "/" + name + "*.txtar")
		has := slices.ContainsFunc(files, func(f string) bool {
			rest := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), name), ".txtar")
			return rest == "" || strings.HasPrefix(rest, "-")
		})
		if !has {
			t.Errorf("%s has no golden file: write in.ir into testdata/%s/%s.txtar, run go test ./lower/... -run "+
				"Golden -update, read what comes out", s.Name, dir, name)
		}
	}
}

// word is the value of an option.
func word[T option.Enum](t *testing.T, w string) T {
	t.Helper()
	v, err := option.Parse[T](w)
	testenv.Require(t, err == nil, "%s: %v", w, err)
	return v
}
