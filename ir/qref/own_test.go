// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// The references as kernels use them are held against C by lower/kerneltest. These tests are of what builders promise,
// and of definitions in fixed point against those in real numbers.

func ownRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x6e6e6363)) }

// between returns a number in [lo, hi].
func between(r *rand.Rand, lo, hi int) int32 { return int32(lo + r.IntN(hi-lo+1)) }

// randF32 returns n values of a bell shape, scaled.
func randF32(r *rand.Rand, n int32, scale float64) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * scale)
	}
	return x
}

func randF64(r *rand.Rand, n int32) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(r.NormFloat64()))
	}
	return x
}

func randS8(r *rand.Rand, n int32) []int8 {
	x := make([]int8, n)
	wide := r.IntN(2) == 0
	for i := range x {
		x[i] = int8(r.IntN(256))
		if !wide {
			x[i] /= 16
		}
	}
	return x
}

// randQP draws a quantisation; one in three has a scale of few bits, for which
// ties are frequent.
func randQP(r *rand.Rand) QP {
	s := float32(math.Exp(r.NormFloat64()) / 50)
	switch r.IntN(6) {
	case 0:
		s = float32(math.Ldexp(float64(between(r, 1, 7)), -int(between(r, 4, 8))))
	case 1:
		s = 1.0 / 128
	}
	z := between(r, -128, 127)
	if r.IntN(3) == 0 {
		z = 0
	}
	return QP{s, z}
}

