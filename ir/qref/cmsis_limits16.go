package qref

import "math"

// runColumns is MAX_COL_COUNT: so many products the int16 kernels of CMSIS-NN
// sum up in 32 bits before they go on in 64.
const runColumns = 512

// FastDepthwise16 reports that arm_depthwise_conv_wrapper_s16 takes its fast
// kernel.
func (p *DepthwiseParams) FastDepthwise16() bool {
	return p.ChMult == 1 && p.Dilation == (Tile{1, 1}) && p.Filter.H*p.Filter.W < runColumns
}

// Library16Limit reports why arm_convolve_wrapper_s16 must not be called with
// an int64 bias. mve tells the build.
func (p *ConvParams) Library16Limit(filter []int8, mve bool) string {
	cols := p.Filter.H * p.Filter.W * p.Filter.C
	switch {
	case p.In.C != p.Filter.C:
		return "the int16 kernel has no groups"
	case mve:
		return overflow16(filter, cols, min(cols, runColumns))
	case cols > runColumns && cols%4 != 0 && p.Out.C%2 != 0:
		return "the DSP kernel counts some columns twice for the last of an odd number of channels, above 512 columns that are no multiple of 4"
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

// Library16Limit reports why arm_depthwise_conv_wrapper_s16 must not be called.
func (p *DepthwiseParams) Library16Limit() string {
	if !p.FastDepthwise16() {
		return ""
	}
	outside := func(in, out, k, s, pad int) bool { return pad > k || (out-1)*s-pad > in }
	if outside(p.In.H, p.Out.H, p.Filter.H, p.Stride.H, p.Pad.H) {
		return "the DSP kernel clears rows beyond its buffer for windows far in the padding: call arm_depthwise_conv_s16"
	}
	return ""
}

// MVE4Limit reports why arm_convolve_wrapper_s4 must not be called in an MVE
// build, whose 1xN kernel refuses many paddings instead of turning to the
// generic arm_convolve_s4; that one may be called. Source: arm_convolve_1_x_n_s4.
func (p *ConvParams) MVE4Limit() string {
	if !p.takes1xN() {
		return ""
	}
	s, pad := p.Stride.W, p.Pad.W
	total := (p.Out.W-1)*s + p.Filter.W - p.In.W
	odd := total % 2
	left, right := 0, 0
	if pad+odd != 0 {
		right = max(1, (pad+odd+s-1)/s)
	}
	if pad != 0 {
		left = max(1, (pad+s-1)/s)
	}
	if 2*pad+odd != total || left+right > p.Out.W {
		return "the 1xN kernel fails for this padding: call arm_convolve_s4"
	}
	return ""
}

// Library4Limit reports why arm_depthwise_conv_wrapper_s4 must not be called.
func (p *DepthwiseParams) Library4Limit() string {
	if p.ChMult == 1 && (p.In.N == 1 && p.Dilation == (Tile{1, 1}) || p.In.C%2 == 0) {
		return ""
	}
	return "the generic kernel loses its place in the packed filter of an odd number of channels or with a channel multiplier"
}

// MVE4Limit reports why arm_depthwise_conv_wrapper_s4 must not be called in an
// MVE build: GCC 12 makes "all lanes" of the constant mask with which its kernel
// unpacks the filter, so that libraries built with it are wrong.
func (p *DepthwiseParams) MVE4Limit() string {
	if p.ChMult == 1 && p.In.N == 1 && p.Dilation == (Tile{1, 1}) {
		return "GCC 12 compiles the MVE kernel wrongly"
	}
	return ""
}
