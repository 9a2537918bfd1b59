// SPDX-License-Identifier: Apache-2.0

package qref_test

import (
	"math"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
)

// kernels16 are the int16 kernels.
var kernels16 = []kernel{
	{"Conv16", genConv16}, {"Depthwise16", genDepthwise16}, {"FullyConnected16", genFC16},
	{"BatchMatMul16", genBatchMatMul16},
	{"Add16", genAdd16}, {"Mul16", genMul16}, {"Pool16", genPool16}, {"Softmax16", genSoftmax16},
}

// kernels4 are the kernels with int4 filters.
var kernels4 = []kernel{{"Conv4", genConv4}, {"Conv1xN4", genConv1xN4}, {"Depthwise4", genDepthwise4},
	{"FullyConnected4", genFC4}}

// data16 draws n values of the full range, now and then only extreme ones.
func (g *gen) data16(n int) []int16 {
	s := make([]int16, n)
	extreme := g.chance(10)
	for i := range s {
		if extreme {
			s[i] = int16(g.one(-32768, -32767, 32767, -32768))
		} else {
			s[i] = int16(g.Uint32())
		}
	}
	return s
}

func (g *gen) act16() (lo, hi int32) {
	if g.chance(50) {
		return math.MinInt16, math.MaxInt16
	}
	a, b := int32(int16(g.Uint32())), int32(int16(g.Uint32()))
	return min(a, b), max(a, b)
}

// scale16 and scales16 are scale and scales for products of int16 and int8,
// which leave less room for shifts to the left.
func (g *gen) scale16(terms int) (mult, shift int32) { return g.scaleUpTo(1, terms) }

func (g *gen) scales16(n, terms int) (mult, shift []int32) { return g.scalesUpTo(1, n, terms) }

func (g *gen) bias64(n int) []int64 {
	if g.chance(10) {
		return nil
	}
	wide := g.chance(10)
	s := make([]int64, n)
	for i := range s {
		s[i] = int64(g.in(-5_000_000, 5_000_000))
		if wide {
			s[i] = int64(g.Uint64()) >> 28
		}
	}
	return s
}

// convShape draws the geometry of a convolution without groups.
func (g *gen) convShape() *qref.ConvParams {
	p := &qref.ConvParams{}
	ih, kh, sh, dh, ph, oh := g.windowAxis(4, 3)
	iw, kw, sw, dw, pw, ow := g.windowAxis(4, 3)
	c, n := g.in(1, 9), g.one(1, 1, 2)
	switch {
	case g.chance(15):
		c = g.in(10, 40)
	case g.chance(25): // 1x1
		kh, kw, dh, dw, ph, pw = 1, 1, 1, 1, 0, 0
		if g.chance(50) {
			sh, sw = 1, 1
		}
		oh, ow = (ih-1)/sh+1, (iw-1)/sw+1
	}
	p.In, p.Filter, p.Out = qref.Dims{N: n, H: ih, W: iw, C: c}, qref.Dims{N: g.in(1, 9), H: kh, W: kw, C: c},
		qref.Dims{N: n, H: oh, W: ow}
	p.Out.C = p.Filter.N
	p.Stride, p.Pad, p.Dilation = qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}, qref.Tile{H: dh, W: dw}
	return p
}

func genConv16(g *gen) *call {
	p := g.convShape()
	if g.chance(3) { // beyond the columns that are summed up in 32 bits
		p.In.C = g.in(513, 700) / (p.Filter.H * p.Filter.W)
		p.Filter.C = p.In.C
	}
	p.ActMin, p.ActMax = g.act16()
	p.Mult, p.Shift = g.scales16(p.Out.C, p.Filter.H*p.Filter.W*p.Filter.C)
	in, w := g.data16(p.In.Size()), g.s8(p.Filter.Size())
	var bias qref.Bias16
	var raw []byte
	narrow := 0
	if g.chance(20) {
		narrow = 1
		bias.S32 = append([]int32{}, g.bias(p.Out.C)...)
		raw = bytesOf(bias.S32)
	} else {
		bias.S64 = g.bias64(p.Out.C)
		raw = bytesOf(bias.S64)
	}
	out := make([]int16, p.Out.Size())
	c := &call{op: opConv16, blobs: [][]byte{bytesOf(in), bytesOf(w), raw, bytesOf(p.Mult), bytesOf(p.Shift)}}
	c.ints = append(convInts(p), int32(g.IntN(2)), int32(narrow))
	c.limit, c.mve = p.Library16Limit(w, false), p.Library16Limit(w, true)
	return finish(c, qref.Conv16(p, in, w, bias, out), bytesOf(out), p)
}

