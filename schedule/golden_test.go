// SPDX-License-Identifier: Apache-2.0

package schedule_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/ir/irtest"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestGolden: graphs (the bodies of their text, "in.ir") and the programs that
// they become ("out.program", rewritten with -update).
func TestGolden(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	testenv.Require(t, err == nil && len(files) != 0, "no golden files (%v)", err)
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			a := testenv.Must(txtar.ParseFile(f))(t)
			if irtest.Update() && len(a.Files) == 1 {
				a.Files = append(a.Files, txtar.File{Name: "out.program"})
			}
			testenv.Require(t, len(a.Files) == 2 && a.Files[0].Name == "in.ir" && a.Files[1].Name == "out.program",
				"want in.ir and out.program")
			g, low := lowered(t, string(a.Files[0].Data))
			got := built(t, g, low).Program.String()
			if !irtest.Update() {
				d := cmp.Diff(string(a.Files[1].Data), got)
				testenv.Check(t, d == "", "-want +got:\n%s", d)
				return
			}
			a.Files[1].Data = []byte(got)
			testenv.OK(t, os.WriteFile(f, txtar.Format(a), 0o644))
		})
	}
}
