// SPDX-License-Identifier: Apache-2.0

package quant

import (
	"math"

	"github.com/nncc/nncc/ir/vec"
)

// histBins bounds the bins of a histogram. At least half as many are in use: 4 for a
// step of a range that is clipped to a half.
const histBins = 4096

// tally counts numbers in bins whose width is a power of two, bin i those from
// i times the width on. The width follows from the least and the largest number
// alone: histograms may be added up in any order.
type tally struct {
	exp   int      // of the width
	first int      // bin that n begins with
	n     []uint32 // counts, as many as fit
	all   uint64   // no count is larger
}

// binExp is the least exponent with which bins hold all from lo to hi.
func binExp(lo, hi float64, bins int) int {
	_, e := math.Frexp(max(-lo, hi))
	_, b := math.Frexp(float64(bins))
	e -= b // too fine by two at most
	for binOf(hi, e)-binOf(lo, e) >= bins {
		e++
	}
	return e
}

func binOf(f float64, exp int) int { return int(math.Floor(math.Ldexp(f, -exp))) }

// count counts finite numbers from lo to hi in place of what was counted before;
// zeros are given apart, since every quantisation represents them.
func (h *tally) count(x []float32, lo, hi float64, bins int) (zeros int64) {
	h.exp = binExp(lo, hi, bins)
	h.first = binOf(lo, h.exp)
	used := binOf(hi, h.exp) - h.first + 1
	if cap(h.n) < used {
		h.n = make([]uint32, used, bins)
	}
	h.n = h.n[:used]
	clear(h.n)
	h.all = 0
	return h.more(x, lo, hi)
}

// holds reports that numbers from lo to hi lie in bins that there are: to count them with
// more gives what add of their own count would.
func (h *tally) holds(lo, hi float64, bins int) bool {
	return len(h.n) > 0 && binExp(lo, hi, bins) <= h.exp && binOf(lo, h.exp) >= h.first &&
		binOf(hi, h.exp) < h.first+len(h.n)
}

// more counts numbers beside what was counted before. The bins hold those from lo to hi,
// to which the others are brought.
func (h *tally) more(x []float32, lo, hi float64) (zeros int64) {
	l, u, k := float32(lo), float32(hi), math.Ldexp(1, -h.exp)
	_, _, odd := vec.Extent(x)
	if odd || float64(l) != lo || float64(u) != hi || h.exp < -singleExp || h.exp > singleExp {
		return h.moreOdd(x, lo, hi, k)
	}
	var at [tallied]int32
	for len(x) > 0 {
		n := min(len(x), tallied)
		zeros += int64(vec.Bins(x[:n], l, u, float32(k), at[:]))
		h.raiseAll(at[:n])
		x = x[n:]
	}
	// Zeros were counted with the others.
	h.n[binOf(min(max(0, lo), hi), h.exp)-h.first] -= uint32(zeros)
	return zeros
}

// tallied is how many numbers are given their bins at a time; singleExp bounds exponents
// of widths that float32 holds with their reciprocals.
const tallied, singleExp = 256, 100

// moreOdd is more of numbers of which some are not finite, or by bins or ends that
// float32 does not hold; k is one over the width.
func (h *tally) moreOdd(x []float32, lo, hi, k float64) (zeros int64) {
	h.all += uint64(len(x))
	for _, f := range x {
		e := float64(f)
		if e == 0 {
			zeros++
			continue
		}
		if e-e == 0 {
			raise(&h.n[int(math.Floor(min(max(e, lo), hi)*k))-h.first], 1)
		}
	}
	return zeros
}

// add adds the counts of g, which cover less than bins together with those of h.
func (h *tally) add(g *tally, bins int) {
	if len(g.n) == 0 {
		return
	}
	if len(h.n) == 0 {
		h.exp, h.first, h.n, h.all = g.exp, g.first, append([]uint32(nil), g.n...), g.all
		return
	}
	exp := max(h.exp, g.exp)
	for max(h.last(exp), g.last(exp))-min(h.at(0, exp), g.at(0, exp)) >= bins {
		exp++
	}
	first, last := min(h.at(0, exp), g.at(0, exp)), max(h.last(exp), g.last(exp))
	if exp != h.exp || first != h.first || last != h.last(exp) {
		n := make([]uint32, last-first+1)
		for i, k := range h.n {
			raise(&n[h.at(i, exp)-first], k)
		}
		h.exp, h.first, h.n = exp, first, n
	}
	for i, k := range g.n {
		raise(&h.n[g.at(i, exp)-first], k)
	}
	h.all += g.all
}

// raiseAll adds 1 to the counts of some bins.
func (h *tally) raiseAll(bins []int32) {
	counts, first := h.n, int32(h.first)
	if h.all += uint64(len(bins)); h.all > math.MaxUint32 {
		for _, i := range bins {
			raise(&counts[i-first], 1)
		}
		return
	}
	for ; len(bins) >= 4; bins = bins[4:] {
		counts[bins[0]-first]++
		counts[bins[1]-first]++
		counts[bins[2]-first]++
		counts[bins[3]-first]++
	}
	for _, i := range bins {
		counts[i-first]++
	}
}

// raise adds to a count.
func raise(n *uint32, by uint32) { *n += min(by, math.MaxUint32-*n) }

// at is the bin of a width that holds bin i of h.
func (h *tally) at(i, exp int) int    { return (h.first + i) >> min(exp-h.exp, 62) }
func (h *tally) last(exp int) int     { return h.at(len(h.n)-1, exp) }
func (h *tally) middle(i int) float64 { return math.Ldexp(float64(h.first+i)+0.5, h.exp) }
