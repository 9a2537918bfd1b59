// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/tensor"
)

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
		of := make([]int, channels)
		for k := range of {
			of[k] = k / (channels / groups)
		}
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
	var axes []int
	for d := range x.Type.Shape {
		if d != 1 {
			axes = append(axes, d)
		}
	}
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
