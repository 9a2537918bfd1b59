// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/cmd/internal/junit/junittest"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestJUnit: the file is there on every exit status behind the flags, says what
// the status says, and names what failed.
func TestJUnit(t *testing.T) {
	testenv.Tool(t, "cc", "gcc")
	dir := t.TempDir()
	t.Chdir(dir)
	m := tinyModel(t, dir)
	x := writeNpyOf(t, "x.npy", []int{1, 4}, 1)
	must(t, os.Mkdir("golden", 0o777))
	writeNpy(t, "golden/input_0.npy")
	must(t, os.WriteFile("bad.onnx", []byte("noise"), 0o666))
	writeNpyOf(t, "golden/output_0.npy", []int{1, 2}, 7)
	for _, k := range []struct {
		args   string
		code   int
		failed string // CLASS/NAME of the one case that did not pass; "": none
		cases  int    // at least
	}{
		{"verify --board host --cases 1 --layers tiny.onnx", exitOK, "", 4},
		{"verify --board host --cases 1 --max-ram 1M --max-fallback 9 tiny.onnx", exitOK, "", 5},
		{"verify --board host --golden golden --precision float32 tiny.onnx", exitDiffer,
			"failure tiny.onnx.golden/y", 4},
		{"verify --board host --cases 1 --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 4},
		{"compile --board host --max-ram 1 --out o tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"compile --board host --max-ram 1M --out o tiny.onnx", exitOK, "", 2},
		{"explain --board host --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"run --board host --max-ram 1 --input x.npy tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 2},
		{"profile --board host --cases 1 --max-ram 1 tiny.onnx", exitGate, "failure tiny.onnx.gate/--max-ram 1", 3},
		{"eval --data x.npy --board host --min-sqnr -100 tiny.onnx", exitOK, "", 2},
		{"eval --data x.npy --board host --min-sqnr 200 tiny.onnx", exitGate, "failure tiny.onnx.gate/--min-sqnr 200",
			2},
		{"compile --board host --min-sqnr -100 --out o tiny.onnx", exitOK, "", 2},
		{"verify --board host --cases 1 --min-sqnr 200 tiny.onnx", exitGate, "failure tiny.onnx.gate/--min-sqnr 200",
			4},
		{"verify --board host bad.onnx", exitUsage, "error nncc/verify bad.onnx", 1},
		{"verify --board nothere tiny.onnx", exitUsage, "error nncc/verify tiny.onnx", 1},
		{"compile --board host --strict --out o2 tiny.onnx", exitUsage, "error nncc/compile tiny.onnx", 1},
	} {
		file := filepath.Join("results", "j.xml")
		os.Remove(file)
		code, _, msg := call(append(strings.Fields(k.args), "--junit", file)...)
		if code != k.code {
			t.Errorf("%s: exit status %d, want %d: %s", k.args, code, k.code, msg)
		}
		b, err := os.ReadFile(file)
		must(t, err)
		cases, err := junittest.Parse(b)
		if err != nil {
			t.Errorf("%s: %v\n%s", k.args, err, b)
			continue
		}
		var failed []string
		for _, c := range cases {
			if c.Problem == "" {
				continue
			}
			failed = append(failed, c.Problem+" "+c.Class+"/"+c.Name)
			if first, _, _ := strings.Cut(c.Message, ":"); !strings.Contains(msg, first) && code != exitDiffer {
				t.Errorf("%s: %q is not what stderr says: %s", k.args, c.Message, msg)
			}
		}
		if got := strings.Join(failed, " "); got != k.failed || len(cases) < k.cases {
			t.Errorf("%s: failed %q of %d cases, want %q of %d\n%s", k.args, got, len(cases), k.failed, k.cases, b)
		}
	}
	// Where no file can be, and what is read: nothing runs, nothing is lost.
	for _, to := range []string{".", m, "x.npy"} {
		before, _ := os.ReadFile(to)
		code, _, msg := call("run", "--input", x, "--out", "r", "--junit", to, m)
		after, _ := os.ReadFile(to)
		if code != exitUsage || !strings.Contains(msg, "--junit") || string(before) != string(after) {
			t.Errorf("--junit %s: exit status %d: %s", to, code, msg)
		}
	}
}
