// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/ir/fixp"
	"github.com/nncc/nncc/ir/qref"
	"github.com/nncc/nncc/ir/tensor"
)

// elementwise is a function of one tensor's real numbers.
func elementwise(op string) func(n *operands) error {
	return func(n *operands) error {
		n.c.node(op, n.c.realOut(n.out()), []string{n.real(0)})
		n.c.store(n.out())
		return nil
	}
}

// activated is an activation that is an operator of its own.
func activated(act int8) func(n *operands) error {
	return func(n *operands) error {
		if err := n.activation(act, n.real(0), n.c.realOut(n.out())); err != nil {
			return err
		}
		n.c.store(n.out())
		return nil
	}
}

// binary is a function of two tensors, broadcast.
func binary(op string) func(n *operands) error {
	return func(n *operands) error { return n.pair(op, actNone) }
}

// arithmetic is a binary operator that has an activation.
func arithmetic(op string) func(n *operands) error {
	return func(n *operands) error {
		var o fb.ActivationOptions
		if err := n.options("ActivationOptions", o.Init); err != nil {
			return err
		}
		return n.pair(op, o.Activation())
	}
}

// add is ADD: of plain integers it has no activation, whatever the file says.
func add(n *operands) error {
	if y := n.out(); !y.Quantized() && !y.DType.IsFloat() {
		return n.pair("Add", actNone)
	}
	return arithmetic("Add")(n)
}

func (n *operands) pair(op string, act int8) error {
	return n.activate(act, func(result string) { n.c.node(op, result, []string{n.real(0), n.real(1)}) })
}

// binaryRaw and unaryRaw compute on elements as they are stored.
func binaryRaw(op string) func(n *operands) error {
	return func(n *operands) error {
		n.c.node(op, n.out().Name, []string{n.raw(0), n.raw(1)})
		return nil
	}
}

func unaryRaw(op string) func(n *operands) error {
	return func(n *operands) error {
		n.c.node(op, n.out().Name, []string{n.raw(0)})
		return nil
	}
}

// compare gives booleans; not turns them around.
func compare(op string, not bool, is func(a, b float64) bool) func(n *operands) error {
	return func(n *operands) error {
		y := n.out()
		result, in := y.Name, n.compared(is)
		if !not {
			n.c.node(op, result, in)
			return nil
		}
		n.c.node("Not", result, []string{n.c.node(op, n.c.fresh(y, "not"), in)})
		return nil
	}
}

// compared are the operands of a comparison: real numbers, or those of int8 as TensorFlow
// Lite brings them to one scale, where that compares otherwise.
func (n *operands) compared(is func(a, b float64) bool) []string {
	a, b := n.in(0), n.in(1)
	if !integer(a, b) || a.DType != tensor.I8 || b.DType != tensor.I8 {
		return []string{n.real(0), n.real(1)}
	}
	const left = 8
	p, q := timesNumber(float64(a.Scale[0]), left), timesNumber(float64(b.Scale[0]), left)
	for x := int64(-128); x < 128; x++ {
		for y := int64(-128); y < 128; y++ {
			v, w := p.of(int32(x-a.Zero[0])), q.of(int32(y-b.Zero[0]))
			if is(float64(v), float64(w)) != is(float64(float32(value(a, x))), float64(float32(value(b, y)))) {
				return []string{n.less(a, p), n.less(b, q)}
			}
		}
	}
	return []string{n.real(0), n.real(1)}
}

func equal(a, b float64) bool   { return a == b }
func lower(a, b float64) bool   { return a < b }
func atMost(a, b float64) bool  { return a <= b }
func above(a, b float64) bool   { return a > b }
func atLeast(a, b float64) bool { return a >= b }

func softmax(n *operands) error {
	var o fb.SoftmaxOptions
	if err := n.options("SoftmaxOptions", o.Init); err != nil {
		return err
	}
	if quantised(tensor.I8, n.in(0)) && quantised(tensor.I16, n.out()) {
		return n.softmax16(o.Beta())
	}
	x := n.real(0)
	switch beta := o.Beta(); {
	case beta > 0 && beta != 1 && integer(n.in(0)): // the same integers stand for other numbers
		scaled := *n.in(0)
		scaled.Name, scaled.Scale = n.c.fresh(n.out(), "scaled"), []float32{scaled.Scale[0] * beta}
		n.c.node("BitCast", scaled.Name, []string{n.raw(0)}, intAttr("to", scaled.DType.ONNXCode()))
		x = n.c.real(&scaled)
	case beta != 1:
		x = n.c.node("Mul", n.c.fresh(n.out(), "scaled"), []string{x, n.number("beta", beta)})
	}
	n.c.node("Softmax", n.c.realOut(n.out()), []string{x}, intAttr("axis", -1))
	n.c.store(n.out())
	return nil
}

