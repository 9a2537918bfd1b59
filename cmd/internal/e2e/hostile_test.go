// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/nncc/nncc/boards/run"
	"github.com/nncc/nncc/ir/bug"
)

//go:embed testdata/hostile.txtar
var hostileText []byte

// hostileModel has a name, what the message about it has to name, and a text: header and body of a graph.
type hostileModel struct{ name, want, text string }

// hostile are models whose tensors, shapes and attributes lie in the ways that crash or exhaust importers.
func hostile() []hostileModel {
	const double = `%[2]s = Concat <axis = 0> (%[1]s, %[1]s)`
	list := []hostileModel{
		{"every concatenation doubles", `Concat "`,
			`(float[1, 4] x) => (float y) { ` + chain("x", "y", 60, double) + ` }`},
		{"constant doubled 60 times", `Concat "`,
			`(float[4] x) => (float y) { k = Constant <value_floats = [1.0]> () ` +
				chain("k", "d", 60, double) + ` r = ReduceSum <keepdims = 0> (d) y = Add (x, r) }`},
	}
	for _, f := range txtar.Parse(hostileText).Files {
		want, text, _ := strings.Cut(string(f.Data), "\n")
		list = append(list, hostileModel{f.Name, want, text})
	}
	return list
}

// chain writes n nodes, each made by a format of its input and output.
func chain(from, to string, n int, format string) string {
	var b strings.Builder
	for i := range n {
		out := fmt.Sprintf("%s_%d", to, i)
		if i == n-1 {
			out = to
		}
		fmt.Fprintf(&b, format+" ", from, out)
		from = out
	}
	return b.String()
}

// TestHostile: models that lie end in an error about the fault that names node
// or tensor; they leave nothing behind and take little memory.
func TestHostile(t *testing.T) {
	for _, c := range hostile() {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			cfg := config(writeText(t, dir, 17, c.text), "cortex-m55")
			cfg.Out = filepath.Join(dir, "out")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := cfg.Compile()
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 512<<20 {
				t.Errorf("it took %d MiB", n>>20)
			}
			if err == nil {
				t.Fatal("no error")
			}
			var tool *run.ToolError
			if msg := err.Error(); errors.As(err, &tool) || bug.Is(err) ||
				!strings.Contains(strings.ReplaceAll(msg, dir, ""), c.want) || len(msg) > 4000 {
				t.Errorf("error %.2000q, want one that names %s", msg, c.want)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
				t.Errorf("left behind: %v (%v)", left, err)
			}
		})
	}
}

// writeText writes a model in ONNX's text syntax: the graph and functions behind it.
func writeText(t *testing.T, dir string, opset int, text string) string {
	t.Helper()
	p := filepath.Join(dir, "model.onnx")
	require(t, os.WriteFile(p, fmt.Appendf(nil, `<ir_version: 8, opset_import: ["" : %d, "local" : 1]> g %s`, opset,
		text), 0o666))
	return p
}
