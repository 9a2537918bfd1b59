// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// elementwise is a function of one tensor's real numbers.
func elementwise(op string) func(n *node) {
	return func(n *node) { n.result(op, vals{n.real(0)}) }
}

// activation is an activation that is an operator of its own.
func activation(act int8) func(n *node) {
	return func(n *node) {
		op, in, attrs := n.fused(act, n.real(0))
		n.result(op, in, attrs...)
	}
}

// binary is a function of two tensors, broadcast.
func binary(op string) func(n *node) {
	return func(n *node) { n.pair(op, actNone) }
}

// arithmetic is a binary operator that has an activation.
func arithmetic(op string) func(n *node) {
	return func(n *node) {
		var o fb.ActivationOptions
		n.options("ActivationOptions", o.Init)
		n.pair(op, o.Activation())
	}
}

// add is ADD: of plain integers it has no activation, whatever the file says.
func add(n *node) {
	if y := n.out(); !y.Quantized() && !y.DType.IsFloat() {
		n.pair("Add", actNone)
		return
	}
	arithmetic("Add")(n)
}

func (n *node) pair(op string, act int8) {
	n.activated(act, op, vals{n.real(0), n.real(1)})
}

// binaryRaw and unaryRaw compute on elements as they are stored.
func binaryRaw(op string) func(n *node) {
	return func(n *node) { n.give(op, vals{n.raw(0), n.raw(1)}) }
}

func unaryRaw(op string) func(n *node) {
	return func(n *node) { n.give(op, vals{n.raw(0)}) }
}

// compare gives booleans; not turns them around.
func compare(op string, not bool, is func(a, b float64) bool) func(n *node) {
	return func(n *node) {
		in := n.compared(is)
		if !not {
			n.give(op, in)
			return
		}
		n.give("Not", vals{n.make("not", op, in)})
	}
}

// compared are the operands of a comparison: real numbers, or those of int8 as TensorFlow
// Lite brings them to one scale, where that compares otherwise.
func (n *node) compared(is func(a, b float64) bool) vals {
	a, b := n.in(0), n.in(1)
	if !integer(a, b) || a.DType != tensor.I8 || b.DType != tensor.I8 {
		return vals{n.real(0), n.real(1)}
	}
	const left = 8
	p, q := timesNumber(float64(a.Scale[0]), left), timesNumber(float64(b.Scale[0]), left)
	for x := int64(-128); x < 128; x++ {
		for y := int64(-128); y < 128; y++ {
			v, w := p.of(int32(x-a.Zero[0])), q.of(int32(y-b.Zero[0]))
			if is(float64(v), float64(w)) != is(float64(float32(value(a, x))), float64(float32(value(b, y)))) {
				return vals{n.less(a, p), n.less(b, q)}
			}
		}
	}
	return vals{n.real(0), n.real(1)}
}

func equal(a, b float64) bool   { return a == b }
func lower(a, b float64) bool   { return a < b }
func atMost(a, b float64) bool  { return a <= b }
func above(a, b float64) bool   { return a > b }
func atLeast(a, b float64) bool { return a >= b }

func softmax(n *node) {
	var o fb.SoftmaxOptions
	n.options("SoftmaxOptions", o.Init)
	if quantised(tensor.I8, n.in(0)) && quantised(tensor.I16, n.out()) {
		n.softmax16(o.Beta())
		return
	}
	x := n.real(0)
	switch beta := o.Beta(); {
	case beta > 0 && beta != 1 && integer(n.in(0)): // the same integers stand for other numbers
		scaled := n.c.like(n.in(0), n.make("scaled", "BitCast", vals{n.raw(0)}, to(n.in(0).DType)))
		scaled.Scale = []float32{scaled.Scale[0] * beta}
		x = n.c.real(scaled)
	case beta != 1:
		x = n.make("scaled", "Mul", vals{x, n.number(beta)})
	}
	n.result("Softmax", vals{x}, intAttr("axis", -1))
}

