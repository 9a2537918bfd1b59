// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// TestCurveScale: a function of int16 over a drawn range has an interpolated table that is as near as nncc wants it,
// for some bits of its result; without that it often has none.
func TestCurveScale(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	before := 0
	for _, name := range []string{"Gelu", "Swish", "Elu", "Softplus", "Mish", "Celu", "Tanh", "HardSwish", "Sigmoid"} {
		g := ir.New("g")
		n := testenv.Must(g.Add(op.Get("", name), name, nil, 1, g.AddInput("x", ir.T(tensor.F32, 4))))(t)
		for range 20 {
			lo, hi := -20*rng.Float64(), 20*rng.Float64()
			in := symmetric16(lo, hi)
			most := 0.0
			for x := lo; x <= hi; x += (hi - lo) / 1000 {
				most = max(most, math.Abs(n.Op.Scalar(n, x)))
			}
			out := symmetric16(-most, most)
			off := func(scale float64) float64 {
				n.In[0].Type = ir.T(tensor.I16, 4).WithQuant(tensor.I16, in.quant())
				n.Out[0].Type = ir.T(tensor.I16, 4).WithQuant(tensor.I16, affine{scale, 0}.quant())
				return ir.InterpolationError(n)
			}
			if off(out.scale) >= curveError {
				before++
			}
			scale := curveScale(func(v float64) float64 { return n.Op.Scalar(n, v*in.scale) }, out.scale)
			e := off(scale)
			if e >= curveError && off(15*out.scale) < curveError || scale < out.scale || scale > 16*out.scale {
				t.Errorf("%s of %g to %g: %.1f steps off with the scale %g, %g before", name, lo, hi, e, scale,
					out.scale)
			}
		}
	}
	testenv.Check(t, before != 0, "no function needs another scale")
	t.Logf("%d of 180 functions need another scale", before)
}
