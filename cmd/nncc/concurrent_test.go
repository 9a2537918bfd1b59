// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// nnccCommand is the command line in a process of its own: this program, which
// TestMain makes nncc by its name.
func nnccCommand(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	return &exec.Cmd{Path: self, Args: append([]string{"nncc"}, args...)}
}

// tree reads all files below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	m := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			var b []byte
			b, err = os.ReadFile(filepath.Join(dir, p))
			m[p] = string(b)
		}
		return err
	})
	must(t, err)
	return m
}

func writeModel(t *testing.T, path, graph string) string {
	t.Helper()
	must(t, os.WriteFile(path, []byte(`<ir_version: 8, opset_import: ["" : 17]> g `+graph), 0o666))
	return path
}

// TestConcurrentOut: processes that write to one --out, some of which are
// killed at any moment, leave a whole folder of one of them; the user's own file
// in it stays. NNCC_RANDOM is the number of rounds.
func TestConcurrentOut(t *testing.T) {
	rounds := testenv.Count(t, 6)
	dir := t.TempDir()
	models := []string{
		writeModel(t, filepath.Join(dir, "one.onnx"), `(float[1, 4] x) => (float[1, 4] y) { y = Relu (x) }`),
		writeModel(t, filepath.Join(dir, "two.onnx"),
			`(float[1, 8] x) => (float[1, 8] y) { a = Sigmoid (x) y = Neg (a) }`),
	}
	args := func(model, out string) []string {
		return []string{"-board", "host", "--precision", "float32", "--out", out, model}
	}
	whole := map[string]map[string]string{}
	var takes time.Duration
	for _, m := range models {
		ref := filepath.Join(dir, "ref-"+filepath.Base(m))
		start := time.Now()
		if out, err := nnccCommand(t, args(m, ref)...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		takes = max(takes, time.Since(start))
		whole[m] = tree(t, ref)
	}
	parent := filepath.Join(dir, "work")
	out := filepath.Join(parent, "out")
	counts := map[string]int{}
	check := func(round int, must bool) {
		t.Helper()
		if _, err := os.Stat(out); err != nil {
			if must {
				t.Fatalf("round %d: %v, though a process ended well", round, err)
			}
			counts["absent"]++
			return
		}
		got := tree(t, out)
		if round > 0 && got["mine/notes.txt"] != "mine" {
			t.Fatalf("round %d: the user's file is lost: %v", round, slices.Sorted(maps.Keys(got)))
		}
		delete(got, "mine/notes.txt")
		for m, want := range whole {
			if maps.Equal(got, want) {
				counts[filepath.Base(m)]++
				return
			}
		}
		var report struct{ Files []string }
		_ = json.Unmarshal([]byte(got["report.json"]), &report)
		t.Fatalf("round %d: a mixture: %v, of which %v are in the report", round, slices.Sorted(maps.Keys(got)),
			report.Files)
	}
	for round := range rounds {
		rng := rand.New(rand.NewPCG(uint64(round), 12))
		n := 2 + rng.IntN(3)
		cmds, errs, says := make([]*exec.Cmd, n), make([]error, n), make([]bytes.Buffer, n)
		killed := make([]bool, n)
		for i := range cmds {
			m := models[rng.IntN(2)]
			if round%3 == 0 {
				m = models[0]
			}
			cmds[i] = nnccCommand(t, args(m, out)...)
			cmds[i].Stderr = &says[i]
			must(t, cmds[i].Start())
			if killed[i] = rng.IntN(3) == 0; killed[i] {
				c, after := cmds[i], time.Duration(rng.Int64N(int64(2*takes)))
				go func() {
					time.Sleep(after)
					_ = c.Process.Kill()
				}()
			}
		}
		well := false
		for i, c := range cmds {
			errs[i] = c.Wait()
			well = well || errs[i] == nil
			switch {
			case errs[i] == nil:
				counts["ended"]++
			case killed[i] && strings.Contains(errs[i].Error(), "killed"):
				counts["killed"]++
			default:
				t.Fatalf("round %d: %v\n%s", round, errs[i], says[i].String())
			}
		}
		check(round, well)
		must(t, os.MkdirAll(filepath.Join(out, "mine"), 0o777))
		if len(tree(t, out)) == 0 { // nobody was here: it would be somebody else's
			os.RemoveAll(out)
			if o, err := nnccCommand(t, args(models[0], out)...).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, o)
			}
			must(t, os.MkdirAll(filepath.Join(out, "mine"), 0o777))
		}
		must(t, os.WriteFile(filepath.Join(out, "mine", "notes.txt"), []byte("mine"), 0o666))
	}
	// The next one clears away what those that were killed left.
	if o, err := nnccCommand(t, args(models[1], out)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, o)
	}
	check(rounds, true)
	es, err := os.ReadDir(parent)
	if err != nil || len(es) != 1 {
		t.Errorf("left behind: %v %v", es, err)
	}
	t.Log(fmt.Sprint(rounds, " rounds: ", counts))
}
