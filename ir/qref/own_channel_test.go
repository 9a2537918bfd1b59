// SPDX-License-Identifier: Apache-2.0

package qref

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nncc/nncc/ir/fixp"
)

func TestOwnAffine(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(54)
	built, tried := 0, 0
	for range 60 {
		in, out := randQP(r), randQP(r)
		lo, hi := randAct(r, out)
		p := RowsParams{between(r, 1, 3), between(r, 1, 6), lo, hi}
		var f, neg []Affine
		pos, ok := BuildPRelu(in, out, 1, false, lo, hi)
		tried++
		if !ok {
			continue
		}
		for range p.Channels {
			scale, shift := r.NormFloat64()*2, r.NormFloat64()
			if r.IntN(4) == 0 {
				scale, shift = 0.5, 0
			}
			a, ok1 := BuildScaleShift(in, out, scale, shift, lo, hi)
			b, ok2 := BuildPRelu(in, out, scale, true, lo, hi)
			tried += 2
			if ok1 && ok2 {
				built += 2
				f, neg = append(f, a), append(neg, b)
			}
		}
		built++
		p.Channels = int32(len(f))
		if p.Channels == 0 {
			continue
		}
		x := randS8(r, p.Rows*p.Channels)
		y, want := make([]int8, len(x)), make([]int8, len(x))
		must(t, ScaleShift(&p, x, f, want))
		d.call(t, "nncc_scale_shift_s8", p, x, f, y)
		same(t, "scale_shift_s8", p, y, want)
		q := PReluParams{p.Rows, p.Channels, in.Zero, lo, hi}
		must(t, PRelu(&q, x, &pos, neg, want))
		d.call(t, "nncc_prelu_s8", q, x, []Affine{pos}, neg, y)
		same(t, "prelu_s8", q, y, want)
	}
	t.Logf("%d of %d linear functions have constants", built, tried)
	if built < tried*9/10 {
		t.Errorf("%d of %d linear functions have constants, want 90%%", built, tried)
	}
}

func randConsts(r *rand.Rand, n int32) *ChannelConsts {
	c := &ChannelConsts{Zero: randI32(r, n, -128, 127)}
	for range n {
		m, s := fixp.QuantizeMultiplier(math.Exp(r.NormFloat64()*2) / 200)
		c.Mult, c.Shift = append(c.Mult, m), append(c.Shift, s)
	}
	return c
}

func maybeI32(r *rand.Rand, n int32) []int32 {
	if r.IntN(4) == 0 {
		return nil
	}
	return randI32(r, n, -5000, 5000)
}

func TestOwnConvWZP(t *testing.T) {
	d := ownDriver(t)
	r := ownRand(55)
	for range 200 {
		g := randConv(r)
		p := Conv2dWZPParams{g.Batch, g.InH, g.InW, g.InC, g.OutH, g.OutW, g.OutC, g.KernelH, g.KernelW, g.StrideH,
			g.StrideW,
			g.DilationH, g.DilationW, g.PadTop, g.PadLeft, g.Groups, between(r, -127, 128), between(r, -128, 127), -128,
			127}
		x, w := randS8(r, p.Batch*p.InH*p.InW*p.InC), randS8(r, p.OutC*p.KernelH*p.KernelW*p.InC/p.Groups)
		b, c := maybeI32(r, p.OutC), randConsts(r, p.OutC)
		y, want := make([]int8, p.Batch*p.OutH*p.OutW*p.OutC), make([]int8, p.Batch*p.OutH*p.OutW*p.OutC)
		must(t, Conv2dWZP(&p, x, w, b, c, want))
		d.call(t, "nncc_conv2d_wzp_s8", p, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "conv2d_wzp_s8", p, y, want)
		// With all weight zero points 0 this is CMSIS-NN's convolution.
		clear(c.Zero)
		must(t, Conv2dWZP(&p, x, w, b, c, want))
		cp := &ConvParams{In: Dims{int(p.Batch), int(p.InH), int(p.InW), int(p.InC)},
			Filter: Dims{int(p.OutC), int(p.KernelH), int(p.KernelW), int(p.InC / p.Groups)},
			Out:    Dims{int(p.Batch), int(p.OutH), int(p.OutW), int(p.OutC)},
			Stride: Tile{H: int(p.StrideH), W: int(p.StrideW)}, Pad: Tile{H: int(p.PadTop), W: int(p.PadLeft)},
			Dilation: Tile{H: int(p.DilationH), W: int(p.DilationW)}, InputOffset: p.InOffset,
			OutputOffset: p.OutOffset,
			ActMin:       -128, ActMax: 127, Mult: c.Mult, Shift: c.Shift}
		must(t, Conv(cp, x, w, b, y))
		same(t, "Conv", p, y, want)

		q := DepthwiseWZPParams{g.Batch, g.InH, g.InW, between(r, 1, 5), g.OutH, g.OutW, between(r, 1, 3), g.KernelH,
			g.KernelW, g.StrideH, g.StrideW,
			g.DilationH, g.DilationW, g.PadTop, g.PadLeft, p.InOffset, p.OutOffset, -100, 100}
		outC := q.InC * q.MultC
		x, w, b, c = randS8(r, q.Batch*q.InH*q.InW*q.InC), randS8(r, q.KernelH*q.KernelW*outC), maybeI32(r, outC),
			randConsts(r, outC)
		y, want = make([]int8, q.Batch*q.OutH*q.OutW*outC), make([]int8, q.Batch*q.OutH*q.OutW*outC)
		must(t, DepthwiseWZP(&q, x, w, b, c, want))
		d.call(t, "nncc_depthwise_conv2d_wzp_s8", q, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "depthwise_conv2d_wzp_s8", q, y, want)

		f := FullyConnectedWZPParams{between(r, 1, 3), between(r, 1, 30), between(r, 1, 9), p.InOffset, p.OutOffset,
			-128, 127}
		x, w, b, c = randS8(r, f.Batch*f.InN), randS8(r, f.OutN*f.InN), maybeI32(r, f.OutN), randConsts(r, f.OutN)
		y, want = make([]int8, f.Batch*f.OutN), make([]int8, f.Batch*f.OutN)
		must(t, FullyConnectedWZP(&f, x, w, b, c, want))
		d.call(t, "nncc_fully_connected_wzp_s8", f, x, w, b, c.Zero, c.Mult, c.Shift, y)
		same(t, "fully_connected_wzp_s8", f, y, want)
	}
}
