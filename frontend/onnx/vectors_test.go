// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

func vectorModel(t *testing.T, v *ort.Vector) *Model {
	t.Helper()
	m, err := Parse(v.Source(), Limits{})
	testenv.Require(t, err == nil, "%v in\n%s", err, v)
	return m
}

// Operators of ai.onnx.ml, and every operator in the versions whose meaning
// differs from the newest: what ONNX Runtime computes.
func TestVectors(t *testing.T) {
	files, err := filepath.Glob("testdata/vectors/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no vectors", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { testVectors(t, file) })
	}
}

func testVectors(t *testing.T, file string) {
	all := ort.ReadVectors(t, file)
	var jobs []ort.Job
	var asked []*ort.Vector
	seen := map[string]bool{}
	for _, v := range all {
		testenv.Check(t, !seen[v.Name], "two vectors are called %s", v.Name)
		seen[v.Name] = true
		m := vectorModel(t, v)
		g, err := OpenModel(m, ImportOptions{})
		if err != nil {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		in := irtest.Inputs(g, 5)
		job := ort.Job{Name: v.Name}
		for i, d := range in {
			job.Inputs = append(job.Inputs, ort.Tensor{Name: g.In[i].Name, Data: d})
		}
		if job.Model, err = proto.Marshal(m.Proto); err != nil {
			t.Fatal(err)
		}
		jobs, asked = append(jobs, job), append(asked, v)
		if irtest.Updating() && ort.Modules() != "" {
			continue // held against what is stored below
		}
		hold(t, v, g, in)
	}
	if ort.Modules() == "" {
		return
	}
	for i, r := range ort.Run(t, jobs) {
		v := asked[i]
		said := lists.Map(r.Outputs, func(o ort.Tensor) string { return ort.Printed(o.Data) })
		switch {
		case r.Err != "":
			t.Errorf("%s: ONNX Runtime: %s", v.Name, r.Err)
		case irtest.Updating():
			v.Want = said
			g := open(t, vectorModel(t, v), ImportOptions{})
			hold(t, v, g, irtest.Inputs(g, 5))
		default:
			for k, o := range r.Outputs {
				if k >= len(v.Want) || ort.Holds(o.Data, v.Want[k]) != "" {
					t.Errorf("%s: output %d of ONNX Runtime is %s, stored is another", v.Name, k, said[k])
				}
			}
		}
	}
	if irtest.Updating() {
		var b strings.Builder
		for i, v := range all {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(v.String())
		}
		testenv.OK(t, os.WriteFile(file, []byte(b.String()), 0o666))
	}
}

// hold compares the interpreter with the stored outputs.
func hold(t *testing.T, v *ort.Vector, g *ir.Graph, in []*tensor.Dense) {
	t.Helper()
	out := irtest.Run(t, g, in)
	if len(out) != len(v.Want) {
		t.Errorf("%s: %d outputs, stored are %d (-update with NNCC_ORT stores them)", v.Name, len(out), len(v.Want))
		return
	}
	for i, o := range out {
		if why := ort.Holds(o, v.Want[i]); why != "" {
			t.Errorf("%s: output %d: %s\n%s", v.Name, i, why, ort.Printed(o))
		}
	}
}

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
