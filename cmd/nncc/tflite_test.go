package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTFLite: programs of public models give what TensorFlow Lite Micro computes: integers
// bit for bit, floats within 1e-4, runs in order, with the state that they keep.
func TestTFLite(t *testing.T) {
	sharedata.Need(t, "tflite", "manifest.json")
	testenv.Tool(t, "cc", "cc")
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		name := strings.TrimSuffix(filepath.Base(p), ".tflite")
		t.Run(name, func(t *testing.T) {
			golden, tolerance := casesOf(t, strings.TrimSuffix(p, "tflite")+"npz")
			if code, out, msg := call("verify", "-board", "host", "--golden", golden, "--tolerance", tolerance,
				p); code != 0 {
				t.Errorf("exit %d\n%s%s", code, out, msg)
			}
		})
	}
}

// casesOf writes the runs of an archive, the first axis of each array, as folders of
// arrays, and gives the tolerance that outputs of their type have.
func casesOf(t *testing.T, archive string) (dir, tolerance string) {
	t.Helper()
	entries, err := npz.ReadNpzFile(archive, npz.Limits{})
	must(t, err)
	dir, tolerance = t.TempDir(), "0"
	for _, e := range entries {
		name, a := e.Name, e.Array
		if strings.HasPrefix(name, "output") && a.DType == "float32" {
			tolerance = "1e-4"
		}
		for run := range a.Shape[0] {
			at := filepath.Join(dir, fmt.Sprintf("case_%03d", run))
			must(t, os.MkdirAll(at, 0o777))
			n := a.Len() / a.Shape[0]
			part := a.Part(run*n, n)
			part.Shape = a.Shape[1:]
			must(t, npz.WriteNpyFile(filepath.Join(at, name+".npy"), part))
		}
	}
	return dir, tolerance
}
