// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// spatial is a window over height and width.
type spatial struct {
	kernel, stride, dilation [2]int
	same                     bool // padding SAME, else VALID
}

func (s spatial) check(x *model.Tensor) error {
	if len(x.Shape) != 4 {
		return fmt.Errorf("tensor %q has shape %v, want [batch, height, width, channels]", x.Name, x.Shape)
	}
	for i := range 2 {
		if s.kernel[i] < 1 || s.stride[i] < 1 || s.dilation[i] < 1 || s.kernel[i] > math.MaxInt16 ||
			s.stride[i] > math.MaxInt16 || s.dilation[i] > math.MaxInt16 {
			return fmt.Errorf("window %v, stride %v, dilation %v: want 1 to %d", s.kernel, s.stride, s.dilation,
				math.MaxInt16)
		}
	}
	return nil
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
func (s spatial) attrs(x *model.Tensor) []*pb.AttributeProto {
	pads, stride := s.pads(x), s.stride
	for i := range stride {
		if (s.kernel[i]-1)*s.dilation[i]+1 == x.Shape[1+i]+pads[i]+pads[2+i] {
			stride[i] = 1
		}
	}
	return []*pb.AttributeProto{intsAttr("kernel_shape", s.kernel[:]...), intsAttr("strides", stride[:]...),
		intsAttr("pads", pads...)}
}

// padding reads the format's numbers.
func padding(v int8) (same bool, err error) {
	if v != 0 && v != 1 {
		return false, fmt.Errorf("padding %d, want SAME (0) or VALID (1)", v)
	}
	return v == 0, nil
}

func conv2D(n *operands) error {
	var o fb.Conv2DOptions
	if err := n.options("Conv2DOptions", o.Init); err != nil {
		return err
	}
	x, w := n.in(0), n.in(1)
	same, err := padding(o.Padding())
	if err != nil {
		return err
	}
	if len(w.Shape) != 4 {
		return fmt.Errorf("weights %v, want [outputs, height, width, inputs]", w.Shape)
	}
	s := spatial{[2]int{w.Shape[1], w.Shape[2]}, [2]int{int(o.StrideH()), int(o.StrideW())},
		[2]int{int(o.DilationH()), int(o.DilationW())}, same}
	if err := s.check(x); err != nil {
		return err
	}
	if w.Shape[3] == 0 || x.Shape[3]%w.Shape[3] != 0 {
		return fmt.Errorf("weights of %d input channels, the input %q has %d", w.Shape[3], x.Name, x.Shape[3])
	}
	return n.convolution(s, o.Activation(), o.BiasType(), x.Shape[3]/w.Shape[3], []int{0, 3, 1, 2}, 0)
}

func depthwise(n *operands) error {
	var o fb.DepthwiseConv2DOptions
	if err := n.options("DepthwiseConv2DOptions", o.Init); err != nil {
		return err
	}
	x, w := n.in(0), n.in(1)
	same, err := padding(o.Padding())
	if err != nil {
		return err
	}
	if len(w.Shape) != 4 || w.Shape[0] != 1 {
		return fmt.Errorf("weights %v, want [1, height, width, outputs]", w.Shape)
	}
	s := spatial{[2]int{w.Shape[1], w.Shape[2]}, [2]int{int(o.StrideH()), int(o.StrideW())},
		[2]int{int(o.DilationH()), int(o.DilationW())}, same}
	if err := s.check(x); err != nil {
		return err
	}
	if x.Shape[3] == 0 || w.Shape[3]%x.Shape[3] != 0 {
		return fmt.Errorf("%d output channels of %d input channels, want a multiple", w.Shape[3], x.Shape[3])
	}
	return n.convolution(s, o.Activation(), 0, x.Shape[3], []int{3, 0, 1, 2}, 3)
}

// convolution writes Conv; perm makes the weights those of ONNX, channels is the
// dimension that counts output channels in the format.
func (n *operands) convolution(s spatial, act, biasType int8, groups int, perm []int, channels int) error {
	x := n.in(0)
	window := append(s.attrs(x), intsAttr("dilations", s.dilation[:]...), intAttr("group", groups))
	if p := n.asSums(x, n.in(1), n.in(2), biasType); p != nil {
		first := n.step("Transpose", []string{n.raw(0)}, intsAttr("perm", 0, 3, 1, 2))
		w := n.step("Transpose", []string{n.raw(1)}, intsAttr("perm", perm...))
		return p.product("ConvInteger", first, w, n.in(1).Shape[channels], window, act, n.channelsLast)
	}
	w, err := n.weights(n.in(1), perm, channels, 0)
	if err != nil {
		return err
	}
	in := []string{n.channelsFirst(x), w}
	if in, err = n.bias(in, n.in(2), x, n.in(1)); err != nil {
		return err
	}
	return n.window(act, "Conv", in, window...)
}

// channelsLast is a value [N,C,H,W] in the order [N,H,W,C].
func (n *operands) channelsLast(v string) string {
	return n.step("Transpose", []string{v}, intsAttr("perm", 0, 2, 3, 1))
}

// weights gives weights as real numbers with their dimensions exchanged. Scales of the
// format's dimension from are those of ONNX's dimension to.
func (n *operands) weights(t *model.Tensor, perm []int, from, to int) (string, error) {
	if t.Data == nil && !t.Quantized() { // computed at run time
		moved := *t
		if perm != nil {
			moved.Name, moved.Shape = n.c.fresh(n.out(), "weights"), nil
			n.c.node("Transpose", moved.Name, []string{n.c.raw(t)}, intsAttr("perm", perm...))
		}
		return n.c.real(&moved), nil
	}
	d, err := t.Const()
	if err != nil {
		return "", fmt.Errorf("weights: %w", err)
	}
	if len(t.Scale) > 1 && t.Axis != from {
		return "", fmt.Errorf("weights %q have scales along dimension %d, want %d", t.Name, t.Axis, from)
	}
	name, _ := n.c.own(t.Name, "weights", fmt.Sprint(perm))
	moved := *t
	moved.Name, moved.Axis, moved.Scale = name, to, livingScales(t)
	d = withoutDead(t, d)
	if perm != nil {
		d = d.Transpose(perm)
	}
	moved.Shape = d.Shape
	n.c.constant(name, d)
	return n.c.real(&moved), nil
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
	out, inner := d.Clone(), 1
	for _, n := range t.Shape[t.Axis+1:] {
		inner *= n
	}
	for i := range out.Len() {
		if c := i / inner % len(t.Scale); t.Scale[c] == 0 {
			out.SetInt(i, t.Zero[c])
		}
	}
	return out
}

// bias adds a bias to the operands of a layer. In integers its scale is that of the
// input times that of the weights, whatever the file says.
func (n *operands) bias(in []string, b, x, w *model.Tensor) ([]string, error) {
	if b == nil {
		return in, nil
	}
	if !x.Quantized() || !w.Quantized() {
		return append(in, n.c.real(b)), nil
	}
	d, err := b.Const()
	if err != nil {
		return nil, fmt.Errorf("bias: %w", err)
	}
	name, _ := n.c.own(b.Name, "bias", fmt.Sprint(x.Scale, w.Scale))
	t := &model.Tensor{Name: name, DType: tensor.I32, Shape: d.Shape, Zero: make([]int64, len(w.Scale))}
	bits := 32
	if x.DType == tensor.I16 {
		bits = bits16
	}
	for i, v := range d.Int64s() {
		if v>>(bits-1) != v>>63 {
			return nil, fmt.Errorf("bias %q: element %d is %d, want at most %d bits for data of %s", b.Name, i, v, bits,
				x.DType)
		}
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
	n.c.constant(t.Name, d)
	return append(in, n.c.real(t)), nil
}

// bits16 are those of a bias of 16-bit data: with the products its sum stays within 48.
const bits16 = 47

// transposeConv has the shape of its result as input 0, weights, and the input.
func transposeConv(n *operands) error {
	var o fb.TransposeConvOptions
	if err := n.options("TransposeConvOptions", o.Init); err != nil {
		return err
	}
	w, x, y := n.in(1), n.in(2), n.out()
	same, err := padding(o.Padding())
	if err != nil {
		return err
	}
	if len(w.Shape) != 4 || len(y.Shape) != 4 {
		return fmt.Errorf("weights %v and result %v, want [outputs, height, width, inputs] and [batch, height, width, "+
			"channels]", w.Shape, y.Shape)
	}
	s := spatial{[2]int{w.Shape[1], w.Shape[2]}, [2]int{int(o.StrideH()), int(o.StrideW())}, [2]int{1, 1}, same}
	if err := s.check(x); err != nil {
		return err
	}
	if p := n.asSums(x, w, n.in(3), 0); p != nil {
		return n.transposedSums(p, s, o.Activation())
	}
	weights, err := n.weights(w, []int{3, 0, 1, 2}, 0, 1)
	if err != nil {
		return err
	}
	in, err := n.bias([]string{n.channelsFirst(x), weights}, n.in(3), x, w)
	if err != nil {
		return err
	}
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
	return n.window(o.Activation(), "ConvTranspose", in, intsAttr("kernel_shape", s.kernel[:]...),
		intsAttr("strides", s.stride[:]...), intsAttr("pads", pads...), intsAttr("output_padding", extra[:]...))
}

// transposedSums writes a transposed convolution of integers: stride-1 zero points stand behind each
// pixel, and the weights slide over that turned round.
func (n *operands) transposedSums(p *sums, s spatial, act int8) error {
	x, w, y := p.x, p.w, n.out()
	zero := n.kept(x.DType, []int{}, x.Zero[0])
	first := n.step("Transpose", []string{n.c.raw(x)}, intsAttr("perm", 0, 3, 1, 2))
	batch, c, pads := x.Shape[0], x.Shape[3], s.pads(y)
	var wide, front, end [2]int
	for i := range wide {
		wide[i], front[i] = x.Shape[1+i]*s.stride[i], s.kernel[i]-1-pads[i]
		end[i] = y.Shape[1+i] - wide[i] - front[i] + s.kernel[i] - 1
	}
	v := n.step("Reshape", []string{first, n.list("apart", batch, c, x.Shape[1], 1, x.Shape[2], 1)})
	v = n.step("Pad", []string{v, n.list("between", 0, 0, 0, 0, 0, 0, 0, 0, 0, s.stride[0]-1, 0, s.stride[1]-1), zero})
	v = n.step("Reshape", []string{v, n.list("spread", batch, c, wide[0], wide[1])})
	v = n.step("Pad", []string{v, n.list("around", 0, 0, front[0], front[1], 0, 0, end[0], end[1]), zero})
	turned := n.step("Transpose", []string{n.c.raw(w)}, intsAttr("perm", 0, 3, 1, 2))
	turned = n.step("Slice", []string{turned, n.list("from", -1, -1), n.list("to", math.MinInt32, math.MinInt32),
		n.list("sides", 2, 3), n.list("backwards", -1, -1)})
	return p.product("ConvInteger", v, turned, w.Shape[0], []*pb.AttributeProto{intsAttr("kernel_shape",
		s.kernel[:]...)}, act, n.channelsLast)
}

func pool(op string) func(n *operands) error {
	return func(n *operands) error {
		var o fb.Pool2DOptions
		if err := n.options("Pool2DOptions", o.Init); err != nil {
			return err
		}
		same, err := padding(o.Padding())
		if err != nil {
			return err
		}
		s := spatial{[2]int{int(o.FilterH()), int(o.FilterW())}, [2]int{int(o.StrideH()), int(o.StrideW())},
			[2]int{1, 1}, same}
		if err := s.check(n.in(0)); err != nil {
			return err
		}
		return n.window(o.Activation(), op, []string{n.channelsFirst(n.in(0))}, s.attrs(n.in(0))...)
	}
}

func fullyConnected(n *operands) error {
	var o fb.FullyConnectedOptions
	if err := n.options("FullyConnectedOptions", o.Init); err != nil {
		return err
	}
	x, w, y := n.in(0), n.in(1), n.out()
	if o.WeightsFormat() != 0 {
		return fmt.Errorf("weights in format %d, want the default one", o.WeightsFormat())
	}
	if len(w.Shape) != 2 || w.Shape[1] == 0 || x.Elems()%w.Shape[1] != 0 ||
		x.Elems()/w.Shape[1]*w.Shape[0] != y.Elems() {
		return fmt.Errorf("weights %v of an input %v and a result %v, want [outputs, inputs]", w.Shape, x.Shape,
			y.Shape)
	}
	if p := n.asSums(x, w, n.in(2), o.BiasType()); p != nil {
		rows := n.step("Reshape", []string{n.raw(0), n.list("rows_shape", -1, w.Shape[1])})
		turned := n.step("Transpose", []string{n.raw(1)}, intsAttr("perm", 1, 0))
		return p.product("MatMulInteger", rows, turned, w.Shape[0], nil, o.Activation(), func(sum string) string {
			return n.step("Reshape", []string{sum, n.list("sums_shape", y.Shape...)})
		})
	}
	weights, err := n.weights(w, nil, 0, 0)
	if err != nil {
		return err
	}
	rows := n.real(0)
	if len(x.Shape) != 2 || x.Shape[1] != w.Shape[1] {
		rows = n.c.node("Reshape", n.c.fresh(y, "rows"), []string{rows, n.list("rows_shape", -1, w.Shape[1])})
	}
	in, err := n.bias([]string{rows, weights}, n.in(2), x, w)
	if err != nil {
		return err
	}
	return n.activate(o.Activation(), func(result string) {
		if len(y.Shape) == 2 {
			n.c.node("Gemm", result, in, intAttr("transB", 1))
			return
		}
		inner := n.c.node("Gemm", n.c.fresh(y, "product"), in, intAttr("transB", 1))
		n.c.node("Reshape", result, []string{inner, n.list("shape", y.Shape...)})
	})
}
