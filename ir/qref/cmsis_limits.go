package qref

// The functions of this file name the calls that CMSIS-NN (revision 99f736a6)
// itself gets wrong or that break it, although the arguments make sense. The
// reference and nncc's own kernels compute them right; a program that shall also
// run with an installed CMSIS-NN must avoid them. An empty answer means that the
// library may be called. All were found or confirmed by running the library.

// LibraryLimit reports why arm_convolve_wrapper_s8 must not be called on any core.
func (p *ConvParams) LibraryLimit(hasBias bool) string {
	if !hasBias && p.In.C != p.Filter.C {
		return "a grouped convolution steps through its bias even where it is NULL: pass zeros"
	}
	return ""
}

// MVELimit reports why arm_convolve_wrapper_s8 must not be called in an MVE
// build, where inputs of height 1 may take the 1xN kernel: that one fails or
// computes the border wrongly for many paddings, mostly with strides above 1.
// The generic arm_convolve_s8 may be called instead.
func (p *ConvParams) MVELimit() string {
	if !p.takes1xN() {
		return ""
	}
	w, k, s, pad, ow := p.In.W, p.Filter.W, p.Stride.W, p.Pad.W, p.Out.W
	total := (ow-1)*s + k - w
	odd := total % 2 // as C: takes the sign of total
	if 2*pad+odd != total {
		return "the 1xN kernel fails for this padding: call arm_convolve_s8"
	}
	right, left := 0, 0 // output pixels it takes for padded ones
	if pad+odd != 0 {
		right = max(1, (pad+odd+s-1)/s)
	}
	if pad != 0 {
		left = max(1, (pad+s-1)/s)
	}
	middle := max(ow-right-left, 0)
	if right+middle+left != ow {
		return "" // the kernel turns to arm_convolve_s8 itself
	}
	rightPad := pad
	if odd != 0 {
		rightPad = right
	}
	if left != 0 && w < k || right != 0 && (s*(left+middle)-pad+k-1 != w || (right-1)*s+1 > rightPad) {
		return "the 1xN kernel computes the last columns wrongly: call arm_convolve_s8"
	}
	return ""
}

// takes1xN is the library's test for its 1xN route (arm_nn_is_convolve_1_x_n);
// the 1x1 test comes first.
func (p *ConvParams) takes1xN() bool {
	if p.Pad == (Tile{}) && p.Filter.H == 1 && p.Filter.W == 1 && p.Dilation == (Tile{1, 1}) && p.In.C == p.Filter.C {
		return false
	}
	return p.In.H == 1 && p.Dilation.W == 1 && p.Filter.H == 1 && p.Stride.W*p.In.C%4 == 0 && p.In.C == p.Filter.C
}

// MVELimit reports why arm_fully_connected_wrapper_s8 must not be called in an
// MVE build.
func (p *FCParams) MVELimit() string {
	if p.FilterOffset != 0 && len(p.Mult) != 1 {
		return "with a filter offset the MVE kernel scales four outputs by one channel's multiplier"
	}
	return ""
}

// LibraryLimit reports why arm_depthwise_conv_wrapper_s8 must not be called.
// The first case concerns the cores without MVE, the second those with it.
func (p *DepthwiseParams) LibraryLimit(hasBias bool) string {
	simple := p.ChMult == 1 && p.In.N == 1 && p.Dilation == (Tile{1, 1})
	if simple && p.Filter.H == 3 && p.Filter.W == 3 && p.Pad.H <= 1 && p.Pad.W <= 1 &&
		(p.Out.W-1)*p.Stride.W-p.Pad.W+1 >= p.In.W {
		return "the 3x3 kernel reads beyond the row where two columns of its window lie to the right of the input: call arm_depthwise_conv_s8"
	}
	if simple && !hasBias && p.In.C > 124 {
		return "the MVE kernel steps through its bias even where it is NULL: pass zeros"
	}
	return ""
}

// LibraryLimit reports why arm_transpose_conv_wrapper_s8 must not be called.
func (p *TransposeConvParams) LibraryLimit() string {
	if p.Pad.H >= p.Filter.H || p.Pad.W >= p.Filter.W {
		return "padding not smaller than the kernel"
	}
	if p.Stride.W <= 2 && p.Stride.H <= 2 && p.In.C > 16 {
		return "" // computed as a convolution of the upscaled input
	}
	if p.In.H*p.Stride.H < p.Pad.H {
		return "the kernel loses track of its rows where the padding exceeds all input rows"
	}
	if p.In.H*p.Stride.H-p.Pad.H > p.Out.H {
		return "the kernel writes more rows than the output has"
	}
	if (p.In.H-1)*p.Stride.H+max(p.Filter.H, p.Stride.H)-p.Pad.H < p.Out.H ||
		(p.In.W-1)*p.Stride.W+max(p.Filter.W, p.Stride.W)-p.Pad.W < p.Out.W {
		return "the kernel leaves the rows and columns unset that only the output padding reaches"
	}
	return ""
}

// MinMaxLibraryLimit reports why arm_minimum_s8 and arm_maximum_s8 must not be
// called for inputs of these dimensions.
func MinMaxLibraryLimit(a, b Dims) string {
	column := func(x, y Dims) bool { return x.W*x.C == 1 && x.H > 1 && y.W > 1 }
	if column(a, b) || column(b, a) {
		return "an input of one element a row, broadcast along the width, is stepped through at the wrong rate"
	}
	return ""
}

// TransposeLibraryLimit reports why arm_transpose_s8 must not be called: copy
// instead. Two axes are exchanged without a look at the permutation, and the MVE
// build exchanges the last two of four wherever the first two stay.
func TransposeLibraryLimit(perm []int) string {
	for i, p := range perm {
		if p != i {
			return ""
		}
	}
	if len(perm) == 2 || len(perm) == 4 {
		return "the identity is computed as an exchange of the last two axes"
	}
	return ""
}

// MaxPoolLibraryLimit reports why arm_max_pool_s8 must not be called.
func (p *PoolParams) MaxPoolLibraryLimit() string {
	outside := func(in, out, k, s, pad int) bool { return pad >= k || (out-1)*s-pad >= in }
	if outside(p.In.H, p.Out.H, p.Kernel.H, p.Stride.H, p.Pad.H) || outside(p.In.W, p.Out.W, p.Kernel.W, p.Stride.W, p.Pad.W) {
		return "a window wholly in the padding leaves its output unset"
	}
	return ""
}
