// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
)

// mlaModels are the reference models that must become one segment.
var mlaModels = []string{"ufld_tiny", "ufld_full", "yolov8seg_tiny", "vit_tiny_decomp", "vit_tiny_ln17",
	"reorg_tiny_custom"}

// TestLegalizedModels: the 4-D form with the original outputs gives in ONNX
// Runtime what the original model gives there (the golden outputs); the one with
// native outputs has 4-D activations only and compiles to one segment.
func TestLegalizedModels(t *testing.T) {
	dir := shared(t)
	var jobs []ort.Job
	var want [][]*tensor.Dense
	for _, name := range mlaModels {
		model := filepath.Join(dir, "models", name+".onnx")
		for _, outputs := range []option.Outputs{option.NativeOutputs, option.OriginalOutputs} {
			r, err := config(model, "").LegalizeModel(nil, outputs)
			if err != nil || r.Differs != nil {
				t.Fatalf("%s: %v, %v", name, err, r.Differs)
			}
			m, err := onnx.Parse(r.Model, onnx.Limits{})
			require(t, err)
			for _, f := range onnx.Check(m) {
				t.Errorf("%s, %s outputs: %s", name, outputs, f)
			}
			if outputs == option.OriginalOutputs {
				in, out := golden(t, filepath.Join(dir, "golden", name))
				j := ort.Job{Name: name, Model: r.Model}
				for i, vi := range m.Proto.GetGraph().GetInput() {
					j.Inputs = append(j.Inputs, ort.Tensor{Name: vi.GetName(), Data: in[i]})
				}
				jobs, want = append(jobs, j), append(want, out)
				continue
			}
			if len(r.Left) > 0 {
				t.Errorf("%s: without a 4-D form: %v", name, r.Left)
			}
			g, err := onnx.OpenModel(m, onnx.ImportOptions{})
			require(t, err)
			for _, n := range g.Nodes {
				for _, v := range n.Out {
					if v.Const == nil && v.Type.Rank() != 4 {
						t.Errorf("%s: %s gives %s", name, n, v.Type)
					}
				}
			}
			path := filepath.Join(t.TempDir(), name+".onnx")
			require(t, os.WriteFile(path, r.Model, 0o666))
			c := config(path, "mla-m55")
			c.CalibMethod, c.BiasCorrect = option.MinMax, false // quick: numbers do not matter here
			o, err := c.Compile()
			if err != nil {
				t.Fatalf("%s: the native form: %v", name, err)
			}
			if len(o.Report.Segments) != 1 || o.Report.ComputeFallback() != 0 {
				t.Errorf("%s: the native form has %s", name, o.Report.SegmentsText())
			}
		}
	}
	t.Run("onnxruntime", func(t *testing.T) {
		if ort.Modules() == "" {
			t.Skip("ONNX Runtime is not asked: NNCC_ORT does not name a node_modules with onnxruntime-node")
		}
		for i, r := range ort.Run(t, jobs) {
			if r.Err != "" || len(r.Outputs) != len(want[i]) {
				t.Errorf("%s: %d outputs, want %d: %s", jobs[i].Name, len(r.Outputs), len(want[i]), r.Err)
				continue
			}
			for k, o := range r.Outputs {
				if d := relative(o.Data, want[i][k]); !(d <= lower.RoundingOfSums) ||
					fmt.Sprint(o.Data.Shape) != fmt.Sprint(want[i][k].Shape) {
					t.Errorf("%s, output %s %v: %g from the original in ONNX Runtime, want at most %g", jobs[i].Name,
						o.Name, o.Data.Shape, d, lower.RoundingOfSums)
				} else {
					t.Logf("%s, output %s: %.2g of the largest value", jobs[i].Name, o.Name, d)
				}
			}
		}
	})
}

// relative is max|a-b| / max|b|.
func relative(a, b *tensor.Dense) float64 {
	if a.Len() != b.Len() {
		return math.Inf(1)
	}
	worst, top := 0.0, 0.0
	for i := range b.Len() {
		worst, top = max(worst, math.Abs(a.Float(i)-b.Float(i))), max(top, math.Abs(b.Float(i)))
	}
	return worst / max(top, math.SmallestNonzeroFloat32)
}

// golden is the first case of a model: a folder of .npy files or one .npz.
func golden(t *testing.T, dir string) (in, out []*tensor.Dense) {
	t.Helper()
	unit := filepath.Join(dir, "case_0")
	if !fileExists(unit) {
		unit += ".npz"
	}
	get, err := npz.ReadNamed(unit, npz.Limits{})
	require(t, err)
	read := func(stem string) (ds []*tensor.Dense) {
		for {
			d, err := get(fmt.Sprintf("%s_%d", stem, len(ds)))
			require(t, err)
			if d == nil {
				return ds
			}
			ds = append(ds, d)
		}
	}
	in, out = read("input"), read("output")
	if len(in) == 0 || len(out) == 0 {
		t.Fatalf("%s: no golden case", dir)
	}
	return in, out
}
