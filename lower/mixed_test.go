// SPDX-License-Identifier: Apache-2.0

package lower_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower"
	"github.com/nncc/nncc/lower/accel/mla"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// uneven is a network whose channels differ in size by 2^9 between two layers:
// one scale for all of them leaves nothing of the small ones, and the second
// layer needs them as much as the others. The function between forbids
// equalisation.
func uneven(t *testing.T) *ir.Graph {
	g := ir.New("uneven")
	add := func(name string, attrs ir.Attrs, in ...*ir.Value) *ir.Value {
		n := testenv.Must(g.Add(op.Get("", name), strings.ToLower(name), attrs, 1, in...))(t)
		n.Origin = []string{n.Name}
		return n.Out[0]
	}
	weights := func(seed uint64, exp func(o, i int) int, o, i int) *ir.Value {
		d := ir.Rand(seed, tensor.F32, []int{o, i, 3, 3})
		for k := range d.Len() {
			d.SetFloat(k, math.Ldexp(d.Float(k), exp(k/(9*i), k/9%i)))
		}
		return g.AddConst("w", d)
	}
	pads := func() ir.Attrs { return ir.Attrs{"pads": ir.Ints(1, 1, 1, 1)} }
	x := g.AddInput("x", ir.T(tensor.F32, 1, 3, 8, 8))
	y := add("Tanh", nil, add("Conv", pads(), x, weights(1, func(o, _ int) int { return -o - 3 }, 10, 3)))
	y = add("Conv", pads(), y, weights(2, func(_, i int) int { return i }, 10, 10))
	g.AddOutput("y", add("Conv", pads(), y, weights(3, func(_, _ int) int { return -3 }, 4, 10)))
	irtest.Verify(t, g)
	return g
}

func decibels(want, got *tensor.Dense) float64 {
	s, e := 0.0, 0.0
	for i := range want.Len() {
		d := want.Float(i) - got.Float(i)
		s, e = s+want.Float(i)*want.Float(i), e+d*d
	}
	return 10 * math.Log10(s/e)
}

// TestMixedPrecision: where int8 is not enough, nodes run in bfloat16, in one
// segment, if the accelerator has it and the user does not insist on int8.
func TestMixedPrecision(t *testing.T) {
	for _, c := range []struct {
		name      string
		precision option.Precision
		source    string
		bf16      int
		mixed     bool
	}{
		{"bfloat16", option.Auto, "inputs", 1, true},
		{"no bfloat16", option.Auto, "inputs", 0, false},
		{"int8", option.Int8, "inputs", 1, false},
		{"synthetic", option.Auto, quant.SyntheticSource, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := uneven(t)
			float := g.Clone()
			lim := mla.Defaults()
			lim.BF16 = c.bf16
			o := lower.Options{Precision: c.precision, Legalize: true, Libraries: []string{"cmsisnn", "refc"},
				Accel: mla.New(lim),
				Quant: quant.Options{Samples: quant.SyntheticSamples(g.In, 6, 3), Source: c.source,
					BiasCorrection: true}}
			r := testenv.Must(lower.Run(g, o))(t)
			in := quant.SyntheticSamples(float.In, 1, 77)[0]
			want := irtest.Run(t, float, in)[0]
			x := in[0]
			if q := r.Graph.In[0].Type; q.Quant != nil {
				x = ir.QuantiseEven(x, q)
			}
			out := testenv.Must(interp.Run(r.Graph, []*tensor.Dense{x}, nil))(t)
			if q := r.Graph.Out[0].Type.Quant; q != nil {
				out[0] = ir.Dequantise(out[0], q)
			}
			db := decibels(want, out[0])
			t.Logf("%.1f dB on an unseen input, report %+.1f (int8 %.1f)", db, r.Calibration.SQNR,
				r.Calibration.Int8SQNR)
			mixed := len(r.Calibration.BF16) > 0
			testenv.Require(t, mixed == c.mixed, "bfloat16 nodes: %v", r.Calibration.BF16)
			warned := slices.ContainsFunc(r.Diags, func(d *diag.Diag) bool { return d.Code == "bfloat16" })
			testenv.Check(t, warned == c.mixed && len(r.Segments) == 1 && len(r.Refused) <= 0,
				"warnings %q, %d segments, refused %v", r.Diags, len(r.Segments), r.Refused)
			if c.mixed && (db < 25 || r.Calibration.SQNR < r.Calibration.Int8SQNR+6) || !c.mixed && db > 20 {
				t.Errorf("%.1f dB", db)
			}
			testenv.Check(t, r.Graph.In[0].Type.DType == tensor.I8, "the input is %s", r.Graph.In[0].Type)
		})
	}
}
