// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/ort"
	"github.com/nncc/nncc/ir/tensor"
)

func vectorModel(t *testing.T, v *ort.Vector) *Model {
	t.Helper()
	m, err := Parse(v.Source(), Limits{})
	if err != nil {
		t.Fatalf("%v in\n%s", err, v)
	}
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
		if seen[v.Name] {
			t.Errorf("two vectors are called %s", v.Name)
		}
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
		var said []string
		for _, o := range r.Outputs {
			said = append(said, ort.Printed(o.Data))
		}
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
