// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators of which TensorFlow Lite has an integer definition and ONNX none are written
// in steps on int32.

// step adds a node beside the result.
func (n *operands) step(op string, in []string, attrs ...*pb.AttributeProto) string {
	return n.c.node(op, n.c.fresh(n.out(), "step"), in, attrs...)
}

// whole is a constant int32.
func (n *operands) whole(v int64) string {
	return n.c.constant(n.c.fresh(n.out(), "whole"), tensor.Of([]int{}, []int32{int32(v)}))
}

// centred are the elements of a tensor less its zero point, as int32.
func (n *operands) centred(t *model.Tensor) string {
	v := n.step("Cast", []string{n.c.raw(t)}, intAttr("to", tensor.I32.ONNXCode()))
	if len(t.Zero) > 0 && t.Zero[0] != 0 {
		v = n.step("Sub", []string{v, n.whole(t.Zero[0])})
	}
	return v
}

// rescale multiplies int32 by a real number.
func (n *operands) rescale(v string, by float64) string {
	mult, shift := fixp.QuantizeMultiplier(by)
	return n.rescaleBy(v, int(mult), int(shift))
}

func (n *operands) rescaleBy(v string, mult, shift int) string {
	return n.step("nncc.Rescale", []string{v}, intAttr("mult", mult), intAttr("shift", shift))
}

// shifted is int32 times a power of two, wrapped.
func (n *operands) shifted(v string, left int) string {
	return n.step("Mul", []string{v, n.whole(1 << left)})
}

// narrow makes the result of int32 less its zero point: limited to its type, or to an
// activation's range.
func (n *operands) narrow(v string, act int8) error {
	y := n.out()
	lo, hi, err := activationRange(act, y)
	if err != nil {
		return err
	}
	if y.Zero[0] != 0 {
		v = n.step("Add", []string{v, n.whole(y.Zero[0])})
	}
	v = n.step("Max", []string{v, n.whole(lo)})
	v = n.step("Min", []string{v, n.whole(hi)})
	n.c.node("Cast", y.Name, []string{v}, intAttr("to", y.DType.ONNXCode()))
	return nil
}

// activationRange is that of a fused activation on the integers of a tensor.
func activationRange(act int8, t *model.Tensor) (lo, hi int64, err error) {
	lo, hi = t.DType.IntRange()
	at := func(v float64) int64 {
		return t.Zero[0] + int64(math.Round(float64(float32(v)/t.Scale[0])))
	}
	switch act {
	case actNone:
	case actRelu:
		lo = max(lo, at(0))
	case actRelu6:
		lo, hi = max(lo, at(0)), min(hi, at(6))
	case actReluN1:
		lo, hi = max(lo, at(-1)), min(hi, at(1))
	default:
		return 0, 0, fmt.Errorf("activation %d, want one of NONE, RELU, RELU_N1_TO_1, RELU6", act)
	}
	return lo, hi, nil
}

// quantised reports that all tensors are integers of a type, with one scale each.
func quantised(d tensor.DType, all ...*model.Tensor) bool {
	for _, t := range all {
		if t == nil || t.DType != d || len(t.Scale) != 1 {
			return false
		}
	}
	return true
}

// addN is the sum of all inputs, which have one quantisation where they are integers.
func addN(n *operands) error {
	x, y := n.in(0), n.out()
	for i, t := range n.o.In {
		if t == nil {
			return fmt.Errorf("input %d is absent", i)
		}
	}
	if !quantised(tensor.I8, append([]*model.Tensor{y}, n.o.In...)...) {
		var in []string
		for _, t := range n.o.In {
			in = append(in, n.c.real(t))
		}
		n.c.node("Sum", n.c.realOut(y), in)
		n.c.store(y)
		return nil
	}
	sum := n.headroom(n.whole(-x.Zero[0]))
	for _, t := range n.o.In {
		sum = n.step("Add", []string{sum, n.headroom(n.centred(t))})
	}
	return n.fromHeadroom(sum)
}

// headroom is half of int32 with 20 more bits, in which sums of int8 are computed.
func (n *operands) headroom(v string) string {
	return n.rescale(n.shifted(v, fixp.AddLeftShift), 0.5)
}

func (n *operands) fromHeadroom(v string) error {
	twice := 2 * float64(n.in(0).Scale[0])
	return n.narrow(n.rescale(v, twice/(float64(1<<fixp.AddLeftShift)*float64(n.out().Scale[0]))), actNone)
}

// cumsum adds up along an axis.
func cumsum(n *operands) error {
	var o fb.CumsumOptions
	if err := n.options("CumsumOptions", o.Init); err != nil {
		return err
	}
	axis, err := n.ints(1)
	if err != nil {
		return err
	}
	if len(axis) != 1 {
		return fmt.Errorf("axis %v, want one number", axis)
	}
	x, y := n.in(0), n.out()
	attrs := []*pb.AttributeProto{flag("exclusive", o.Exclusive()), flag("reverse", o.Reverse())}
	at := n.c.constant(n.c.fresh(y, "axis"), tensor.Of([]int{}, []int32{int32(axis[0])}))
	if !quantised(tensor.I8, x, y) {
		n.c.node("CumSum", n.c.realOut(y), []string{n.real(0), at}, attrs...)
		n.c.store(y)
		return nil
	}
	sum := n.step("CumSum", []string{n.headroom(n.centred(x)), at}, attrs...)
	sum = n.step("Add", []string{sum, n.headroom(n.whole(-x.Zero[0]))})
	return n.fromHeadroom(sum)
}

// divide is DIV: of int8 by a reciprocal in fixed point.
func divide(n *operands) error {
	a, b, y := n.in(0), n.in(1), n.out()
	if !quantised(tensor.I8, a, b, y) {
		return arithmetic("Div")(n)
	}
	var o fb.ActivationOptions
	if err := n.options("ActivationOptions", o.Init); err != nil {
		return err
	}
	mult, shift := fixp.QuantizeMultiplier(float64(a.Scale[0] / (b.Scale[0] * y.Scale[0])))
	v := n.step("nncc.Quotient", []string{n.centred(a), n.centred(b)}, intAttr("mult", int(mult)),
		intAttr("shift", int(shift)))
	return n.narrow(v, o.Activation())
}
