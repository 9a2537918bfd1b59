// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"fmt"
	"math"
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