// convInts are the first 22 integers of a convolution's request.
func convInts(p *qref.ConvParams) []int32 {
	return append(dimInts(p.In, p.Filter, p.Out), i32(p.Stride.H, p.Stride.W, p.Pad.H, p.Pad.W, p.Dilation.H,
		p.Dilation.W, int(p.InputOffset), int(p.OutputOffset), int(p.ActMin), int(p.ActMax))...)
}

// depthwiseShape draws the geometry of a depthwise convolution.
func (g *gen) depthwiseShape() *qref.DepthwiseParams {
	p := &qref.DepthwiseParams{ChMult: g.one(1, 1, 1, 2, 3, 4)}
	ic := g.in(1, 20)
	if g.chance(3) {
		ic = g.in(120, 140)
	}
	if p.ChMult > 1 {
		ic = g.in(1, 5)
	}
	ih, kh, sh, dh, ph, oh := g.windowAxis(4, 3)
	iw, kw, sw, dw, pw, ow := g.windowAxis(4, 3)
	n, oc := g.one(1, 1, 1, 2), ic*p.ChMult
	p.In, p.Filter, p.Out = qref.Dims{N: n, H: ih, W: iw, C: ic}, qref.Dims{N: 1, H: kh, W: kw, C: oc},
		qref.Dims{N: n, H: oh, W: ow, C: oc}
	p.Stride, p.Pad, p.Dilation = qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}, qref.Tile{H: dh, W: dw}
	return p
}

func depthwiseInts(p *qref.DepthwiseParams, variant int) []int32 {
	return append(dimInts(p.In, p.Filter, p.Out), i32(p.Stride.H, p.Stride.W, p.Pad.H, p.Pad.W, p.Dilation.H,
		p.Dilation.W, int(p.InputOffset), int(p.OutputOffset), int(p.ActMin), int(p.ActMax), p.ChMult, variant)...)
}

func genDepthwise16(g *gen) *call {
	p := g.depthwiseShape()
	p.ActMin, p.ActMax = g.act16()
	p.Mult, p.Shift = g.scales16(p.Out.C, p.Filter.H*p.Filter.W)
	in, w, bias := g.data16(p.In.Size()), g.s8(p.Filter.Size()), g.bias64(p.Out.C)
	out := make([]int16, p.Out.Size())
	c := &call{op: opDepthwise16, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	variant := g.IntN(2)
	c.ints = depthwiseInts(p, variant)
	if variant == 0 {
		c.limit = p.Library16Limit()
	}
	return finish(c, qref.Depthwise16(p, in, w, bias, out), bytesOf(out), p)
}

func genFC16(g *gen) *call {
	p := &qref.FCParams{Rows: g.one(1, 1, 2, 3), Depth: g.in(1, 70), Cols: g.in(1, 12)}
	if g.chance(5) {
		p.Depth = g.in(505, 700)
	}
	p.ActMin, p.ActMax = g.act16()
	p.Mult, p.Shift = g.scales16(1, p.Depth)
	in, w, bias := g.data16(p.Rows*p.Depth), g.s8(p.Cols*p.Depth), g.bias64(p.Cols)
	out := make([]int16, p.Rows*p.Cols)
	c := &call{op: opFC16, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult), bytesOf(p.Shift)}}
	c.ints = i32(p.Rows, p.Depth, p.Cols, int(p.ActMin), int(p.ActMax))
	c.limit = p.Library16Limit(w)
	return finish(c, qref.FullyConnected16(p, in, w, bias, out), bytesOf(out), p)
}

