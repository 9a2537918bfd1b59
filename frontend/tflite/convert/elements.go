package convert

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
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
func compare(op string, not bool) func(n *operands) error {
	return func(n *operands) error {
		y := n.out()
		if !not {
			n.c.node(op, y.Name, []string{n.real(0), n.real(1)})
			return nil
		}
		n.c.node("Not", y.Name, []string{n.c.node(op, n.c.fresh(y, "not"), []string{n.real(0), n.real(1)})})
		return nil
	}
}

func leakyRelu(n *operands) error {
	var o fb.LeakyReluOptions
	if err := n.options("LeakyReluOptions", o.Init); err != nil {
		return err
	}
	n.c.node("LeakyRelu", n.c.realOut(n.out()), []string{n.real(0)}, floatAttr("alpha", o.Alpha()))
	n.c.store(n.out())
	return nil
}

func softmax(n *operands) error {
	var o fb.SoftmaxOptions
	if err := n.options("SoftmaxOptions", o.Init); err != nil {
		return err
	}
	x := n.real(0)
	if beta := o.Beta(); beta != 1 {
		x = n.c.node("Mul", n.c.fresh(n.out(), "scaled"), []string{x, n.number("beta", beta)})
	}
	n.c.node("Softmax", n.c.realOut(n.out()), []string{x}, intAttr("axis", -1))
	n.c.store(n.out())
	return nil
}

// requantize is QUANTIZE and DEQUANTIZE: from any quantisation, or none, to another.
func requantize(n *operands) error {
	y := n.out()
	if y.Quantized() && y.DType == tensor.I32 {
		return n.toInt32()
	}
	x := n.real(0)
	if !y.Quantized() { // of float16, too
		n.c.node("Cast", y.Name, []string{x}, intAttr("to", y.DType.ONNXCode()))
		return nil
	}
	n.c.node("QuantizeLinear", y.Name, n.c.quantized(x, y), axis(y)...)
	return nil
}

// toInt32 quantises to int32, which QuantizeLinear cannot.
func (n *operands) toInt32() error {
	x, y := n.in(0), n.out()
	if slices.Equal(x.Scale, y.Scale) && slices.Equal(x.Zero, y.Zero) {
		n.c.node("Cast", y.Name, []string{n.raw(0)}, intAttr("to", y.DType.ONNXCode()))
		return nil
	}
	if len(y.Scale) != 1 || y.Zero[0] != 0 {
		return fmt.Errorf("to int32 with zero point %d and %d scales, want 0 and one", y.Zero[0], len(y.Scale))
	}
	steps := n.c.node("Div", n.c.fresh(y, "steps"), []string{n.real(0), n.number("step", y.Scale[0])})
	n.c.node("Cast", y.Name, []string{n.c.node("Round", n.c.fresh(y, "rounded"), []string{steps})},
		intAttr("to", y.DType.ONNXCode()))
	return nil
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

func squaredDifference(n *operands) error {
	y := n.out()
	d := n.c.node("Sub", n.c.fresh(y, "difference"), []string{n.real(0), n.real(1)})
	n.c.node("Mul", n.c.realOut(y), []string{d, d})
	n.c.store(y)
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
