// SPDX-License-Identifier: Apache-2.0

package fidelity_test

import (
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/fidelity"
)

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
