// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
)

var update = flag.Bool("update", false, "write what tests get: expected parts of golden files, ratchets")

// Update reports whether a test shall write down what it gets (-update).
func Update() bool { return *update }

// Updating reports whether stored results are to be rewritten (-update).
func Updating() bool { return *update }

// Golden runs every txtar file that matches pattern as a subtest. A file has,
// after lines of comment, of which one names the passes,
//
//	passes: cleanup, bn-fold
//
// the graph before as "in.ir", and either the graph after as "out.ir" or a
// part of the error's text as "err". Unless there is an error, the interpreter
// compares before and after each pass. With -update the expected part is
// rewritten; a new file needs only "in.ir", or an empty "err" as well where an
// error is wanted.
func Golden(t *testing.T, pattern string, list []pass.Pass) {
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files %s (%v)", pattern, err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) { golden(t, f, list) })
	}
}

func golden(t *testing.T, file string, list []pass.Pass) {
	a, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, line := range strings.Split(string(a.Comment), "\n") {
		if s, ok := strings.CutPrefix(line, "passes:"); ok {
			names = append(names, lists.Map(strings.Split(s, ","), strings.TrimSpace)...)
		}
	}
	parts := map[string]string{}
	for _, f := range a.Files {
		parts[f.Name] = string(f.Data)
	}
	kind, got := "out.ir", ""
	passes, err := pass.Select(list, names...)
	if err != nil {
		t.Fatal(err)
	}
	g, err := ir.Parse(parts["in.ir"], op.Get)
	if err == nil {
		Verify(t, g)
		m := pass.Manager{Passes: passes, Check: Check(1, 2)}
		err = m.Run(&pass.Ctx{}, g)
	}
	if err != nil {
		kind, got = "err", err.Error()+"\n"
	} else {
		got = g.String()
	}
	if *update {
		if _, known := parts["err"]; kind == "err" && !known {
			t.Fatalf("%s\n(an error that is wanted needs a part -- err -- in the file)", got)
		}
		b := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			if f.Name == "in.ir" {
				b.Files = append(b.Files, f)
			}
		}
		b.Files = append(b.Files, txtar.File{Name: kind, Data: []byte(got)})
		if err := os.WriteFile(file, txtar.Format(b), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, ok := parts[kind]
	switch {
	case kind == "err" && ok && strings.Contains(got, strings.TrimSpace(want)):
	case kind == "err":
		t.Errorf("error %s", got)
	case !ok:
		t.Errorf("no %s in the file (-update writes it); got\n%s", kind, got)
	case got != want:
		t.Errorf("graph differs (-want +got):\n%s", cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")))
	}
}
