// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// l2Normalization divides by the root of the sum of squares of the last dimension.
func l2Normalization(n *operands) error {
	var o fb.ActivationOptions
	if err := n.options("ActivationOptions", o.Init); err != nil {
		return err
	}
	x, y := n.in(0), n.out()
	if len(x.Shape) == 0 {
		return fmt.Errorf("input %q has no dimensions", x.Name)
	}
	if o.Activation() != actNone {
		return fmt.Errorf("activation %d, want NONE", o.Activation())
	}
	last := n.list("last", -1)
	if !quantised(tensor.I8, x, y) {
		v := n.real(0)
		root := n.step("ReduceL2", []string{v, last}, intAttr("keepdims", 1))
		n.c.node("Div", n.c.realOut(y), []string{v, n.step("Max", []string{root, n.number("least", 1e-6)})})
		n.c.store(y)
		return nil
	}
	v := n.centred(x)
	sum := n.step("ReduceSum", []string{n.step("Mul", []string{v, v}), last}, intAttr("keepdims", 1))
	wide := intAttr("to", tensor.I64.ONNXCode())
	root := n.step("nncc.InverseRoot", []string{n.step("Cast", []string{sum}, wide)})
	v = n.step("nncc.RescaleBy", []string{n.step("Cast", []string{v}, wide), root}, intAttr("shift", 7))
	v = n.step("Cast", []string{v}, intAttr("to", tensor.I32.ONNXCode()))
	plain := *y // the result is in steps of 1/128, whatever the file says
	plain.Zero = []int64{0}
	return n.becoming(&plain).narrow(v, actNone)
}

// becoming are the operands with another result.
func (n *operands) becoming(y *model.Tensor) *operands {
	o := *n.o
	o.Out = []*model.Tensor{y}
	return &operands{c: n.c, o: &o, row: n.row}
}

// l2Pool is the root of the mean of squares in windows.
func l2Pool(n *operands) error {
	var o fb.Pool2DOptions
	if err := n.options("Pool2DOptions", o.Init); err != nil {
		return err
	}
	same, err := padding(o.Padding())
	if err != nil {
		return err
	}
	x := n.in(0)
	s := spatial{[2]int{int(o.FilterH()), int(o.FilterW())}, [2]int{int(o.StrideH()), int(o.StrideW())},
		[2]int{1, 1}, same}
	if err := s.check(x); err != nil {
		return err
	}
	v := n.channelsFirst(x)
	mean := n.step("AveragePool", []string{n.step("Mul", []string{v, v})}, s.attrs(x)...)
	return n.window(o.Activation(), "Sqrt", []string{mean})
}

