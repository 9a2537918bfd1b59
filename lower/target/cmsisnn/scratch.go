package cmsisnn

// Scratch bytes of the CMSIS-NN functions, as their *_get_buffer_size functions
// return them (revision 99f736a6). The portable kernels of runtime_c need none,
// so these sizes are valid for both implementations.

// ISA is the instruction set that a CMSIS-NN library was built for.
type ISA uint8

// The builds of CMSIS-NN whose scratch sizes differ.
const (
	PlainC      ISA = iota // M0, M0+, M3, M23, M33 without DSP
	DSP                    // M4, M7, M33, M35P, compiled by GCC or Clang
	DSPArmClang            // the same, compiled by Arm Compiler 6
	MVE                    // M52, M55, M85 with Helium
)

// Dims are NHWC dimensions; filters are {output channels, H, W, input channels}.
type Dims struct{ N, H, W, C int }

// Tile is a vertical and a horizontal value.
type Tile struct{ H, W int }

// dwBlock is CH_IN_BLOCK_MVE: the channels that the MVE depthwise kernel takes at a time.
const dwBlock = 124

// reverseThreshold is REVERSE_TCOL_EFFICIENT_THRESHOLD: above so many input
// channels a transposed convolution is computed as a reversed one.
const reverseThreshold = 16

func roundUp(n, multiple int) int { return (n + multiple - 1) / multiple * multiple }

// ConvGenericScratch is arm_convolve_s8_get_buffer_size: im2col columns of the
// whole input depth, also for grouped convolutions.
func ConvGenericScratch(isa ISA, in, filter Dims) int {
	cols := filter.H * filter.W * in.C
	if isa == MVE {
		return 4 * roundUp(cols, 16)
	}
	return 4 * roundUp(cols, 4)
}

// ConvScratch is arm_convolve_wrapper_s8_get_buffer_size.
func ConvScratch(isa ISA, in, filter, out Dims, stride, pad, dilation Tile) int {
	switch {
	case pad == Tile{} && filter.H == 1 && filter.W == 1 && dilation == Tile{1, 1} && in.C == filter.C:
		if isa == DSPArmClang && stride == (Tile{1, 1}) {
			return 4 * in.C
		}
		return 0
	case isa == MVE && in.H == 1 && dilation.W == 1 && filter.H == 1 && stride.W*in.C%4 == 0 && in.C == filter.C:
		return conv1xNScratch(in, filter, out, stride.W, pad.W)
	}
	return ConvGenericScratch(isa, in, filter)
}

// conv1xNScratch is arm_convolve_1_x_n_s8_get_buffer_size_mve.
func conv1xNScratch(in, filter, out Dims, stride, pad int) int {
	total := (out.W-1)*stride + filter.W - in.W
	odd := total % 2
	right, left := 0, 0
	if pad+odd != 0 {
		right = max(1, (pad+odd+stride-1)/stride)
	}
	if pad != 0 {
		left = max(1, (pad+stride-1)/stride)
	}
	if right+max(out.W-right-left, 0)+left != out.W {
		return ConvGenericScratch(MVE, in, filter)
	}
	row := filter.W * in.C
	padLeft := pad * in.C
	padRight := padLeft
	if odd != 0 {
		padRight = right * in.C
	}
	return max(row+padLeft, row-in.C+padRight)
}

// DepthwiseScratch is arm_depthwise_conv_wrapper_s8_get_buffer_size; filter is
// {1, H, W, output channels}. With MVE, one input channel is computed as a
// convolution with a transposed copy of the filter (GCC and Clang builds from
// two output channels on, Arm Compiler builds from nine: the larger need counts).
func DepthwiseScratch(isa ISA, in, filter, out Dims, stride, pad, dilation Tile) int {
	size := 0
	if in.C == out.C && in.N == 1 && dilation == (Tile{1, 1}) {
		is3x3 := filter.H == 3 && filter.W == 3 && pad.H <= 1 && pad.W <= 1
		switch {
		case isa == MVE:
			size = 4 * dwBlock * filter.H * filter.W
		case (isa == DSP || isa == DSPArmClang) && !is3x3:
			size = 2 * in.C * filter.H * filter.W
		}
	}
	if isa == MVE && in.C == 1 && out.C > 1 {
		conv := Dims{filter.C, filter.H, filter.W, filter.N}
		size = max(size, ConvScratch(MVE, in, conv, out, stride, pad, dilation)+filter.N*filter.H*filter.W*filter.C)
	}
	return size
}

// TransposeConvScratch returns the sizes of the two contexts of
// arm_transpose_conv_wrapper_s8: partial sums or im2col columns, and the reversed
// filter. The library's own formula is too small for horizontal strides above
// the kernel width and the vertical stride; then the kernel's real need is given.
// The first context must not be NULL.
func TransposeConvScratch(isa ISA, in, filter, out Dims, stride Tile) (ctx, reversed int) {
	if stride.W <= 2 && stride.H <= 2 && in.C > reverseThreshold {
		up := Dims{in.N, in.H * stride.H, in.W * stride.W, in.C}
		return ConvGenericScratch(isa, up, filter), in.C * filter.H * filter.W * filter.N
	}
	cols := (in.W-1)*stride.W + max(filter.W, stride.H, stride.W)
	return 4 * cols * out.C * max(filter.H, stride.H), 0
}

// FullyConnectedScratch is arm_fully_connected_s8_get_buffer_size for a layer
// with cols outputs: with MVE the context holds the kernel sums (constants of
// the model, see arm_vector_sum_s8) and must not be NULL.
func FullyConnectedScratch(isa ISA, cols int) int {
	if isa == MVE {
		return 4 * cols
	}
	return 0
}

// BatchMatMulScratch is what arm_batch_matmul_s8 writes to its context: with MVE
// the column sums of one right-hand matrix with cols columns.
func BatchMatMulScratch(isa ISA, cols int) int { return FullyConnectedScratch(isa, cols) }

// AvgPoolScratch is arm_avgpool_s8_get_buffer_size.
func AvgPoolScratch(isa ISA, channels int) int {
	if isa == DSP || isa == DSPArmClang {
		return 4 * channels
	}
	return 0
}

// LSTMScratch is the size of each of the two temporary buffers and of the cell
// state (int16) of arm_lstm_unidirectional_s8.
func LSTMScratch(batch, hidden int) int { return 2 * batch * hidden }