// softmax16 is SOFTMAX of int8 with results of 16 bits, which are the fixed-point numbers of
// those of 8 bits before they are rounded to these.
func (n *operands) softmax16(beta float32) error {
	x, y := n.in(0), n.out()
	mult, shift, least := fixp.SoftmaxScale(beta, x.Scale[0])
	if len(x.Shape) == 0 || y.Zero[0] != math.MinInt16 || shift < 0 ||
		math.Abs(float64(y.Scale[0])*65536-1) > 1e-3 {
		return fmt.Errorf("from scale %g and shape %v to scale %g and zero point %d, want 1/65536 and -32768, at "+
			"least one dimension, and an input's scale times beta (%g) of at least 2^-26", x.Scale[0], x.Shape,
			y.Scale[0], y.Zero[0], beta)
	}
	terms := qref.SoftmaxTerms(mult, shift, least)
	slices.Reverse(terms[:]) // by the distance to the largest element
	parts := make([]int32, len(terms))
	for i, t := range terms {
		parts[i] = fixp.DivideByPowerOfTwo(t, 12)
	}
	last := n.list("last", -1)
	v := n.step("Cast", []string{n.raw(0)}, intAttr("to", tensor.I32.ONNXCode()))
	most := n.step("ReduceMax", []string{v, last}, intAttr("keepdims", 1))
	below := n.step("Sub", []string{most, v})
	look := func(what string, t []int32) string {
		return n.step("Gather", []string{n.c.constant(n.c.fresh(y, what), tensor.Of([]int{256}, t)), below},
			intAttr("axis", 0))
	}
	wide := intAttr("to", tensor.I64.ONNXCode())
	sum := n.step("ReduceSum", []string{look("parts", parts), last}, intAttr("keepdims", 1))
	one := n.step("nncc.ReciprocalQ12", []string{n.step("Cast", []string{sum}, wide)})
	v = n.step("nncc.RescaleBy", []string{n.step("Cast", []string{look("terms", terms[:])}, wide), one},
		intAttr("shift", -15))
	return n.narrow(n.step("Cast", []string{v}, intAttr("to", tensor.I32.ONNXCode())), actNone)
}

// requantize is QUANTIZE and DEQUANTIZE: from any quantisation, or none, to another.
func requantize(n *operands) error {
	x, y := n.in(0), n.out()
	if len(x.Scale) == 1 && len(y.Scale) == 1 && !n.converts() {
		by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
		return n.finish(n.centred(x), by, actNone)
	}
	r := n.real(0)
	if !y.Quantized() { // of float16, too
		n.c.node("Cast", y.Name, []string{r}, intAttr("to", y.DType.ONNXCode()))
		return nil
	}
	attrs := axis(y)
	if x.Quantized() {
		n.c.node("QuantizeLinear", y.Name, n.c.quantized(r, y), attrs...)
		return nil
	}
	n.c.node("nncc.QuantizeLinear", y.Name, n.c.quantized(r, y), append(attrs, intAttr("round_away", 1))...)
	return nil
}

// converts reports that the general rule gives the integers of a change of quantisation.
func (n *operands) converts() bool {
	x, y := n.in(0), n.out()
	if x.DType.Bits() > 16 || y.DType.Bits() > 16 {
		return false
	}
	by := timesNumber(float64(x.Scale[0])/float64(y.Scale[0]), 0)
	return n.byRule(func(v int32) int32 { return by.of(v) + n.offset() }, func(x float64) float64 { return x })
}

func rsqrt(n *operands) error {
	y := n.out()
	root := n.c.node("Sqrt", n.c.fresh(y, "root"), []string{n.real(0)})
	n.c.node("Reciprocal", n.c.realOut(y), []string{root})
	n.c.store(y)
	return nil
}

func square(n *operands) error {
	x := n.real(0)
	n.c.node("Mul", n.c.realOut(n.out()), []string{x, x})
	n.c.store(n.out())
	return nil
}

// reduced are the constant dimensions that input 1 names, and whether they are kept.
func (n *operands) reduced() (axes []int, keep int, err error) {
	var o fb.ReducerOptions
	if err := n.options("ReducerOptions", o.Init); err != nil {
		return nil, 0, err
	}
	if o.KeepDims() {
		keep = 1
	}
	axes, err = n.ints(1)
	return axes, keep, err
}

// reduceAll tells whether all elements are true.
func reduceAll(n *operands) error {
	axes, keep, err := n.reduced()
	if err != nil {
		return err
	}
	n.c.node("ReduceMin", n.out().Name, []string{n.raw(0), n.list("axes", axes...)}, intAttr("keepdims", keep))
	return nil
}

// reduce is a reduction over the constant dimensions that input 1 names.
func reduce(op string) func(n *operands) error {
	return func(n *operands) error {
		axes, keep, err := n.reduced()
		if err != nil {
			return err
		}
		n.c.node(op, n.c.realOut(n.out()), []string{n.real(0), n.list("axes", axes...)}, intAttr("keepdims", keep))
		n.c.store(n.out())
		return nil
	}
}
