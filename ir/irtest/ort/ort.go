// SPDX-License-Identifier: Apache-2.0

// Package ort runs models in ONNX Runtime, for tests that want its opinion.
package ort

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

//go:embed ort.js
var script []byte

// Tensor is an input or output with its name in the model.
type Tensor struct {
	Name string
	Data *tensor.Dense
}

// Job is a model, as the bytes of its file, to be run once.
type Job struct {
	Name   string // for messages
	Model  []byte
	Inputs []Tensor
	// Repeat, when set, is how often the optimised model runs to be timed.
	Repeat int
}

// Result is what ONNX Runtime gives: outputs in the order of the graph, or the
// text of its error.
type Result struct {
	Outputs []Tensor
	Seconds float64 // of one inference on one thread, the median, where the job has Repeat
	Err     string
}

// Modules is the folder node_modules in which onnxruntime-node is installed, as
// NNCC_ORT names it; "" without.
func Modules() string { return testenv.Get("NNCC_ORT") }

// Need skips a test that is about nothing but ONNX Runtime where that is absent.
func Need(t testing.TB) {
	t.Helper()
	if Modules() == "" {
		t.Skip("ONNX Runtime is not asked: NNCC_ORT does not name a node_modules with onnxruntime-node")
	}
}

// file is a tensor as ort.js reads and writes it.
type file struct {
	Name  string `json:"name"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
	File  string `json:"file"`
}

var types = map[tensor.DType]string{
	tensor.F32: "float32", tensor.F64: "float64", tensor.F16: "float16", tensor.I8: "int8", tensor.U8: "uint8",
	tensor.I16: "int16", tensor.U16: "uint16",
	tensor.I32: "int32", tensor.U32: "uint32", tensor.I64: "int64", tensor.U64: "uint64", tensor.Bool: "bool",
}

// Run runs models with graph optimisation off, unless they are timed, all in one process of node.
func Run(t testing.TB, jobs []Job) []Result {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, b []byte) string {
		t.Helper()
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return p
	}
	type job struct {
		Model    string `json:"model"`
		Inputs   []file `json:"inputs"`
		Optimise string `json:"optimise,omitempty"`
		Repeat   int    `json:"repeat,omitempty"`
	}
	var list []job
	for k, j := range jobs {
		x := job{Model: write(fmt.Sprintf("%d.onnx", k), j.Model), Inputs: []file{}, Repeat: j.Repeat}
		if j.Repeat > 0 {
			x.Optimise = "all"
		}
		for i, in := range j.Inputs {
			x.Inputs = append(x.Inputs, file{in.Name, types[in.Data.DType], append([]int{}, in.Data.Shape...),
				write(fmt.Sprintf("%d.in%d", k, i), in.Data.Bytes())})
		}
		list = append(list, x)
	}
	b, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", write("ort.js", script), write("jobs.json", b))
	cmd.Env = append(os.Environ(), "NODE_PATH="+Modules())
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("node: %v\n%s", err, out)
	}
	var said []struct {
		Outputs []file
		Seconds float64
		Error   string
	}
	if err := json.Unmarshal(out, &said); err != nil || len(said) != len(jobs) {
		t.Fatalf("%v: %d answers for %d models in %.200s", err, len(said), len(jobs), out)
	}
	results := make([]Result, len(jobs))
	for k, r := range said {
		results[k].Err, results[k].Seconds = r.Error, r.Seconds
		for _, o := range r.Outputs {
			raw, err := os.ReadFile(o.File)
			if err != nil {
				t.Fatal(err)
			}
			d, err := tensor.FromBytes(dtype(o.DType), o.Shape, raw)
			if err != nil {
				t.Fatalf("%s: output %s: %v", jobs[k].Name, o.Name, err)
			}
			results[k].Outputs = append(results[k].Outputs, Tensor{o.Name, d})
		}
	}
	return results
}

func dtype(name string) tensor.DType {
	for d, s := range types {
		if s == name {
			return d
		}
	}
	return tensor.Invalid
}
