// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

func TestOwnAxisS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(57)
	for range 200 {
		a := randAxis(r)
		p := AxisParams(a)
		x := randS8(r, a.count())
		n := p.Outer * p.Inner
		in, out := randQP(r), randQP(r)
		if r.IntN(2) == 0 {
			out = in
		}
		q := ReduceParams{Outer: p.Outer, Axis: p.Axis, Inner: p.Inner, Divisor: 1}
		if r.IntN(2) == 0 {
			q.Divisor = p.Axis
		}
		q.SetQuant(in, out)
		q.ActMin, q.ActMax = randAct(r, out)
		y, want := make([]int8, n), make([]int8, n)
		must(t, ReduceSum(&q, x, want))
		d.call(t, "nncc_reduce_sum_s8", q, x, y)
		same(t, "reduce_sum_s8", q, y, want)
		var def []int8 // the definition, literally in float64
		a.lines(func(at []int32) {
			sum := 0.0
			for _, k := range at {
				sum += in.Real(int32(x[k]))
			}
			def = append(def, int8(out.Quantise(sum/float64(q.Divisor), q.ActMin, q.ActMax)))
		})
		same(t, "definition of reduce_sum_s8", q, y, def)

		must(t, ReduceMax(&p, x, want))
		d.call(t, "nncc_reduce_max_s8", p, x, y)
		same(t, "reduce_max_s8", p, y, want)
		must(t, ReduceMin(&p, x, want))
		d.call(t, "nncc_reduce_min_s8", p, x, y)
		same(t, "reduce_min_s8", p, y, want)

		g := ArgParams{p.Outer, p.Axis, p.Inner, between(r, 0, 1)}
		at, wantAt := make([]int64, n), make([]int64, n)
		must(t, ArgMax(&g, x, wantAt))
		d.call(t, "nncc_argmax_s8", g, x, at)
		same(t, "argmax_s8", g, at, wantAt)
		must(t, ArgMin(&g, x, wantAt))
		d.call(t, "nncc_argmin_s8", g, x, at)
		same(t, "argmin_s8", g, at, wantAt)

		s := SoftmaxAxisParams{Outer: p.Outer, Axis: p.Axis, Inner: p.Inner}
		if r.IntN(8) == 0 { // long lines of equal values: large sums
			s.Axis = between(r, 300, 700)
			if r.IntN(4) == 0 { // 2^31 and 2^32
				s.Outer, s.Inner, s.Axis = 1, 1, []int32{4096, 8192}[r.IntN(2)]
			}
			x = make([]int8, s.Outer*s.Axis*s.Inner)
		}
		s.Mult, s.Shift, s.DiffMin = fixp.SoftmaxScale(1, randQP(r).Scale)
		soft, wantSoft := make([]int8, len(x)), make([]int8, len(x))
		must(t, SoftmaxAxis(&s, x, wantSoft))
		d.call(t, "nncc_softmax_s8", s, x, soft)
		same(t, "softmax_s8", s, soft, wantSoft)
	}
}

func randF64(r *rand.Rand, n int32) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(r.NormFloat64()))
	}
	return x
}

func TestOwnNormS8(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(58)
	for i := range 400 {
		in, out := randQP(r), randQP(r)
		out.Scale += 0.01
		rows, n := int(between(r, 1, 4)), int(between(r, 1, 40))
		if i%40 == 0 {
			n = 1 << r.IntN(18)
		}
		epsilon := []float64{1e-5, 1e-3, 0, 1e4}[r.IntN(4)]
		scale, bias := randF64(r, int32(n)), randF64(r, int32(n))
		if r.IntN(4) == 0 {
			bias = nil
		}
		m, ok := NewNorm(n, epsilon, in, out, scale, bias)
		if !ok {
			t.Fatalf("no constants for %d values, epsilon %g, %+v to %+v", n, epsilon, in, out)
		}
		p := LayerNormParams{Norm: m.Fixed, Rows: int32(rows), Len: int32(n), Center: int32(r.IntN(2)), Zero: in.Zero}
		x := randS8(r, int32(rows*n))
		if r.IntN(5) == 0 { // variance 0
			x = make([]int8, len(x))
		}
		y, want := make([]int8, len(x)), make([]int8, len(x))
		must(t, LayerNorm(&p, m, x, want))
		d.call(t, "nncc_layer_norm_s8", p, x, m.Terms(), y)
		same(t, "layer_norm_s8", p, y, want)
		nearNorm(t, &normCase{n, epsilon, in, out, scale, bias, p.Center == 1}, m, x, want)

		groups, width := between(r, 1, 9), between(r, 1, 6)
		q := GroupNormParams{Batch: between(r, 1, 2), Spatial: between(r, 1, 20), Channels: groups * width,
			Groups: groups}
		scale, bias = randF64(r, q.Channels), randF64(r, q.Channels)
		if m, ok = NewNorm(int(q.Spatial*width), epsilon, in, out, scale, bias); !ok {
			t.Fatalf("no constants for %+v", q)
		}
		q.Norm = m.Fixed
		x = randS8(r, q.Batch*q.Spatial*q.Channels)
		y, want = make([]int8, len(x)), make([]int8, len(x))
		must(t, GroupNorm(&q, m, x, want))
		d.call(t, "nncc_group_norm_s8", q, x, m.Pairs(), y)
		same(t, "group_norm_s8", q, y, want)
		nearGroups(t, &normCase{int(q.Spatial * width), epsilon, in, out, scale, bias, true}, m, &q, x, want)
	}
}

