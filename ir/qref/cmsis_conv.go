// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// ConvParams describes an int8 convolution, as arm_convolve_wrapper_s8 takes it.
type ConvParams struct {
	In, Filter, Out Dims // Filter {N: output channels, H, W, C: input channels per group}
	Stride          Tile
	Pad             Tile // rows above and columns before the data; the rest follows from Out
	Dilation        Tile
	InputOffset     int32 // minus the input zero point
	OutputOffset    int32 // the output zero point
	ActMin, ActMax  int32 // clamp of the quantised output
	// Mult and Shift hold one element per output channel, see fixp.QuantizeMultiplier.
	Mult, Shift []int32
	Rounding    fixp.Rounding // of the library: twice unless it was built otherwise
}

// Conv computes a convolution with groups and dilation. in, filter and out are
// NHWC (filter OHWI), bias is int32 per output channel or nil. Padding counts
// as the input zero point: it adds nothing. Source: arm_convolve_s8; its 1x1
// and 1xN variants give the same numbers.
func Conv(p *ConvParams, in, filter []int8, bias []int32, out []int8) error {
	const name = "Conv"
	if err := checkConv(name, p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	kc := p.Filter.C
	groups := p.In.C / kc
	gc := p.Out.C / groups
	k := p.Filter.H * p.Filter.W * kc
	rowBytes := p.In.W * p.In.C
	parallel(p.Out.N*p.Out.H, p.Out.Size()*k, func(from, to int) {
		col := make([]int32, k)
		for row := from; row < to; row++ {
			img := in[row/p.Out.H*p.In.H*rowBytes:]
			y := row%p.Out.H*p.Stride.H - p.Pad.H
			ky0, ky1 := window(y, p.In.H, p.Filter.H, p.Dilation.H)
			for ox := range p.Out.W {
				x := ox*p.Stride.W - p.Pad.W
				kx0, kx1 := window(x, p.In.W, p.Filter.W, p.Dilation.W)
				if ky1-ky0 < p.Filter.H || kx1-kx0 < p.Filter.W {
					clear(col)
				}
				pixel := out[(row*p.Out.W+ox)*p.Out.C:]
				for g := range groups {
					for ky := ky0; ky < ky1; ky++ {
						for kx := kx0; kx < kx1; kx++ {
							src := img[((y+ky*p.Dilation.H)*p.In.W+x+kx*p.Dilation.W)*p.In.C+g*kc:]
							dst := col[(ky*p.Filter.W+kx)*kc:]
							widen(dst[:kc], src, p.InputOffset)
						}
					}
					oc := g * gc
					matRow(p.Rounding, col, filter[oc*k:], tail(bias, oc), p.Mult[oc:], p.Shift[oc:], 1,
						p.OutputOffset, p.ActMin, p.ActMax, pixel[oc:oc+gc])
				}
			}
		}
	})
	return nil
}

// tail is s[from:], or nil for an empty slice.
func tail(s []int32, from int) []int32 {
	if len(s) == 0 {
		return nil
	}
	return s[from:]
}

// widen writes src[i]+offset to dst[i].
func widen(dst []int32, src []int8, offset int32) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = int32(src[i]) + offset
	}
}

func checkConv(name string, p *ConvParams, in, filter, bias, out int) error {
	if err := firstErr(checkDims(name, "input", p.In), checkDims(name, "filter", p.Filter),
		checkDims(name, "output", p.Out), checkSteps(name, p.Stride, p.Dilation)); err != nil {
		return err
	}
	if p.In.C%p.Filter.C != 0 {
		return badArgs(name, "%d input channels are no multiple of the filter's %d", p.In.C, p.Filter.C)
	}
	if g := p.In.C / p.Filter.C; p.Out.C%g != 0 || p.Out.C != p.Filter.N || p.Out.N != p.In.N {
		return badArgs(name, "filter %v gives no output %v from input %v with %d groups", p.Filter, p.Out, p.In, g)
	}
	return firstErr(checkLen(name, "input", in, p.In.Size()), checkLen(name, "filter", filter, p.Filter.Size()),
		checkOptional(name, "bias", bias, p.Out.C), checkLen(name, "output", out, p.Out.Size()),
		checkLen(name, "multiplier", len(p.Mult), p.Out.C), checkLen(name, "shift", len(p.Shift), p.Out.C))
}

func checkSteps(name string, stride, dilation Tile) error {
	if stride.H < 1 || stride.W < 1 || dilation.H < 1 || dilation.W < 1 {
		return badArgs(name, "strides %v and dilations %v must be positive", stride, dilation)
	}
	return nil
}