func genBatchMatMul16(g *gen) *call {
	p := &qref.BatchMatMulParams{}
	n, h, depth := g.in(1, 3), g.in(1, 3), g.in(1, 40)
	p.Left, p.Right = qref.Dims{N: g.one(1, n), H: g.one(1, h), W: g.in(1, 5), C: depth},
		qref.Dims{N: g.one(1, n), H: g.one(1, h), W: g.in(1, 9), C: depth}
	p.ActMin, p.ActMax = g.act16()
	p.Mult, p.Shift = g.scale16(depth << 8)
	o := p.OutDims()
	l, r, out := g.data16(p.Left.Size()), g.data16(p.Right.Size()), make([]int16, o.Size())
	c := &call{op: opBatchMatMul16, blobs: [][]byte{bytesOf(l), bytesOf(r)}}
	c.ints = append(dimInts(p.Left, p.Right, o), p.ActMin, p.ActMax, p.Mult, p.Shift)
	return finish(c, qref.BatchMatMul16(p, l, r, out), bytesOf(out), p)
}

func genAdd16(g *gen) *call {
	p := &qref.AddParams{}
	p.ActMin, p.ActMax = g.act16()
	scale := func() float32 { return float32(math.Exp2(g.Float64()*12 - 9)) }
	p.Scales = fixp.NewAddScales16(scale(), scale(), scale())
	n := g.in(1, 300)
	a, b, out := g.data16(n), g.data16(n), make([]int16, n)
	s := &p.Scales
	c := &call{op: opAdd16, blobs: [][]byte{bytesOf(a), bytesOf(b)},
		ints: []int32{s.Mult1, s.Shift1, s.Mult2, s.Shift2, s.LeftShift, s.OutMult, s.OutShift, p.ActMin, p.ActMax}}
	return finish(c, qref.Add16(p, a, b, out), bytesOf(out), p)
}

func genMul16(g *gen) *call {
	p := &qref.MulParams{}
	p.ActMin, p.ActMax = g.act16()
	p.Mult, p.Shift = g.scale16(1 << 8)
	n := g.in(1, 300)
	a, b, out := g.data16(n), g.data16(n), make([]int16, n)
	c := &call{op: opMul16, blobs: [][]byte{bytesOf(a), bytesOf(b)}, ints: []int32{p.Mult, p.Shift, p.ActMin, p.ActMax}}
	return finish(c, qref.Mul16(p, a, b, out), bytesOf(out), p)
}

func genPool16(g *gen) *call {
	p := &qref.PoolParams{}
	ih, kh, sh, _, ph, oh := g.windowAxis(5, 1)
	iw, kw, sw, _, pw, ow := g.windowAxis(5, 1)
	n, ch := g.one(1, 1, 2), g.in(1, 40)
	p.In, p.Out = qref.Dims{N: n, H: ih, W: iw, C: ch}, qref.Dims{N: n, H: oh, W: ow, C: ch}
	p.Kernel, p.Stride, p.Pad = qref.Tile{H: kh, W: kw}, qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}
	p.ActMin, p.ActMax = g.act16()
	in, out := g.data16(p.In.Size()), make([]int16, p.Out.Size())
	f, isMax := qref.AvgPool[int16], g.IntN(2)
	if isMax == 1 {
		f = qref.MaxPool[int16]
	}
	c := &call{op: opPool16, blobs: [][]byte{bytesOf(in)}, ints: append(dimInts(p.In, p.Out),
		i32(kh, kw, sh, sw, ph, pw, int(p.ActMin), int(p.ActMax), isMax)...)}
	if isMax == 1 {
		c.asks("arm_max_pool_s8", window(p.In, qref.Dims{N: 1, H: p.Kernel.H, W: p.Kernel.W, C: 1}, p.Out, p.Stride,
			p.Pad, qref.Tile{H: 1, W: 1}, true))
	}
	return finish(c, f(p, in, out), bytesOf(out), p)
}

