// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/tensor"
)

// Histogram counts values in equal bins from Low to High, in a few bytes: the shape of
// a distribution, for people to look at.
type Histogram struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
	// Bins has a character for each bin, 0-9, A-Z, a-z for 0 to 61 in this order: 61 is
	// the fullest bin, which holds Most values; k stands for (Most+1)^(k/61)-1 of them.
	Bins string `json:"bins"`
	Most int64  `json:"most"`
	// Zeros is the share of values that are exactly 0: these are in no bin.
	Zeros float64 `json:"zeros,omitempty"`
	// Clipped is the share of values beyond the range of the integers, or at its ends
	// where the values are integers.
	Clipped float64 `json:"clipped,omitempty"`
}

// drawnBins is how many bins a Histogram has, at most.
const drawnBins = 32

// binDigits are the heights of bins.
const binDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// newHistogram packs counts.
func newHistogram(low, high float64, counts []int64) *Histogram {
	h := &Histogram{Low: low, High: high, Most: slices.Max(counts)}
	var b strings.Builder
	for _, n := range counts {
		k := 0.0
		if n > 0 {
			k = math.Ceil(61 * math.Log1p(float64(n)) / math.Log1p(float64(h.Most)))
		}
		b.WriteByte(binDigits[min(int(k), 61)])
	}
	h.Bins = b.String()
	return h
}

// Heights are the bins between 0 and 1. What is no histogram has none.
func (h *Histogram) Heights() []float64 {
	var out []float64
	for _, c := range h.Bins {
		k := strings.IndexRune(binDigits, c)
		if k < 0 {
			return nil
		}
		out = append(out, float64(k)/61)
	}
	return out
}

// HistogramOf is that of a constant: of its integers, or its finite reals.
func HistogramOf(d *tensor.Dense) *Histogram {
	low, high, n, zeros := math.Inf(1), math.Inf(-1), d.Len(), 0
	for i := range n {
		switch f := d.Float(i); {
		case f == 0:
			zeros++
		case f-f == 0:
			low, high = min(low, f), max(high, f)
		}
	}
	if low > high { // nothing but zeros
		low, high = 0, 0
	}
	bins, integers := drawnBins, !d.DType.IsFloat()
	if integers { // whole steps for a bin
		span := int(high-low) + 1
		step := (span + drawnBins - 1) / drawnBins
		bins = (span + step - 1) / step
		high = low + float64(bins*step)
	}
	counts, limit, clipped := make([]int64, bins), 0.0, 0
	if integers {
		_, hi := d.DType.IntRange()
		limit = float64(hi)
	}
	scale := 0.0
	if high > low {
		scale = float64(bins) / (high - low)
	}
	for i := range n {
		f := d.Float(i)
		if f == 0 || f-f != 0 {
			continue
		}
		counts[min(max(int((f-low)*scale), 0), bins-1)]++
		if integers && math.Abs(f) >= limit {
			clipped++
		}
	}
	h := newHistogram(low, high, counts)
	h.Zeros, h.Clipped = share(zeros, n), share(clipped, n)
	return h
}

// share is a of b, to a thousandth of a percent.
func share(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return math.Round(1e5*float64(a)/float64(b)) / 1e5
}

// drawn is the histogram of what calibration saw of a value; lo and hi are the reals
// that the integers reach. nil where only the ends are known.
func (s *stats) drawn(lo, hi float64) *Histogram {
	if s.hi <= s.lo || s.count == 0 || s.exact == nil && s.hist.n == nil {
		return nil
	}
	counts := make([]int64, drawnBins)
	zeros, clipped, rounded := int(s.zeros), 0, (hi-lo)/510 // half a step of 8 bits
	add := func(x float64, n int64) {
		counts[min(max(int((x-s.lo)/(s.hi-s.lo)*drawnBins), 0), drawnBins-1)] += n
		if x < lo-rounded || x > hi+rounded {
			clipped += int(n)
		}
	}
	for _, f := range s.exact {
		switch e := float64(f); {
		case e == 0:
			zeros++
		case e-e == 0:
			add(e, 1)
		}
	}
	for i, n := range s.hist.n {
		if n > 0 {
			add(min(max(s.hist.middle(i), s.lo), s.hi), int64(n))
		}
	}
	h := newHistogram(s.lo, s.hi, counts)
	h.Zeros, h.Clipped = share(zeros, int(s.count)), share(clipped, int(s.count))
	return h
}
