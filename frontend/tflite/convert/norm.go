// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/tensor"
)

// l2Normalization divides by the root of the sum of squares of the last dimension.
func l2Normalization(n *node) {
	var o fb.ActivationOptions
	n.options("ActivationOptions", o.Init)
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) == 0, "input %q has no dimensions", x.Name)
	n.refuse(o.Activation() != actNone, "activation %d, want NONE", o.Activation())
	last := n.list(-1)
	if !quantised(tensor.I8, x, y) {
		v := n.real(0)
		root := n.step("ReduceL2", vals{v, last}, intAttr("keepdims", 1))
		n.result("Div", vals{v, n.step("Max", vals{root, n.number(1e-6)})})
		return
	}
	v := n.centred(x)
	sum := n.step("ReduceSum", vals{n.step("Mul", vals{v, v}), last}, intAttr("keepdims", 1))
	wide := to(tensor.I64)
	root := n.step("nncc.InverseRoot", vals{n.step("Cast", vals{sum}, wide)})
	v = n.step("nncc.RescaleBy", vals{n.step("Cast", vals{v}, wide), root}, intAttr("shift", 7))
	v = n.cast(v, tensor.I32)
	plain := *y // the result is in steps of 1/128, whatever the file says
	plain.Zero = []int64{0}
	n.c.put(y, n.within(&plain, v, actNone))
}

// l2Pool is the root of the mean of squares in windows.
func l2Pool(n *node) {
	var o fb.Pool2DOptions
	n.options("Pool2DOptions", o.Init)
	x := n.in(0)
	s := n.spatial(&o, x, int(o.FilterH()), int(o.FilterW()))
	v := n.channelsFirst(x)
	mean := n.step("AveragePool", vals{n.step("Mul", vals{v, v})}, s.attrs(x)...)
	n.window(o.Activation(), "Sqrt", vals{mean})
}

// logSoftmax is the logarithm of softmax along the last dimension: of int8 in fixed point.
func logSoftmax(n *node) {
	x, y := n.in(0), n.out()
	if !quantised(tensor.I8, x, y) {
		n.result("LogSoftmax", vals{n.real(0)}, intAttr("axis", -1))
		return
	}
	if y.Scale[0] != 1./16 || y.Zero[0] != 127 {
		n.failf("the result has scale %g and zero point %d, want 1/16 and 127", y.Scale[0], y.Zero[0])
	}
	const integer = 5 // bits of differences in front of the point
	mult, shift := fixp.QuantizeMultiplier(min(float64(x.Scale[0])*(1<<(31-integer)), math.MaxInt32))
	least := -int32(math.Floor((1<<integer - 1) * math.Ldexp(1, 31-integer-int(shift))))
	last := n.list(-1)
	v := n.cast(n.raw(0), tensor.I32)
	most := n.step("ReduceMax", vals{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", vals{most, v}) // 0 to 255
	exps, diffs := make([]int32, 256), make([]int32, 256)
	for i := range exps {
		diffs[i] = fixp.Requantize(int32(-i), mult, shift)
		if int32(-i) >= least {
			exps[i] = fixp.DivideByPowerOfTwo(fixp.ExpOnNegativeValues(diffs[i]), 12)
		}
	}
	sum := n.step("ReduceSum", vals{n.look("exponentials", exps, below), last}, intAttr("keepdims", 1))
	log := n.step("nncc.LogQ12", vals{sum})
	back := math.Ldexp(1, 31-int(shift)) / float64(mult)
	bound := n.rescale(n.step("Add", vals{log, n.whole(math.MinInt32)}), back)
	bound = n.step("Max", vals{bound, n.whole(int64(least) - 1)})
	// A division towards zero of numbers that are not positive, half of it added, rounds.
	const bits = 31 - integer - 4
	d := n.step("Sub", vals{n.step("Sub", vals{n.look("differences", diffs, below), log}), n.whole(1 << (bits - 1))})
	d = n.step("Div", vals{d, n.whole(1 << bits)})
	inside := n.step("Greater", vals{n.step("Neg", vals{below}), bound})
	n.narrow(n.step("Where", vals{inside, d, n.whole(-255)}), actNone)
}

// argument is ARG_MAX or ARG_MIN.
func argument(op string) func(n *node) {
	return func(n *node) {
		axis := n.known(1)
		n.refuse(len(axis) != 1, "axis %v, want one number", axis)
		y := n.out()
		at := n.step(op, vals{n.real(0)}, intAttr("axis", axis[0]), intAttr("keepdims", 0))
		n.give("Cast", vals{at}, to(y.DType))
	}
}

// floorDiv divides and rounds down.
func floorDiv(n *node) {
	y := n.out()
	if !y.DType.IsFloat() {
		a, b := n.raw(0), n.raw(1)
		rest := n.step("Mod", vals{a, b}) // of the divisor's sign
		n.give("Div", vals{n.step("Sub", vals{a, rest}), b})
		return
	}
	n.give("Floor", vals{n.step("Div", vals{n.real(0), n.real(1)})})
}

// floorMod is the rest of that, with the divisor's sign.
func floorMod(n *node) {
	y := n.out()
	a, b := n.raw(0), n.raw(1)
	if !y.DType.IsFloat() {
		n.give("Mod", vals{a, b})
		return
	}
	rest := n.step("Mod", vals{a, b}, intAttr("fmod", 1))
	zero := n.number(0)
	other := n.step("Xor", vals{n.step("Less", vals{b, zero}), n.step("Less", vals{rest, zero})})
	some := n.step("Not", vals{n.step("Equal", vals{rest, zero})})
	n.give("Where", vals{n.step("And", vals{some, other}), n.step("Add", vals{rest, b}), rest})
}

// batchMatMul multiplies matrices in the last two dimensions, each transposed first if it
// is adjoint.
func batchMatMul(n *node) {
	var o fb.BatchMatMulOptions
	n.options("BatchMatMulOptions", o.Init)
	var in [2]*ir.Value
	for i, adjoint := range [2]bool{o.AdjX(), o.AdjY()} {
		t := n.in(i)
		rank := len(t.Shape)
		n.refuse(rank < 2, "input %q has shape %v, want matrices", t.Name, t.Shape)
		if !adjoint {
			in[i] = n.real(i)
			continue
		}
		perm := append(count(0, rank-2), rank-1, rank-2)
		in[i] = n.c.real(n.c.like(t, n.make("adjoint", "Transpose", vals{n.raw(i)}, intsAttr("perm", perm...))))
	}
	n.result("MatMul", in[:])
}
