// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/boards"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/lower/option"
)

// TestStackBound: every program has a bound of its stack, what QEMU measures
// lies below it, and the report says whose frames it is made of. Some programs
// by default; NNCC_LONG=1 takes every reference model on every board.
func TestStackBound(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	type program struct {
		model, board string
		precision    option.Precision
		optimize     option.Optimize
	}
	list := []program{
		{"digits", "cortex-m55", option.Auto, option.Speed},
		{"digits", "cortex-m4", option.Auto, option.Size},
		{"digits", "cortex-m0plus", option.Float32, option.Size},
	}
	dir := sharedata.Dir()
	if dir != "" {
		list = append(list, program{"mnist_lstm_f32", "cortex-m4", option.Auto, option.Speed})
	}
	if testenv.Long() {
		for _, m := range sharedModels(t) {
			for _, b := range boards.List() {
				if spec, err := boards.Load(b); err == nil && spec.Runner.Kind == "qemu" {
					list = append(list, program{m, b, option.Auto, option.Size}, program{m, b, option.Float32,
						option.Speed})
				}
			}
		}
	}
	for _, p := range list {
		t.Run(p.model+"/"+p.board+"/"+p.precision.String()+"/"+p.optimize.String(), func(t *testing.T) {
			c := config(filepath.Join(dir, "models", p.model+".onnx"), p.board)
			if p.model == "digits" {
				c.Model, c.Calib = filepath.Join(digits, "digits.onnx"),
					[]string{filepath.Join(digits, "digits_calib.npz")}
			}
			c.Precision, c.Optimize, c.Cases = p.precision, p.optimize, 1
			o := mustCompile(t, c)
			v := mustVerify(t, o)
			code := o.Report.Code
			if code == nil {
				t.Fatal(v.Failure)
			}
			if code.NoBound != "" || v.AtMost() < v.StackBytes || v.StackBytes == 0 {
				t.Fatalf("%d bytes of stack were used, the bound is %d (%s)", v.StackBytes, v.AtMost(), code.NoBound)
			}
			frames := map[string]int{}
			for _, f := range code.Functions {
				frames[f.Name] = max(frames[f.Name], f.StackBytes)
			}
			sum := 0
			for _, f := range code.Path {
				sum += frames[f]
			}
			if sum < code.AtMost() || code.Path[0] != o.Harness.RunFunc {
				t.Errorf("%v come to %d bytes, the bound is %d", code.Path, sum, code.AtMost())
			}
			t.Logf("%d bytes used, at most %d by %v", v.StackBytes, v.AtMost(), v.Path)
		})
	}
}

// sharedModels are the names of the reference models that are compiled in
// sweeps: without those of megabytes.
func sharedModels(t testing.TB) []string {
	t.Helper()
	var names []string
	for _, m := range sharedata.Glob("models", "*.onnx") {
		if st, err := os.Stat(m); err == nil && st.Size() <= 2<<20 {
			names = append(names, strings.TrimSuffix(filepath.Base(m), ".onnx"))
		}
	}
	return names
}
