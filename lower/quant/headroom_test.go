// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestHeadroom: networks in int16x8 lose at most 6 dB on inputs a tenth beyond those of the calibration.
func TestHeadroom(t *testing.T) {
	for name, text := range map[string]string{
		"autoencoder": `graph "g" {
  in %x : f32[1,24]
  const %a : f32[24,12] = rand 1
  const %b : f32[12,4] = rand 2
  const %c : f32[4,24] = rand 3
  %h = MatMul(%x, %a)
  %r = Relu(%h)
  %k = MatMul(%r, %b)
  %y = MatMul(%k, %c)
  out "y" = %y
}`,
		"GRU": `graph "g" {
  in %x : f32[6,1,8]
  const %w : f32[1,30,8] = rand 4
  const %r : f32[1,30,10] = rand 5
  const %d : f32[10,3] = rand 6
  %h, %l = GRU(%x, %w, %r) {hidden_size=10}
  %y = MatMul(%h, %d)
  out "y" = %y
}`} {
		t.Run(name, func(t *testing.T) {
			g := irtest.Parse(t, text)
			rng := rand.New(rand.NewPCG(1, 2))
			draw := func(peak float64) []*tensor.Dense {
				d := tensor.New(tensor.F32, g.In[0].Type.Shape)
				for i := range d.Len() {
					d.SetFloat(i, peak*float64(rng.IntN(3)-1)*(0.9+0.1*rng.Float64()))
				}
				return []*tensor.Dense{d}
			}
			var samples []quant.Sample
			for range 16 {
				samples = append(samples, draw(1))
			}
			wide := func(*ir.Node) quant.Layer { return quant.Int16x8 }
			q, _ := quantised(t, g, quant.Options{Samples: samples, Layer: wide})
			off := func(peak float64) float64 {
				var ref, got []float64
				for range 20 {
					in := draw(peak)
					want := testenv.Must(interp.Run(g, in, nil))(t)
					ref, got = append(ref, want[0].Floats()...), append(got, runInteger(t, q, in)[0].Floats()...)
				}
				return ratio(ref, got)
			}
			if within, beyond := off(1), off(1.1); beyond < within-6 {
				t.Errorf("%.1f dB within the calibration, %.1f a tenth beyond it", within, beyond)
			}
		})
	}
}
