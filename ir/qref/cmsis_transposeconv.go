// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// TransposeConvParams describes an int8 transposed convolution, as
// arm_transpose_conv_wrapper_s8 takes it. Dilation and groups are 1.
type TransposeConvParams struct {
	In, Filter, Out Dims // Filter {N: output channels, H, W, C: input channels}
	Stride          Tile
	Pad             Tile // rows and columns cut from the top and left of the full result
	InputOffset     int32
	OutputOffset    int32
	ActMin, ActMax  int32
	Mult, Shift     []int32       // one element per output channel
	Rounding        fixp.Rounding // of the library: twice unless it was built otherwise
}

// TransposeConv computes a transposed convolution: input pixel (y, x) adds to
// the outputs (y*stride-pad+ky, x*stride-pad+kx). Outputs that no input reaches
// are the bias. Source: arm_transpose_conv_s8 and the reversed convolution that
// the wrapper takes for more than 16 channels, which agree.
func TransposeConv(p *TransposeConvParams, in, filter []int8, bias []int32, out []int8) error {
	const name = "TransposeConv"
	if err := firstErr(checkDims(name, "input", p.In), checkDims(name, "filter", p.Filter),
		checkDims(name, "output", p.Out), checkSteps(name, p.Stride, Tile{H: 1, W: 1})); err != nil {
		return err
	}
	if p.In.C != p.Filter.C || p.Out.C != p.Filter.N || p.In.N != p.Out.N || p.Pad.H < 0 || p.Pad.W < 0 {
		return badArgs(name, "input %v, filter %v and pad %v give no output %v", p.In, p.Filter, p.Pad, p.Out)
	}
	if err := firstErr(checkLen(name, "input", len(in), p.In.Size()), checkLen(name, "filter", len(filter),
		p.Filter.Size()),
		checkOptional(name, "bias", len(bias), p.Out.C), checkLen(name, "output", len(out), p.Out.Size()),
		checkLen(name, "multiplier", len(p.Mult), p.Out.C), checkLen(name, "shift", len(p.Shift),
			p.Out.C)); err != nil {
		return err
	}
	ic, oc := p.In.C, p.Out.C
	k := p.Filter.H * p.Filter.W * ic
	parallel(p.Out.N*p.Out.H, p.In.Size()*p.Filter.H*p.Filter.W*oc, func(from, to int) {
		acc := make([]int32, oc)
		x := make([]int32, ic)
		for row := from; row < to; row++ {
			img := in[row/p.Out.H*p.In.H*p.In.W*ic:]
			oy := row%p.Out.H + p.Pad.H
			for ox := range p.Out.W {
				clear(acc)
				copy(acc, bias)
				for ky := oy % p.Stride.H; ky < p.Filter.H && ky <= oy; ky += p.Stride.H {
					iy := (oy - ky) / p.Stride.H
					if iy >= p.In.H {
						continue
					}
					px := ox + p.Pad.W
					for kx := px % p.Stride.W; kx < p.Filter.W && kx <= px; kx += p.Stride.W {
						ix := (px - kx) / p.Stride.W
						if ix >= p.In.W {
							continue
						}
						widen(x, img[(iy*p.In.W+ix)*ic:], p.InputOffset)
						for c := range acc {
							acc[c] = dot1(x, filter[c*k+(ky*p.Filter.W+kx)*ic:], acc[c])
						}
					}
				}
				dst := out[(row*p.Out.W+ox)*oc:][:oc]
				for c, a := range acc {
					dst[c] = quantOut(p.Rounding, a, p.Mult[c], p.Shift[c], p.OutputOffset, p.ActMin, p.ActMax)
				}
			}
		}
	})
	return nil
}
