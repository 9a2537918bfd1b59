// SPDX-License-Identifier: Apache-2.0

package qref_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/qref/cmsis"
)

// kernel is one kernel with its generator of random calls.
type kernel struct {
	name string
	make func(*gen) *call
}

// allKernels are all of them; new ones go to the end, since their place is their seed.
var allKernels = slices.Concat(kernels, kernels16, kernels4)

// kernels are the int8 kernels.
var kernels = []kernel{
	{"Conv", genConv}, {"Conv1xN", genConv1xN}, {"Depthwise", genDepthwise}, {"TransposeConv", genTransposeConv},
	{"FullyConnected", genFC}, {"BatchMatMul", genBatchMatMul}, {"Add", genAdd}, {"Mul", genMul},
	{"MinMax", genMinMax}, {"Pool", genPool}, {"Softmax", genSoftmax}, {"Concat", genConcat}, {"Pad", genPad},
	{"Transpose", genTranspose}, {"Activation", genActivation}, {"LSTM", genLSTM}, {"Relu", genRelu},
	{"VectorSum", genVectorSum},
}

// asks says which function of the library the call goes to, and with what.
func (c *call) asks(fn string, q cmsis.Query) { c.fn, c.query = fn, &q }

// asked is the query for a build of the library.
func (c *call) asked(build cmsis.Build) *cmsis.Query {
	q := *c.query
	q.Build = build
	return &q
}

// window is what the knowledge base is asked about a convolution or pooling.
func window(in, filter, out qref.Dims, stride, pad, dilation qref.Tile, bias bool) cmsis.Query {
	return cmsis.Query{In: cmsis.Dims(in), Filter: cmsis.Dims(filter), Out: cmsis.Dims(out), Stride: stride,
		Pad: pad, Dilation: dilation, HasBias: bias}
}

// gen draws the arguments of one call.
type gen struct {
	*rand.Rand
	rounding fixp.Rounding // of the library
}

// in draws from [lo, hi].
func (g *gen) in(lo, hi int) int { return lo + g.IntN(hi-lo+1) }

func (g *gen) one(of ...int) int { return of[g.IntN(len(of))] }

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

// s8 draws n values, now and then only extreme ones.
func (g *gen) s8(n int) []int8 {
	s := make([]int8, n)
	extreme := g.chance(10)
	for i := range s {
		if extreme {
			s[i] = int8(g.one(-128, -127, 127, -128))
		} else {
			s[i] = int8(g.IntN(256))
		}
	}
	return s
}

// offset draws minus a zero point: [-127, 128].
func (g *gen) offset() int32 { return int32(g.one(-127, 128, 0, g.in(-127, 128), g.in(-127, 128))) }

// zero draws a zero point: [-128, 127].
func (g *gen) zero() int32 { return int32(g.one(-128, 127, 0, g.in(-128, 127), g.in(-128, 127))) }

func (g *gen) act() (lo, hi int32) {
	switch g.IntN(3) {
	case 0:
		return -128, 127
	case 1:
		return g.zero(), 127
	}
	a, b := int32(g.in(-128, 127)), int32(g.in(-128, 127))
	return min(a, b), max(a, b)
}

// scale draws a multiplier and shift that bring sums of about "terms" products
// into the int8 range, now and then extreme ones.
func (g *gen) scale(terms int) (mult, shift int32) { return g.scaleUpTo(3, terms) }

// scales draws n of them.
func (g *gen) scales(n, terms int) (mult, shift []int32) { return g.scalesUpTo(3, n, terms) }

// scaleUpTo is scale with shifts of at most "left" to the left.
func (g *gen) scaleUpTo(left, terms int) (mult, shift int32) {
	mult = int32(1<<30 + g.IntN(1<<30))
	shift = int32(-g.in(4, 8)) - int32(math.Log2(float64(terms))/2)
	switch g.IntN(20) {
	case 0:
		return 0, 0
	case 1:
		return mult, int32(g.in(-31, -20))
	case 2:
		return mult, int32(g.in(-3, left))
	case 3:
		return 1<<31 - 1, shift
	case 4:
		return 1 << 30, shift
	}
	return mult, shift
}