// TestNormS8: results are within the bound of README.md of the textbook formula.
func TestNormS8(t *testing.T) {
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
		testenv.Require(t, ok, "no constants for %d values, epsilon %g, %+v to %+v", n, epsilon, in, out)
		p := LayerNormParams{Norm: m.Fixed, Rows: int32(rows), Len: int32(n), Center: int32(r.IntN(2)), Zero: in.Zero}
		x := randS8(r, int32(rows*n))
		if r.IntN(5) == 0 { // variance 0
			x = make([]int8, len(x))
		}
		want := make([]int8, len(x))
		LayerNorm(&p, m, x, want)
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
		want = make([]int8, len(x))
		GroupNorm(&q, m, x, want)
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
		testenv.Require(t, ok, "no constants for %d values, %+v", n, out)
		y := make([]int8, n)
		LayerNorm(&LayerNormParams{Norm: m.Fixed, Rows: 1, Len: int32(n), Center: 1}, m, x, y)
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
		testenv.Require(t, int32(got) >= lo && int32(got) <= hi, "element %d is %d, want %g + %d, bound %g\n%+v", i,
			got, w, c.out.Zero, bound, m.Fixed)
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

// TestBuildSum: comparisons and CMSIS-NN's Add are functions of a sum too.
func TestBuildSum(t *testing.T) {
	r := ownRand(53)
	added := 0
	const cases = 10
	for range cases {
		a, b, o := randQP(r), randQP(r), QP{1, 0}
		_, ok := BuildSum(func(q int32) float64 { return a.Real(q) / float64(a.Scale) },
			func(q int32) float64 { return -b.Real(q) / float64(a.Scale) }, 0, 1,
			func(x, y int32) int32 { return boolInt(a.Real(x) > b.Real(y)) })
		testenv.Check(t, ok, "no tables for %+v > %+v", a, b)
		o = QP{max(a.Scale, b.Scale) * 1.5, 3}
		add := &AddParams{Offset1: -a.Zero, Offset2: -b.Zero, OutputOffset: o.Zero, ActMin: -128, ActMax: 127,
			Scales: fixp.NewAddScales(a.Scale, b.Scale, o.Scale)}
		_, ok = BuildSum(func(q int32) float64 { return a.Real(q)/float64(o.Scale) + 3 },
			func(q int32) float64 { return b.Real(q) / float64(o.Scale) }, -128, 127, func(x, y int32) int32 {
				out := make([]int8, 1)
				Add(add, []int8{int8(x)}, []int8{int8(y)}, out)
				return int32(out[0])
			})
		if ok {
			added++
		}
	}
	t.Logf("%d of %d additions of CMSIS-NN have tables", added, cases)
}

// TestLines proves straight functions over all inputs.
// The search may give up on a few, which then have no such kernel.
func TestLines(t *testing.T) {
	r := ownRand(90)
	functions := []func(x float64) float64{
		func(x float64) float64 { return x },
		func(x float64) float64 { return max(x, 0) },
		func(x float64) float64 { return max(x, 0.1*x) },
		func(x float64) float64 { return -x },
		math.Abs,
		func(x float64) float64 { return min(max(x, 0), 6) },
		func(x float64) float64 { return min(max(0.2*x+0.5, 0), 1) },
	}
	const cases = 80
	found := 0
	for i := range cases {
		f := functions[i%len(functions)]
		x, y := randQP(r), randQP(r)
		kind := r.IntN(3) // 16 to 16, 16 to 8, 8 to 16
		from, to, lo, hi := math.MinInt16, math.MaxInt16, math.MinInt16, math.MaxInt16
		if kind == 2 {
			from, to = math.MinInt8, math.MaxInt8
		} else {
			x.Zero, x.Scale = 0, x.Scale/256
		}
		if kind == 1 {
			lo, hi = math.MinInt8, math.MaxInt8
		} else {
			y.Zero, y.Scale = 0, y.Scale/256
		}
		want := make([]int32, to-from+1)
		for k := range want {
			want[k] = y.Quantise(f(x.Real(int32(from+k))), int32(lo), int32(hi))
		}
		p, ok := FitPiecewiseLinear(int32(from), x.Zero, y.Zero, want,
			func(d int32) float64 { return f(float64(d)*float64(x.Scale)) / float64(y.Scale) })
		if !ok {
			t.Logf("no lines for function %d, %v to %v", i%len(functions), x, y)
			continue
		}
		found++
		for k, v := range want {
			got := p.Apply(int32(from + k))
			testenv.Require(t, got == v, "input %d gives %d, want %d\n%+v", from+k, got, v, p)
		}
	}
	testenv.Check(t, found >= cases*9/10, "lines for %d of %d functions", found, cases)
}

// TestCurve bounds the distance of interpolated functions from smooth ones.
func TestCurve(t *testing.T) {
	for name, f := range map[string]func(x float64) float64{
		"sigmoid": func(v float64) float64 { return 32768 / (1 + math.Exp(-v*8/32768)) },
		"tanh":    func(v float64) float64 { return 32768 * math.Tanh(v*4/32768) },
		"square":  func(v float64) float64 { return v * v / 32768 },
	} {
		c := fixp.NewInterpolatedLUT16(f)
		worst := 0.0
		for v := math.MinInt16; v <= math.MaxInt16; v++ {
			worst = max(worst, math.Abs(float64(c.At(int16(v)))-min(f(float64(v)), math.MaxInt16)))
		}
		testenv.Check(t, !(worst > 2), "%s is %v steps off", name, worst)
	}
}

// TestResizeTaps: one multiplication and the least sums give what the definition gives, on both sides of every change.
func TestResizeTaps(t *testing.T) {
	r := ownRand(11)
	built := 0
	for range 300 {
		den := [2]int32{between(r, 1, resizeDen), between(r, 1, resizeDen)}
		h, w := &ResizeAxis{Taps: 1, Index: []int32{0}, Weight: []int16{1}, Den: den[0]},
			&ResizeAxis{Taps: 1, Index: []int32{0}, Weight: []int16{1}, Den: den[1]}
		p := &ResizeParams{Channels: 1}
		p.SetAxes(h, w, randQP(r), randQP(r), 0)
		k, ok := BuildResizeTaps(p, h, w)
		if !ok {
			continue
		}
		built++
		scale := k.Rows.Den / h.Den
		for _, least := range k.Least[:255] {
			for sum := least/scale - 1; sum <= least/scale+1; sum++ {
				acc := sum * scale
				at := min(max((int32(int64(acc)*int64(k.Mult)>>32)+k.Add)>>k.Shift, 0), 255)
				got := at - 127 + (acc-k.Least[at])>>31
				testenv.Require(t, got == int32(p.result(sum)) || sum >= 4*math.MaxUint8*p.Den,
					"%+v, sum %d: %d, want %d", *p, sum, got, p.result(sum))
			}
		}
	}
	testenv.Check(t, built > 250, "%d of 300 have constants", built)
}
