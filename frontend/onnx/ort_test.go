// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/tensor"
)

// ortQueue gathers exported models and compares what ONNX Runtime makes of them
// with the interpreter, in one run of node.
type ortQueue struct {
	jobs []ort.Job
	want [][]*tensor.Dense // what the interpreter computes
	tol  []float64
}

// newORT is nil, with a note, without ONNX Runtime.
func newORT(t *testing.T) *ortQueue {
	if ort.Modules() == "" {
		t.Log("ONNX Runtime is not asked: NNCC_ORT does not name a node_modules with onnxruntime-node")
		return nil
	}
	return &ortQueue{}
}

// add queues a model whose outputs must be those given.
func (q *ortQueue) add(t *testing.T, name string, model []byte, g *ir.Graph, in, out []*tensor.Dense, tol float64) {
	t.Helper()
	if q == nil {
		return
	}
	j := ort.Job{Name: name, Model: model}
	for i, d := range in {
		j.Inputs = append(j.Inputs, ort.Tensor{Name: g.In[i].Name, Data: d})
	}
	q.jobs, q.want, q.tol = append(q.jobs, j), append(q.want, out), append(q.tol, tol)
}

// run asks ONNX Runtime and reports every difference.
func (q *ortQueue) run(t *testing.T) {
	t.Helper()
	if q == nil || len(q.jobs) == 0 {
		return
	}
	same := 0
	for i, r := range ort.Run(t, q.jobs) {
		name, wanted := q.jobs[i].Name, q.want[i]
		if r.Err != "" {
			t.Errorf("%s: ONNX Runtime: %s", name, r.Err)
			continue
		}
		if len(r.Outputs) != len(wanted) {
			t.Errorf("%s: ONNX Runtime gives %d outputs, want %d", name, len(r.Outputs), len(wanted))
			continue
		}
		ok := true
		for k, o := range r.Outputs {
			if o.Data.DType != wanted[k].DType {
				t.Errorf("%s: output %d is %s, want %s", name, k, o.Data.DType, wanted[k].DType)
				ok = false
				continue
			}
			if d := worst(o.Data, wanted[k]); d > q.tol[i] {
				t.Errorf("%s: output %s differs from ONNX Runtime by %.3g", name, o.Name, d)
				ok = false
			}
		}
		if ok {
			same++
		}
	}
	t.Logf("ONNX Runtime agrees on %d of %d models", same, len(q.jobs))
}
