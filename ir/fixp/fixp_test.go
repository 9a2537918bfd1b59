// SPDX-License-Identifier: Apache-2.0

package fixp

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

func edges() []int32 {
	v := []int32{0, 1, -1, 2, -2, 3, -3, math.MaxInt32, math.MaxInt32 - 1, math.MinInt32, math.MinInt32 + 1, 1 << 30,
		-1 << 30, 1<<30 - 1, 1<<30 + 1}
	for i := 2; i < 31; i += 5 {
		v = append(v, 1<<i, 1<<i-1, -(1 << i), -(1<<i)+1)
	}
	return v
}

// floorHalfUp is floor(n/2^bits + 1/2) in exact arithmetic.
func floorHalfUp(n *big.Int, bits uint) int64 {
	half := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return new(big.Int).Rsh(half.Add(half, n), bits).Int64()
}

func TestDoublingHighMultIsTheExactRoundedProduct(t *testing.T) {
	for _, a := range edges() {
		for _, b := range edges() {
			n := new(big.Int).Mul(big.NewInt(int64(a)), big.NewInt(int64(b)))
			want := floorHalfUp(n, 31)
			got := DoublingHighMult(a, b)
			if want > math.MaxInt32 {
				want = math.MaxInt32
			}
			testenv.Require(t, int64(got) == want, "DoublingHighMult(%d, %d) = %d, want %d", a, b, got, want)
		}
	}
}

func TestDivideByPowerOfTwoRoundsTiesAway(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	check := func(v, e int32) {
		want := int32(math.Round(float64(v) / math.Ldexp(1, int(e)))) // exact: 32 bits in a float64
		got := DivideByPowerOfTwo(v, e)
		testenv.Require(t, got == want, "DivideByPowerOfTwo(%d, %d) = %d, want %d", v, e, got, want)
	}
	for e := int32(0); e <= 31; e++ {
		for _, v := range edges() {
			check(v, e)
		}
		for range 1000 {
			check(int32(r.Uint32()), e)
		}
	}
}

func TestRequantizeModes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	differ := 0
	for range 200000 {
		v := int32(r.Uint32()) >> r.IntN(31)
		mult := int32(1<<30 + r.IntN(1<<30))
		shift := int32(-r.IntN(32))
		exact := float64(v) * float64(mult) * math.Ldexp(1, int(shift)-31)
		if DoubleRounding.Requantize(v, mult, shift) != SingleRounding.Requantize(v, mult, shift) {
			differ++
		}
		for _, m := range []Rounding{DoubleRounding, SingleRounding} {
			if got := m.Requantize(v, mult, shift); math.Abs(float64(got)-exact) > 1 {
				t.Fatalf("mode %d: Requantize(%d, %d, %d) = %d, exact %g", m, v, mult, shift, got, exact)
			}
		}
	}
	testenv.Check(t, differ != 0, "double and single rounding never differ")
}

func TestQuantizeMultiplier(t *testing.T) {
	for _, c := range []struct {
		scale       float64
		mult, shift int32
	}{
		{0, 0, 0},
		{1, 1 << 30, 1},
		{0.5, 1 << 30, 0},
		{0.25, 1 << 30, -1},
		{3, 3 << 29, 2},
		{math.Nextafter(1, 0), 1 << 30, 1}, // rounding to 2^31 renormalises
		{math.Ldexp(1, -32), 1 << 30, -31},
		{math.Ldexp(1, -33), 0, 0},
		{math.Ldexp(0.75, -31), 3 << 29, -31},
		{math.Ldexp(0.75, -32), 0, 0},
	} {
		m, s := QuantizeMultiplier(c.scale)
		testenv.Check(t, m == c.mult && s == c.shift, "QuantizeMultiplier(%g) = %d, %d; want %d, %d", c.scale, m, s,
			c.mult, c.shift)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for range 100000 {
		scale := math.Ldexp(r.Float64()+0.5, r.IntN(60)-31)
		m, s := QuantizeMultiplier(scale)
		if got := math.Ldexp(float64(m), int(s)-31); m != 0 && math.Abs(got/scale-1) > 1e-9 {
			t.Fatalf("QuantizeMultiplier(%g) stands for %g", scale, got)
		}
	}
	m, s := SingleRounding.QuantizeMultiplier(math.Ldexp(1, 31))
	testenv.Check(t, m == math.MaxInt32 && s == 30, "single rounding does not saturate: %d %d", m, s)
}

func TestExpAndReciprocalAreClose(t *testing.T) {
	for i := 0; i <= 4000; i++ {
		v := -int32(i) * 500000
		if i == 0 {
			v = 0
		}
		got := float64(ExpOnNegativeValues(v)) / (1 << 31)
		if want := math.Exp(float64(v) / (1 << 26)); math.Abs(got-want) > 3e-7 {
			t.Fatalf("exp(%g): got %g want %g", float64(v)/(1<<26), got, want)
		}
		x := int32(i) * 536000
		got = float64(OneOverOnePlusX(x)) / (1 << 31)
		if want := 1 / (1 + float64(x)/(1<<31)); math.Abs(got-want) > 1e-7 {
			t.Fatalf("1/(1+%g): got %g want %g", float64(x)/(1<<31), got, want)
		}
	}
}

func TestQuantizeAwaySaturates(t *testing.T) {
	inf := math.Inf(1)
	for x, want := range map[float64]int32{2.5: 4, -2.5: -2, 1000: 127, -1000: -128, inf: 127, -inf: -128} {
		testenv.Equal(t, QuantizeAway(x, 1, 1, -128, 127), want, "QuantizeAway(%g)", x)
	}
	testenv.Equal(t, QuantizeAway(math.NaN(), 1, 1, -128, 127), 1, "QuantizeAway of NaN")
}

func TestSoftmaxScaleKnownValue(t *testing.T) {
	// beta 1, scale 1/16: 2^26/16 = 2^22 = 2^30 * 2^-31 * 2^23.
	m, s, d := SoftmaxScale(1, 1.0/16)
	testenv.Check(t, m == 1<<30 && s == 23 && d == -248, "SoftmaxScale(1, 1/16) = %d, %d, %d", m, s, d)
}

func TestAddScales(t *testing.T) {
	a := NewAddScales(0.5, 0.25, 0.125)
	if a.Mult1 != 1<<30 || a.Shift1 != 0 || a.Mult2 != 1<<30 || a.Shift2 != -1 || a.OutMult != 1<<30 ||
		a.OutShift != -16 {
		t.Errorf("got %+v", a)
	}
}
