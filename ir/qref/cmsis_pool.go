// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
)

// PoolParams describes an int8 or int16 pooling, as arm_avgpool_s8, arm_max_pool_s8
// and their s16 forms take it. Asymmetric pads and ceil mode are expressed by Pad (above, left) and
// the explicit output dimensions.
type PoolParams struct {
	In, Out        Dims
	Kernel         Tile
	Stride         Tile
	Pad            Tile
	ActMin, ActMax int32
}

func (p *PoolParams) check(name string, in, out int) error {
	if err := firstErr(checkDims(name, "input", p.In), checkDims(name, "output", p.Out),
		checkSteps(name, p.Stride, p.Kernel)); err != nil {
		return err
	}
	if p.In.N != p.Out.N || p.In.C != p.Out.C {
		return badArgs(name, "output %v has other batches or channels than input %v", p.Out, p.In)
	}
	return firstErr(checkLen(name, "input", in, p.In.Size()), checkLen(name, "output", out, p.Out.Size()))
}

// each calls f for every output pixel with the window that lies inside the input.
func (p *PoolParams) each(f func(img int, y0, y1, x0, x1, pixel int) error) error {
	for row := range p.Out.N * p.Out.H {
		y := row%p.Out.H*p.Stride.H - p.Pad.H
		ky0, ky1 := window(y, p.In.H, p.Kernel.H, 1)
		for ox := range p.Out.W {
			x := ox*p.Stride.W - p.Pad.W
			kx0, kx1 := window(x, p.In.W, p.Kernel.W, 1)
			if err := f(row/p.Out.H*p.In.H*p.In.W*p.In.C, y+ky0, y+ky1, x+kx0, x+kx1, row*p.Out.W+ox); err != nil {
				return err
			}
		}
	}
	return nil
}

// AvgPool averages the elements of each window that lie inside the input, ties
// away from zero; zero points do not enter (input and output share their
// scale). A window wholly outside the input is an error, as it is for
// arm_avgpool_s8 and arm_avgpool_s16.
func AvgPool[T int8 | int16](p *PoolParams, in, out []T) error {
	const name = "AvgPool"
	if err := p.check(name, len(in), len(out)); err != nil {
		return err
	}
	c := p.In.C
	sums := make([]int32, c)
	return p.each(func(img, y0, y1, x0, x1, pixel int) error {
		if y0 >= y1 || x0 >= x1 {
			return badArgs(name, "the window of output pixel %d lies in the padding", pixel)
		}
		clear(sums)
		for y := y0; y < y1; y++ {
			src := in[img+(y*p.In.W+x0)*c : img+(y*p.In.W+x1)*c]
			for len(src) > 0 {
				for i, v := range src[:c] {
					sums[i] += int32(v)
				}
				src = src[c:]
			}
		}
		count := int32((y1 - y0) * (x1 - x0))
		dst := out[pixel*c:][:c]
		for i, s := range sums {
			if s > 0 {
				s = (s + count/2) / count
			} else {
				s = (s - count/2) / count
			}
			dst[i] = T(fixp.Clamp(s, p.ActMin, p.ActMax))
		}
		return nil
	})
}

// MaxPool takes the largest element of each window that lies inside the input.
// A window wholly in the padding gives the clamp's minimum (CMSIS-NN leaves such
// output unwritten; no valid model has one). Source: arm_max_pool_s8, arm_max_pool_s16.
func MaxPool[T int8 | int16](p *PoolParams, in, out []T) error {
	const name = "MaxPool"
	if err := p.check(name, len(in), len(out)); err != nil {
		return err
	}
	c := p.In.C
	return p.each(func(img, y0, y1, x0, x1, pixel int) error {
		dst := out[pixel*c:][:c]
		for i := range dst {
			dst[i] = lowest[T]()
		}
		for y := y0; y < y1; y++ {
			for x := x0; x < x1; x++ {
				for i, v := range in[img+(y*p.In.W+x)*c:][:c] {
					dst[i] = max(dst[i], v)
				}
			}
		}
		for i, v := range dst {
			dst[i] = T(fixp.Clamp(int32(v), p.ActMin, p.ActMax))
		}
		return nil
	})
}

// lowest is the smallest value of an integer type.
func lowest[T int8 | int16]() T {
	var v T
	if _, ok := any(v).(int8); ok {
		return any(int8(math.MinInt8)).(T)
	}
	return any(int16(math.MinInt16)).(T)
}
