// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/qref/cmsis"
)

// runColumns is MAX_COL_COUNT: so many products the int16 kernels of CMSIS-NN
// sum up in 32 bits before they go on in 64.
const runColumns = 512

// Library16Limit reports why arm_convolve_wrapper_s16 must not be called with
// an int64 bias. mve tells the build.
func (p *ConvParams) Library16Limit(filter []int8, mve bool) string {
	build := cmsis.DSP
	if mve {
		build = cmsis.MVE
	}
	if s := defects("arm_convolve_wrapper_s16", build, p.In, p.Filter, p.Out, p.Stride, p.Pad, p.Dilation, 1); s != "" {
		return s
	}
	cols := p.Filter.H * p.Filter.W * p.Filter.C
	switch {
	case mve:
		return overflow16(filter, cols, min(cols, runColumns))
	case p.Out.H*p.Out.W%2 != 0: // the last output pixel is summed up in 32 bits
		return overflow16(filter, cols, cols)
	}
	return overflow16(filter, cols, min(cols, runColumns))
}

// Library16Limit reports why arm_fully_connected_s16 must not be called.
func (p *FCParams) Library16Limit(filter []int8) string {
	return overflow16(filter, p.Depth, min(p.Depth, runColumns))
}

// overflow16 reports a row of the filter whose first columns could sum up to
// more than 32 bits with the most negative data.
func overflow16(filter []int8, cols, first int) string {
	if first*127 <= math.MaxInt32>>15 && first < runColumns {
		return "" // -128 included
	}
	for r := 0; r+cols <= len(filter); r += cols {
		sum := int64(0)
		for _, w := range filter[r : r+first] {
			sum += max(int64(w), -int64(w))
		}
		if sum<<15 > math.MaxInt32 {
			return "the kernel sums up more products in 32 bits than they hold"
		}
	}
	return ""
}

// defects is what the knowledge base has against a call that has a bias.
func defects(fn string, build cmsis.Build, in, filter, out Dims, stride, pad, dilation Tile, chMult int) string {
	q := &cmsis.Query{Build: build, In: cmsis.Dims(in), Filter: cmsis.Dims(filter), Out: cmsis.Dims(out),
		Stride: stride, Pad: pad,
		Dilation: dilation, ChMult: chMult, HasBias: true}
	for _, d := range cmsis.Defects(fn, q) {
		return d.Says
	}
	return ""
}
