// SPDX-License-Identifier: Apache-2.0

package qref

// Pool2dParams is nncc_pool2d_s8_params.
type Pool2dParams struct {
	InScale, OutScale                    float64
	Bias                                 int64
	Batch, InH, InW, InC                 int32
	OutH, OutW                           int32
	KernelH, KernelW                     int32
	StrideH, StrideW                     int32
	DilationH, DilationW                 int32
	PadTop, PadLeft, PadBottom, PadRight int32
	CountIncludePad                      int32
	Center, OutZero, Rescale             int32
	ActMin, ActMax                       int32
	Mult, Shift                          int32 // another way to the same results in C
}

// SetQuant sets center, output zero point and rescaling for an average of
// tensors with the given quantisations. raw asks for TFLite's average, which
// ignores zero points and needs equal quantisations; it is what CMSIS-NN
// computes, while the contract's definition rounds around the zero point.
func (p *Pool2dParams) SetQuant(in, out QP, raw bool) {
	p.InScale, p.OutScale = float64(in.Scale), float64(out.Scale)
	p.Center, p.OutZero, p.Rescale = in.Zero, out.Zero, boolInt(in.Scale != out.Scale)
	if raw && in == out {
		p.Center, p.OutZero = 0, 0
	}
}

func (p *Pool2dParams) check(name string, x, y int) error {
	if min(p.Batch, p.InH, p.InW, p.InC, p.OutH, p.OutW, p.KernelH, p.KernelW, p.StrideH, p.StrideW, p.DilationH,
		p.DilationW) < 1 {
		return badArgs(name, "sizes, strides and dilations must be at least 1: %+v", *p)
	}
	return firstErr(checkClamp(name, p.ActMin, p.ActMax), checkLen(name, "input", x, int(p.Batch*p.InH*p.InW*p.InC)),
		checkLen(name, "output", y, int(p.Batch*p.OutH*p.OutW*p.InC)))
}

// each calls f for every output pixel with the taps inside the input, the
// position of tap (ky, kx) of channel 0, and the number of taps that count.
func (p *Pool2dParams) each(f func(pixel int, ky0, ky1, kx0, kx1 int, at func(ky, kx int) int, count int32)) {
	for row := range int(p.Batch * p.OutH) {
		y0 := row%int(p.OutH)*int(p.StrideH) - int(p.PadTop)
		ky0, ky1 := window(y0, int(p.InH), int(p.KernelH), int(p.DilationH))
		countY := p.counted(y0, p.InH, p.KernelH, p.DilationH, p.PadTop, p.PadBottom)
		img := row / int(p.OutH) * int(p.InH)
		for ox := range int(p.OutW) {
			x0 := ox*int(p.StrideW) - int(p.PadLeft)
			kx0, kx1 := window(x0, int(p.InW), int(p.KernelW), int(p.DilationW))
			at := func(ky, kx int) int {
				return ((img+y0+ky*int(p.DilationH))*int(p.InW) + x0 + kx*int(p.DilationW)) * int(p.InC)
			}
			f(row*int(p.OutW)+ox, ky0, ky1, kx0, kx1, at, countY*p.counted(x0, p.InW, p.KernelW, p.DilationW, p.PadLeft,
				p.PadRight))
		}
	}
}

// counted is nncc_pool_count: the taps along one axis that an average divides by.
func (p *Pool2dParams) counted(origin int, size, kernel, dilation, before, after int32) int32 {
	if p.CountIncludePad == 0 {
		before, after = 0, 0
	}
	lo, hi := window(origin+int(before), int(size+before+after), int(kernel), int(dilation))
	return int32(max(hi-lo, 0))
}

// AvgPool2d is nncc_avg_pool2d_s8: averages that CMSIS-NN lacks (dilation,
// padding that counts, other quantisation of the output).
func AvgPool2d(p *Pool2dParams, x, y []int8) error {
	if err := p.check("AvgPool2d", len(x), len(y)); err != nil {
		return err
	}
	c := int(p.InC)
	acc := make([]int32, c)
	p.each(func(pixel, ky0, ky1, kx0, kx1 int, at func(ky, kx int) int, count int32) {
		clear(acc)
		for ky := ky0; ky < ky1; ky++ {
			for kx := kx0; kx < kx1; kx++ {
				for i, v := range x[at(ky, kx):][:c] {
					acc[i] += int32(v) - p.Center
				}
			}
		}
		count = max(count, 1)
		for i, a := range acc {
			if p.Rescale != 0 {
				y[pixel*c+i] = meanScaledS8(a, p.InScale, count, p.OutScale, p.OutZero, p.ActMin, p.ActMax)
			} else {
				y[pixel*c+i] = meanS8(a, count, p.OutZero, p.ActMin, p.ActMax)
			}
		}
	})
	return nil
}

// MaxPool2d is nncc_max_pool2d_s8: maxima with dilation; a window without taps
// gives ActMin.
func MaxPool2d(p *Pool2dParams, x, y []int8) error {
	if err := p.check("MaxPool2d", len(x), len(y)); err != nil {
		return err
	}
	c := int(p.InC)
	p.each(func(pixel, ky0, ky1, kx0, kx1 int, at func(ky, kx int) int, _ int32) {
		dst := y[pixel*c:][:c]
		for i := range dst {
			dst[i] = int8(p.ActMin)
		}
		for ky := ky0; ky < ky1; ky++ {
			for kx := kx0; kx < kx1; kx++ {
				for i, v := range x[at(ky, kx):][:c] {
					dst[i] = max(dst[i], v)
				}
			}
		}
		for i := range dst {
			dst[i] = min(dst[i], int8(p.ActMax))
		}
	})
	return nil
}
