package onnx

import (
	"slices"

	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// veteran brings nodes of opsets below 7 into the form of opset 7. What is
// here changed then, and nowhere else is code for it; operators that did not
// change need no entry.
var veteran map[string]func(c *nodeCtx) error

func init() {
	veteran = map[string]func(c *nodeCtx) error{
		"AveragePool": nothing, "Dropout": oldDropout, "BatchNormalization": oldBatchNorm,
		"Gemm": oldGemm, "PRelu": oldPRelu, "Reshape": oldReshape, "Pad": oldPad,
	}
	for _, o := range []string{"Add", "Sub", "Mul", "Div", "Pow", "And", "Or", "Xor", "Equal", "Greater", "Less"} {
		veteran[o] = oldBroadcast
	}
	for _, o := range []string{"Abs", "Ceil", "Clip", "Concat", "Elu", "Exp", "Floor", "HardSigmoid", "InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean",
		"Min", "Neg", "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Sum", "Tanh", "Cast", "GlobalMaxPool", "MaxPool", "Split"} {
		veteran[o] = inPlace
	}
}

// nothing: what changed until opset 7 only added to the operator.
func nothing(*nodeCtx) error { return nil }

// inPlace drops the hint of opset 1 that an output may take an input's memory.
func inPlace(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	return nil
}

// oldBroadcast: until opset 7 the second input was broadcast only with the
// attribute broadcast, and from dimension axis on (default: to match the last).
func oldBroadcast(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	on, err := c.takeInt("broadcast", 0)
	if err != nil {
		return err
	}
	_, given := c.attrs["axis"]
	axis, err := c.takeInt("axis", 0)
	if err != nil {
		return err
	}
	if len(c.in) != 2 || c.in[0] == nil || c.in[1] == nil {
		return c.errf("arity", "has %d inputs, want 2", len(c.in))
	}
	a, b := c.in[0].Type.Shape, c.in[1].Type.Shape
	if on == 0 {
		if !slices.Equal(a, b) {
			return c.errf("broadcast", "inputs have shapes %v and %v without the attribute broadcast, want the same in opset %d", a, b, c.opset)
		}
		return nil
	}
	if !given {
		return nil
	}
	if axis < 0 {
		axis += int64(len(a))
	}
	if axis < 0 || int(axis)+len(b) > len(a) {
		return c.errf("axis", "axis %d does not place %v inside %v", axis, b, a)
	}
	return c.pad1(1, len(a)-int(axis)-len(b))
}

// pad1 gives input i more dimensions of size 1 at its end.
func (c *nodeCtx) pad1(i, count int) error {
	if count == 0 {
		return nil
	}
	shape := slices.Clone(c.in[i].Type.Shape)
	for range count {
		shape = append(shape, 1)
	}
	v, err := c.sub(op.Reshape, ".aligned", nil, c.in[i], c.constant(".aligned_shape", tensor.Ints(shape...)))
	if err == nil {
		c.in[i] = v
	}
	return err
}

// oldGemm: C was broadcast only with the attribute broadcast.
func oldGemm(c *nodeCtx) error {
	_, err := c.takeInt("broadcast", 0)
	return err
}

// oldPRelu: a slope of one dimension belonged to the channels.
func oldPRelu(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	if len(c.in) != 2 || c.in[0] == nil || c.in[1] == nil {
		return c.errf("arity", "has %d inputs, want 2", len(c.in))
	}
	x, slope := c.in[0].Type.Shape, c.in[1].Type.Shape
	if len(slope) == 1 && slope[0] != 1 && len(x) > 2 {
		return c.pad1(1, len(x)-2)
	}
	return nil
}

// oldBatchNorm: is_test chose between inference and training.
func oldBatchNorm(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	test, err := c.takeInt("is_test", 0)
	if err == nil && test == 0 && len(c.p.GetOutput()) > 1 {
		err = c.errf("training", "is_test is 0 and the statistics are outputs; export the model for inference")
	}
	return err
}

// oldDropout: is_test chose between inference and training.
func oldDropout(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	_, err := c.takeInt("is_test", 0)
	return err
}

// oldReshape: the shape was an attribute until opset 5.
func oldReshape(c *nodeCtx) error {
	delete(c.attrs, "consumed_inputs")
	shape, err := c.takeInts("shape")
	if err == nil && shape != nil {
		if err := c.oneInput(); err != nil {
			return err
		}
		c.in = []*ir.Value{c.in[0], c.constant(".shape", ints64(shape))}
	}
	return err
}

// oldPad: pads were called paddings in opset 1.
func oldPad(c *nodeCtx) error {
	if a, ok := c.take("paddings"); ok {
		c.attrs["pads"] = a
	}
	return nil
}
