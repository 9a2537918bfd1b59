// SPDX-License-Identifier: Apache-2.0

package qref

import "github.com/nncc/nncc/ir/fixp"

// The *16 functions are the int16x8 kernels of CMSIS-NN: int16 activations
// with zero point 0, int8 weights, exact sums in 64 bits. Offsets of parameter
// structs that they share with the int8 kernels are not used.

// Bias16 is the bias of an int16 convolution, as cmsis_nn_bias_data. With S32
// set (an empty slice is no bias) sums are 32 bits wide, wrap, and are
// requantised like int8 ones; otherwise S64 is the bias, nil for none.
type Bias16 struct {
	S64 []int64
	S32 []int32
}

// len is the number of biases.
func (b Bias16) len() int {
	if b.S32 != nil {
		return len(b.S32)
	}
	return len(b.S64)
}

// output is the end of every int16 kernel: bias, requantisation, clamp. c is
// the output channel, i the index of its multiplier.
func (b Bias16) output(acc int64, c int, mult, shift, lo, hi int32) int16 {
	if b.S32 != nil {
		s := int32(acc)
		if len(b.S32) > 0 {
			s += b.S32[c]
		}
		return int16(fixp.Clamp(fixp.Requantize(s, mult, shift), lo, hi))
	}
	if len(b.S64) > 0 {
		acc += b.S64[c]
	}
	return int16(fixp.Clamp(fixp.RequantizeS64(acc, fixp.ReduceMultiplier(mult), shift), lo, hi))
}

// dot16 is the exact sum of products.
func dot16[W int8 | int16](x []int16, w []W) int64 {
	w = w[:len(x)]
	var a int64
	for i, v := range x {
		a += int64(v) * int64(w[i])
	}
	return a
}

// Conv16 computes an int16 convolution with groups and dilation. in and out
// are NHWC, filter OHWI. Source: arm_convolve_s16, which has no groups.
func Conv16(p *ConvParams, in []int16, filter []int8, bias Bias16, out []int16) error {
	const name = "Conv16"
	if err := checkConv(name, p, len(in), len(filter), bias.len(), len(out)); err != nil {
		return err
	}
	kc := p.Filter.C
	groups := p.In.C / kc
	gc := p.Out.C / groups
	k := p.Filter.H * p.Filter.W * kc
	parallel(p.Out.N*p.Out.H, p.Out.Size()*k, func(from, to int) {
		col := make([]int16, k)
		for row := from; row < to; row++ {
			img := in[row/p.Out.H*p.In.H*p.In.W*p.In.C:]
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
							copy(col[(ky*p.Filter.W+kx)*kc:][:kc], src)
						}
					}
					for c := g * gc; c < (g+1)*gc; c++ {
						pixel[c] = bias.output(dot16(col, filter[c*k:]), c, p.Mult[c], p.Shift[c], p.ActMin, p.ActMax)
					}
				}
			}
		}
	})
	return nil
}

// Depthwise16 computes an int16 depthwise convolution with channel multiplier
// and dilation; bias may be nil. Source: arm_depthwise_conv_s16; the fast
// variant gives the same numbers.
func Depthwise16(p *DepthwiseParams, in []int16, filter []int8, bias []int64, out []int16) error {
	const name = "Depthwise16"
	if err := checkDepthwise(name, p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	ic, oc := p.In.C, p.Out.C
	b := Bias16{S64: bias}
	parallel(p.Out.N*p.Out.H, p.Out.Size()*p.Filter.H*p.Filter.W, func(from, to int) {
		acc := make([]int64, oc)
		for row := from; row < to; row++ {
			img := in[row/p.Out.H*p.In.H*p.In.W*ic:]
			y := row%p.Out.H*p.Stride.H - p.Pad.H
			ky0, ky1 := window(y, p.In.H, p.Filter.H, p.Dilation.H)
			for ox := range p.Out.W {
				x := ox*p.Stride.W - p.Pad.W
				kx0, kx1 := window(x, p.In.W, p.Filter.W, p.Dilation.W)
				clear(acc)
				for ky := ky0; ky < ky1; ky++ {
					for kx := kx0; kx < kx1; kx++ {
						src := img[((y+ky*p.Dilation.H)*p.In.W+x+kx*p.Dilation.W)*ic:][:ic]
						w := filter[(ky*p.Filter.W+kx)*oc:][:oc]
						for c := range acc {
							acc[c] += int64(src[c/p.ChMult]) * int64(w[c])
						}
					}
				}
				dst := out[(row*p.Out.W+ox)*oc:][:oc]
				for c, a := range acc {
					dst[c] = b.output(a, c, p.Mult[c], p.Shift[c], p.ActMin, p.ActMax)
				}
			}
		}
	})
	return nil
}

// FullyConnected16 computes out[r][j] from in [Rows][Depth], filter
// [Cols][Depth] and bias [Cols] (nil for none). Source: arm_fully_connected_s16,
// which has one multiplier for all; with one for each output it is
// arm_convolve_s16 with a kernel of one pixel.
func FullyConnected16[W int8 | int16](p *FCParams, in []int16, filter []W, bias []int64, out []int16) error {
	if err := checkFC("FullyConnected16", p, len(in), len(filter), len(bias), len(out)); err != nil {
		return err
	}
	step := 1
	if len(p.Mult) == 1 {
		step = 0
	}
	b := Bias16{S64: bias}
	parallel(p.Rows, p.Rows*p.Cols*p.Depth, func(from, to int) {
		for r := from; r < to; r++ {
			x := in[r*p.Depth:][:p.Depth]
			for j := range p.Cols {
				out[r*p.Cols+j] = b.output(dot16(x, filter[j*p.Depth:]), j, p.Mult[j*step], p.Shift[j*step], p.ActMin,
					p.ActMax)
			}
		}
	})
	return nil
}