func (g *gen) scalesUpTo(left, n, terms int) (mult, shift []int32) {
	mult, shift = make([]int32, n), make([]int32, n)
	for i := range mult {
		mult[i], shift[i] = g.scaleUpTo(left, terms)
	}
	return mult, shift
}

// bias draws n values near the sums' size, now and then of the full range or none.
func (g *gen) bias(n int) []int32 {
	if g.chance(10) {
		return nil
	}
	full := g.chance(5)
	s := make([]int32, n)
	for i := range s {
		s[i] = int32(g.in(-20000, 20000))
		if full {
			s[i] = int32(g.Uint32()) >> 2
		}
	}
	return s
}

func i32(vs ...int) []int32 {
	s := make([]int32, len(vs))
	for i, v := range vs {
		s[i] = int32(v)
	}
	return s
}

func dimInts(ds ...qref.Dims) []int32 {
	var s []int32
	for _, d := range ds {
		s = append(s, i32(d.N, d.H, d.W, d.C)...)
	}
	return s
}

// finish records what the reference answered.
func finish(c *call, err error, out []byte, p any) *call {
	c.fails = err != nil
	c.want = out
	c.desc = fmt.Sprintf("%+v", p)
	return c
}

// outSize is the length of an axis after a window slid over it.
func outSize(in, kernel, dilation, stride, padBefore, padAfter int) int {
	return (in+padBefore+padAfter-dilation*(kernel-1)-1)/stride + 1
}

// windowAxis draws one spatial axis: kernel, stride, dilation, pads, sizes.
func (g *gen) windowAxis(maxKernel, maxDilation int) (in, k, s, d, pad, out int) {
	for {
		in, k, s, d = g.in(1, 10), g.in(1, maxKernel), g.in(1, 3), 1
		if maxDilation > 1 && g.chance(25) {
			d = g.in(1, maxDilation)
		}
		pad = g.in(0, k-1)
		out = outSize(in, k, d, s, pad, g.in(0, k-1))
		if in+2*k >= d*(k-1)+1 && out >= 1 {
			return
		}
	}
}

func genConv(g *gen) *call {
	p := &qref.ConvParams{}
	groups := g.one(1, 1, 1, 2, 3)
	kc, gc := g.in(1, 9), g.in(1, 6)
	if g.chance(20) {
		kc = g.in(10, 40)
	}
	n := g.one(1, 1, 2)
	ih, kh, sh, dh, ph, oh := g.windowAxis(4, 3)
	iw, kw, sw, dw, pw, ow := g.windowAxis(4, 3)
	variant := g.IntN(2)
	if g.chance(25) { // 1x1, of either kind
		kh, kw, dh, dw, ph, pw = 1, 1, 1, 1, 0, 0
		groups = 1
		variant = 2
		if g.chance(50) {
			sh, sw, variant = 1, 1, 3
		}
		oh, ow = (ih-1)/sh+1, (iw-1)/sw+1
	}
	p.In, p.Filter, p.Out = qref.Dims{N: n, H: ih, W: iw, C: kc * groups}, qref.Dims{N: gc * groups, H: kh, W: kw,
		C: kc}, qref.Dims{N: n, H: oh, W: ow, C: gc * groups}
	p.Stride, p.Pad, p.Dilation = qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}, qref.Tile{H: dh, W: dw}
	return finishConv(g, p, variant)
}

// genConv1xN draws convolutions of height 1 that CMSIS-NN routes to its 1xN kernel.
func genConv1xN(g *gen) *call {
	p := &qref.ConvParams{}
	iw, kw, sw, _, pw, ow := g.windowAxis(7, 1)
	c := g.one(4, 8, 12)
	p.In, p.Filter, p.Out = qref.Dims{N: g.in(1, 2), H: 1, W: iw, C: c}, qref.Dims{N: g.in(1, 9), H: 1, W: kw, C: c},
		qref.Dims{H: 1, W: ow}
	p.Out.N, p.Out.C = p.In.N, p.Filter.N
	p.Stride, p.Pad, p.Dilation = qref.Tile{H: 1, W: sw}, qref.Tile{W: pw}, qref.Tile{H: 1, W: 1}
	if kw == 1 && pw == 0 {
		return finishConv(g, p, 0) // the wrapper takes its 1x1 kernel then
	}
	return finishConv(g, p, g.one(0, 4))
}

