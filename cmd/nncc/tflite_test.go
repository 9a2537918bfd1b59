// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/tflite/tflitetest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestTFLite: programs of public models give what TensorFlow Lite Micro computes: integers
// bit for bit, floats within 1e-4, runs in order, with the state that they keep. On the host;
// small ones, with NNCC_LONG all, on two cores, too.
func TestTFLite(t *testing.T) {
	sharedata.Need(t, "tflite", "manifest.json")
	testenv.Tool(t, "cc", "cc")
	testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
	testenv.Tool(t, "qemu", "qemu-system-arm")
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		name := strings.TrimSuffix(filepath.Base(p), ".tflite")
		info, err := os.Stat(p)
		must(t, err)
		boards := []string{"host"}
		if info.Size() < smallFile || testenv.Long() {
			boards = append(boards, "cortex-m4", "cortex-m55")
		}
		for _, board := range boards {
			t.Run(name+"/"+board, func(t *testing.T) {
				golden, tolerance := casesOf(t, strings.TrimSuffix(p, "tflite")+"npz")
				if code, out, msg := call("verify", "-board", board, "--golden", golden, "--tolerance", tolerance,
					p); code != 0 {
					t.Errorf("exit %d\n%s%s", code, out, msg)
				}
			})
		}
	}
}

// smallFile is the size in bytes up to which a model is run on cores by default.
const smallFile = 16 << 10

// TestTFLiteDamaged: damaged models are refused as input, or compile.
func TestTFLiteDamaged(t *testing.T) {
	var files [][]byte
	for _, l := range tflitetest.Layers() {
		files = append(files, l.Bytes())
	}
	for _, p := range sharedata.Glob("tflite", "*.tflite") {
		if b, err := os.ReadFile(p); err == nil && len(b) < smallFile {
			files = append(files, b)
		}
	}
	from, count := testenv.Range(t, 40)
	if testenv.Long() {
		count *= 10
	}
	compiled := 0
	path := filepath.Join(t.TempDir(), "net.tflite")
	for seed := from; seed < from+count; seed++ {
		rng := rand.New(rand.NewPCG(uint64(seed), 11))
		must(t, os.WriteFile(path, tflitetest.Damage(rng, files[rng.IntN(len(files))]), 0o666))
		for _, board := range []string{"cortex-m55", "cortex-m0plus"} {
			switch code, out, msg := call("-board", board, "--name", "net", "--out", filepath.Join(t.TempDir(), "net"),
				path); code {
			case 0:
				compiled++
			case 2:
			default:
				t.Errorf("seed %d for %s: exit %d\n%s%s", seed, board, code, out, msg)
			}
		}
	}
	if compiled == 0 || compiled == 2*count {
		t.Errorf("%d of %d damaged files compile", compiled, 2*count)
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
