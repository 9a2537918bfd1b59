// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
	"github.com/nncc/nncc/lower/option"
	"github.com/nncc/nncc/lower/quant"
)

// maskForms are the ways in which exporters write an attention mask over
// scores; keep tells which elements count, as a constant or a run-time input.
var maskForms = map[string]func(b *builder, scores *ir.Value, keep []bool, value float64) *ir.Value{
	"added constant": func(b *builder, x *ir.Value, keep []bool, value float64) *ir.Value {
		return b.add("Add", nil, x, b.g.AddConst("mask", fill(keep, 0, value)))
	},
	"constant first": func(b *builder, x *ir.Value, keep []bool, value float64) *ir.Value {
		return b.add("Add", nil, b.g.AddConst("mask", fill(keep, 0, value)), x)
	},
	"added input": func(b *builder, x *ir.Value, _ []bool, _ float64) *ir.Value {
		return b.add("Add", nil, x, b.g.AddInput("additive", ir.T(tensor.F32, tokens, tokens)))
	},
	"chosen by a constant": func(b *builder, x *ir.Value, keep []bool, value float64) *ir.Value {
		return b.add("Where", nil, b.g.AddConst("keep", bools(keep)), x,
			b.g.AddConst("value", tensor.Scalar(float32(value))))
	},
	"chosen by an input": func(b *builder, x *ir.Value, _ []bool, value float64) *ir.Value {
		return b.add("Where", nil, b.g.AddInput("keep", ir.T(tensor.Bool, tokens, tokens)), x,
			b.g.AddConst("value", tensor.Scalar(float32(value))))
	},
	"added choice": func(b *builder, x *ir.Value, _ []bool, value float64) *ir.Value {
		m := b.add("Where", nil, b.g.AddInput("keep", ir.T(tensor.Bool, tokens, tokens)),
			b.g.AddConst("zero", tensor.Scalar(float32(0))), b.g.AddConst("value", tensor.Scalar(float32(value))))
		return b.add("Add", nil, x, m)
	},
	"one minus, times": func(b *builder, x *ir.Value, _ []bool, value float64) *ir.Value {
		m := b.g.AddInput("ones", ir.T(tensor.F32, tokens, tokens))
		return b.add("Add", nil, x, b.add("Mul", nil, b.add("Sub", nil, b.g.AddConst("one", tensor.Scalar(float32(1))),
			m), b.g.AddConst("value", tensor.Scalar(float32(value)))))
	},
	"minus one, times": func(b *builder, x *ir.Value, _ []bool, value float64) *ir.Value {
		m := b.g.AddInput("ones", ir.T(tensor.F32, tokens, tokens))
		return b.add("Add", nil, b.add("Mul", nil, b.add("Sub", nil, m, b.g.AddConst("one", tensor.Scalar(float32(1)))),
			b.g.AddConst("value", tensor.Scalar(float32(-value)))), x)
	},
	"of integers": func(b *builder, x *ir.Value, _ []bool, value float64) *ir.Value {
		m := b.add("Cast", ir.Attrs{"to": ir.Int(1)}, b.g.AddInput("whole", ir.T(tensor.I64, tokens, tokens)))
		return b.add("Add", nil, x, b.add("Mul", nil, b.add("Sub", nil, b.g.AddConst("one", tensor.Scalar(float32(1))),
			m), b.g.AddConst("value", tensor.Scalar(float32(value)))))
	},
}

// tokens is the length of the sequences.
const tokens = 6

func fill(keep []bool, yes, no float64) *tensor.Dense {
	d := tensor.New(tensor.F32, []int{tokens, tokens})
	for i, k := range keep {
		f := no
		if k {
			f = yes
		}
		d.SetFloat(i, f)
	}
	return d
}

func bools(keep []bool) *tensor.Dense {
	d := tensor.New(tensor.Bool, []int{tokens, tokens})
	for i, k := range keep {
		if k {
			d.SetInt(i, 1)
		}
	}
	return d
}

// maskedAttention is attention with a mask, and samples of its inputs.
func maskedAttention(t *testing.T, form string, value float64, causal bool) (*ir.Graph, []quant.Sample) {
	b := newBuilder(t, 5)
	x := b.g.AddInput("x", ir.T(tensor.F32, 1, tokens, 8))
	q, k, v := b.add("MatMul", nil, x, b.normal(0.4, 8, 8)), b.add("MatMul", nil, x, b.normal(0.4, 8, 8)),
		b.add("MatMul", nil, x, b.normal(0.4, 8, 8))
	scores := b.add("MatMul", nil, q, b.add("Transpose", ir.Attrs{"perm": ir.Ints(0, 2, 1)}, k))
	keep := make([]bool, tokens*tokens)
	for i := range keep {
		keep[i] = i%tokens <= i/tokens || !causal && i%tokens < 4
	}
	p := b.add("Softmax", nil, maskForms[form](b, scores, keep, value))
	b.g.AddOutput("y", b.add("MatMul", nil, b.add("MatMul", nil, p, v), b.normal(0.4, 8, 8)))
	s := samples(b.g, 16, 1)
	for _, x := range s {
		for i, in := range b.g.In {
			switch in.Name {
			case "additive":
				x[i] = fill(keep, 0, value)
			case "ones":
				x[i] = fill(keep, 1, 0)
			case "whole":
				x[i] = fill(keep, 1, 0).Cast(tensor.I64)
			case "keep":
				x[i] = bools(keep)
			}
		}
	}
	return b.g, s
}

