// SPDX-License-Identifier: Apache-2.0

package fb

import (
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestGeneratedIsCurrent makes the accessors anew and compares them with fb.go. It needs
// flatc (Debian: flatbuffers-compiler).
func TestGeneratedIsCurrent(t *testing.T) {
	flatc := testenv.Tool(t, "flatc", "flatc")
	dir := t.TempDir()
	out, err := exec.Command(flatc, "--go", "--gen-onefile", "--go-namespace", "fb", "-o", dir,
		"schema.fbs").CombinedOutput()
	testenv.Require(t, err == nil, "flatc: %v\n%s", err, out)
	have := testenv.Must(os.ReadFile("fb.go"))(t)
	want := testenv.Must(os.ReadFile(filepath.Join(dir, "schema_generated.go")))(t)
	testenv.Check(t, string(have) == string(want) || string(have) == formatted(t, want),
		"fb.go is not what flatc makes of schema.fbs: run go generate ./frontend/tflite/fb")
}

// formatted is source as gofmt writes it.
func formatted(t *testing.T, b []byte) string {
	t.Helper()
	f := testenv.Must(format.Source(b))(t)
	return string(f)
}
