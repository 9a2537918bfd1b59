// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// TestAffine: zero is exact, ends are covered within half a step.
func TestAffine(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		lo, hi := r.NormFloat64()*math.Exp(r.NormFloat64()*5), r.NormFloat64()*math.Exp(r.NormFloat64()*5)
		a := affineOf(min(lo, hi), max(lo, hi))
		l, h := min(lo, hi, 0), max(lo, hi, 0)
		testenv.Require(t, a.zero == math.Round(a.zero) && !(a.zero < -128) && !(a.zero > 127) && a.apply(0) == 0,
			"[%g, %g]: %+v", l, h, a)
		testenv.Require(t, !(a.lo() > l+0.51*a.scale) && !(a.hi() < h-0.51*a.scale),
			"[%g, %g] is not covered by [%g, %g], step %g", l, h, a.lo(), a.hi(), a.scale)
		testenv.Require(t, (l != 0 || a.zero == -128) && (h != 0 || a.zero == 127), "[%g, %g]: zero point %g", l, h,
			a.zero)
	}
	a := affineOf(0, 0)
	testenv.Check(t, !(a.scale <= 0), "an empty range has scale %g", a.scale)
	if a := affineOf(0, 1e-300); float32(a.scale) <= 0 {
		t.Errorf("a tiny range has scale %g", a.scale)
	}
}

// gauss is a sample of a heavy-tailed distribution with equal weights.
func gauss(n int, outlier float64) (x, w []float64) {
	r := rand.New(rand.NewPCG(3, 4))
	for range n {
		x, w = append(x, r.NormFloat64()), append(w, 1/float64(n))
	}
	x[0] = outlier
	return x, w
}

// TestSearch: the range found is at least as good as every range on a grid.
func TestSearch(t *testing.T) {
	for _, outlier := range []float64{0, 8, 100} {
		x, w := gauss(20000, outlier)
		lo, hi := 0.0, 0.0
		for _, v := range x {
			lo, hi = min(lo, v), max(hi, v)
		}
		c := squaredError(x, w)
		got := c(search(lo, hi, ends{}, c))
		best := c(affineOf(lo, hi))
		for f := 0.02; f <= 1; f += 0.01 {
			for g := 0.02; g <= 1; g += 0.04 {
				best = min(best, c(affineOf(lo*g, hi*f)))
			}
		}
		testenv.Check(t, !(got > best*1.02), "outlier %g: error %g, a grid finds %g", outlier, got, best)
	}
}

// TestEntropy: a lone outlier is cut off, an even distribution is not.
func TestEntropy(t *testing.T) {
	x, w := gauss(20000, 100)
	if a := search(-5, 100, ends{}, divergence(x, w, -5, 100)); a.hi() > 50 {
		t.Errorf("range [%g, %g] for a normal distribution with an outlier at 100", a.lo(), a.hi())
	}
	for i := range x {
		x[i] = float64(i%1000) / 1000
	}
	if a := search(0, 0.999, ends{}, divergence(x, w, 0, 0.999)); a.hi() < 0.9 {
		t.Errorf("range [%g, %g] for an even distribution over [0, 1)", a.lo(), a.hi())
	}
}

func TestPercentile(t *testing.T) {
	x, w := make([]float64, 1001), make([]float64, 1001)
	for i := range x {
		x[i], w[i] = float64(i-500), 1
	}
	lo, hi := percentile(x, w, 0, 0.98)
	testenv.Check(t, !(math.Abs(lo+490) > 1) && !(math.Abs(hi-490) > 1),
		"98 %% of -500..500 is [%g, %g], want about ±490", lo, hi)
	if lo, hi = percentile(x, w, 0, 1); lo != -500 || hi != 500 {
		t.Errorf("100 %% is [%g, %g]", lo, hi)
	}
}

// lo and hi are the reals that -128 and 127 stand for.
func (a affine) lo() float64 { return (-128 - a.zero) * a.scale }
func (a affine) hi() float64 { return (127 - a.zero) * a.scale }

// apply is x quantised and dequantised.
func (a affine) apply(x float64) float64 {
	q := math.RoundToEven(x/a.scale) + a.zero
	return (min(max(q, -128), 127) - a.zero) * a.scale
}

// TestQuickLog: it is the logarithm, from the least share of a distribution to beyond all of it.
func TestQuickLog(t *testing.T) {
	for x := 1e-12; x < 1e3; x *= 1.0007 {
		got, want := []float64{x}, math.Log(x)
		quickLogs(got)
		testenv.Require(t, !(math.Abs(got[0]-want) > 1e-13), "log of %g is %g, want %g", x, got[0], want)
	}
}
