package codegen_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/codegen"
	"github.com/nncc/nncc/ir/irtest"
)

// TestGolden compares emitted files with those of testdata/*.txtar: a graph as
// "in.ir" (its body), then the files that matter. With -update they are
// rewritten. "native" in the comment lets inputs lie channels last.
func TestGolden(t *testing.T) {
	update := irtest.Update()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files (%v)", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		t.Run(name, func(t *testing.T) {
			a, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			m := &model{prefix: name, src: string(a.Files[0].Data), native: strings.Contains(string(a.Comment), "native")}
			m.opt = codegen.Options{Source: name + ".onnx", SHA256: strings.Repeat("0", 64), Version: "1.0", Board: "host"}
			m.generate(t)
			for i := range a.Files[1:] {
				x := &a.Files[i+1]
				if !slices.ContainsFunc(m.files, func(f codegen.File) bool { return f.Path == x.Name }) {
					t.Errorf("%s is not emitted", x.Name)
				}
				got := m.file(x.Name)
				if update {
					x.Data = []byte(got)
				} else if got != string(x.Data) {
					t.Errorf("%s differs (-want +got):\n%s", x.Name, cmp.Diff(strings.Split(string(x.Data), "\n"), strings.Split(got, "\n")))
				}
			}
			if update {
				if err := os.WriteFile(f, txtar.Format(a), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
