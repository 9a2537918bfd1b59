// SPDX-License-Identifier: Apache-2.0

package fidelity_test

import (
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
)

// TestSmallMutants: one step more than Steps is found behind every kind of node, in
// spite of what is granted where values jump. Some mutants nobody can see: results that
// saturate or lie within another kernel's error.
func TestSmallMutants(t *testing.T) {
	made, found := 0, 0
	for seed := range uint64(testenv.Count(t, 60)) {
		r := lowered(t, irtest.GenQDQ(seed))
		for i, n := range r.Whole.Nodes {
			q := n.Out[0].Type.Quant
			if q == nil || q.PerAxis() || n.Op.Quant == ir.QMove || n.Op.Boundary || len(n.Out[0].Holds) == 0 {
				continue
			}
			g := r.Whole.Clone()
			v := g.Nodes[i].Out[0]
			zero := q.Zero[0] + int32(fidelity.Steps) + 1
			if _, hi := v.Type.DType.IntRange(); int64(zero) > hi {
				continue
			}
			v.Type = v.Type.WithQuant(v.Type.DType, ir.PerTensor(q.Scale[0], zero))
			made++
			if len(wrong(r, check(t, r, g))) > 0 {
				found++
			} else {
				t.Logf("seed %d: %s unnoticed", seed, n)
			}
		}
	}
	t.Logf("%d of %d mutants found", found, made)
	testenv.Check(t, made >= 30 && found*100 >= made*85, "%d of %d mutants found, want 85 %%", found, made)
}

// TestSpreadIsSmall: what sums are granted is rounding, next to nothing beside their
// values.
func TestSpreadIsSmall(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[4,64]
  const %w : f32[64,16] = rand 3
  %m : f32[4,16] = MatMul(%x, %w)
  %s : f32[4,16] = Softmax(%m)
  out "m" = %m
  out "s" = %s
}`)
	in := irtest.Inputs(g, 1)
	out := testenv.Must(interp.Run(g, in, nil))(t)
	s := testenv.Must(fidelity.Spread(g, in, map[*ir.Value]*tensor.Dense{g.Out[0]: out[0], g.Out[1]: out[1]}, nil))(t)
	for i, v := range g.Out {
		most := 0.0
		for k := range out[i].Len() {
			most = max(most, out[i].Float(k), -out[i].Float(k))
		}
		for k, moved := range s[v] {
			testenv.Check(t, !(moved > 1e-4*most), "%s: element %d moves by %g, the largest one is %g", v, k, moved,
				most)
		}
	}
}

// TestSpreadOfMeans: what an operator takes off a mean is as uncertain as the
// mean, however small it is beside it; a Floor of exact numbers is not.
func TestSpreadOfMeans(t *testing.T) {
	g := irtest.Parse(t, `graph "g" {
  in %x : f32[1,6]
  const %s : f32[6] = {1,1,1,1,1,1}
  %n : f32[1,6] = LayerNormalization(%x, %s) {axis=-1}
  %f : f32[1,6] = Floor(%x)
  out "n" = %n
  out "f" = %f
}`)
	in := []*tensor.Dense{tensor.Of([]int{1, 6}, []float32{1000, 1001, 1000, 1001, 1000, 1001})}
	out := testenv.Must(interp.Run(g, in, nil))(t)
	s := testenv.Must(fidelity.Spread(g, in, map[*ir.Value]*tensor.Dense{g.Out[0]: out[0], g.Out[1]: out[1]}, nil))(t)
	// A mean of 1000.5 has steps of 6e-5, the deviations are 0.5.
	if n := s[g.Out[0]][0]; n < 6e-5 || n > 1e-2 {
		t.Errorf("normalised values move by %g, want about the rounding of the mean by the deviation", n)
	}
	f := s[g.Out[1]][0]
	testenv.Check(t, !(f > 1e-2), "Floor of an exact number moves by %g, more than its rounding", f)
}