func genSoftmax16(g *gen) *call {
	p := &qref.Softmax16Params{Rows: g.in(1, 4), Size: g.one(1, 2, 10, g.in(1, 100), g.in(100, 500))}
	p.Mult, p.Shift = fixp.Softmax16Scale(float32(g.one(1, 1, 2)), float32(math.Exp2(g.Float64()*14-18)))
	in := g.data16(p.Rows * p.Size)
	if g.chance(30) {
		for i := range in {
			in[i] >>= 4
		}
	}
	out := make([]int16, len(in))
	c := &call{op: opSoftmax16, blobs: [][]byte{bytesOf(in), bytesOf(qref.SoftmaxExp16[:]),
		bytesOf(qref.SoftmaxReciprocal16[:])}}
	c.ints = i32(p.Rows, p.Size, int(p.Mult), int(p.Shift))
	return finish(c, qref.Softmax16(p, in, out), bytesOf(out), p)
}

// s4 draws n weights of four bits, now and then only extreme ones.
func (g *gen) s4(n int) []int8 {
	s := make([]int8, n)
	extreme := g.chance(10)
	for i := range s {
		if extreme {
			s[i] = int8(g.one(-8, 7))
		} else {
			s[i] = int8(g.in(-8, 7))
		}
	}
	return s
}

func genConv4(g *gen) *call { return finishConv4(g, g.convShape()) }

// genConv1xN4 draws convolutions of height 1 that CMSIS-NN routes to its 1xN kernel.
func genConv1xN4(g *gen) *call {
	p := g.convShape()
	p.In.H, p.Out.H, p.Filter.H, p.Stride.H, p.Pad.H, p.Dilation = 1, 1, 1, 1, 0, qref.Tile{H: 1, W: 1}
	p.Out.W = outSize(p.In.W, p.Filter.W, 1, p.Stride.W, p.Pad.W, p.Pad.W)
	if p.Out.W < 1 {
		return genConv1xN4(g)
	}
	if g.chance(70) {
		p.In.C = g.one(4, 8, 12)
		p.Filter.C = p.In.C
	}
	return finishConv4(g, p)
}

func finishConv4(g *gen, p *qref.ConvParams) *call {
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Mult, p.Shift = g.scales(p.Out.C, p.Filter.H*p.Filter.W*p.Filter.C)
	in, w, bias := g.s8(p.In.Size()), g.s4(p.Filter.Size()), g.bias(p.Out.C)
	out := make([]int8, p.Out.Size())
	c := &call{op: opConv4, blobs: [][]byte{bytesOf(in), qref.PackS4(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	generic := g.IntN(2)
	c.ints = append(convInts(p), int32(generic))
	if generic == 0 {
		c.mve = p.MVE4Limit()
	}
	return finish(c, qref.Conv(p, in, w, bias, out), bytesOf(out), p)
}

func genDepthwise4(g *gen) *call {
	p := g.depthwiseShape()
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Mult, p.Shift = g.scales(p.Out.C, p.Filter.H*p.Filter.W)
	in, w, bias := g.s8(p.In.Size()), g.s4(p.Filter.Size()), g.bias(p.Out.C)
	out := make([]int8, p.Out.Size())
	c := &call{op: opDepthwise4, blobs: [][]byte{bytesOf(in), qref.PackS4(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	c.ints = depthwiseInts(p, 0)
	c.limit, c.mve = p.Library4Limit(), p.MVE4Limit()
	return finish(c, qref.Depthwise(p, in, w, bias, out), bytesOf(out), p)
}

func genFC4(g *gen) *call {
	p := &qref.FCParams{Rows: g.one(1, 1, 2, 3), Depth: g.in(1, 70), Cols: g.in(1, 12)}
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Mult, p.Shift = g.scales(1, p.Depth)
	in, w, bias := g.s8(p.Rows*p.Depth), g.s4(p.Cols*p.Depth), g.bias(p.Cols)
	out := make([]int8, p.Rows*p.Cols)
	c := &call{op: opFC4, blobs: [][]byte{bytesOf(in), qref.PackS4(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	c.ints = i32(p.Rows, p.Depth, p.Cols, int(p.InputOffset), int(p.OutputOffset), int(p.ActMin), int(p.ActMax))
	return finish(c, qref.FullyConnected(p, in, w, bias, out), bytesOf(out), p)
}