// TestNormFarOutside: results of any number of steps outside of int8 saturate on their side, also where neither
// scale nor bias counts in full.
func TestNormFarOutside(t *testing.T) {
	r := ownRand(59)
	for range 200 {
		n, out := int(between(r, 2, 40)), QP{Scale: float32(math.Ldexp(1, -int(between(r, 14, 60))))}
		scale, bias, x := randF64(r, int32(n)), randF64(r, int32(n)), randS8(r, int32(n))
		m, ok := NewNorm(n, 1e-5, QP{Scale: 0.1}, out, scale, bias)
		if !ok {
			t.Fatalf("no constants for %d values, %+v", n, out)
		}
		y := make([]int8, n)
		must(t, LayerNorm(&LayerNormParams{Norm: m.Fixed, Rows: 1, Len: int32(n), Center: 1}, m, x, y))
		mean, square := 0.0, 0.0
		for _, v := range x {
			mean, square = mean+float64(v)/float64(n), square+float64(v)*float64(v)/float64(n)
		}
		for i, v := range x {
			want := (float64(v)-mean)/math.Sqrt(square-mean*mean)*scale[i] + bias[i]
			if math.Abs(want) > 0.05 && y[i] != int8(max(-128, min(math.Copysign(128, want), 127))) {
				t.Fatalf("%g of scale %g and bias %g in steps of %g is %d", want, scale[i], bias[i], out.Scale, y[i])
			}
		}
	}
}

// normCase is a normalisation of n values each as its definition has it.
type normCase struct {
	n           int
	epsilon     float64
	in, out     QP
	scale, bias []float64
	center      bool
}

// near checks results for values of one group against the textbook formula,
// within the bound of README.md; channel is the place of a value's scale.
func (c *normCase) near(t *testing.T, m *Norm, x, y []int8, channel func(i int) int) {
	t.Helper()
	mean, sq, most := float64(c.in.Zero), 0.0, 0.0
	if c.center {
		mean = 0
		for _, v := range x {
			mean += float64(v) / float64(c.n)
		}
	}
	for _, v := range x {
		sq += (float64(v) - mean) * (float64(v) - mean)
	}
	for _, s := range c.scale {
		most = max(most, math.Abs(s)/float64(c.out.Scale))
	}
	in, out := float64(c.in.Scale), float64(c.out.Scale)
	root := math.Sqrt(sq/float64(c.n)*in*in + c.epsilon)
	for i, got := range y {
		v := 0.0
		if root > 0 {
			v = (float64(x[i]) - mean) * in / root
		}
		w := v * c.scale[channel(i)]
		if c.bias != nil {
			w += c.bias[channel(i)]
		}
		w /= out
		bound := math.Abs(v)*most*1.1/(1<<15) + 130/math.Exp2(float64(m.Fixed.Shift)) + 1e-9
		lo := roundAway(w-bound, c.out.Zero, -128, 127)
		hi := roundAway(w+bound, c.out.Zero, -128, 127)
		if int32(got) < lo || int32(got) > hi {
			t.Fatalf("element %d is %d, want %g + %d, bound %g\n%+v", i, got, w, c.out.Zero, bound, m.Fixed)
		}
	}
}

func nearNorm(t *testing.T, c *normCase, m *Norm, x, y []int8) {
	t.Helper()
	for at := 0; at < len(x); at += c.n {
		c.near(t, m, x[at:at+c.n], y[at:at+c.n], func(i int) int { return i })
	}
}

func nearGroups(t *testing.T, c *normCase, m *Norm, q *GroupNormParams, x, y []int8) {
	t.Helper()
	width := int(q.Channels / q.Groups)
	for b := range int(q.Batch) {
		for g := range int(q.Groups) {
			var gx, gy []int8
			for s := range int(q.Spatial) {
				at := (b*int(q.Spatial)+s)*int(q.Channels) + g*width
				gx, gy = append(gx, x[at:at+width]...), append(gy, y[at:at+width]...)
			}
			c.near(t, m, gx, gy, func(i int) int { return g*width + i%width })
		}
	}
}
