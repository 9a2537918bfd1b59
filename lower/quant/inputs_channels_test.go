// SPDX-License-Identifier: Apache-2.0

package quant_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// signalStep is what a model may do to a signal [1, channels, 1, steps] before it brings channels to one
// range: it computes with the elements of each channel alone.
type signalStep struct {
	name  string
	build func(b *builder, x *ir.Value) *ir.Value
	real  bool // it stays float
}

// cutTime is a part of the time of a signal, a step in stride.
func cutTime(b *builder, x *ir.Value, from, to, stride int) *ir.Value {
	return b.add("Slice", nil, x, ints(b, int64(from)), ints(b, int64(to)), ints(b, 3), ints(b, int64(stride)))
}

func duration(x *ir.Value) int { return x.Type.Shape[3] }

// filter is a convolution of each channel with weights over time.
func filter(b *builder, x *ir.Value, w []float64, bias float64) *ir.Value {
	c := x.Type.Shape[1]
	d, offsets := tensor.New(tensor.F32, []int{c, 1, 1, len(w)}), tensor.New(tensor.F32, []int{c})
	for i := range d.Len() {
		d.SetFloat(i, w[i%len(w)]*float64(1+i/len(w)%3))
	}
	for i := range c {
		offsets.SetFloat(i, bias*float64(i))
	}
	return b.add("Conv", ir.Attrs{"group": ir.Int(c)}, x, b.g.AddConst("w", d), b.g.AddConst("b", offsets))
}

var signalSteps = []signalStep{
	{name: "moving average", build: func(b *builder, x *ir.Value) *ir.Value {
		return b.add("AveragePool", ir.Attrs{"kernel_shape": ir.Ints(1, 5), "pads": ir.Ints(0, 2, 0, 2)}, x)
	}},
	{name: "mean of pairs", build: func(b *builder, x *ir.Value) *ir.Value {
		return b.add("AveragePool", ir.Attrs{"kernel_shape": ir.Ints(1, 2), "strides": ir.Ints(1, 2)}, x)
	}},
	{name: "difference", build: func(b *builder, x *ir.Value) *ir.Value {
		n := duration(x)
		return b.add("Sub", nil, cutTime(b, x, 1, n, 1), cutTime(b, x, 0, n-1, 1))
	}},
	{name: "from the mean", build: func(b *builder, x *ir.Value) *ir.Value {
		return b.add("Sub", nil, x, b.add("ReduceMean", nil, x, ints(b, 3)))
	}},
	{name: "largest", build: func(b *builder, x *ir.Value) *ir.Value {
		return b.add("MaxPool", ir.Attrs{"kernel_shape": ir.Ints(1, 3)}, x)
	}},
	{name: "filter", build: func(b *builder, x *ir.Value) *ir.Value {
		return filter(b, x, []float64{0.2, 0.5, 0.3}, 0)
	}},
	{name: "filter with a bias", build: func(b *builder, x *ir.Value) *ir.Value {
		return filter(b, x, []float64{0.6, 0.4}, 0.1)
	}},
	{name: "every second", build: func(b *builder, x *ir.Value) *ir.Value { return cutTime(b, x, 0, duration(x), 2) }},
	{name: "edges", build: func(b *builder, x *ir.Value) *ir.Value {
		return b.add("Pad", ir.Attrs{"mode": ir.Str("edge")}, x, ints(b, 0, 0, 0, 2, 0, 0, 0, 2))
	}},
	{name: "transposed", build: func(b *builder, x *ir.Value) *ir.Value {
		perm := func(x *ir.Value) *ir.Value { return b.add("Transpose", ir.Attrs{"perm": ir.Ints(0, 3, 2, 1)}, x) }
		return perm(b.add("Identity", nil, perm(x)))
	}},
	{name: "product over time", build: func(b *builder, x *ir.Value) *ir.Value {
		n := duration(x)
		w := tensor.New(tensor.F32, []int{n, n / 2})
		for i := range w.Len() {
			if row, col := i/(n/2), i%(n/2); row/2 == col {
				w.SetFloat(i, 0.5)
			}
		}
		return b.add("MatMul", nil, x, b.g.AddConst("w", w))
	}},
	{name: "features", build: func(b *builder, x *ir.Value) *ir.Value {
		n := duration(x)
		mean := b.add("AveragePool", ir.Attrs{"kernel_shape": ir.Ints(1, 2)}, x)
		steps := b.add("Sub", nil, cutTime(b, x, 1, n, 1), cutTime(b, x, 0, n-1, 1))
		channels := func(x *ir.Value, from, to int64) *ir.Value {
			return b.add("Slice", nil, x, ints(b, from), ints(b, to), ints(b, 1))
		}
		return b.add("Concat", ir.Attrs{"axis": ir.Int(1)}, channels(mean, 0, 2), channels(steps, 2, 4),
			channels(cutTime(b, x, 1, n, 1), 4, int64(x.Type.Shape[1])))
	}},
	{name: "units", build: func(b *builder, x *ir.Value) *ir.Value { // to others, such as milli
		k := tensor.New(tensor.F32, []int{x.Type.Shape[1], 1, 1})
		for i := range k.Len() {
			k.SetFloat(i, math.Pow(10, float64(i%4)))
		}
		return b.add("Mul", nil, x, b.g.AddConst("k", k))
	}},
	{name: "power", real: true, build: func(b *builder, x *ir.Value) *ir.Value {
		x = b.add("Sub", nil, x, b.add("ReduceMean", nil, x, ints(b, 3)))
		x = b.add("AveragePool", ir.Attrs{"kernel_shape": ir.Ints(1, 4)}, b.add("Mul", nil, x, x))
		return b.add("Sqrt", nil, x)
	}},
	{name: "InstanceNormalization", real: true, build: func(b *builder, x *ir.Value) *ir.Value {
		k := tensor.New(tensor.F32, []int{x.Type.Shape[1]})
		for i := range k.Len() {
			k.SetFloat(i, 1)
		}
		return b.add("InstanceNormalization", nil, x, b.g.AddConst("k", k), b.normal(0.1, k.Len()))
	}},
}

