// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/quant"
)

// TestLostChannel: a layer of which one channel is rounded away is named, not the one that reads it.
func TestLostChannel(t *testing.T) {
	for _, head := range []string{"0.0005, 1", "0, 1"} {
		g := irtest.Parse(t, `graph "channels" {
	in %x : f32[1,2]
	const %w : f32[2,2] = {1000, 0, 0, 1}
	const %v : f32[2,1] = {`+head+`}
	%a = MatMul(%x, %w) from "trunk"
	%y = MatMul(%a, %v) from "head"
	out "y" = %y
}`)
		_, r := calibrated(t, g, defaults(samples(g, 16, 1)))
		testenv.Check(t, len(r.Costs) != 0 && strings.Contains(r.Costs[0].Layer, "trunk"), "weights %s, %.1f dB: %v",
			head, r.SQNR, r.Costs)
	}
}

// TestLost: where a large part cancels out, a warning names the layer that rounded the
// small part away and what to do, and finer activations need none.
func TestLost(t *testing.T) {
	const src = `graph "cancels" {
	in %x : f32[1,64]
	in %z : f32[1,64]
	const %k : f32[] = {FACTOR}
	%a = Mul(%x, %k) from "large"
	%b = Add(%a, %z) from "sum"
	%y = Sub(%b, %a) from "difference"
	out "small" = %y
}`
	for _, k := range []struct {
		factor string
		low    bool
	}{{"0.5", false}, {"1000", true}} {
		g := irtest.Parse(t, strings.ReplaceAll(src, "FACTOR", k.factor))
		o := defaults(samples(g, 16, 1))
		_, r := calibrated(t, g, o)
		said := strings.Join(r.Diagnostics().Texts(diag.Warning), "\n")
		testenv.Check(t, r.Warned("small") == k.low && !r.Warned("other"),
			"factor %s: warned of small: %v, of other: %v", k.factor, r.Warned("small"), r.Warned("other"))
		if !k.low {
			testenv.Equal(t, said, "", "factor %s: %.1f dB and", k.factor, r.SQNR)
			continue
		}
		for _, part := range []string{`output small has an SQNR of`, `most is lost in Sub "difference"`, "int16x8",
			"--propose"} {
			testenv.Check(t, strings.Contains(said, part), "factor %s, %.1f dB: %q does not say %q", k.factor, r.SQNR,
				said, part)
		}
	}
}

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
