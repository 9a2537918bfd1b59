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
	for range 200 {
		in, out := randQP(r), randQP(r)
		out.Scale += 0.01
		p := LayerNormParams{InScale: float64(in.Scale), OutScale: float64(out.Scale),
			Epsilon: []float64{1e-5, 1e-3, 0}[r.IntN(3)],
			Rows:    between(r, 1, 4), Len: between(r, 1, 40), InZero: in.Zero, OutZero: out.Zero}
		p.ActMin, p.ActMax = randAct(r, out)
		x := randS8(r, p.Rows*p.Len)
		if r.IntN(5) == 0 { // variance 0
			x = make([]int8, len(x))
		}
		scale, bias := randF64(r, p.Len), randF64(r, p.Len)
		if r.IntN(4) == 0 {
			bias = nil
		}
		y, want := make([]int8, len(x)), make([]int8, len(x))
		must(t, LayerNorm(&p, x, scale, bias, want))
		d.call(t, "nncc_layer_norm_s8", p, x, scale, bias, y)
		same(t, "layer_norm_s8", p, y, want)
		if p.Epsilon > 0 {
			nearLayerNorm(t, &p, x, scale, bias, want)
		}
		groups := between(r, 1, 3)
		q := GroupNormParams{InScale: p.InScale, OutScale: p.OutScale, Epsilon: p.Epsilon, Batch: between(r, 1, 2),
			Spatial:  between(r, 1, 20),
			Channels: groups * between(r, 1, 4), Groups: groups, InZero: in.Zero, OutZero: out.Zero, ActMin: p.ActMin,
			ActMax: p.ActMax}
		x = randS8(r, q.Batch*q.Spatial*q.Channels)
		scale, bias = randF64(r, q.Channels), randF64(r, q.Channels)
		y, want = make([]int8, len(x)), make([]int8, len(x))
		must(t, GroupNorm(&q, x, scale, bias, want))
		d.call(t, "nncc_group_norm_s8", q, x, scale, bias, y)
		same(t, "group_norm_s8", q, y, want)
	}
}

// nearLayerNorm checks the reference against the textbook formula: values away
// from a tie must agree exactly.
func nearLayerNorm(t *testing.T, p *LayerNormParams, x []int8, scale, bias []float64, y []int8) {
	t.Helper()
	n := int(p.Len)
	for i, got := range y {
		row := x[i/n*n:][:n]
		mean, sq := 0.0, 0.0
		for _, v := range row {
			mean += float64(v) * p.InScale / float64(n)
		}
		for _, v := range row {
			sq += (float64(v)*p.InScale - mean) * (float64(v)*p.InScale - mean)
		}
		v := (float64(x[i])*p.InScale - mean) / math.Sqrt(sq/float64(n)+p.Epsilon) * scale[i%n]
		if bias != nil {
			v += bias[i%n]
		}
		v /= p.OutScale
		lo, hi := roundAway(v-1e-6, p.OutZero, p.ActMin, p.ActMax), roundAway(v+1e-6, p.OutZero, p.ActMin, p.ActMax)
		if int32(got) < lo || int32(got) > hi {
			t.Fatalf("LayerNorm: element %d is %d, want %g + %d\n%+v", i, got, v, p.OutZero, *p)
		}
	}
}