// TestMask: masked scores do not take the range, however the mask is written
// and whatever number stands for minus infinity.
func TestMask(t *testing.T) {
	for form := range maskForms {
		for _, value := range []float64{-100, -1000, -1e4, -65504, -1e9, -math.MaxFloat32, math.Inf(-1)} {
			if math.IsInf(value, 0) && (form == "one minus, times" || form == "minus one, times" ||
				form == "of integers") {
				continue // infinity times zero is no number
			}
			for _, layer := range []quant.Layer{quant.Int8, quant.Int16x8} {
				for _, method := range []option.Method{option.MSE, option.MinMax} {
					g, s := maskedAttention(t, form, value, method != option.MinMax)
					q, _ := quantised(t, g, quant.Options{Samples: s[:12], Method: method,
						Layer: func(*ir.Node) quant.Layer { return layer }})
					least := 19.0
					if layer == quant.Int16x8 {
						least = 30
					}
					var want, got []float64
					for _, x := range s[12:] {
						want = append(want, irtest.Run(t, g, x)[0].Floats()...)
						got = append(got, runInteger(t, q, x)[0].Floats()...)
					}
					db := ratio(want, got)
					testenv.Check(t, !(db < least), "%s, %g, %s, %s: %.1f dB", form, value, layer, method, db)
				}
			}
		}
	}
}

// TestEmptyRows: rows in which everything is masked (padding) cost the others
// nothing.
func TestEmptyRows(t *testing.T) {
	g, s := maskedAttention(t, "added input", -1e4, true)
	for _, x := range s {
		for i := range tokens {
			x[1].SetFloat((tokens-1)*tokens+i, -1e4)
		}
	}
	q, _ := quantised(t, g, quant.Options{Samples: s[:12]})
	for _, x := range s[12:] {
		want, got := irtest.Run(t, g, x)[0].Floats(), runInteger(t, q, x)[0].Floats()
		n := (tokens - 1) * 8
		db := ratio(want[:n], got[:n])
		testenv.Check(t, !(db < 19), "%.1f dB", db)
	}
}

// TestLevels: arguments for which a function levels off do not set the scale,
// unless somebody else reads them; the results are as good as those of an input
// without outliers.
func TestLevels(t *testing.T) {
	const text = `graph "g" {
		in %%x : f32[1,64]
		const %%lo : f32[] = {-1}
		const %%hi : f32[] = {2}
		const %%half : f32[1,64] = splat 0.5
		%%a = Add(%%x, %%half)
		%%f = %s
		out "y" = %%f
		%s
	}`
	for _, c := range []struct{ f, also string }{
		{"Sigmoid(%a)", ""}, {"Tanh(%a)", ""}, {"HardSigmoid(%a)", ""}, {"Clip(%a, %lo, %hi)", ""}, {"Erf(%a)", ""},
		{"Sigmoid(%a)", `out "a" = %a`},
	} {
		g := irtest.Parse(t, fmt.Sprintf(text, c.f, c.also))
		r := rand.New(rand.NewPCG(1, 2))
		var s []quant.Sample
		for range 8 {
			d := tensor.New(tensor.F32, []int{1, 64})
			for i := range d.Len() {
				f := r.NormFloat64()
				if i%16 == 0 {
					f = math.Copysign(3000, f)
				}
				d.SetFloat(i, f)
			}
			s = append(s, quant.Sample{d})
		}
		q, _ := quantised(t, g, quant.Options{Samples: s[:6], Method: option.MinMax})
		for _, x := range s[6:] {
			want, got := irtest.Run(t, g, x), runInteger(t, q, x)
			db := ratio(want[0].Floats(), got[0].Floats())
			testenv.Check(t, c.also != "" || !(db < 30), "%s: %.1f dB", c.f, db)
			if c.also != "" {
				far := ratio(want[1].Floats(), got[1].Floats())
				testenv.Check(t, !(far < 30), "%s, with a reader that tells its arguments apart: %.1f dB", c.f, far)
			}
		}
	}
}
