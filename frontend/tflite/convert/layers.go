// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

type spatial struct {
	kernel, stride, dilation [2]int
	same                     bool // padding SAME, else VALID
}

type strided interface {
	Padding() int8
	StrideH() int32
	StrideW() int32
}

func (n *node) spatial(o strided, x *model.Tensor, h, w int) spatial {
	s := spatial{[2]int{h, w}, [2]int{int(o.StrideH()), int(o.StrideW())}, [2]int{1, 1}, o.Padding() == 0}
	if d, ok := o.(interface {
		DilationH() int32
		DilationW() int32
	}); ok {
		s.dilation = [2]int{int(d.DilationH()), int(d.DilationW())}
	}
	n.refuse(o.Padding() != 0 && o.Padding() != 1, "padding %d, want SAME (0) or VALID (1)", o.Padding())
	n.refuse(len(x.Shape) != 4, "tensor %q has shape %v, want [batch, height, width, channels]", x.Name, x.Shape)
	for i := range 2 {
		n.refuse(min(s.kernel[i], s.stride[i], s.dilation[i]) < 1 ||
			max(s.kernel[i], s.stride[i], s.dilation[i]) > math.MaxInt16,
			"window %v, stride %v, dilation %v: want 1 to %d", s.kernel, s.stride, s.dilation, math.MaxInt16)
	}
	return s
}

// pads are those of ONNX, at the begin of both dimensions, then at the end: SAME pads so
// that there is a result for each stride, half of it in front, rounded down.
func (s spatial) pads(x *model.Tensor) []int {
	p := make([]int, 4)
	if !s.same {
		return p
	}
	for i := range 2 {
		in := x.Shape[1+i]
		out := (in + s.stride[i] - 1) / s.stride[i]
		total := max((out-1)*s.stride[i]+(s.kernel[i]-1)*s.dilation[i]+1-in, 0)
		p[i], p[2+i] = total/2, total-total/2
	}
	return p
}

// attrs are the window's. Where it covers a dimension there is no second position: the
// stride is 1, as exporters to ONNX have it.
func (s spatial) attrs(x *model.Tensor) []attr {
	pads, stride := s.pads(x), s.stride
	for i := range stride {
		if (s.kernel[i]-1)*s.dilation[i]+1 == x.Shape[1+i]+pads[i]+pads[2+i] {
			stride[i] = 1
		}
	}
	return []attr{intsAttr("kernel_shape", s.kernel[:]...), intsAttr("strides", stride[:]...),
		intsAttr("pads", pads...)}
}

func conv2D(n *node) {
	o := options[fb.Conv2DOptions](n)
	x, w := n.in(0), n.in(1)
	n.refuse(len(w.Shape) != 4, "weights %v, want [outputs, height, width, inputs]", w.Shape)
	s := n.spatial(o, x, w.Shape[1], w.Shape[2])
	n.refuse(w.Shape[3] == 0 || x.Shape[3]%w.Shape[3] != 0, "weights of %d input channels, the input %q has %d",
		w.Shape[3], x.Name, x.Shape[3])
	n.convolution(s, o.Activation(), o.BiasType(), x.Shape[3]/w.Shape[3], []int{0, 3, 1, 2}, 0)
}

func depthwise(n *node) {
	o := options[fb.DepthwiseConv2DOptions](n)
	x, w := n.in(0), n.in(1)
	n.refuse(len(w.Shape) != 4 || w.Shape[0] != 1, "weights %v, want [1, height, width, outputs]", w.Shape)
	s := n.spatial(o, x, w.Shape[1], w.Shape[2])
	n.refuse(x.Shape[3] == 0 || w.Shape[3]%x.Shape[3] != 0, "%d output channels of %d input channels, want a multiple",
		w.Shape[3], x.Shape[3])
	n.convolution(s, o.Activation(), 0, x.Shape[3], []int{3, 0, 1, 2}, 3)
}

// convolution writes Conv; perm makes the weights those of ONNX, channels is the
// dimension that counts output channels in the format.
func (n *node) convolution(s spatial, act, biasType int8, groups int, perm []int, channels int) {
	x := n.in(0)
	window := append(s.attrs(x), intsAttr("dilations", s.dilation[:]...), intAttr("group", groups))
	if p := n.asSums(x, n.in(1), n.in(2), biasType); p != nil {
		first := n.transposed(n.raw(0), 0, 3, 1, 2)
		w := n.transposed(n.raw(1), perm...)
		p.product("ConvInteger", first, w, n.in(1).Shape[channels], window, act, n.channelsLast)
		return
	}
	w := n.weights(n.in(1), perm, channels, 0)
	in := n.bias(vals{n.channelsFirst(x), w}, n.in(2), x, n.in(1))
	n.window(act, "Conv", in, window...)
}

