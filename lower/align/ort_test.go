// SPDX-License-Identifier: Apache-2.0

package align_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/align"
	"github.com/nncc/nncc/lower/option"
)

// repairTolerance is how far outputs of a repaired model may be from those of
// the original, both in ONNX Runtime.
const repairTolerance = 1e-6

// TestONNXRuntime runs models and their repaired forms in ONNX Runtime:
// reference models, as files, and random ones.
func TestONNXRuntime(t *testing.T) {
	ort.Need(t)
	var jobs []ort.Job
	queue := func(name string, g *ir.Graph) {
		p, r := padded(t, g, align.Options{Mode: option.AlignAlways})
		if r.Padded == 0 {
			return
		}
		var inputs []ort.Tensor
		for i, d := range irtest.Inputs(g, 3) {
			inputs = append(inputs, ort.Tensor{Name: g.In[i].Name, Data: d})
		}
		for _, x := range []*ir.Graph{g, p} {
			m := testenv.Must(onnx.Export(x, onnx.ExportOptions{Producer: "nncc"}))(t)
			b := testenv.Must(onnx.Marshal(m))(t)
			jobs = append(jobs, ort.Job{Name: name, Model: b, Inputs: inputs})
		}
	}
	for seed := range 60 {
		queue(fmt.Sprintf("random %d", seed), coupled(uint64(seed), tensor.F32))
	}
	for _, name := range []string{"cmsisrepair_readme", "cmsisrepair_reshape_locked", "oddch_tiny",
		"reorg_tiny_darknet", "resid_preact", "nnabla_lenet", "ufld_tiny", "yolov8seg_tiny",
		"kws_f32", "ic_int8", "ic_int8_qop", "ic_int8_qatstyle", "micro_kws_m_static_fp32", "micro_kws_m_static_qdq"} {
		if sharedata.Find("models", name+".onnx") == "" {
			t.Logf("%s is left out: not in ../shared/models", name)
			continue
		}
		queue(name, loaded(t, name))
	}
	said := ort.Run(t, jobs)
	for i := 0; i < len(said); i += 2 {
		x, y, name := said[i], said[i+1], jobs[i].Name
		if x.Err != "" || y.Err != "" {
			t.Errorf("%s: ONNX Runtime: %s%s", name, x.Err, y.Err)
			continue
		}
		for k := range x.Outputs {
			if d := difference(t, x.Outputs[k].Data, y.Outputs[k].Data); !(d <= repairTolerance) {
				t.Errorf("%s: output %s of the repaired model differs by %.3g", name, x.Outputs[k].Name, d)
			}
		}
	}
	t.Logf("ONNX Runtime ran %d models and their repaired forms", len(said)/2)
}

// difference is the largest one, relative where values exceed 1.
func difference(t *testing.T, x, y *tensor.Dense) float64 {
	t.Helper()
	testenv.Require(t, fmt.Sprint(x.DType, x.Shape) == fmt.Sprint(y.DType, y.Shape), "%s%v, was %s%v", y.DType,
		y.Shape, x.DType, x.Shape)
	worst, top := 0.0, 1.0
	for i := range x.Len() {
		a, b := x.Float(i), y.Float(i)
		top = max(top, math.Abs(a))
		if a != a && b != b || a == b {
			continue
		}
		if a != a || b != b {
			return math.Inf(1)
		}
		worst = max(worst, math.Abs(a-b))
	}
	return worst / top
}
