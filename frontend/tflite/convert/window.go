// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"

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
	return n.convolution(s, o.Activation(), x.Shape[3]/w.Shape[3], []int{0, 3, 1, 2}, 0)
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
	return n.convolution(s, o.Activation(), x.Shape[3], []int{3, 0, 1, 2}, 3)
}

// convolution writes Conv; perm makes the weights those of ONNX, channels is the
// dimension that counts output channels in the format.
func (n *operands) convolution(s spatial, act int8, groups int, perm []int, channels int) error {
	x := n.in(0)
	window := append(s.attrs(x), intsAttr("dilations", s.dilation[:]...), intAttr("group", groups))
	if n.dynamic(n.in(1)) {
		first := n.step("Transpose", []string{n.raw(0)}, intsAttr("perm", 0, 3, 1, 2))
		w := n.step("Transpose", []string{n.raw(1)}, intsAttr("perm", perm...))
		return n.product("ConvInteger", first, w, window, act, func(sum string) string {
			return n.step("Transpose", []string{sum}, intsAttr("perm", 0, 2, 3, 1))
		})
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
	name := t.Name + "/weights"
	moved := *t
	moved.Name, moved.Axis = name, to
	if perm != nil {
		d = d.Transpose(perm)
	}
	moved.Shape = d.Shape
	n.c.constant(name, d)
	return n.c.real(&moved), nil
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
	v := make([]int32, d.Len())
	for i := range v {
		if v[i] = int32(d.Int(i)); int64(v[i]) != d.Int(i) {
			return nil, fmt.Errorf("bias %q: element %d is %d, want at most 32 bits", b.Name, i, d.Int(i))
		}
	}
	t := &model.Tensor{Name: b.Name + "/bias", DType: tensor.I32, Shape: d.Shape, Zero: make([]int64, len(w.Scale))}
	for _, s := range w.Scale {
		t.Scale = append(t.Scale, float32(float64(x.Scale[0])*float64(s)))
	}
	n.c.constant(t.Name, tensor.Of(d.Shape, v))
	return append(in, n.c.real(t)), nil
}

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
	if n.dynamic(w) {
		rows := n.step("Reshape", []string{n.raw(0), n.list("rows_shape", -1, w.Shape[1])})
		turned := n.step("Transpose", []string{n.raw(1)}, intsAttr("perm", 1, 0))
		return n.product("MatMulInteger", rows, turned, nil, o.Activation(), func(sum string) string {
			return sum
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