func (n *node) channelsLast(v *ir.Value) *ir.Value { return n.transposed(v, 0, 2, 3, 1) }

// weights gives weights as real numbers with their dimensions exchanged. Scales of the
// format's dimension from are those of ONNX's dimension to.
func (n *node) weights(t *model.Tensor, perm []int, from, to int) *ir.Value {
	if v := n.c.raw(t); v.Const == nil && !t.Quantized() { // computed at run time
		if perm == nil {
			return v
		}
		return n.make("weights", "Transpose", vals{v}, intsAttr("perm", perm...))
	}
	d := n.data(t, "weights")
	at := *t
	if from < len(t.Shape) && len(t.Scale) == t.Shape[from] { // which dimension that is, runtimes know without the file
		at.Axis = from
	}
	n.refuse(len(t.Scale) > 1 && at.Axis != from,
		"weights %q of shape %v have %d scales along dimension %d, want them along %d", t.Name, t.Shape, len(t.Scale),
		t.Axis, from)
	return n.c.real(n.c.derive(t, "weights", fmt.Sprint(perm), func(moved *model.Tensor) *tensor.Dense {
		moved.Axis, moved.Scale = to, livingScales(t)
		d = withoutDead(&at, d)
		if perm != nil {
			d = d.Transpose(perm)
		}
		return d
	}))
}

// livingScales are the scales of weights, 1 where one is 0.
func livingScales(t *model.Tensor) []float32 {
	out := slices.Clone(t.Scale)
	for i, s := range out {
		if s == 0 {
			out[i] = 1
		}
	}
	return out
}

// withoutDead are the integers of weights, zero points where the scale is 0.
func withoutDead(t *model.Tensor, d *tensor.Dense) *tensor.Dense {
	if !slices.Contains(t.Scale, 0) {
		return d
	}
	out, inner := d.Clone(), tensor.Count(t.Shape[t.Axis+1:])
	for i := range out.Len() {
		if c := i / inner % len(t.Scale); t.Scale[c] == 0 {
			out.SetInt(i, t.Zero[c])
		}
	}
	return out
}

// bias adds a bias to the operands of a layer. In integers its scale is that of the
// input times that of the weights, whatever the file says.
func (n *node) bias(in vals, b, x, w *model.Tensor) vals {
	if b == nil {
		return in
	}
	if !x.Quantized() || !w.Quantized() {
		return append(in, n.c.real(b))
	}
	d := n.data(b, "bias")
	return append(in, n.c.real(n.c.derive(b, "bias", fmt.Sprint(x.Scale, w.Scale), func(t *model.Tensor) *tensor.Dense {
		return n.biasOf(t, d, x, w)
	})))
}

func (n *node) biasOf(t *model.Tensor, d *tensor.Dense, x, w *model.Tensor) *tensor.Dense {
	t.DType, t.Scale, t.Zero, t.Axis = tensor.I32, nil, make([]int64, len(w.Scale)), 0
	bits := 32
	if x.DType == tensor.I16 {
		bits = bits16
	}
	for i, v := range d.Int64s() {
		n.refuse(v>>(bits-1) != v>>63, "bias %q: element %d is %d, want at most %d bits for data of %s", t.Name, i, v,
			bits, x.DType)
		if int64(int32(v)) != v {
			t.DType = tensor.I64
		}
	}
	for _, s := range livingScales(w) {
		t.Scale = append(t.Scale, float32(float64(x.Scale[0])*float64(s)))
	}
	d = d.Cast(t.DType)
	for c, s := range w.Scale {
		if s == 0 && c < d.Len() {
			d.SetInt(c, 0)
		}
	}
	return d
}

// bits16 are those of a bias of 16-bit data: with the products its sum stays within 48.
const bits16 = 47

