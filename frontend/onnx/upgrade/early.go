// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// early are the operators of schema.Early whose form is not that of a newer
// operator of the same name. What they compute is what ONNX Runtime computes.
// Those that need no code are in functions/operators/early.txt.
var early = map[string]build.Rule{
	"Crop":                         crop,
	"ImageScaler":                  imageScaler,
	"MeanVarianceNormalization":    earlyMVN,
	"SimplifiedLayerNormalization": mixedNorm("RMSNormalization"),
}

// mixedNorm is a normalisation whose scale and bias may have another type, which the result has.
func mixedNorm(name string) build.Rule {
	return func(n *build.Node) []*ir.Value {
		x, scale := n.Need(0, -1).Type.DType, n.Need(1, -1).Type.DType
		if x == scale {
			return norm(name)(n)
		}
		wide := x
		if scale.Size() > x.Size() {
			wide = scale
		}
		for i, v := range n.In {
			if v != nil {
				n.In[i] = n.Cast(v, wide)
			}
		}
		return []*ir.Value{n.Cast(n.Do(name, n.Attrs, n.In...), scale)}
	}
}

// norm has a scale and a bias of the normalised dimensions. Where they have more, they come behind it.
func norm(name string) build.Rule {
	return func(n *build.Node) []*ir.Value {
		x, scale, bias, from := n.Need(0, -1), n.Need(1, -1), n.Input(2), -1
		if a, given := n.Attrs["axis"]; given {
			from = int(a.Int)
		}
		most := -from
		if from >= 0 {
			most = x.Type.Rank() - from
		}
		if scale.Type.Rank() <= most && (bias == nil || bias.Type.Rank() <= most) {
			return build.Renamed(name)(n)
		}
		o := op.Get("", name)
		y := n.Results(o, n.Attrs, min(max(len(n.Out), 1), max(o.MaxOut, 1)), x, n.Num(x, 1))
		z := n.Do("Mul", nil, y[0], scale)
		if bias != nil {
			z = n.Do("Add", nil, z, bias)
		}
		n.Shaped(z, "the result", x.Type.Shape...)
		return append([]*ir.Value{z}, y[1:]...)
	}
}

// crop takes a window from images: what borders leave, or with a scale that many rows and columns behind the
// upper left ones.
func crop(n *build.Node) []*ir.Value {
	x, border, size := n.Need(0, 4), n.IntList("border"), n.IntList("scale")
	n.Want(len(border) == 4 && (size == nil || len(size) == 2), "attr",
		"attributes border and scale are %v and %v, want [left, top, right, bottom] and [height, width]", border, size)
	for i, of := range []int{2, 3} {
		from := int(border[1-i])
		to := x.Type.Shape[of] - int(border[3-i])
		if size != nil {
			to = from + int(size[i])
		}
		n.Want(from >= 0 && from < to && to <= x.Type.Shape[of], "attr",
			"the window is %d to %d along dimension %d of %v, want one within", from, to, of, x.Type.Shape)
		x = n.Cut(x, of, from, to, 1)
	}
	return []*ir.Value{x}
}

func imageScaler(n *build.Node) []*ir.Value {
	x, bias := n.Need(0, -1), n.FloatList("bias")
	n.Want(x.Type.Rank() == 4 && len(bias) == x.Type.Shape[1], "attr",
		"attribute bias has %d values, want one for each channel of an input [N, C, H, W]; it has the shape %v",
		len(bias), x.Type.Shape)
	y := n.Sub("Mul", ".scaled", nil, x, n.Constant(".scale", build.FloatLike(x, n.Float("scale", 1))))
	perChannel := tensor.Of([]int{len(bias), 1, 1}, bias).Cast(x.Type.DType)
	return n.Result("Add", nil, y, n.Constant(".bias", perChannel))
}

