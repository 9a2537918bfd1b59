// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/option"
)

// repairTolerance is how far outputs of a repaired model may be from those of
// the original, both in ONNX Runtime.
const repairTolerance = 1e-6

type ortIO struct {
	Name  string `json:"name,omitempty"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	File  string `json:"file"`
}

type ortJob struct {
	Model  string  `json:"model"`
	Inputs []ortIO `json:"inputs"`
}

// TestONNXRuntime runs models and their repaired forms in ONNX Runtime:
// reference models, as files, and random ones. NNCC_ORT names a node_modules
// with onnxruntime-node.
func TestONNXRuntime(t *testing.T) {
	ort.Need(t)
	modules := ort.Modules()
	dir := t.TempDir()
	var jobs []ortJob
	var names []string
	queue := func(name string, g *ir.Graph) {
		p, r := padded(t, g, align.Options{Mode: option.AlignAlways})
		if r.Padded == 0 {
			return
		}
		var inputs []ortIO
		for i, d := range irtest.Inputs(g, 3) {
			f := filepath.Join(dir, fmt.Sprintf("%d.in%d", len(jobs), i))
			write(t, f, d.Bytes())
			inputs = append(inputs, ortIO{g.In[i].Name, map[tensor.DType]string{tensor.F32: "float32",
				tensor.I8: "int8", tensor.U8: "uint8", tensor.I64: "int64"}[d.DType], append([]int{}, d.Shape...), f})
		}
		for _, x := range []*ir.Graph{g, p} {
			m, err := onnx.Export(x, onnx.ExportOptions{Producer: "nncc"})
			if err != nil {
				t.Fatal(err)
			}
			b, err := onnx.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			f := filepath.Join(dir, fmt.Sprintf("%d.onnx", len(jobs)))
			write(t, f, b)
			jobs = append(jobs, ortJob{f, inputs})
		}
		names = append(names, name)
	}
	for seed := range 60 {
		queue(fmt.Sprintf("random %d", seed), coupled(uint64(seed), tensor.F32))
	}
	for _, name := range []string{"cmsisrepair_readme", "cmsisrepair_reshape_locked", "oddch_tiny",
		"reorg_tiny_darknet", "resid_preact", "nnabla_lenet", "ufld_tiny", "yolov8seg_tiny",
		"kws_f32", "ic_int8", "ic_int8_qop", "ic_int8_qatstyle", "micro_kws_m_static_fp32", "micro_kws_m_static_qdq"} {
		path := sharedata.Find("models", name+".onnx")
		if path == "" {
			t.Logf("%s is left out: not in ../shared/models", name)
			continue
		}
		m, err := onnx.Load(path, onnx.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		g, err := onnx.OpenModel(m, onnx.ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		queue(name, g)
	}
	b, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "jobs.json")
	write(t, list, b)
	cmd := exec.Command("node", filepath.Join("..", "..", "ir", "irtest", "ort", "ort.js"), list)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	var results []struct {
		Outputs []ortIO
		Error   string
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v in %.200s", err, out)
	}
	for i, name := range names {
		x, y := results[2*i], results[2*i+1]
		if x.Error != "" || y.Error != "" {
			t.Errorf("%s: ONNX Runtime: %s%s", name, x.Error, y.Error)
			continue
		}
		for k := range x.Outputs {
			if d := fileDiff(t, x.Outputs[k], y.Outputs[k]); !(d <= repairTolerance) {
				t.Errorf("%s: output %s of the repaired model differs by %.3g", name, x.Outputs[k].Name, d)
			}
		}
	}
	t.Logf("ONNX Runtime ran %d models and their repaired forms", len(names))
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// fileDiff is the largest difference, relative where values exceed 1.
func fileDiff(t *testing.T, x, y ortIO) float64 {
	t.Helper()
	dt, ok := map[string]tensor.DType{"float32": tensor.F32, "int8": tensor.I8, "uint8": tensor.U8,
		"int64": tensor.I64}[x.DType]
	if !ok || fmt.Sprint(x.DType, x.Shape) != fmt.Sprint(y.DType, y.Shape) {
		t.Fatalf("output %s is %s%v, was %s%v", y.Name, y.DType, y.Shape, x.DType, x.Shape)
	}
	var d [2]*tensor.Dense
	for i, o := range []ortIO{x, y} {
		b, err := os.ReadFile(o.File)
		if err != nil {
			t.Fatal(err)
		}
		if d[i], err = tensor.FromBytes(dt, o.Shape, b); err != nil {
			t.Fatal(err)
		}
	}
	worst, top := 0.0, 1.0
	for i := range d[0].Len() {
		a, b := d[0].Float(i), d[1].Float(i)
		top = max(top, math.Abs(a))
		if a != a && b != b || a == b {
			continue
		}
		worst = max(worst, math.Abs(a-b))
		if a != a || b != b {
			return math.Inf(1)
		}
	}
	return worst / top
}