func finishConv(g *gen, p *qref.ConvParams, variant int) *call {
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	p.Mult, p.Shift = g.scales(p.Out.C, p.Filter.H*p.Filter.W*p.Filter.C)
	in, w, bias := g.s8(p.In.Size()), g.s8(p.Filter.Size()), g.bias(p.Out.C)
	out := make([]int8, p.Out.Size())
	c := &call{op: opConv, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult), bytesOf(p.Shift)}}
	c.ints = append(dimInts(p.In, p.Filter, p.Out), i32(p.Stride.H, p.Stride.W, p.Pad.H, p.Pad.W, p.Dilation.H,
		p.Dilation.W, int(p.InputOffset), int(p.OutputOffset), int(p.ActMin), int(p.ActMax), variant)...)
	c.asks("arm_convolve_wrapper_s8", window(p.In, p.Filter, p.Out, p.Stride, p.Pad, p.Dilation, bias != nil))
	return finish(c, qref.Conv(p, in, w, bias, out), bytesOf(out), p)
}

func genDepthwise(g *gen) *call {
	p := &qref.DepthwiseParams{ChMult: g.one(1, 1, 1, 2, 3, 4, 8)}
	ic := g.in(1, 20)
	if g.chance(3) {
		ic = g.in(120, 140) // around the block of the MVE kernel
	}
	if p.ChMult > 1 {
		ic = g.in(1, 5)
	}
	ih, kh, sh, dh, ph, oh := g.windowAxis(4, 3)
	iw, kw, sw, dw, pw, ow := g.windowAxis(4, 3)
	n := g.one(1, 1, 1, 2)
	oc := ic * p.ChMult
	p.In, p.Filter, p.Out = qref.Dims{N: n, H: ih, W: iw, C: ic}, qref.Dims{N: 1, H: kh, W: kw, C: oc},
		qref.Dims{N: n, H: oh, W: ow, C: oc}
	p.Stride, p.Pad, p.Dilation = qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}, qref.Tile{H: dh, W: dw}
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	p.Mult, p.Shift = g.scales(oc, kh*kw)
	in, w, bias := g.s8(p.In.Size()), g.s8(p.Filter.Size()), g.bias(oc)
	out := make([]int8, p.Out.Size())
	c := &call{op: opDepthwise, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	c.ints = append(dimInts(p.In, p.Filter, p.Out), i32(sh, sw, ph, pw, dh, dw, int(p.InputOffset), int(p.OutputOffset),
		int(p.ActMin), int(p.ActMax), p.ChMult, g.IntN(2))...)
	q := window(p.In, p.Filter, p.Out, p.Stride, p.Pad, p.Dilation, bias != nil)
	q.ChMult = p.ChMult
	c.asks("arm_depthwise_conv_wrapper_s8", q)
	return finish(c, qref.Depthwise(p, in, w, bias, out), bytesOf(out), p)
}

func genTransposeConv(g *gen) *call {
	p := &qref.TransposeConvParams{}
	ic := g.one(1, 3, 4, 7, 16, 17, 20)
	axis := func() (in, k, s, pad, out int) {
		for {
			in, k, s = g.in(1, 6), g.in(1, 5), g.in(1, 4)
			pad = g.in(0, k-1)
			out = (in-1)*s + k - pad - g.in(0, k-1) + g.in(0, s-1)
			if out >= 1 {
				return
			}
		}
	}
	ih, kh, sh, ph, oh := axis()
	iw, kw, sw, pw, ow := axis()
	n, oc := g.one(1, 1, 2), g.in(1, 6)
	p.In, p.Filter, p.Out = qref.Dims{N: n, H: ih, W: iw, C: ic}, qref.Dims{N: oc, H: kh, W: kw, C: ic},
		qref.Dims{N: n, H: oh, W: ow, C: oc}
	p.Stride, p.Pad = qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	p.Mult, p.Shift = g.scales(oc, kh*kw*ic)
	in, w, bias := g.s8(p.In.Size()), g.s8(p.Filter.Size()), g.bias(oc)
	out := make([]int8, p.Out.Size())
	c := &call{op: opTransposeConv, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult),
		bytesOf(p.Shift)}}
	c.ints = append(dimInts(p.In, p.Filter, p.Out), i32(sh, sw, ph, pw, 1, 1, int(p.InputOffset), int(p.OutputOffset),
		int(p.ActMin), int(p.ActMax), 0)...)
	c.asks("arm_transpose_conv_wrapper_s8", window(p.In, p.Filter, p.Out, p.Stride, p.Pad, qref.Tile{H: 1, W: 1},
		bias != nil))
	return finish(c, qref.TransposeConv(p, in, w, bias, out), bytesOf(out), p)
}

