// SPDX-License-Identifier: Apache-2.0

// Package npztest reads stored cases of models for tests.
package npztest

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
)

// GoldenCase reads the first stored case of a reference model beside the
// repository, a folder of .npy or one .npz: its inputs, in the types and shapes
// of g, and outputs. It skips the test where there are no reference models, and
// gives nothing, with a note, where no case fits the graph.
func GoldenCase(t testing.TB, name string, g *ir.Graph) (in, out []*tensor.Dense) {
	t.Helper()
	dir := irtest.Shared(t, "golden", name)
	packed := map[string]*npz.Array{}
	if es, err := npz.ReadFile(filepath.Join(dir, "case_0.npz"), npz.Limits{}); err == nil {
		for _, e := range es {
			packed[e.Name] = e.Array
		}
	}
	read := func(kind string) (ds []*tensor.Dense) {
		for i := 0; ; i++ {
			key := fmt.Sprintf("%s_%d", kind, i)
			a := packed[key]
			if a == nil {
				es, err := npz.ReadFile(filepath.Join(dir, "case_0", key+".npy"), npz.Limits{})
				if err != nil {
					return ds // there are no more
				}
				a = es[0].Array
			}
			d, err := npz.ToTensor(a)
			if err != nil {
				t.Fatalf("%s of %s: %v", key, name, err)
			}
			ds = append(ds, d)
		}
	}
	in, out = read("input"), read("output")
	fits := len(in) == len(g.In) && len(out) == len(g.Out)
	for i := 0; fits && i < len(in); i++ {
		v := g.In[i]
		if fits = in[i].Len() == v.Type.Elems(); fits {
			in[i] = in[i].Reshaped(v.Type.Shape).Cast(v.Type.DType)
		}
	}
	if !fits {
		t.Logf("no golden case of %s with %d inputs and %d outputs of these sizes", name, len(g.In), len(g.Out))
		return nil, nil
	}
	return in, out
}
