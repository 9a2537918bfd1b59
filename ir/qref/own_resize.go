// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"math"
	"slices"
)

// ResizeAxis are the tables of one resampled axis: output i is the sum over
// t < Taps of input Index[i*Taps+t] times Weight[i*Taps+t] / Den. An output
// whose first index is negative lies outside.
type ResizeAxis struct {
	Taps   int32
	Index  []int32
	Weight []int16
	Den    int32
}

// resizeDen is the largest weight denominator of an axis: with it, two axes and
// weights whose magnitudes sum to at most 1.5 stay within int32.
const resizeDen = 1 << 10

// NewResizeAxis turns the real weights of an axis (as ONNX Resize defines them,
// taps per output) into integers with one denominator: the smallest that
// represents all of them, or 1024 with every output's weights rounded to the
// same sum. The common scale factors are exact: linear interpolation by n needs
// the denominator 2n.
func NewResizeAxis(taps int, index []int32, weight []float64) (*ResizeAxis, error) {
	if taps < 1 || len(index) != len(weight) || len(index)%taps != 0 {
		return nil, fmt.Errorf("%d indices and %d weights in groups of %d", len(index), len(weight), taps)
	}
	for i := 0; i < len(weight); i += taps {
		sum := 0.0
		for _, w := range weight[i : i+taps] {
			sum += math.Abs(w)
		}
		if !(sum <= 2) {
			return nil, fmt.Errorf("the weights of output %d have magnitude %g, want at most 2", i/taps, sum)
		}
	}
	a := &ResizeAxis{Taps: int32(taps), Index: index, Den: resizeDen}
	for den := int32(1); den < resizeDen; den++ {
		if exactWeights(weight, den) {
			a.Den = den
			break
		}
	}
	a.Weight = make([]int16, len(weight))
	for i := 0; i < len(weight); i += taps {
		// Round running sums, so that the weights add up to the rounded total.
		sum, done := 0.0, int32(0)
		for t, w := range weight[i : i+taps] {
			sum += w
			next := int32(math.Round(sum * float64(a.Den)))
			a.Weight[i+t], done = int16(next-done), next
		}
	}
	return a, nil
}

// exactWeights reports that all weights are multiples of 1/den.
func exactWeights(weight []float64, den int32) bool {
	for _, w := range weight {
		v := w * float64(den)
		if math.Abs(v-math.Round(v)) > 1e-6 {
			return false
		}
	}
	return true
}

// ResizeParams is nncc_resize_s8_params.
type ResizeParams struct {
	InScale, OutScale        float64
	Batch, InH, InW          int32
	Channels                 int32
	OutH, OutW               int32
	TapsH, TapsW             int32
	Den                      int32
	InZero, OutZero, Rescale int32
	Outside                  int32
}

// SetAxes sets the fields that follow from the tables and quantisations.
// outside is the real value of pixels that lie outside.
func (p *ResizeParams) SetAxes(h, w *ResizeAxis, in, out QP, outside float64) {
	p.TapsH, p.TapsW, p.Den = h.Taps, w.Taps, h.Den*w.Den
	p.OutH, p.OutW = int32(len(h.Index))/h.Taps, int32(len(w.Index))/w.Taps
	p.InScale, p.OutScale, p.Rescale = float64(in.Scale), float64(out.Scale), boolInt(in.Scale != out.Scale)
	p.InZero, p.OutZero = in.Zero, out.Zero
	p.Outside = out.Quantise(outside, math.MinInt8, math.MaxInt8)
}

// Resize is nncc_resize_s8: separable interpolation of NHWC data, exact in
// integers and rounded once, half away from zero.
func Resize(p *ResizeParams, x []int8, h, w *ResizeAxis, y []int8) {
	c := int(p.Channels)
	acc, line := make([]int32, c), make([]int32, c)
	at := 0
	for n := range p.Batch {
		for oy := range int(p.OutH) {
			ih, wh := h.Index[oy*int(p.TapsH):][:p.TapsH], h.Weight[oy*int(p.TapsH):]
			for ox := range int(p.OutW) {
				iw, ww := w.Index[ox*int(p.TapsW):][:p.TapsW], w.Weight[ox*int(p.TapsW):]
				dst := y[at:][:c]
				at += c
				if ih[0] < 0 || iw[0] < 0 {
					for i := range dst {
						dst[i] = int8(p.Outside)
					}
					continue
				}
				clear(acc)
				for th, iy := range ih {
					clear(line)
					for tw, ix := range iw {
						for i, v := range x[int((n*p.InH+iy)*p.InW+ix)*c:][:c] {
							line[i] += (int32(v) - p.InZero) * int32(ww[tw])
						}
					}
					for i, v := range line {
						acc[i] += v * int32(wh[th])
					}
				}
				for i, v := range acc {
					dst[i] = p.result(v)
				}
			}
		}
	}
}