func genFC(g *gen) *call {
	p := &qref.FCParams{Rows: g.one(1, 1, 2, 3), Depth: g.in(1, 70), Cols: g.in(1, 12)}
	p.InputOffset, p.OutputOffset = g.offset(), g.zero()
	if g.chance(40) {
		p.FilterOffset = g.offset()
	}
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	per := g.IntN(2)
	p.Mult, p.Shift = g.scales(1+per*(p.Cols-1), p.Depth)
	in, w, bias := g.s8(p.Rows*p.Depth), g.s8(p.Cols*p.Depth), g.bias(p.Cols)
	out := make([]int8, p.Rows*p.Cols)
	c := &call{op: opFC, blobs: [][]byte{bytesOf(in), bytesOf(w), bytesOf(bias), bytesOf(p.Mult), bytesOf(p.Shift)}}
	c.ints = i32(p.Rows, p.Depth, p.Cols, int(p.InputOffset), int(p.FilterOffset), int(p.OutputOffset), int(p.ActMin),
		int(p.ActMax), per, g.IntN(2))
	c.asks("arm_fully_connected_wrapper_s8", cmsis.Query{FilterOff: int(p.FilterOffset), PerChannel: per == 1,
		HasBias: bias != nil})
	return finish(c, qref.FullyConnected(p, in, w, bias, out), bytesOf(out), p)
}

func genBatchMatMul(g *gen) *call {
	p := &qref.BatchMatMulParams{LeftOffset: g.offset(), OutputOffset: g.zero()}
	n, h, depth := g.in(1, 3), g.in(1, 3), g.in(1, 40)
	p.Left, p.Right = qref.Dims{N: g.one(1, n), H: g.one(1, h), W: g.in(1, 5), C: depth},
		qref.Dims{N: g.one(1, n), H: g.one(1, h), W: g.in(1, 9), C: depth}
	if g.chance(70) {
		p.RightOffset = g.offset()
	}
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	p.Mult, p.Shift = g.scale(depth)
	o := p.OutDims()
	l, r, out := g.s8(p.Left.Size()), g.s8(p.Right.Size()), make([]int8, o.Size())
	c := &call{op: opBatchMatMul, blobs: [][]byte{bytesOf(l), bytesOf(r)}}
	c.ints = append(dimInts(p.Left, p.Right, o), p.LeftOffset, p.RightOffset, p.OutputOffset, p.ActMin, p.ActMax,
		p.Mult, p.Shift)
	return finish(c, qref.BatchMatMul(p, l, r, out), bytesOf(out), p)
}

func genAdd(g *gen) *call {
	p := &qref.AddParams{Offset1: g.offset(), Offset2: g.offset(), OutputOffset: g.zero()}
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	scale := func() float32 { return float32(math.Exp2(g.Float64()*12 - 9)) }
	p.Scales = fixp.NewAddScales(scale(), scale(), scale())
	n := g.in(1, 300)
	a, b, out := g.s8(n), g.s8(n), make([]int8, n)
	s := &p.Scales
	c := &call{op: opAdd, blobs: [][]byte{bytesOf(a), bytesOf(b)}, ints: []int32{p.Offset1, s.Mult1, s.Shift1,
		p.Offset2, s.Mult2, s.Shift2,
		s.LeftShift, p.OutputOffset, s.OutMult, s.OutShift, p.ActMin, p.ActMax}}
	return finish(c, qref.Add(p, a, b, out), bytesOf(out), p)
}

func genMul(g *gen) *call {
	p := &qref.MulParams{Offset1: g.offset(), Offset2: g.offset(), OutputOffset: g.zero()}
	p.ActMin, p.ActMax = g.act()
	p.Rounding = g.rounding
	p.Mult, p.Shift = g.scale(1)
	n := g.in(1, 300)
	a, b, out := g.s8(n), g.s8(n), make([]int8, n)
	c := &call{op: opMul, blobs: [][]byte{bytesOf(a), bytesOf(b)}, ints: []int32{p.Offset1, p.Offset2, p.OutputOffset,
		p.Mult, p.Shift, p.ActMin, p.ActMax}}
	return finish(c, qref.Mul(p, a, b, out), bytesOf(out), p)
}

