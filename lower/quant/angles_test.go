// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestAngles: positions to 1023, as integers or as floats, become sines and cosines without a
// quantisation before these, whether a product or a factor makes angles of them.
func TestAngles(t *testing.T) {
	for name, body := range map[string]string{
		"MatMul of integers": `in %p : i64[1,1] %f = Cast(%p) {to=1} %a = MatMul(%f, %w)`,
		"Mul of integers":    `in %p : i64[1,1] %f = Cast(%p) {to=1} %a = Mul(%f, %w)`,
		"Mul of floats":      `in %p : f32[1,1] %a = Mul(%p, %w)`,
	} {
		g := irtest.Parse(t, `graph "g" {
  const %w : f32[1,8] = {1,0.3162,0.1,0.03162,0.01,0.003162,0.001,0.0003162}
  `+body+`
  %s = Sin(%a)
  %k = Cos(%a)
  %c = Concat(%s, %k) {axis=1}
  const %m : f32[16,8] = rand 3
  %y = Gemm(%c, %m)
  out "y" = %y
}`)
		r := rand.New(rand.NewPCG(1, 2))
		var in []quant.Sample
		for range 24 {
			d := tensor.New(g.In[0].Type.DType, g.In[0].Type.Shape)
			d.SetFloat(0, float64(r.IntN(1024)))
			in = append(in, quant.Sample{d})
		}
		_, report, err := quant.Calibrate(g, quant.Options{Samples: in})
		testenv.OK(t, err)
		testenv.Check(t, !(report.SQNR < 25), "%s: %.1f dB, want 25", name, report.SQNR)
	}
}