// result is that of the weighted sum of inputs without their zero point.
func (p *ResizeParams) result(v int32) int8 {
	return MeanResult(v, p.Rescale != 0, p.InScale, p.Den, p.OutScale, p.OutZero, math.MinInt8, math.MaxInt8)
}

func (p *ResizeParams) rounded(v int32) int32 { return int32(p.result(v)) }

// ResizeLinear are the constants of nncc_resize_linear_s8 and, where Wide says
// so, of nncc_resize_linear_wide_s8, with the tables of rows and columns: first
// and second index, first and second weight of every output.
type ResizeLinear struct {
	Wide             bool
	Scale            int32
	Bias             int32 // of a blended value
	Mult, Add, Shift int32
	Rows, Cols       []int16
}

// linearPoint is the binary point of the sums of nncc_resize_linear_s8.
const linearPoint = 256

// fewChannels are so few that elements one by one take less than pixels: with 4 to 7 channels 0.28 to 0.6 of the
// instructions on Helium, 0.59 to 1.04 elsewhere, with fewer ones less.
const fewChannels = 7

// maxLinearShift leaves room for the zero point above it.
const maxLinearShift = 22

// BuildResizeLinear finds constants for a resize of at most two taps an axis
// that give what Resize gives, for all sums that there can be; false where
// there are none.
func BuildResizeLinear(p *ResizeParams, h, w *ResizeAxis) (*ResizeLinear, bool) {
	rows, ok := h.pairs()
	cols, both := w.pairs()
	if !ok || !both || p.InH > math.MaxInt16 || p.InW > math.MaxInt16 {
		return nil, false
	}
	r := &ResizeLinear{Rows: rows, Cols: cols}
	if p.Rescale == 0 && p.InZero == p.OutZero && linearPoint%p.Den == 0 {
		r.Scale = linearPoint / p.Den
		return r, true
	}
	r.Wide, r.Scale = true, 1
	for int64(2*r.Scale)*int64(p.Den)<<8 <= math.MaxInt32 {
		r.Scale *= 2
	}
	r.Bias = -p.InZero * h.Den * r.Scale
	return r, r.scaled(p)
}

// pairs is the table of an axis with two taps an output; false where an output
// has more taps, or weights that are negative or of different sums.
func (a *ResizeAxis) pairs() ([]int16, bool) {
	if a.Taps > 2 {
		return nil, false
	}
	taps := int(a.Taps)
	var out []int16
	for at := 0; at < len(a.Index); at += taps {
		i, w := a.Index[at:][:taps], a.Weight[at:][:taps]
		first, last := int16(max(i[0], -1)), int16(max(i[taps-1], -1))
		second := int32(0)
		if taps > 1 {
			second = int32(w[1])
		}
		if w[0] < 0 || second < 0 || int32(w[0])+second != a.Den || i[0] > math.MaxInt16 || i[taps-1] > math.MaxInt16 {
			return nil, false
		}
		out = append(out, first, last, w[0], int16(second))
	}
	return out, true
}

// Elements is the table of columns that kernels of few channels have, with the
// sum of two weights: for every element of a row of results the index of the
// first of two elements, the second is the same of the next pixel; then for
// every one the first weight. False where there are more channels, or a column
// is not between two neighbours.
func (r *ResizeLinear) Elements(p *ResizeParams) (table []int16, den int32, ok bool) {
	if p.Channels > fewChannels || p.InW < 2 || p.Channels*p.InW > math.MaxInt16 {
		return nil, 0, false
	}
	den = int32(r.Cols[2]) + int32(r.Cols[3])
	var weights []int16
	for c := range slices.Chunk(r.Cols, 4) {
		first, weight, between := besideNext(c, int16(p.InW))
		if !between || den > math.MaxInt16 {
			return nil, 0, false
		}
		for k := range int16(p.Channels) {
			table = append(table, first*int16(p.Channels)+k)
			weights = append(weights, weight)
		}
	}
	return append(table, weights...), den, true
}

// besideNext is a column (two indices, two weights) as a pixel that has a next
// one, and its weight.
func besideNext(column []int16, inW int16) (first, weight int16, ok bool) {
	i, j, a, b := column[0], column[1], column[2], column[3]
	switch {
	case i < 0: // outside
		return 0, 0, false
	case j == i+1:
		return i, a, true
	case i != j && a != 0 && b != 0:
		return 0, 0, false
	case a == 0:
		i = j
	}
	if i == inW-1 { // the last one, as the second
		return i - 1, 0, true
	}
	return i, a + b, true
}