// logSoftmax is the logarithm of softmax along the last dimension: of int8 in fixed point.
func logSoftmax(n *operands) error {
	x, y := n.in(0), n.out()
	if !quantised(tensor.I8, x, y) {
		n.c.node("LogSoftmax", n.c.realOut(y), []string{n.real(0)}, intAttr("axis", -1))
		n.c.store(y)
		return nil
	}
	if y.Scale[0] != 1./16 || y.Zero[0] != 127 {
		return fmt.Errorf("the result has scale %g and zero point %d, want 1/16 and 127", y.Scale[0], y.Zero[0])
	}
	const integer = 5 // bits of differences in front of the point
	mult, shift := fixp.QuantizeMultiplier(min(float64(x.Scale[0])*(1<<(31-integer)), math.MaxInt32))
	least := -int32(math.Floor((1<<integer - 1) * math.Ldexp(1, 31-integer-int(shift))))
	last := n.list("last", -1)
	v := n.step("Cast", []string{n.raw(0)}, intAttr("to", tensor.I32.ONNXCode()))
	most := n.step("ReduceMax", []string{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", []string{most, v}) // 0 to 255
	exps, diffs := make([]int32, 256), make([]int32, 256)
	for i := range exps {
		diffs[i] = fixp.Requantize(int32(-i), mult, shift)
		if int32(-i) >= least {
			exps[i] = fixp.DivideByPowerOfTwo(fixp.ExpOnNegativeValues(diffs[i]), 12)
		}
	}
	look := func(what string, t []int32) string {
		return n.step("Gather", []string{n.c.constant(n.c.fresh(y, what), tensor.Of([]int{256}, t)), below},
			intAttr("axis", 0))
	}
	sum := n.step("ReduceSum", []string{look("exponentials", exps), last}, intAttr("keepdims", 1))
	log := n.step("nncc.LogQ12", []string{sum})
	back := math.Ldexp(1, 31-int(shift)) / float64(mult)
	bound := n.rescale(n.step("Add", []string{log, n.whole(math.MinInt32)}), back)
	bound = n.step("Max", []string{bound, n.whole(int64(least) - 1)})
	// A division towards zero of numbers that are not positive, half of it added, rounds.
	const bits = 31 - integer - 4
	d := n.step("Sub", []string{n.step("Sub", []string{look("differences", diffs), log}), n.whole(1 << (bits - 1))})
	d = n.step("Div", []string{d, n.whole(1 << bits)})
	inside := n.step("Greater", []string{n.step("Neg", []string{below}), bound})
	return n.narrow(n.step("Where", []string{inside, d, n.whole(-255)}), actNone)
}

// argument is ARG_MAX or ARG_MIN.
func argument(op string) func(n *operands) error {
	return func(n *operands) error {
		axis, err := n.ints(1)
		if err != nil {
			return err
		}
		if len(axis) != 1 {
			return fmt.Errorf("axis %v, want one number", axis)
		}
		y := n.out()
		at := n.step(op, []string{n.real(0)}, intAttr("axis", axis[0]), intAttr("keepdims", 0))
		n.c.node("Cast", y.Name, []string{at}, intAttr("to", y.DType.ONNXCode()))
		return nil
	}
}

// floorDiv divides and rounds down.
func floorDiv(n *operands) error {
	y := n.out()
	if !y.DType.IsFloat() {
		a, b := n.raw(0), n.raw(1)
		rest := n.step("Mod", []string{a, b}) // of the divisor's sign
		n.c.node("Div", y.Name, []string{n.step("Sub", []string{a, rest}), b})
		return nil
	}
	n.c.node("Floor", y.Name, []string{n.step("Div", []string{n.real(0), n.real(1)})})
	return nil
}

// floorMod is the rest of that, with the divisor's sign.
func floorMod(n *operands) error {
	y := n.out()
	a, b := n.raw(0), n.raw(1)
	if !y.DType.IsFloat() {
		n.c.node("Mod", y.Name, []string{a, b})
		return nil
	}
	rest := n.step("Mod", []string{a, b}, intAttr("fmod", 1))
	zero := n.number("zero_rest", 0)
	other := n.step("Xor", []string{n.step("Less", []string{b, zero}), n.step("Less", []string{rest, zero})})
	some := n.step("Not", []string{n.step("Equal", []string{rest, zero})})
	n.c.node("Where", y.Name, []string{n.step("And", []string{some, other}), n.step("Add", []string{rest, b}), rest})
	return nil
}

// batchMatMul multiplies matrices in the last two dimensions, each transposed first if it
// is adjoint.
func batchMatMul(n *operands) error {
	var o fb.BatchMatMulOptions
	if err := n.options("BatchMatMulOptions", o.Init); err != nil {
		return err
	}
	var in [2]string
	for i, adjoint := range [2]bool{o.AdjX(), o.AdjY()} {
		t := n.in(i)
		rank := len(t.Shape)
		if rank < 2 {
			return fmt.Errorf("input %q has shape %v, want matrices", t.Name, t.Shape)
		}
		if in[i] = n.real(i); !adjoint {
			continue
		}
		at := *t
		at.Name, at.Data = n.c.fresh(n.out(), "adjoint"), nil
		perm := append(count(0, rank-2), rank-1, rank-2)
		n.c.node("Transpose", at.Name, []string{n.raw(i)}, intsAttr("perm", perm...))
		in[i] = n.c.real(&at)
	}
	n.c.node("MatMul", n.c.realOut(n.out()), in[:])
	n.c.store(n.out())
	return nil
}
