// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestSameBytes: one model gives the same files on any number of processors,
// from any folder.
func TestSameBytes(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	abs, err := filepath.Abs(digits)
	require(t, err)
	other := t.TempDir()
	b, err := os.ReadFile(filepath.Join(digits, "digits.onnx"))
	require(t, err)
	require(t, os.WriteFile(filepath.Join(other, "digits.onnx"), b, 0o666))
	gen := func(dir string, procs int) map[string][]byte {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
		c := config(filepath.Join(dir, "digits.onnx"), "cortex-m55")
		c.Calib = []string{filepath.Join(abs, "digits_calib.npz")}
		o := mustCompile(t, c)
		m := map[string][]byte{"report.json": o.Report.JSON(), "report.html": o.Report.HTML()}
		for _, f := range o.Files {
			m[f.Path] = f.Data
		}
		return m
	}
	want := gen(digits, runtime.NumCPU())
	for _, procs := range []int{1, 3} {
		got := gen(other, procs)
		if len(got) != len(want) {
			t.Fatalf("%d files, were %d", len(got), len(want))
		}
		for p, b := range want {
			if !bytes.Equal(b, got[p]) {
				t.Errorf("%s differs with %d processors", p, procs)
			}
		}
	}
}
