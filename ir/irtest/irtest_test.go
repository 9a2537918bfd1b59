// SPDX-License-Identifier: Apache-2.0

package irtest

import (
	"math"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/pass"
	"github.com/nncc/nncc/ir/tensor"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestGen: random networks are valid, run, and survive the text form.
func TestGen(t *testing.T) {
	ops := map[string]bool{}
	for seed := range uint64(200) {
		g := Gen(seed, tensor.F32)
		Verify(t, g)
		s := g.String()
		testenv.Require(t, s == Gen(seed, tensor.F32).String(), "seed %d: not the same graph twice", seed)
		h := testenv.Must(ir.Parse(s, op.Get))(t)
		testenv.Require(t, h.String() == s, "seed %d changes in the text form", seed)
		a, b := Run(t, g, Inputs(g, seed)), Run(t, h, Inputs(h, seed))
		err := Same(b, a, g.OutNames, pass.Reassoc, DefaultTol)
		testenv.Require(t, err == nil, "seed %d: the parsed graph computes something else: %v", seed, err)
		for _, n := range g.Nodes {
			ops[n.Op.Name] = true
		}
	}
	for _, name := range []string{"Conv", "ConvTranspose", "BatchNormalization", "MaxPool", "AveragePool", "Pad",
		"Slice", "Concat", "Add", "Gemm", "MatMul", "ReduceMean", "Transpose", "Dropout"} {
		testenv.Check(t, ops[name], "no network has a %s", name)
	}
}

func TestDiff(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2}, []float64{1, 2}, 0},
		{[]float64{1, 2.5}, []float64{1, 2}, 0.25},
		{[]float64{0.5}, []float64{0}, 0.5},
		{[]float64{nan, inf, 1}, []float64{nan, inf, 1}, 0},
		{[]float64{nan, 1}, []float64{0, 1}, inf},
		{[]float64{inf}, []float64{1}, inf},
		{[]float64{1}, []float64{inf}, inf},
		{[]float64{inf}, []float64{-inf}, inf},
	} {
		n := []int{len(c.a)}
		testenv.Equal(t, Diff(tensor.Of(n, c.a), tensor.Of(n, c.b)), c.want, "Diff(%v, %v)", c.a, c.b)
	}
}