func transposeConv(n *node) {
	o := options[fb.TransposeConvOptions](n)
	w, x, y := n.in(1), n.in(2), n.out()
	n.refuse(len(w.Shape) != 4 || len(y.Shape) != 4, "weights %v and result %v, want [outputs, height, width, inputs] "+
		"and [batch, height, width, channels]", w.Shape, y.Shape)
	s := n.spatial(o, x, w.Shape[1], w.Shape[2])
	if p := n.asSums(x, w, n.in(3), 0); p != nil {
		n.transposedSums(p, s, o.Activation())
		return
	}
	weights := n.weights(w, []int{3, 0, 1, 2}, 0, 1)
	in := n.bias(vals{n.channelsFirst(x), weights}, n.in(3), x, w)
	// The forward convolution of the result's shape has the padding; what it leaves over
	// at the end is cut or added there.
	pads, extra := s.pads(y), [2]int{}
	for i := range 2 {
		full := (x.Shape[1+i]-1)*s.stride[i] + s.kernel[i]
		over := full - pads[i] - y.Shape[1+i]
		if over < 0 {
			over, extra[i] = 0, -over
		}
		pads[2+i] = over
	}
	n.window(o.Activation(), "ConvTranspose", in, intsAttr("kernel_shape", s.kernel[:]...),
		intsAttr("strides", s.stride[:]...), intsAttr("pads", pads...), intsAttr("output_padding", extra[:]...))
}

// transposedSums writes a transposed convolution of integers: stride-1 zero points stand behind each
// pixel, and the weights slide over that turned round.
func (n *node) transposedSums(p *sums, s spatial, act int8) {
	x, w, y := p.x, p.w, n.out()
	zero := n.kept(x.DType, []int{}, x.Zero[0])
	first := n.transposed(n.c.raw(x), 0, 3, 1, 2)
	batch, c, pads := x.Shape[0], x.Shape[3], s.pads(y)
	var wide, front, end [2]int
	for i := range wide {
		wide[i], front[i] = x.Shape[1+i]*s.stride[i], s.kernel[i]-1-pads[i]
		end[i] = y.Shape[1+i] - wide[i] - front[i] + s.kernel[i] - 1
	}
	v := n.reshape(first, batch, c, x.Shape[1], 1, x.Shape[2], 1)
	v = n.step("Pad", vals{v, n.list(0, 0, 0, 0, 0, 0, 0, 0, 0, s.stride[0]-1, 0, s.stride[1]-1), zero})
	v = n.reshape(v, batch, c, wide[0], wide[1])
	v = n.step("Pad", vals{v, n.list(0, 0, front[0], front[1], 0, 0, end[0], end[1]), zero})
	turned := n.transposed(n.c.raw(w), 0, 3, 1, 2)
	turned = n.step("Slice", vals{turned, n.list(-1, -1), n.list(math.MinInt32, math.MinInt32),
		n.list(2, 3), n.list(-1, -1)})
	p.product("ConvInteger", v, turned, w.Shape[0], []attr{intsAttr("kernel_shape", s.kernel[:]...)}, act,
		n.channelsLast)
}

func pool(op string) func(n *node) {
	return func(n *node) {
		o := options[fb.Pool2DOptions](n)
		s := n.spatial(o, n.in(0), int(o.FilterH()), int(o.FilterW()))
		n.window(o.Activation(), op, vals{n.channelsFirst(n.in(0))}, s.attrs(n.in(0))...)
	}
}

func fullyConnected(n *node) {
	o := options[fb.FullyConnectedOptions](n)
	x, w, y := n.in(0), n.in(1), n.out()
	n.refuse(o.WeightsFormat() != 0, "weights in format %d, want the default one", o.WeightsFormat())
	n.refuse(len(w.Shape) != 2 || w.Shape[1] == 0 || x.Elems()%w.Shape[1] != 0 ||
		x.Elems()/w.Shape[1]*w.Shape[0] != y.Elems(),
		"weights %v of an input %v and a result %v, want [outputs, inputs]", w.Shape, x.Shape, y.Shape)
	if p := n.asSums(x, w, n.in(2), o.BiasType()); p != nil {
		rows := n.reshape(n.raw(0), -1, w.Shape[1])
		turned := n.transposed(n.raw(1), 1, 0)
		p.product("MatMulInteger", rows, turned, w.Shape[0], nil, o.Activation(),
			func(sum *ir.Value) *ir.Value { return n.reshape(sum, y.Shape...) })
		return
	}
	weights := n.weights(w, nil, 0, 0)
	rows := n.real(0)
	if len(x.Shape) != 2 || x.Shape[1] != w.Shape[1] {
		rows = n.make("rows", "Reshape", vals{rows, n.list(-1, w.Shape[1])})
	}
	in := n.bias(vals{rows, weights}, n.in(2), x, w)
	if len(y.Shape) == 2 {
		n.activated(o.Activation(), "Gemm", in, intAttr("transB", 1))
		return
	}
	product := n.make("product", "Gemm", in, intAttr("transB", 1))
	n.activated(o.Activation(), "Reshape", vals{product, n.list(y.Shape...)})
}