// scaled finds the multiplication that rounds as the definition does.
func (r *ResizeLinear) scaled(p *ResizeParams) bool {
	ratio := p.ratio() / float64(r.Scale)
	_, exp := math.Frexp(ratio)
	r.Shift = min(int32(-exp-1), maxLinearShift) // a multiplier of 31 bits, or fewer where zero points leave no room
	if r.Shift < 1 {
		return false
	}
	lo, hi := (math.MinInt8-p.InZero)*p.Den, (math.MaxInt8-p.InZero)*p.Den+1
	want := p.thresholds(lo, hi, p.rounded)
	add := int32(math.Floor(math.Ldexp(float64(p.OutZero)+0.5, int(r.Shift))))
	for try := range int32(12) { // ties go away from zero with a slope that is a little steeper
		r.Mult = int32(min(math.Floor(math.Ldexp(ratio, int(32+r.Shift)))+float64(try/3), math.MaxInt32))
		r.Add = add - try%3
		if r.fits(p) && p.thresholds(lo, hi, r.result) == want {
			return true
		}
	}
	return false
}

// ResizeTaps are the constants of nncc_resize_taps_s8, and its tables.
type ResizeTaps struct {
	Mult, Add, Shift int32
	Rows, Cols       *ResizeAxis
	Least            []int32
}

// BuildResizeTaps finds constants that give what Resize gives, for all sums
// that there can be; false where the output's steps are too small.
func BuildResizeTaps(p *ResizeParams, h, w *ResizeAxis) (*ResizeTaps, bool) {
	scale := int32(1)
	for 2*scale*h.Den <= 1<<14 && 2*scale*p.Den <= 1<<20 {
		scale *= 2
	}
	r := &ResizeTaps{Rows: h.even(1, scale), Cols: w.even(p.Channels, 1)}
	ratio := p.ratio() / float64(scale)
	_, exp := math.Frexp(ratio)
	r.Shift = min(int32(-exp-1), 20) // a multiplier of 31 bits, or fewer where zero points leave no room
	if r.Shift < 4 {
		return nil, false
	}
	r.Mult = int32(math.Ldexp(ratio, int(32+r.Shift)))
	// Less than half a step by more than products are rounded: the result or one less.
	r.Add = int32(math.Ldexp(float64(p.OutZero)+128.5, int(r.Shift))) - 1
	most := 4 * math.MaxUint8 * p.Den // magnitudes of weights are at most 2 an axis
	for _, least := range p.thresholds(-most, most, p.rounded) {
		r.Least = append(r.Least, least*scale)
	}
	r.Least = append(r.Least, 1<<30)
	return r, true
}

// even is the table with an even number of taps an output, its indices and weights multiplied.
func (a *ResizeAxis) even(stride, scale int32) *ResizeAxis {
	out := &ResizeAxis{Taps: (a.Taps + 1) &^ 1, Den: a.Den * scale}
	for at, i := range a.Index {
		last := at%int(a.Taps) == int(a.Taps)-1
		out.Index, out.Weight = append(out.Index, i*stride), append(out.Weight, a.Weight[at]*int16(scale))
		if last && a.Taps%2 == 1 {
			out.Index, out.Weight = append(out.Index, i*stride), append(out.Weight, 0)
		}
	}
	return out
}

// ratio is that of a result to a sum.
func (p *ResizeParams) ratio() float64 {
	if p.Rescale != 0 {
		return p.InScale / (float64(p.Den) * p.OutScale)
	}
	return 1 / float64(p.Den)
}

// high is the kernel's sum before the shift.
func (r *ResizeLinear) high(sum int32) int64 {
	return int64(r.Add) + int64(sum)*int64(r.Scale)*int64(r.Mult)>>32
}

func (r *ResizeLinear) result(sum int32) int32 {
	return int32(min(max(r.high(sum)>>r.Shift, math.MinInt8), math.MaxInt8))
}

// fits: no sum leaves 32 bits.
func (r *ResizeLinear) fits(p *ResizeParams) bool {
	lo, hi := r.high((math.MinInt8-p.InZero)*p.Den), r.high((math.MaxInt8-p.InZero)*p.Den)
	return lo >= math.MinInt32 && hi <= math.MaxInt32
}

// thresholds are the least sums of lo to hi with each result above -128, hi
// where there is none; results only grow with sums.
func (p *ResizeParams) thresholds(lo, hi int32, result func(sum int32) int32) (t [255]int32) {
	from := lo
	for i := range t {
		want := int32(i) + math.MinInt8 + 1
		a, b := from, hi
		for a < b {
			if mid := a + (b-a)/2; result(mid) >= want {
				b = mid
			} else {
				a = mid + 1
			}
		}
		t[i], from = a, a
	}
	return t
}
