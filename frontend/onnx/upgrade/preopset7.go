// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// MinOpset is the oldest opset of which every operator is read: before it,
// broadcasting was a matter of attributes and many operators had training modes.
const MinOpset = 7

// preOpset7 changes nodes of opsets below 7 into the form of opset 7. What is here
// changed then, and nowhere else is code for it; operators that did not change need
// no entry. All of them drop consumed_inputs, the hint of opset 1 that an output may
// take an input's memory.
var preOpset7 = map[string]func(n *build.Node){
	"AveragePool": nil, "Dropout": noTest, "BatchNormalization": noTraining,
	"Gemm": noBroadcast, "PRelu": channelSlope, "Reshape": shapeInput, "Pad": paddings,
}

func init() {
	for _, o := range []string{"Abs", "Ceil", "Clip", "Concat", "Elu", "Exp", "Floor", "HardSigmoid",
		"InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean",
		"Min", "Neg", "Reciprocal", "Relu", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt", "Sum", "Tanh", "Cast",
		"GlobalMaxPool", "MaxPool", "Split"} {
		preOpset7[o] = nil
	}
}

// PreOpset7 changes a node of ai.onnx below opset 7 into the form of opset 7; it
// fails for operators of which nncc does not read the form of that time.
func PreOpset7(n *build.Node) {
	if n.Opset >= MinOpset {
		return
	}
	change, known := preOpset7[n.Op]
	old := schema.Lookup("", n.Op, int64(n.Opset))
	if !known && old != nil && old.Attr("broadcast") != nil {
		change, known = broadcast, true
	}
	same := old == schema.Lookup("", n.Op, MinOpset)
	n.Want(known || same, "opset", "operator %s of opset %d is not supported, its form changed until opset %d; want "+
		"opset %d or newer (onnx.version_converter converts models)", model.Plain(n.Op), n.Opset, MinOpset, MinOpset)
	if known {
		delete(n.Attrs, "consumed_inputs")
	}
	if change != nil {
		change(n)
	}
}

// broadcast: until opset 7 the second input was broadcast only with the attribute
// broadcast, and from dimension axis on (default: to match the last).
func broadcast(n *build.Node) {
	on := n.Bool("broadcast", false)
	_, given := n.Attrs["axis"]
	axis := n.Int("axis", 0)
	n.Want(len(n.In) == 2 && n.In[0] != nil && n.In[1] != nil, "arity", "has %d inputs, want 2", len(n.In))
	a, b := n.In[0].Type.Shape, n.In[1].Type.Shape
	if !on {
		n.Want(slices.Equal(a, b), "broadcast",
			"inputs have shapes %v and %v without the attribute broadcast, want the same in opset %d", a, b, n.Opset)
		return
	}
	if !given {
		return
	}
	if axis < 0 {
		axis += len(a)
	}
	n.Want(axis >= 0 && axis+len(b) <= len(a), "axis", "axis %d does not place %v inside %v", axis, b, a)
	appendOnes(n, len(a)-axis-len(b))
}

// appendOnes gives input 1 more dimensions of size 1 at its end.
func appendOnes(n *build.Node, count int) {
	if count > 0 {
		shape := append(slices.Clone(n.In[1].Type.Shape), slices.Repeat([]int{1}, count)...)
		n.In[1] = n.Sub("Reshape", ".aligned", nil, n.In[1], n.Constant(".aligned_shape", tensor.Ints(shape...)))
	}
}

// noBroadcast: C of Gemm was broadcast only with the attribute broadcast.
func noBroadcast(n *build.Node) { n.Bool("broadcast", false) }

// noTest: is_test chose between inference and training.
func noTest(n *build.Node) { n.Bool("is_test", false) }

// noTraining is noTest where training has other outputs.
func noTraining(n *build.Node) {
	n.Want(n.Bool("is_test", false) || len(n.Out) < 2, "training",
		"is_test is 0 and the statistics are outputs; export the model for inference")
}

// channelSlope: a slope of one dimension belonged to the channels.
func channelSlope(n *build.Node) {
	n.Want(len(n.In) == 2 && n.In[0] != nil && n.In[1] != nil, "arity", "has %d inputs, want 2", len(n.In))
	x, slope := n.In[0].Type.Shape, n.In[1].Type.Shape
	if len(slope) == 1 && slope[0] != 1 && len(x) > 2 {
		appendOnes(n, len(x)-2)
	}
}

// shapeInput: the shape of Reshape was an attribute until opset 5.
func shapeInput(n *build.Node) {
	if shape := n.IntList("shape"); shape != nil {
		oneInput(n)
		n.In = []*ir.Value{n.In[0], n.Constant(".shape", build.Ints64(shape))}
	}
}

// paddings: pads were called so in opset 1.
func paddings(n *build.Node) {
	if a, ok := n.Take("paddings"); ok {
		n.Attrs["pads"] = a
	}
}
