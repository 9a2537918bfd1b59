// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/lower/option"
)

// TestOptimize: code bytes fall and instructions rise from speed to balanced to
// size, results are the interpreter's each time, and the three are not one
// program.
func TestOptimize(t *testing.T) {
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, m := range []struct{ path, calib string }{
		{filepath.Join(digits, "digits.onnx"), filepath.Join(digits, "digits_calib.npz")},
		{sharedata.Find("models", "kws_int8.onnx"), ""},
	} {
		if m.path == "" {
			t.Log("a reference model is not there")
			continue
		}
		for _, board := range []string{"cortex-m4", "cortex-m55"} {
			t.Run(filepath.Base(m.path)+"/"+board, func(t *testing.T) {
				var code, kernels []int
				var instructions []uint64
				for _, goal := range []option.Optimize{option.Speed, option.Balanced, option.Size} {
					c := config(m.path, board)
					c.Optimize, c.Cases = goal, 1
					if m.calib != "" {
						c.Calib = []string{m.calib}
					}
					o := mustCompile(t, c)
					v := mustVerify(t, o)
					if v.Mismatches > 0 {
						t.Fatalf("--optimize %s: %d mismatches (%s)", goal, v.Mismatches, v.Failure)
					}
					code, instructions = append(code, int(v.TextBytes)), append(instructions, v.Instructions)
					kernels = append(kernels, o.Report.Optimize.KernelBytes)
					t.Logf("--optimize %s: %d bytes of code (kernels %d by the table), %d instructions (%d "+
						"predicted for %d layers)",
						goal, code[len(code)-1], kernels[len(kernels)-1], v.Instructions,
						o.Report.Optimize.Instructions, o.Report.Optimize.PricedLayers)
				}
				if !(code[2] <= code[1] && code[1] <= code[0]) || code[2] == code[0] {
					t.Errorf("bytes of code for speed, balanced, size: %v, want them to fall", code)
				}
				if !(instructions[0] <= instructions[1] && instructions[1] <= instructions[2]) {
					t.Errorf("instructions for speed, balanced, size: %v, want them to rise", instructions)
				}
			})
		}
	}
}