// softmax16 is SOFTMAX of int8 with results of 16 bits, which are the fixed-point numbers of
// those of 8 bits before they are rounded to these.
func (n *node) softmax16(beta float32) {
	x, y := n.in(0), n.out()
	mult, shift, least := fixp.SoftmaxScale(beta, x.Scale[0])
	if len(x.Shape) == 0 || y.Zero[0] != math.MinInt16 || shift < 0 ||
		math.Abs(float64(y.Scale[0])*65536-1) > 1e-3 {
		n.failf("from scale %g and shape %v to scale %g and zero point %d, want 1/65536 and -32768, at "+
			"least one dimension, and an input's scale times beta (%g) of at least 2^-26", x.Scale[0], x.Shape,
			y.Scale[0], y.Zero[0], beta)
	}
	terms := qref.SoftmaxTerms(mult, shift, least)
	slices.Reverse(terms[:]) // by the distance to the largest element
	parts := make([]int32, len(terms))
	for i, t := range terms {
		parts[i] = fixp.DivideByPowerOfTwo(t, 12)
	}
	last := n.list(-1)
	v := n.cast(n.raw(0), tensor.I32)
	most := n.step("ReduceMax", vals{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", vals{most, v})
	sum := n.step("ReduceSum", vals{n.look("parts", parts, below), last}, intAttr("keepdims", 1))
	one := n.step("nncc.ReciprocalQ12", vals{n.cast(sum, tensor.I64)})
	v = n.step("nncc.RescaleBy", vals{n.cast(n.look("terms", terms[:], below), tensor.I64), one},
		intAttr("shift", -15))
	n.narrow(n.cast(v, tensor.I32), actNone)
}

// look takes elements of a table of 256 numbers.
func (n *node) look(what string, table []int32, at *ir.Value) *ir.Value {
	return n.step("Gather", vals{n.constant(what, tensor.Of([]int{256}, table)), at}, intAttr("axis", 0))
}

// requantize is QUANTIZE and DEQUANTIZE: from any quantisation, or none, to another.
func requantize(n *node) {
	x, y := n.in(0), n.out()
	if len(x.Scale) == 1 && len(y.Scale) == 1 && !n.converts() {
		by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
		n.finish(n.centred(x), by, actNone)
		return
	}
	r := n.real(0)
	if !y.Quantized() { // of float16, too
		n.give("Cast", vals{r}, to(y.DType))
		return
	}
	attrs := axis(y)
	if x.Quantized() {
		n.give("QuantizeLinear", n.c.quantized(r, y), attrs...)
		return
	}
	n.give("nncc.QuantizeLinear", n.c.quantized(r, y), append(attrs, intAttr("round_away", 1))...)
}

// converts reports that the general rule gives the integers of a change of quantisation.
func (n *node) converts() bool {
	x, y := n.in(0), n.out()
	if x.DType.Bits() > 16 || y.DType.Bits() > 16 {
		return false
	}
	by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
	return n.byRule(func(v int32) int32 { return by.of(v) + n.offset() }, func(x float64) float64 { return x })
}

func rsqrt(n *node) {
	n.result("Reciprocal", vals{n.make("root", "Sqrt", vals{n.real(0)})})
}

func square(n *node) {
	x := n.real(0)
	n.result("Mul", vals{x, x})
}

// reduced are the constant dimensions that input 1 names, and whether they are kept.
func (n *node) reduced() (axes []int, keep attr) {
	var o fb.ReducerOptions
	n.options("ReducerOptions", o.Init)
	return n.known(1), flag("keepdims", o.KeepDims())
}

// reduceTruth tells whether all elements are true (ReduceMin), or any (ReduceMax).
func reduceTruth(op string) func(n *node) {
	return func(n *node) {
		axes, keep := n.reduced()
		n.give(op, vals{n.raw(0), n.list(axes...)}, keep)
	}
}

// reduce is a reduction over the constant dimensions that input 1 names.
func reduce(op string) func(n *node) {
	return func(n *node) {
		axes, keep := n.reduced()
		n.result(op, vals{n.real(0), n.list(axes...)}, keep)
	}
}
