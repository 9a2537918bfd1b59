// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

func randS16(r *rand.Rand, n int) []int16 {
	x := make([]int16, n)
	narrow := r.IntN(3) == 0
	for i := range x {
		x[i] = int16(r.Uint32())
		if narrow {
			x[i] >>= 6
		}
	}
	return x
}

// every are all values of an integer type, from the lowest.
func every[T int8 | int16](lo, hi int) []T {
	v := make([]T, hi-lo+1)
	for i := range v {
		v[i] = T(lo + i)
	}
	return v
}

// TestOwnLines proves straight functions over all inputs and runs them in C.
// The search may give up on a few, which then have no such kernel.
func TestOwnLines(t *testing.T) {
	d := ownDriver(t)
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
		p.Count = int32(len(want))
		switch kind {
		case 0:
			out, ref := make([]int16, len(want)), make([]int16, len(want))
			in := every[int16](from, to)
			must(t, Lines(p, in, ref))
			d.call(t, "nncc_piecewise_linear_s16", *p, in, out)
			same(t, "lines_s16", p, out, ref)
		case 1:
			out, ref := make([]int8, len(want)), make([]int8, len(want))
			in := every[int16](from, to)
			must(t, Lines(p, in, ref))
			d.call(t, "nncc_piecewise_linear_s16_s8", *p, in, out)
			same(t, "lines_s16_s8", p, out, ref)
		default:
			out, ref := make([]int16, len(want)), make([]int16, len(want))
			in := every[int8](from, to)
			must(t, Lines(p, in, ref))
			d.call(t, "nncc_piecewise_linear_s8_s16", *p, in, out)
			same(t, "lines_s8_s16", p, out, ref)
		}
		for k, v := range want {
			if got := p.Apply(int32(from + k)); got != v {
				t.Fatalf("input %d gives %d, want %d\n%+v", from+k, got, v, p)
			}
		}
	}
	if found < cases*9/10 {
		t.Errorf("lines for %d of %d functions", found, cases)
	}
}

// TestOwnCurve compares interpolated functions in C and Go, and bounds their
// distance from the function for smooth ones.
func TestOwnCurve(t *testing.T) {
	d := ownDriver(t)
	for name, f := range map[string]func(x float64) float64{
		"sigmoid": func(v float64) float64 { return 32768 / (1 + math.Exp(-v*8/32768)) },
		"tanh":    func(v float64) float64 { return 32768 * math.Tanh(v*4/32768) },
		"square":  func(v float64) float64 { return v * v / 32768 },
	} {
		c := fixp.NewInterpolatedLUT16(f)
		x := every[int16](math.MinInt16, math.MaxInt16)
		y, want := make([]int16, len(x)), make([]int16, len(x))
		worst := 0.0
		for i, v := range x {
			want[i] = c.At(v)
			worst = max(worst, math.Abs(float64(want[i])-min(f(float64(v)), math.MaxInt16)))
		}
		if worst > 2 {
			t.Errorf("%s is %v steps off", name, worst)
		}
		d.call(t, "nncc_interpolated_lut_s16", int32(len(x)), x, c[:], y)
		same(t, name, nil, y, want)
	}
}

func TestOwnBinaryS16(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(91)
	for range 60 {
		a, b := randShape(r)
		p := BinaryParams{AScale: float64(randQP(r).Scale) / 256, BScale: float64(randQP(r).Scale) / 256,
			OutScale: float64(randQP(r).Scale) / 256,
			ActMin:   math.MinInt16, ActMax: math.MaxInt16, Op: BinaryOp(r.IntN(7))}
		if r.IntN(3) == 0 {
			p.ActMin = 0
		}
		var err error
		p.Bcast, _, err = NewBroadcast(a, b)
		must(t, err)
		x, z := randS16(r, count(a)), randS16(r, count(b))
		z[0] = 0
		y, want := make([]int16, p.Bcast.size()), make([]int16, p.Bcast.size())
		must(t, Binary(&p, x, z, want))
		d.call(t, "nncc_binary_s16", p, x, z, y)
		same(t, "binary_s16", p, y, want)
	}
}