// sums are those of a layer that is written as integers, in TensorFlow Lite's arithmetic: its
// weights are computed at run time, or its data are of 16 bits and its sums of 32.
type sums struct {
	n       *node
	x, w, b *model.Tensor // b may be nil
	narrow  bool          // sums of 32 bits
	fc      bool          // FULLY_CONNECTED
}

// asSums gives the sums of a layer that is written as such, nil where it is one of ONNX's layers. biasType
// is what the options say of the sums, by the format's number.
func (n *node) asSums(x, w, b *model.Tensor, biasType int8) *sums {
	if !x.Quantized() || !w.Quantized() {
		return nil
	}
	s := &sums{n: n, x: x, w: w, b: b, narrow: true, fc: n.o.Name == "FULLY_CONNECTED"}
	if x.DType == tensor.I16 {
		s.narrow = s.fc || n.o.Name == "CONV_2D"
		if b != nil {
			s.narrow = s.narrow && b.DType == tensor.I32
		} else {
			s.narrow = s.narrow && biasType == typeInt32
		}
	}
	if n.c.raw(w).Const != nil && !(s.narrow && x.DType == tensor.I16) {
		return nil
	}
	return s
}

const typeInt32 = 2

func (s *sums) check(channels int) {
	n, y := s.n, s.n.out()
	n.refuse(!quantised(s.x.DType, s.x, y) || !integer(s.x) || s.w.DType != tensor.I8 || len(s.w.Scale) != 1 &&
		len(s.w.Scale) != channels, "weights %q are %s with %d scales for data of %s and %s; want int8 with one "+
		"scale, or one for each output channel, for data that is int8 or int16 throughout", s.w.Name, s.w.DType,
		len(s.w.Scale), s.x.DType, y.DType)
	n.refuse(s.x.DType == tensor.I16 && (s.x.Zero[0] != 0 || y.Zero[0] != 0),
		"int16 data has the zero points %d and %d, want 0", s.x.Zero[0], y.Zero[0])
	want := tensor.I32
	if !s.narrow {
		want = tensor.I64
	}
	if b := s.b; b != nil {
		n.refuse(b.DType != want, "bias %q is %s, want %s", b.Name, b.DType, want)
	}
}

// product writes the layer: op multiplies the integers of x and w, and to brings the
// sums into the order of the result, channels last.
func (s *sums) product(op string, x, w *ir.Value, channels int, attrs []attr, act int8,
	to func(sum *ir.Value) *ir.Value) {
	s.check(channels)
	n, in := s.n, vals{x, w}
	if s.x.DType == tensor.I8 {
		in = append(in, n.kept(tensor.I8, []int{}, s.x.Zero[0]), n.kept(tensor.I8, []int{}, s.w.Zero[0]))
	}
	sum := to(n.step("nncc."+op, in, attrs...))
	if s.narrow && s.x.DType == tensor.I16 {
		sum = n.cast(sum, tensor.I32)
	}
	if s.b != nil {
		sum = n.step("Add", vals{sum, n.c.raw(s.b)})
	}
	if s.narrow && len(s.w.Scale) == 1 {
		n.finish(sum, timesNumber(s.scale(0), 0), act)
		return
	}
	by := s.multipliers()
	scaled := "nncc.RescaleWide"
	var shift []attr
	if s.narrow {
		scaled, shift = "nncc.RescaleBy", []attr{intAttr("shift", 0)}
		sum = n.cast(sum, tensor.I64)
	}
	sum = n.step(scaled, vals{sum, by}, shift...)
	n.narrow(n.cast(sum, tensor.I32), act)
}

func (s *sums) scale(c int) float64 {
	x, w, y := s.x.Scale[0], s.w.Scale[c], s.n.out().Scale[0]
	if s.fc && len(s.w.Scale) == 1 {
		return fixp.EffectiveScaleFC(x, w, y)
	}
	return fixp.EffectiveScale(x, w, y)
}

func (s *sums) multipliers() *ir.Value {
	n, most := s.n, int32(30)
	if !s.narrow {
		most = 14
	}
	packed := make([]int64, len(s.w.Scale))
	for c := range packed {
		mult, shift := fixp.QuantizeMultiplier(s.scale(c))
		n.refuse(shift > most, "a step of the sums of channel %d is %g steps of the result, want less than 2^%d", c,
			s.scale(c), most)
		if !s.narrow {
			mult = fixp.ReduceMultiplier(mult)
		}
		packed[c] = int64(shift)<<32 + int64(mult)
	}
	return n.constant("scales", tensor.Of([]int{len(packed)}, packed))
}
