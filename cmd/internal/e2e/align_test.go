// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	_ "embed"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/cmd/internal/driver"

	"github.com/nncc/nncc/cmd/internal/report"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/lower/option"
)

// odd1D is a network in one dimension with 3 and 6 channels.
//
//go:embed testdata/odd1D.ir
var odd1D string

// modelFile writes the network of a text as an ONNX file.
func modelFile(t *testing.T, src string) string {
	t.Helper()
	g, err := ir.Parse(src, op.Get)
	require(t, err)
	return graphFile(t, g)
}

// graphFile writes a network as an ONNX file.
func graphFile(t *testing.T, g *ir.Graph) string {
	t.Helper()
	m, err := onnx.Export(g, onnx.ExportOptions{Producer: "test"})
	require(t, err)
	b, err := onnx.Marshal(m)
	require(t, err)
	path := filepath.Join(t.TempDir(), "model.onnx")
	require(t, os.WriteFile(path, b, 0o644))
	return path
}

// installed links the CMSIS-NN that the environment names for a board, or skips.
func installed(t *testing.T, c *driver.Config, variable string) {
	t.Helper()
	c.CMSISInclude, c.CMSISLib, c.Kernels = testenv.Get("CMSIS_NN_INCLUDE"), testenv.Get(variable), option.CMSISNN
	if c.CMSISInclude == "" || c.CMSISLib == "" {
		t.Skipf("CMSIS_NN_INCLUDE and %s do not name an installed CMSIS-NN", variable)
	}
}

// TestAlignPays: on Helium with an installed CMSIS-NN, auto makes no layer
// slower and the network a fifth faster, with the same results.
func TestAlignPays(t *testing.T) {
	path := modelFile(t, odd1D)
	run := func(mode option.Align) *report.Verdict {
		c := config(path, "cortex-m55")
		installed(t, c, "CMSIS_NN_LIB_M55")
		c.Align, c.Cases = mode, 1
		v := mustVerify(t, c)
		if v.Mismatches > 0 {
			t.Fatalf("--align %s: %d mismatches: %s", mode, v.Mismatches, v.Failure)
		}
		return v
	}
	never, auto := run(option.AlignNever), run(option.AlignAuto)
	slower(t, never, auto)
	if float64(auto.Instructions) > 0.8*float64(never.Instructions) {
		t.Errorf("%d instructions become %d, want a fifth less", never.Instructions, auto.Instructions)
	}
}

// slower fails for layers that take more instructions than before.
func slower(t *testing.T, before, after *report.Verdict) {
	t.Helper()
	was := map[string]uint64{}
	for _, l := range before.Layers {
		was[l.Name] = l.Instructions
	}
	for _, l := range after.Layers {
		// Data may be aligned otherwise, which moves copies by some instructions.
		if b, ok := was[l.Name]; ok && float64(l.Instructions) > 1.003*float64(b)+4 {
			t.Errorf("%s (%s): %d instructions become %d", l.Name, l.Kernel, b, l.Instructions)
		}
	}
	if after.Instructions > before.Instructions {
		t.Errorf("%d instructions become %d", before.Instructions, after.Instructions)
	}
}

// TestAutoNeverSlower measures reference models before and after, with nncc's
// kernels and with an installed CMSIS-NN.
func TestAutoNeverSlower(t *testing.T) {
	if !testenv.Long() {
		t.Skip("NNCC_LONG is not set, to measure reference models on cortex-m55, m4 and m3 before and after --align " +
			"auto")
	}
	dir := shared(t)
	for _, b := range []struct{ board, variable string }{{"cortex-m55", "CMSIS_NN_LIB_M55"},
		{"cortex-m4", "CMSIS_NN_LIB_M4"}, {"cortex-m3", "CMSIS_NN_LIB_M3"}} {
		for _, name := range []string{"oddch_tiny", "kws_int8", "ic_int8"} {
			for _, lib := range []bool{false, true} {
				t.Run(b.board+"/"+name, func(t *testing.T) {
					var vs [2]*report.Verdict
					for i, mode := range []option.Align{option.AlignNever, option.AlignAuto} {
						c := config(filepath.Join(dir, "models", name+".onnx"), b.board)
						if lib {
							installed(t, c, b.variable)
						}
						if p := filepath.Join(dir, "calib", name+".npz"); fileExists(p) {
							c.Calib = []string{p}
						}
						c.Align, c.Cases = mode, 1
						var err error
						vs[i], err = c.Verify(context.Background())
						require(t, err)
						if vs[i].Mismatches > 0 {
							t.Fatalf("%d mismatches", vs[i].Mismatches)
						}
					}
					slower(t, vs[0], vs[1])
					t.Logf("%s on %s, installed library: %v: %d instructions become %d", name, b.board, lib,
						vs[0].Instructions, vs[1].Instructions)
				})
			}
		}
	}
}

// TestPadInput: the firmware's input has the added channels, says so, and its
// results do not depend on what they hold.
func TestPadInput(t *testing.T) {
	c := config(modelFile(t, odd1D), "host")
	c.Align, c.PadInput, c.Cases = option.AlignAlways, true, 2
	o := mustCompile(t, c)
	in := o.Report.Inputs[0]
	if in.PaddedFrom != 3 || in.Shape[1] != 4 {
		t.Errorf("input %+v", in)
	}
	v := mustVerify(t, o)
	if v.Mismatches > 0 {
		t.Errorf("%d mismatches", v.Mismatches)
	}
}