func genMinMax(g *gen) *call {
	o := qref.Dims{N: g.in(1, 3), H: g.in(1, 4), W: g.in(1, 4), C: g.in(1, 20)}
	sub := func() qref.Dims {
		if g.chance(30) {
			return o
		}
		return qref.Dims{N: g.one(1, o.N), H: g.one(1, o.H), W: g.one(1, o.W), C: g.one(1, o.C)}
	}
	ad, bd := sub(), sub()
	o = qref.Dims{N: max(ad.N, bd.N), H: max(ad.H, bd.H), W: max(ad.W, bd.W), C: max(ad.C, bd.C)}
	a, b, out := g.s8(ad.Size()), g.s8(bd.Size()), make([]int8, o.Size())
	f, isMax := qref.Minimum, g.IntN(2)
	if isMax == 1 {
		f = qref.Maximum
	}
	c := &call{op: opMinMax, blobs: [][]byte{bytesOf(a), bytesOf(b)}, ints: append(dimInts(ad, bd, o), int32(isMax))}
	c.asks("arm_maximum_s8", cmsis.Query{In: cmsis.Dims(ad), Filter: cmsis.Dims(bd)})
	return finish(c, f(ad, bd, a, b, out), bytesOf(out), []qref.Dims{ad, bd})
}

func genPool(g *gen) *call {
	p := &qref.PoolParams{}
	ih, kh, sh, _, ph, oh := g.windowAxis(5, 1)
	iw, kw, sw, _, pw, ow := g.windowAxis(5, 1)
	n, ch := g.one(1, 1, 2), g.in(1, 40)
	p.In, p.Out = qref.Dims{N: n, H: ih, W: iw, C: ch}, qref.Dims{N: n, H: oh, W: ow, C: ch}
	p.Kernel, p.Stride, p.Pad = qref.Tile{H: kh, W: kw}, qref.Tile{H: sh, W: sw}, qref.Tile{H: ph, W: pw}
	p.ActMin, p.ActMax = g.act()
	in, out := g.s8(p.In.Size()), make([]int8, p.Out.Size())
	f, isMax := qref.AvgPool[int8], g.IntN(2)
	if isMax == 1 {
		f = qref.MaxPool[int8]
	}
	c := &call{op: opPool, blobs: [][]byte{bytesOf(in)}, ints: append(dimInts(p.In, p.Out),
		i32(kh, kw, sh, sw, ph, pw, int(p.ActMin), int(p.ActMax), isMax)...)}
	if isMax == 1 {
		c.asks("arm_max_pool_s8", window(p.In, qref.Dims{N: 1, H: kh, W: kw, C: 1}, p.Out, p.Stride, p.Pad,
			qref.Tile{H: 1, W: 1}, true))
	}
	return finish(c, f(p, in, out), bytesOf(out), p)
}

func genSoftmax(g *gen) *call {
	p := &qref.SoftmaxParams{Rows: g.in(1, 4), Size: g.one(1, 2, 10, g.in(1, 100), g.in(100, 500))}
	p.Mult, p.Shift, p.DiffMin = fixp.SoftmaxScale(float32(g.one(1, 1, 2)), float32(math.Exp2(g.Float64()*10-9)))
	if g.chance(3) { // sums of 2^31 and of 2^32
		p.Rows, p.Size = 1, g.one(4096, 8192)
		in := make([]int8, p.Size)
		out := make([]int8, p.Size)
		c := &call{op: opSoftmax, blobs: [][]byte{bytesOf(in)}}
		c.ints = i32(p.Rows, p.Size, int(p.Mult), int(p.Shift), int(p.DiffMin), 0)
		return finish(c, qref.Softmax(p, in, out), bytesOf(out), p)
	}
	in := g.s8(p.Rows * p.Size)
	if g.chance(30) { // a narrow range gives broad distributions
		for i := range in {
			in[i] >>= 4
		}
	}
	c := &call{op: opSoftmax, blobs: [][]byte{bytesOf(in)}}
	if g.chance(20) {
		out := make([]int16, len(in))
		c.ints = i32(p.Rows, p.Size, int(p.Mult), int(p.Shift), int(p.DiffMin), 1)
		return finish(c, qref.SoftmaxS16(p, in, out), bytesOf(out), p)
	}
	out := make([]int8, len(in))
	c.ints = i32(p.Rows, p.Size, int(p.Mult), int(p.Shift), int(p.DiffMin), 0)
	return finish(c, qref.Softmax(p, in, out), bytesOf(out), p)
}

