// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// DepthwiseParams describes an int8 depthwise convolution, as
// arm_depthwise_conv_wrapper_s8 takes it.
type DepthwiseParams struct {
	In, Filter, Out Dims // Filter {1, H, W, output channels}
	ChMult          int  // output channels per input channel
	Stride          Tile
	Pad             Tile // rows above and columns before the data
	Dilation        Tile
	InputOffset     int32 // minus the input zero point
	OutputOffset    int32 // the output zero point
	ActMin, ActMax  int32
	Mult, Shift     []int32       // one element per output channel
	Rounding        fixp.Rounding // of the library: twice unless it was built otherwise
}

// Depthwise computes a depthwise convolution with channel multiplier and
// dilation; output channel c reads input channel c/ChMult. bias may be nil.
// Source: arm_depthwise_conv_s8; the 3x3 and optimised variants give the same
// numbers.
func Depthwise(p *DepthwiseParams, in, filter []int8, bias []int32, out []int8) error {
	const name = "Depthwise"
	if err := checkDepthwise(name, p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	ic, oc := p.In.C, p.Out.C
	work := p.Out.Size() * p.Filter.H * p.Filter.W
	parallel(p.Out.N*p.Out.H, work, func(from, to int) {
		acc := make([]int32, oc)
		for row := from; row < to; row++ {
			img := in[row/p.Out.H*p.In.H*p.In.W*ic:]
			y := row%p.Out.H*p.Stride.H - p.Pad.H
			ky0, ky1 := window(y, p.In.H, p.Filter.H, p.Dilation.H)
			for ox := range p.Out.W {
				x := ox*p.Stride.W - p.Pad.W
				kx0, kx1 := window(x, p.In.W, p.Filter.W, p.Dilation.W)
				if len(bias) > 0 {
					copy(acc, bias)
				} else {
					clear(acc)
				}
				for ky := ky0; ky < ky1; ky++ {
					for kx := kx0; kx < kx1; kx++ {
						src := img[((y+ky*p.Dilation.H)*p.In.W+x+kx*p.Dilation.W)*ic:][:ic]
						w := filter[(ky*p.Filter.W+kx)*oc:][:oc]
						if p.ChMult == 1 {
							macEach(acc, src, w, p.InputOffset)
						} else {
							for c := range acc {
								acc[c] += (int32(src[c/p.ChMult]) + p.InputOffset) * int32(w[c])
							}
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

// macEach adds (src[i]+offset)*w[i] to acc[i].
func macEach(acc []int32, src, w []int8, offset int32) {
	src, w = src[:len(acc)], w[:len(acc)]
	for i := range acc {
		acc[i] += (int32(src[i]) + offset) * int32(w[i])
	}
}

func checkDepthwise(name string, p *DepthwiseParams, in, filter, bias, out int) error {
	if err := firstErr(checkDims(name, "input", p.In), checkDims(name, "filter", p.Filter),
		checkDims(name, "output", p.Out), checkSteps(name, p.Stride, p.Dilation)); err != nil {
		return err
	}
	if p.ChMult < 1 || p.In.C*p.ChMult != p.Out.C || p.Filter.C != p.Out.C || p.Filter.N != 1 || p.In.N != p.Out.N {
		return badArgs(name, "input %v, filter %v and multiplier %d give no output %v", p.In, p.Filter, p.ChMult, p.Out)
	}
	return firstErr(checkLen(name, "input", in, p.In.Size()), checkLen(name, "filter", filter, p.Filter.Size()),
		checkOptional(name, "bias", bias, p.Out.C), checkLen(name, "output", out, p.Out.Size()),
		checkLen(name, "multiplier", len(p.Mult), p.Out.C), checkLen(name, "shift", len(p.Shift), p.Out.C))
}