// earlyMVN has two switches in place of axes: the mean is over the batch and the
// image, and over the channels on request; the variance can be left alone.
func earlyMVN(n *build.Node) []*ir.Value {
	x, axes := n.Need(0, -1), []int{0, 2, 3}
	if n.Bool("across_channels", false) {
		axes = []int{0, 1, 2, 3}
	}
	n.Want(x.Type.Rank() == 4, "rank", "the input has the shape %v, want [N, C, H, W]", x.Type.Shape)
	if n.Bool("normalize_variance", true) {
		return n.Result("MeanVarianceNormalization", ir.Attrs{"axes": ir.Ints(axes...)}, x)
	}
	mean := n.Sub("ReduceMean", ".mean", ir.Attrs{"keepdims": ir.Int(1)}, x, n.Constant(".axes", tensor.Ints(axes...)))
	return n.Result("Sub", nil, x, mean)
}

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
		"InstanceNormalization", "LeakyRelu", "Log", "Max", "Mean", "Min", "Neg", "Reciprocal", "Relu", "Selu",
		"Sigmoid", "Softplus", "Softsign", "Sqrt", "Sum", "Tanh", "Cast", "GlobalMaxPool", "MaxPool", "Split"} {
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

// batchNorm: until opset 14 more outputs than one said that the model trains, by
// the statistics of its batch, and (until 9) statistics were per element instead of
// per channel. Exporters wrote those outputs for inference, too, where nothing
// reads them: the node is read for inference, and the user is told.
func batchNorm(n *build.Node) []*ir.Value {
	spatial := n.Opset >= 9 || n.Bool("spatial", true)
	if n.Opset >= 14 && n.Attrs["training_mode"].Int != 0 {
		delete(n.Attrs, "training_mode")
		return trainingNorm(n)
	}
	if n.Opset < 14 && len(n.Out) > 1 {
		n.Note(diag.Warnf("training", n.Name, "%s has %d outputs, which in opset %d is its form for training, by the "+
			"mean and variance of the batch: it is read for inference, by those that the model stores; export the "+
			"model for inference", n, len(n.Out), n.Opset))
	}
	delete(n.Attrs, "momentum") // of the running statistics
	if len(n.In) == 5 && n.In[4] != nil && n.In[4].Const != nil {
		eps := float32(1e-5)
		if a, ok := n.Attrs["epsilon"]; ok {
			eps = a.Float
		}
		for i, d := 0, n.In[4].Const; i < d.Len(); i++ {
			v := d.Float(i)
			n.Want(v+float64(eps) > 0, "bn-variance",
				"variance %v of channel %d (input %s) plus epsilon %v is not positive: the result is NaN", v, i,
				model.Quote(n.InNames[4]), eps)
		}
	}
	if !spatial {
		return elementNorm(n)
	}
	return n.Result("BatchNormalization", n.Attrs, n.In...)
}

// elementNorm is BatchNormalization with one mean, variance, scale and bias for
// every element of a sample: (x - mean) * (scale / sqrt(var + epsilon)) + bias.
func elementNorm(n *build.Node) []*ir.Value {
	n.Arity(5, 5)
	x, scale, bias, mean, variance := n.In[0], n.In[1], n.In[2], n.In[3], n.In[4]
	deviation := n.Sub("Sqrt", ".dev", nil,
		n.Sub("Add", ".var_eps", nil, variance,
			n.Constant(".epsilon", build.FloatLike(variance, n.Float("epsilon", 1e-5)))))
	factor := n.Sub("Div", ".factor", nil, scale, deviation)
	return n.Result("Add", nil, n.Sub("Mul", ".scaled", nil, n.Sub("Sub", ".centred", nil, x, mean), factor), bias)
}

// groupNorm until opset 21 had scale and bias per group.
func groupNorm(n *build.Node) []*ir.Value {
	if n.Opset >= 21 || len(n.In) != 3 || n.In[0] == nil || n.In[0].Type.Rank() < 2 {
		return n.Plain()
	}
	channels := n.In[0].Type.Shape[1]
	for _, i := range []int{1, 2} {
		v := n.In[i]
		if v == nil || v.Type.Rank() != 1 {
			continue
		}
		groups := v.Type.Shape[0]
		if groups == channels || groups == 0 || channels%groups != 0 {
			continue
		}
		of := lists.Make(channels, func(k int) int { return k / (channels / groups) })
		n.In[i] = n.Sub("Gather", ".per_channel"+strconv.Itoa(i), ir.Attrs{"axis": ir.Int(0)}, v,
			n.Constant(".group_index", tensor.Ints(of...)))
	}
	return n.Plain()
}

// trainingNorm is BatchNormalization with the statistics of the batch itself,
// and the running ones updated with them.
func trainingNorm(n *build.Node) []*ir.Value {
	x, momentum := n.Need(0, -1), n.Float("momentum", 0.9)
	n.Want(x.Type.Rank() >= 2, "rank", "input 0 (%s) has shape %v, want [N, C, ...]", x, x.Type.Shape)
	axes := lists.Where(len(x.Type.Shape), func(d int) bool { return d != 1 })
	channels := x.Type.Shape[1]
	mean := n.Do("ReduceMean", nil, x, n.Ints(axes...))
	centred := n.Do("Sub", nil, x, mean)
	variance := n.Do("ReduceMean", nil, n.Do("Mul", nil, centred, centred), n.Ints(axes...))
	mean, variance = n.Reshape(mean, channels), n.Reshape(variance, channels)
	update := func(i int, now *ir.Value) *ir.Value {
		old := n.Need(i, 1)
		return n.Do("Add", nil, n.Do("Mul", nil, old, n.Num(old, momentum)),
			n.Do("Mul", nil, n.Cast(now, old.Type.DType), n.Num(old, 1-momentum)))
	}
	y := n.Result("BatchNormalization", n.Attrs, x, n.Need(1, 1), n.Need(2, 1), mean, variance)
	return []*ir.Value{y[0], update(3, mean), update(4, variance)}
}
