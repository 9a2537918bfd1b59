// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators of which TensorFlow Lite has an integer definition and ONNX none are written
// in steps on int32.

// whole is a constant int32.
func (n *node) whole(v int64) *ir.Value {
	return n.constant("whole", tensor.Of([]int{}, []int32{int32(v)}))
}

// centred are the elements of a tensor less its zero point, as int32.
func (n *node) centred(t *model.Tensor) *ir.Value {
	v := n.cast(n.c.raw(t), tensor.I32)
	if len(t.Zero) > 0 && t.Zero[0] != 0 {
		v = n.step("Sub", vals{v, n.whole(t.Zero[0])})
	}
	return v
}

// rescale multiplies int32 by a real number.
func (n *node) rescale(v *ir.Value, by float64) *ir.Value {
	mult, shift := fixp.QuantizeMultiplier(by)
	return n.rescaleBy(v, int(mult), int(shift))
}

func (n *node) rescaleBy(v *ir.Value, mult, shift int) *ir.Value {
	return n.step("nncc.Rescale", vals{v}, intAttr("mult", mult), intAttr("shift", shift))
}

// shifted is int32 times a power of two, wrapped.
func (n *node) shifted(v *ir.Value, left int) *ir.Value {
	return n.step("Mul", vals{v, n.whole(1 << left)})
}

// narrow makes the result of int32 less its zero point: limited to its type, or to an
// activation's range.
func (n *node) narrow(v *ir.Value, act int8) { n.c.put(n.out(), n.within(n.out(), v, act)) }

// within is narrow for the quantisation of a tensor.
func (n *node) within(y *model.Tensor, v *ir.Value, act int8) *ir.Value {
	lo, hi := n.activationRange(act, y)
	if y.Zero[0] != 0 {
		v = n.step("Add", vals{v, n.whole(y.Zero[0])})
	}
	v = n.step("Max", vals{v, n.whole(lo)})
	v = n.step("Min", vals{v, n.whole(hi)})
	return n.c.add("Cast", []string{n.c.place(n.out()).name}, vals{v}, to(y.DType))[0]
}

// activationRange is that of a fused activation on the integers of a tensor.
func (n *node) activationRange(act int8, t *model.Tensor) (lo, hi int64) {
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
		n.failf("activation %d, want one of NONE, RELU, RELU_N1_TO_1, RELU6", act)
	}
	return lo, hi
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
func addN(n *node) {
	x, y := n.in(0), n.out()
	for i, t := range n.o.In {
		n.refuse(t == nil, "input %d is absent", i)
	}
	if !quantised(tensor.I8, append([]*model.Tensor{y}, n.o.In...)...) {
		var in vals
		for _, t := range n.o.In {
			in = append(in, n.c.real(t))
		}
		n.result("Sum", in)
		return
	}
	sum := n.headroom(n.whole(-x.Zero[0]))
	for _, t := range n.o.In {
		sum = n.step("Add", vals{sum, n.headroom(n.centred(t))})
	}
	n.fromHeadroom(sum)
}

// headroom is half of int32 with 20 more bits, in which sums of int8 are computed.
func (n *node) headroom(v *ir.Value) *ir.Value {
	return n.rescale(n.shifted(v, fixp.AddLeftShift), 0.5)
}

func (n *node) fromHeadroom(v *ir.Value) {
	twice := 2 * float64(n.in(0).Scale[0])
	n.narrow(n.rescale(v, twice/(float64(1<<fixp.AddLeftShift)*float64(n.out().Scale[0]))), actNone)
}

// cumsum adds up along an axis.
func cumsum(n *node) {
	var o fb.CumsumOptions
	n.options("CumsumOptions", o.Init)
	axis := n.known(1)
	n.refuse(len(axis) != 1, "axis %v, want one number", axis)
	x, y := n.in(0), n.out()
	attrs := []attr{flag("exclusive", o.Exclusive()), flag("reverse", o.Reverse())}
	at := n.constant("axis", tensor.Of([]int{}, []int32{int32(axis[0])}))
	if !quantised(tensor.I8, x, y) {
		n.result("CumSum", vals{n.real(0), at}, attrs...)
		return
	}
	sum := n.step("CumSum", vals{n.headroom(n.centred(x)), at}, attrs...)
	sum = n.step("Add", vals{sum, n.headroom(n.whole(-x.Zero[0]))})
	n.fromHeadroom(sum)
}

// divide is DIV: of int8 by a reciprocal in fixed point.
func divide(n *node) {
	a, b, y := n.in(0), n.in(1), n.out()
	if !quantised(tensor.I8, a, b, y) {
		arithmetic("Div")(n)
		return
	}
	var o fb.ActivationOptions
	n.options("ActivationOptions", o.Init)
	mult, shift := fixp.QuantizeMultiplier(float64(a.Scale[0] / (b.Scale[0] * y.Scale[0])))
	v := n.step("nncc.Quotient", vals{n.centred(a), n.centred(b)}, intAttr("mult", int(mult)),
		intAttr("shift", int(shift)))
	n.narrow(v, o.Activation())
}
