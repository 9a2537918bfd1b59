package onnx

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// ortTensor and ortJob are what testdata/ort.js reads and writes.
type ortTensor struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	File  string `json:"file"`
}

type ortJob struct {
	Model   string      `json:"model"`
	Inputs  []ortTensor `json:"inputs"`
	name    string
	outputs []*tensor.Dense // what the interpreter computes
	tol     float64
}

var ortTypes = map[tensor.DType]string{
	tensor.F32: "float32", tensor.F64: "float64", tensor.F16: "float16", tensor.I8: "int8", tensor.U8: "uint8", tensor.I16: "int16", tensor.U16: "uint16",
	tensor.I32: "int32", tensor.U32: "uint32", tensor.I64: "int64", tensor.U64: "uint64", tensor.Bool: "bool",
}

// ortQueue gathers exported models and compares what ONNX Runtime makes of them
// with the interpreter, in one run of node.
type ortQueue struct {
	dir     string
	modules string
	jobs    []ortJob
}

// newORT is nil, with a note, without ONNX Runtime: NNCC_ORT names a folder
// node_modules in which onnxruntime-node is installed.
func newORT(t *testing.T) *ortQueue {
	dir := os.Getenv("NNCC_ORT")
	if dir == "" {
		t.Log("ONNX Runtime is not asked: NNCC_ORT does not name a node_modules with onnxruntime-node")
		return nil
	}
	return &ortQueue{dir: t.TempDir(), modules: dir}
}

// add queues a model whose outputs must be those given.
func (q *ortQueue) add(t *testing.T, name string, model []byte, g *ir.Graph, in, out []*tensor.Dense, tol float64) {
	t.Helper()
	if q == nil {
		return
	}
	base := filepath.Join(q.dir, fmt.Sprintf("%d", len(q.jobs)))
	j := ortJob{Model: base + ".onnx", name: name, outputs: out, tol: tol}
	write := func(file string, b []byte) {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(j.Model, model)
	for i, d := range in {
		f := fmt.Sprintf("%s.in%d", base, i)
		write(f, d.Bytes())
		j.Inputs = append(j.Inputs, ortTensor{g.In[i].Name, ortTypes[d.DType], append([]int{}, d.Shape...), f})
	}
	q.jobs = append(q.jobs, j)
}

// run asks ONNX Runtime and reports every difference.
func (q *ortQueue) run(t *testing.T) {
	t.Helper()
	if q == nil || len(q.jobs) == 0 {
		return
	}
	b, _ := json.Marshal(q.jobs)
	jobs := filepath.Join(q.dir, "jobs.json")
	if err := os.WriteFile(jobs, b, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", filepath.Join("testdata", "ort.js"), jobs)
	cmd.Env = append(os.Environ(), "NODE_PATH="+q.modules)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	var results []struct {
		Outputs []ortTensor
		Error   string
	}
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v in %.200s", err, out)
	}
	same := 0
	for i, r := range results {
		j := q.jobs[i]
		if r.Error != "" {
			t.Errorf("%s: ONNX Runtime: %s", j.name, r.Error)
			continue
		}
		if len(r.Outputs) != len(j.outputs) {
			t.Errorf("%s: ONNX Runtime gives %d outputs, want %d", j.name, len(r.Outputs), len(j.outputs))
			continue
		}
		ok := true
		for k, o := range r.Outputs {
			raw, err := os.ReadFile(o.File)
			if err != nil {
				t.Fatal(err)
			}
			want := j.outputs[k]
			if o.DType != ortTypes[want.DType] {
				t.Errorf("%s: output %d is %s, want %s", j.name, k, o.DType, want)
				ok = false
				continue
			}
			got, err := tensor.FromBytes(want.DType, o.Shape, raw)
			if err != nil {
				t.Errorf("%s: output %d: %v", j.name, k, err)
				ok = false
				continue
			}
			if d := worst(got, want); d > j.tol {
				t.Errorf("%s: output %s differs from ONNX Runtime by %.3g", j.name, o.Name, d)
				ok = false
			}
		}
		if ok {
			same++
		}
	}
	t.Logf("ONNX Runtime agrees on %d of %d models", same, len(results))
}
