// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// sensors is a network on six sensors in units of their own, which it brings to one range, and with four outputs in
// others.
func sensors(r *rand.Rand) (src string, mean, unit []float64) {
	list := func(v []float64) string { return strings.Trim(strings.Join(strings.Fields(fmt.Sprint(v)), ","), "[]") }
	for range 6 {
		u := math.Pow(10, r.Float64()*6-3)
		unit, mean = append(unit, u), append(mean, u*(20*r.Float64()-10))
	}
	var out, from []float64
	for i := range 4 {
		u := math.Pow(10, float64(i)*1.5-2+r.Float64())
		out, from = append(out, u), append(from, u*(6*r.Float64()-3))
	}
	return fmt.Sprintf(`graph "sensors" {
  in %%x : f32[1,6,1,20]
  const %%mean : f32[6,1,1] = {%s}
  const %%unit : f32[6,1,1] = {%s}
  %%d = Sub(%%x, %%mean)
  %%n = Div(%%d, %%unit)
  const %%w : f32[16,6,1,5] = rand %d
  const %%v : f32[16,4] = rand %d
  %%c = Conv(%%n, %%w)
  %%h = Relu(%%c)
  %%p = GlobalAveragePool(%%h)
  const %%s : i64[2] = {1,16}
  %%f = Reshape(%%p, %%s)
  %%y = Gemm(%%f, %%v)
  const %%out : f32[4] = {%s}
  const %%from : f32[4] = {%s}
  %%m = Mul(%%y, %%out)
  %%z = Add(%%m, %%from)
  out "z" = %%z
}`, list(mean), list(unit), r.IntN(1000), r.IntN(1000), list(out), list(from)), mean, unit
}

// readings are what the sensors measure.
func readings(r *rand.Rand, mean, unit []float64) (list []quant.Sample) {
	for range 40 {
		d := tensor.New(tensor.F32, []int{1, 6, 1, 20})
		for k := range d.Len() {
			d.SetFloat(k, mean[k/20]+unit[k/20]*(4*r.Float64()-2))
		}
		list = append(list, quant.Sample{d})
	}
	return list
}

// TestMixedUnits: on every target, an accelerator's too, integers of sensors and of outputs in units of their own
// keep the signal, channel by channel; borders are integers unless they are to be real, and no layer of its own.
func TestMixedUnits(t *testing.T) {
	for i, target := range targets() {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		src, mean, unit := sensors(r)
		g := irtest.Parse(t, src)
		o := target.options(g)
		if o.Precision != option.Auto {
			continue
		}
		samples := readings(r, mean, unit)
		o.Precision, o.Quant.Samples = option.Int8, samples[:30]
		res := testenv.Must(lower.Run(g.Clone(), o))(t)
		x, y := res.Whole.In[0].Type, res.Whole.Out[0].Type
		testenv.Check(t, x.DType.IsFloat() == o.FloatIO && y.DType.IsFloat() == o.FloatIO,
			"%s: the input is %s, the output %s", target.name, x, y)
		for _, n := range res.Graph.Nodes {
			testenv.Check(t, n.Op != op.BitCast || o.Accel == nil || res.IsBoundaryOp(n),
				"%s: %s counts as a layer outside the accelerator", target.name, n.Name)
		}
		var want, got [4][]float64
		for _, s := range samples[30:] {
			in := s[0]
			if x.Quant != nil {
				in = ir.QuantiseEven(in, x)
			}
			a, b := irtest.Run(t, g, s)[0], irtest.Run(t, res.Whole, []*tensor.Dense{in})[0]
			if y.Quant != nil {
				b = ir.Dequantise(b, y.Quant)
			}
			for k := range a.Len() {
				want[k], got[k] = append(want[k], a.Float(k)), append(got[k], b.Float(k))
			}
		}
		for k := range want {
			db := ratioOf(want[k], got[k])
			testenv.Check(t, db > 5, "%s: output %d has %.1f dB", target.name, k, db)
		}
	}
}

// ratioOf is the signal-to-noise ratio of numbers, of which the mean is no signal.
func ratioOf(want, got []float64) float64 {
	var mean, signal, noise float64
	for _, x := range want {
		mean += x / float64(len(want))
	}
	for i, x := range want {
		signal, noise = signal+(x-mean)*(x-mean), noise+(x-got[i])*(x-got[i])
	}
	return 10 * math.Log10(signal/noise)
}