// measured are the mean and the deviation of every channel of what steps give.
func (s *sensor) measured(t *testing.T, steps []signalStep) (mean, std []float64) {
	b := newBuilder(t, 1)
	x := s.input(b, "x", s.channels)
	for _, p := range steps {
		x = p.build(b, x)
	}
	b.g.AddOutput("y", x)
	mean, std = make([]float64, s.channels), make([]float64, s.channels)
	const samples = 30
	n := float64(samples * duration(x))
	for _, squares := range []bool{false, true} {
		for i := range samples {
			for e, v := range irtest.Run(t, b.g, s.inputs(b.g, s.sample(i%s.classes)))[0].Floats() {
				c := e / duration(x)
				if squares {
					std[c] += (v - mean[c]) * (v - mean[c]) / n
				} else {
					mean[c] += v / n
				}
			}
		}
	}
	for c := range std {
		std[c] = math.Sqrt(std[c])
	}
	return mean, std
}

// before is a normalisation behind steps.
func before(t *testing.T, steps []signalStep, ending int) normalisation {
	stays := slices.ContainsFunc(steps, func(p signalStep) bool { return p.real })
	return normalisation{real: stays, build: func(b *builder, s *sensor) *ir.Value {
		mean, std := s.measured(t, steps)
		x := s.input(b, "x", s.channels)
		for _, p := range steps {
			x = p.build(b, x)
		}
		of := func(f func(c int) float64) *ir.Value { return s.along(b, false, f) }
		if ending == 0 {
			x = b.add("Sub", nil, x, of(func(c int) float64 { return mean[c] }))
			return b.add("Div", nil, x, of(func(c int) float64 { return std[c] }))
		}
		x = b.add("Mul", nil, x, of(func(c int) float64 { return 1 / std[c] }))
		return b.add("Add", nil, x, of(func(c int) float64 { return -mean[c] / std[c] }))
	}}
}

// TestMixedUnitsBefore: what computes with each channel alone may stand before the normalisation: each
// kind of it, and drawn sequences.
func TestMixedUnitsBefore(t *testing.T) {
	for i, p := range signalSteps {
		t.Run(p.name, func(t *testing.T) { mixedUnits(t, uint64(i+1), before(t, []signalStep{p}, i%2)) })
	}
	count := 6
	if testenv.Long() {
		count = 60
	}
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 3))
		var steps []signalStep
		var names []string
		for range 2 + r.IntN(2) {
			p := signalSteps[r.IntN(len(signalSteps))]
			steps, names = append(steps, p), append(names, p.name)
		}
		t.Run(fmt.Sprintf("%d %s", seed, strings.Join(names, ", ")), func(t *testing.T) {
			mixedUnits(t, 100+seed, before(t, steps, int(seed%2)))
		})
	}
}