func genConcat(g *gen) *call {
	axis := g.IntN(4) // 0 innermost
	base := []int{g.in(1, 3), g.in(1, 4), g.in(1, 4), g.in(1, 9)}
	at := 3 - axis
	var ins [][]int8
	var inner []int
	ints := []int32{}
	outer, rest, total := 1, 1, 0
	for i, d := range base {
		if i < at {
			outer *= d
		} else if i > at {
			rest *= d
		}
	}
	c := &call{op: opConcat}
	for range g.in(1, 5) {
		d := append([]int(nil), base...)
		d[at] = g.in(1, 6)
		total += d[at]
		inner = append(inner, d[at]*rest)
		ins = append(ins, g.s8(outer*d[at]*rest))
		c.blobs = append(c.blobs, bytesOf(ins[len(ins)-1]))
		ints = append(ints, i32(d...)...)
	}
	base[at] = total
	c.ints = append(append(i32(axis), i32(base...)...), ints...)
	out := make([]int8, outer*total*rest)
	return finish(c, qref.Concat(outer, inner, ins, out), bytesOf(out), base)
}

func genPad(g *gen) *call {
	d := func(lo, hi int) qref.Dims {
		return qref.Dims{N: g.in(lo, 2), H: g.in(lo, hi), W: g.in(lo, hi), C: g.in(lo, hi)}
	}
	in, before, after := d(1, 5), d(0, 3), d(0, 3)
	if g.chance(50) {
		before.C, after.C = 0, 0
	}
	v := int8(g.zero())
	src := g.s8(in.Size())
	o := qref.Dims{N: in.N + before.N + after.N, H: in.H + before.H + after.H, W: in.W + before.W + after.W,
		C: in.C + before.C + after.C}
	out := make([]int8, o.Size())
	c := &call{op: opPad, blobs: [][]byte{bytesOf(src)}, ints: append(dimInts(in, before, after), int32(v))}
	return finish(c, qref.Pad(in, before, after, v, src, out), bytesOf(out), []qref.Dims{in, before, after})
}

func genTranspose(g *gen) *call {
	rank := g.in(1, 4)
	perm := g.Perm(rank)
	shape, od := []int{1, 1, 1, 1}, []int{1, 1, 1, 1}
	for i := range rank {
		shape[i] = g.in(1, 9)
	}
	for i, p := range perm {
		od[i] = shape[p]
	}
	n := shape[0] * shape[1] * shape[2] * shape[3]
	in, out := g.s8(n), make([]int8, n)
	c := &call{op: opTranspose, blobs: [][]byte{bytesOf(in)}}
	c.ints = append(append(i32(shape...), i32(od...)...), int32(rank))
	c.ints = append(c.ints, i32(append(append([]int(nil), perm...), 0, 0, 0)[:4]...)...)
	c.asks("arm_transpose_s8", cmsis.Query{Rank: rank, Identity: slices.IsSorted(perm)})
	return finish(c, qref.Transpose(shape[:rank], perm, in, out), bytesOf(out), []any{shape[:rank], perm})
}

func (g *gen) s16(n int) []int16 {
	s := make([]int16, n)
	for i := range s {
		s[i] = int16(g.Uint32()) >> g.IntN(8)
	}
	return s
}

func genActivation(g *gen) *call {
	in := g.s16(g.in(1, 200))
	out := make([]int16, len(in))
	shift, kind := int32(g.in(-4, 3)), g.IntN(2)
	qref.ActivationS16(in, out, shift, qref.Activation(kind))
	c := &call{op: opActivation, blobs: [][]byte{bytesOf(in)}, ints: i32(int(shift), kind)}
	return finish(c, nil, bytesOf(out), []any{shift, kind})
}

