// SPDX-License-Identifier: Apache-2.0

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

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestGolden compares emitted files with those of testdata/*.txtar: a graph as
// "in.ir", then the files that matter. With -update they are rewritten.
func TestGolden(t *testing.T) {
	update := irtest.Update()
	files, err := filepath.Glob("testdata/*.txtar")
	testenv.Require(t, err == nil && len(files) != 0, "no golden files (%v)", err)
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		t.Run(name, func(t *testing.T) {
			a := testenv.Must(txtar.ParseFile(f))(t)
			m := &model{prefix: name, src: string(a.Files[0].Data), native: name == "conv8"}
			m.unit = codegen.Model{SHA256: strings.Repeat("0", 64)}
			m.opt = codegen.Options{Version: "1.0", Board: "host"}
			m.generate(t)
			for i := range a.Files[1:] {
				x := &a.Files[i+1]
				testenv.Check(t, slices.ContainsFunc(m.files, func(f codegen.File) bool { return f.Path == x.Name }),
					"%s is not emitted", x.Name)
				got := m.file(x.Name)
				if update {
					x.Data = []byte(got)
				} else if got != string(x.Data) {
					t.Errorf("%s differs (-want +got):\n%s", x.Name, cmp.Diff(strings.Split(string(x.Data), "\n"),
						strings.Split(got, "\n")))
				}
			}
			if update {
				testenv.OK(t, os.WriteFile(f, txtar.Format(a), 0o644))
			}
		})
	}
}