// randShape draws two shapes that broadcast.
func randShape(r *rand.Rand) (a, b []int) {
	for range 1 + r.IntN(3) {
		n := 1 + r.IntN(6)
		a, b = append(a, n), append(b, n)
		switch r.IntN(4) {
		case 0:
			a[len(a)-1] = 1
		case 1:
			b[len(b)-1] = 1
		}
	}
	return a, b
}

func count(s []int) int {
	n := 1
	for _, d := range s {
		n *= d
	}
	return n
}

func TestOwnReduceSumS16(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(92)
	for range 40 {
		p := ReduceParams{Outer: between(r, 1, 4), Axis: between(r, 1, 30), Inner: between(r, 1, 5),
			ActMin: math.MinInt16, ActMax: math.MaxInt16, Rescale: 1, Divisor: 1}
		p.InScale, p.OutScale = float64(randQP(r).Scale)/256, float64(randQP(r).Scale)/256
		if r.IntN(2) == 0 {
			p.Divisor = p.Axis
		}
		x := randS16(r, int(p.Outer*p.Axis*p.Inner))
		y, want := make([]int16, p.Outer*p.Inner), make([]int16, p.Outer*p.Inner)
		must(t, ReduceSum16(&p, x, want))
		d.call(t, "nncc_reduce_sum_s16", p, x, y)
		same(t, "reduce_sum_s16", p, y, want)
	}
}

func TestOwnConv2dS16(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(93)
	for range 60 {
		g := int(between(r, 1, 3))
		cin, cout := int(between(r, 1, 5)), int(between(r, 1, 4))
		c := ConvParams{In: Dims{int(between(r, 1, 2)), int(between(r, 3, 7)), int(between(r, 3, 7)), g * cin},
			Filter:   Dims{g * cout, int(between(r, 1, 3)), int(between(r, 1, 3)), cin},
			Stride:   Tile{H: int(between(r, 1, 2)), W: int(between(r, 1, 2))},
			Dilation: Tile{H: 1, W: int(between(r, 1, 2))},
			ActMin:   math.MinInt16, ActMax: math.MaxInt16}
		c.Pad = Tile{H: int(between(r, 0, c.Filter.H-1)), W: int(between(r, 0, c.Filter.W-1))}
		c.Out = Dims{c.In.N, (c.In.H+2*c.Pad.H-c.Filter.H)/c.Stride.H + 1,
			(c.In.W+2*c.Pad.W-c.Dilation.W*(c.Filter.W-1)-1)/c.Stride.W + 1, c.Filter.N}
		if c.Out.W < 1 {
			continue
		}
		c.Mult, c.Shift = make([]int32, c.Out.C), make([]int32, c.Out.C)
		bias := make([]int64, c.Out.C)
		for i := range c.Mult {
			c.Mult[i], c.Shift[i], bias[i] = 1<<30+r.Int32N(1<<30), between(r, -9, -4), int64(between(r, -1<<20, 1<<20))
		}
		p := Conv2dWZPParams{Batch: int32(c.In.N), InH: int32(c.In.H), InW: int32(c.In.W), InC: int32(c.In.C),
			OutH: int32(c.Out.H), OutW: int32(c.Out.W), OutC: int32(c.Out.C),
			KernelH: int32(c.Filter.H), KernelW: int32(c.Filter.W), StrideH: int32(c.Stride.H),
			StrideW: int32(c.Stride.W), DilationH: int32(c.Dilation.H), DilationW: int32(c.Dilation.W),
			PadTop: int32(c.Pad.H), PadLeft: int32(c.Pad.W), Groups: int32(g), ActMin: c.ActMin, ActMax: c.ActMax}
		x, w := randS16(r, c.In.Size()), randS8(r, int32(c.Filter.Size()))
		y, want := make([]int16, c.Out.Size()), make([]int16, c.Out.Size())
		must(t, Conv16(&c, x, w, Bias16{S64: bias}, want))
		d.call(t, "nncc_conv2d_s16", p, x, w, bias, c.Mult, c.Shift, y)
		same(t, "conv2d_s16", c, y, want)
	}
}