func genLSTM(g *gen) *call {
	p := &qref.LSTMParams{TimeMajor: g.chance(50), Batch: g.in(1, 3), Time: g.in(1, 5), InputSize: g.in(1, 20),
		HiddenSize: g.in(1, 12)}
	p.Rounding = g.rounding
	p.ForgetToCellMult, p.ForgetToCellShift = int32(1<<30+g.IntN(1<<30)), int32(-g.in(14, 15))
	p.InputToCellMult, p.InputToCellShift = int32(1<<30+g.IntN(1<<30)), int32(-g.in(14, 18))
	p.CellClip = int32(g.one(0, 32767, g.in(1, 32767)))
	p.CellScalePower = int32(-g.in(9, 13))
	p.OutputMult, p.OutputShift, p.OutputOffset = int32(1<<30+g.IntN(1<<30)), int32(-g.in(21, 23)), g.zero()
	c := &call{op: opLSTM}
	bool2 := map[bool]int32{true: 1}
	c.ints = append(i32(int(bool2[p.TimeMajor]), p.Batch, p.Time, p.InputSize, p.HiddenSize), p.ForgetToCellMult,
		p.ForgetToCellShift, p.InputToCellMult, p.InputToCellShift, p.CellClip, p.CellScalePower, p.OutputMult,
		p.OutputShift, p.OutputOffset)
	in, cell := g.s8(p.Batch*p.Time*p.InputSize), g.s16(p.Batch*p.HiddenSize)
	var hidden []int8
	if g.chance(60) {
		hidden = g.s8(p.Batch * p.HiddenSize)
	}
	c.blobs = [][]byte{bytesOf(in), bytesOf(cell), bytesOf(hidden)}
	for i, q := range []*qref.LSTMGate{&p.Forget, &p.Input, &p.Cell, &p.Output} {
		q.InputMult, q.InputShift = int32(1<<30+g.IntN(1<<30)), int32(-g.in(0, 4))
		q.HiddenMult, q.HiddenShift = int32(1<<30+g.IntN(1<<30)), int32(-g.in(3, 6)) // HiddenInt16
		if i == 2 {
			q.Act = qref.Tanh
		}
		q.InputWeights, q.HiddenWeights = g.s8(p.HiddenSize*p.InputSize), g.s8(p.HiddenSize*p.HiddenSize)
		q.InputBias, q.HiddenBias = make([]int32, p.HiddenSize), make([]int32, p.HiddenSize)
		for u := range q.InputBias {
			q.InputBias[u], q.HiddenBias[u] = int32(g.in(-9000, 9000)), int32(g.in(-9000, 9000))
		}
		c.ints = append(c.ints, q.InputMult, q.InputShift, q.HiddenMult, q.HiddenShift, int32(q.Act))
		c.blobs = append(c.blobs, bytesOf(q.InputWeights), bytesOf(q.InputBias), bytesOf(q.HiddenWeights),
			bytesOf(q.HiddenBias))
	}
	out := make([]int8, p.Batch*p.Time*p.HiddenSize)
	err := qref.LSTM(p, in, out, cell, hidden)
	want := append(append(bytesOf(out), bytesOf(cell)...), bytesOf(hidden)...)
	return finish(c, err, want, []any{p.TimeMajor, p.Batch, p.Time, p.InputSize, p.HiddenSize, p.CellClip})
}

func genRelu(g *gen) *call {
	in := g.s8(g.in(1, 200))
	six := g.IntN(2)
	c := &call{op: opRelu, blobs: [][]byte{bytesOf(in)}, ints: i32(six)}
	for i := range in {
		in[i] = max(in[i], 0)
		if six == 1 {
			in[i] = min(in[i], 6)
		}
	}
	return finish(c, nil, bytesOf(in), six)
}

func genVectorSum(g *gen) *call {
	rows, depth := g.in(1, 12), g.in(1, 50)
	m, bias := g.s8(rows*depth), g.bias(rows)
	lhs, rhs := g.offset(), g.offset()
	sums := qref.KernelSums(rows, depth, m, lhs, rhs, bias)
	c := &call{op: opVectorSum, blobs: [][]byte{bytesOf(m), bytesOf(bias)}, ints: i32(rows, depth, int(lhs), int(rhs))}
	return finish(c, nil, bytesOf(sums), []int{rows, depth})
}
