// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
)

// TestLinkedLibrary verifies the shipped model with an installed CMSIS-NN on
// every core that the environment names one for, also with builds that round
// once: these are recognised, and the interpreter follows them.
func TestLinkedLibrary(t *testing.T) {
	inc := testenv.Get("CMSIS_NN_INCLUDE")
	digits := filepath.Join("..", "..", "nncc", "examples", "digits")
	for _, b := range []struct{ board, env, rounding string }{
		{"cortex-m0plus", "CMSIS_NN_LIB_M0PLUS", "double"}, {"cortex-m3", "CMSIS_NN_LIB_M3", "double"},
		{"cortex-m4", "CMSIS_NN_LIB_M4", "double"},
		{"cortex-m7", "CMSIS_NN_LIB_M7", "double"}, {"cortex-m33", "CMSIS_NN_LIB_M33", "double"},
		{"cortex-m55", "CMSIS_NN_LIB_M55", "double"},
		{"host", "CMSIS_NN_LIB", "double"}, {"host", "CMSIS_NN_LIB_SINGLE", "single"},
		{"cortex-m4", "CMSIS_NN_LIB_M4_SINGLE", "single"}, {"cortex-m55", "CMSIS_NN_LIB_M55_SINGLE", "single"},
	} {
		t.Run(b.env, func(t *testing.T) {
			lib := testenv.Get(b.env)
			if inc == "" || lib == "" {
				t.Skipf("set CMSIS_NN_INCLUDE and %s to a build of CMSIS-NN for %s (%s rounding)", b.env, b.board,
					b.rounding)
			}
			if b.board != "host" {
				testenv.Tool(t, "arm-gcc", "arm-none-eabi-gcc")
				testenv.Tool(t, "qemu", "qemu-system-arm")
			}
			c := driver.Defaults()
			c.Model, c.Board, c.Calib = filepath.Join(digits, "digits.onnx"), b.board,
				[]string{filepath.Join(digits, "digits_calib.npz")}
			c.CMSISInclude, c.CMSISLib, c.Kernels, c.Cases = inc, lib, option.CMSISNN, 4
			o := mustCompile(t, &c)
			v := mustVerify(t, o)
			if v.Mismatches != 0 || v.Failure != "" || v.Rounding != b.rounding {
				t.Errorf("%d mismatches, %q rounding %s, want %s", v.Mismatches, v.Failure, v.Rounding, b.rounding)
			}
			if b.rounding == "single" {
				differs(t, o)
			}
		})
	}
}

// differs checks that one rounding changes some value of the model: else
// nothing was shown.
func differs(t *testing.T, o *driver.Compiled) {
	t.Helper()
	g := o.Lowered.Graph
	cases := mustCases(t, o.Config, o)
	values := func() (all [][]byte) {
		if _, err := interp.Run(g, cases[0].Inputs,
			func(_ *ir.Value, d *tensor.Dense) { all = append(all, d.Bytes()) }); err != nil {
			t.Fatal(err)
		}
		return all
	}
	once := values()
	for _, n := range g.Nodes {
		op.SetRounding(n, fixp.DoubleRounding)
	}
	if slices.EqualFunc(once, values(), slices.Equal[[]byte]) {
		t.Error("no value of the model depends on the rounding")
	}
}
