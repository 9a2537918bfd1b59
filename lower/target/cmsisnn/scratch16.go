package cmsisnn

// Scratch bytes of the int16 and int4 functions, as their *_get_buffer_size
// functions return them (revision 99f736a6).

// Conv16Scratch is arm_convolve_wrapper_s16_get_buffer_size.
func Conv16Scratch(isa ISA, in, filter Dims) int {
	cols := filter.H * filter.W * in.C
	if isa == MVE {
		return 8 * roundUp(cols, 8)
	}
	return 4 * cols
}

// Depthwise16Scratch is arm_depthwise_conv_fast_s16_get_buffer_size.
func Depthwise16Scratch(isa ISA, in, filter Dims) int {
	cols := filter.H * filter.W * in.C
	switch isa {
	case MVE:
		return 8*cols + 8
	case DSP, DSPArmClang:
		return 2 * cols
	}
	return 0
}

// conv4GenericScratch is what arm_convolve_s4 writes; the library's own size
// function is too small for MVE, where columns are rounded up to 16.
func conv4GenericScratch(isa ISA, in, filter Dims) int {
	cols := filter.H * filter.W * in.C
	if isa == MVE {
		return 4 * roundUp(cols, 16)
	}
	return 4 * cols
}

// Conv4Route is the inner function of arm_convolve_wrapper_s4.
func Conv4Route(isa ISA, in, filter Dims, stride, pad, dil Tile) string {
	switch {
	case pad == Tile{} && filter.H == 1 && filter.W == 1 && dil == Tile{1, 1} && in.C == filter.C:
		if stride == (Tile{1, 1}) {
			return "arm_convolve_1x1_s4_fast"
		}
		return "arm_convolve_1x1_s4"
	case isa != MVE:
		return "arm_convolve_s4"
	case in.H == 1 && filter.H == 1 && dil.W == 1 && stride.W*in.C%4 == 0 && in.C == filter.C:
		return "arm_convolve_1_x_n_s4"
	case filter.H*filter.W*in.C%2 == 0:
		return "arm_convolve_even_s4"
	}
	return "arm_convolve_s4"
}

// Conv4Scratch is arm_convolve_wrapper_s4_get_buffer_size.
func Conv4Scratch(isa ISA, in, filter, out Dims, stride, pad, dil Tile) int {
	switch Conv4Route(isa, in, filter, stride, pad, dil) {
	case "arm_convolve_1x1_s4_fast", "arm_convolve_1x1_s4":
		return 0
	case "arm_convolve_1_x_n_s4":
		if left, right := padded1xN(in, filter, out, stride.W, pad.W); left+right > out.W {
			return conv4GenericScratch(isa, in, filter)
		}
		return 0
	}
	return conv4GenericScratch(isa, in, filter)
}

// padded1xN are the output pixels that a 1xN kernel takes for padded ones.
func padded1xN(in, filter, out Dims, stride, pad int) (left, right int) {
	odd := ((out.W-1)*stride + filter.W - in.W) % 2
	if pad+odd != 0 {
		right = max(1, (pad+odd+stride-1)/stride)
	}
	if pad != 0 {
		left = max(1, (pad+stride-1)/stride)
	}
	return left, right
}

// Depthwise4Scratch is arm_depthwise_conv_s4_opt_get_buffer_size: the kernel
// wants a buffer on every core.
func Depthwise4Scratch(isa ISA, in, filter Dims) int {
	if isa == MVE {
		return 4 * dwBlock * filter.H * filter.W
	}
	return 2 * in.C * filter.H * filter.W
}
