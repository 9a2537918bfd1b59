// SPDX-License-Identifier: Apache-2.0

// Package upgrade converts nodes of old opsets to the newest operators' form. The
// facts are in ONNX's change log of operator versions.
package upgrade

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/op"
	"github.com/nncc/nncc/ir/tensor"
)

// rules are the operators of ai.onnx whose older versions differ from the newest in
// more than what they accept; every other operator is taken as it is.
var rules map[string]build.Rule

func init() {
	rules = map[string]build.Rule{
		"ReduceLogSumExp": reduceLogSumExp,
		"Split":           inputs(13, attrInput{name: "split"}),
		"Slice": inputs(10, attrInput{name: "starts", always: true}, attrInput{name: "ends", always: true},
			attrInput{name: "axes"}),
		"TopK":               topK,
		"Clip":               clip,
		"Pad":                pad,
		"Upsample":           asBytes(upsample),
		"Resize":             asBytes(resize),
		"GridSample":         asBytes((*build.Node).Plain),
		"Col2Im":             asBytes((*build.Node).Plain),
		"Softmax":            coerced,
		"LogSoftmax":         coerced,
		"Hardmax":            coerced,
		"Dropout":            dropout,
		"Scatter":            build.Renamed("ScatterElements"),
		"PRelu":              unsignedPRelu,
		"BatchNormalization": batchNorm,
		"GroupNormalization": groupNorm,
		"RoiAlign":           meant(16, "coordinate_transformation_mode", ir.Str("output_half_pixel")),
	}
}

// Rule is the rule of a node of ai.onnx, nil where it needs none. The opset is not
// below MinOpset, or PreOpset7 has been applied.
func Rule(op string, opset int) build.Rule {
	if schema.Early(op, int64(opset)) != nil && early[op] != nil {
		return early[op]
	}
	if rule := rules[op]; rule != nil {
		return rule
	}
	if since := axesSince(op); since > 0 {
		return axesInput(since)
	}
	return nil
}

// axesSince is the opset from which the axes of an operator, an attribute before, are
// an input; 0 for others.
func axesSince(op string) int {
	before := false
	for _, s := range schema.Versions("", op) {
		if before && !s.Deprecated && s.Attr("axes") == nil {
			return s.Since
		}
		before = s.Attr("axes") != nil
	}
	return 0
}

// oneInput checks that a node of an old opset has its only input.
func oneInput(n *build.Node) {
	n.Want(len(n.In) == 1 && n.In[0] != nil, "arity", "has %d inputs, want 1 in opset %d", len(n.In), n.Opset)
}

// attrInput is an input that used to be an attribute, a list of integers.
type attrInput struct {
	name   string
	always bool // an absent attribute is an empty list
}

// inputs makes inputs of the attributes that they were until opset since.
func inputs(since int, list ...attrInput) build.Rule {
	return func(n *build.Node) []*ir.Value {
		if n.Opset < since {
			oneInput(n)
			n.In = n.In[:1:1]
			for _, a := range list {
				if v := n.IntList(a.name); v != nil || a.always {
					n.In = append(n.In, n.Constant("."+a.name, build.Ints64(v)))
				}
			}
		}
		return n.Plain()
	}
}

// meant is what an operator did until the opset that brought an attribute with another default.
func meant(since int, attr string, value ir.Attr) build.Rule {
	return func(n *build.Node) []*ir.Value {
		if n.Opset < since {
			n.Attrs[attr] = value
		}
		return n.Plain()
	}
}

func axesInput(since int) build.Rule { return inputs(since, attrInput{name: "axes"}) }

// clip: min and max were attributes until opset 11, where the lowest and highest
// float stood for no bound.
func clip(n *build.Node) []*ir.Value {
	if n.Opset < 11 {
		oneInput(n)
		lo, hi := n.Float("min", -math.MaxFloat32), n.Float("max", math.MaxFloat32)
		n.In = []*ir.Value{n.In[0], nil, nil}
		if lo > -math.MaxFloat32 {
			n.In[1] = n.Constant(".min", build.FloatLike(n.In[0], lo))
		}
		if hi < math.MaxFloat32 {
			n.In[2] = n.Constant(".max", build.FloatLike(n.In[0], hi))
		}
	}
	return n.Plain()
}

// pad: pads and value were attributes until opset 11.
func pad(n *build.Node) []*ir.Value {
	if n.Opset < 11 {
		oneInput(n)
		n.In = []*ir.Value{n.In[0], n.Constant(".pads", build.Ints64(n.IntList("pads")))}
		if v := n.Float("value", 0); v != 0 {
			n.In = append(n.In, n.Constant(".value", build.FloatLike(n.In[0], v)))
		}
	}
	if m, ok := n.Attrs["mode"]; ok && m.String == "wrap" {
		return wrapped(n)
	}
	return n.Plain()
}

// wrapped is Pad that wraps: where it crops a dimension at one end and extends it at
// the other, what continues is what is left, as in ONNX Runtime.
func wrapped(n *build.Node) []*ir.Value {
	x, pads := n.Need(0, -1), n.Known(1, "the pads")
	axes := ir.Identity(x.Type.Rank())
	if n.Input(3) != nil {
		axes = n.Known(3, "the axes")
	}
	half := len(axes)
	if len(pads) != 2*half {
		return n.Plain() // which says what is wrong
	}
	grows, crops, from, to := slices.Clone(pads), false, make([]int, half), make([]int, half)
	for i, a := range axes {
		if a < 0 {
			a += x.Type.Rank()
		}
		begin, end := pads[i], pads[half+i]
		if a < 0 || a >= x.Type.Rank() || min(begin, end) < -x.Type.Shape[a] || begin+end < -x.Type.Shape[a] {
			return n.Plain()
		}
		from[i], to[i] = max(-begin, 0), x.Type.Shape[a]+min(end, 0)
		grows[i], grows[half+i] = max(begin, 0), max(end, 0)
		crops = crops || min(begin, end) < 0 && max(begin, end) > 0
	}
	if !crops {
		return n.Plain()
	}
	y := n.Do("Slice", nil, x, n.Ints(from...), n.Ints(to...), n.Ints(axes...))
	return n.Result("Pad", n.Attrs, y, n.Ints(grows...), nil, n.Ints(axes...))
}

// topK: k was an attribute until opset 10.
func topK(n *build.Node) []*ir.Value {
	if n.Opset < 10 {
		oneInput(n)
		n.In = append(n.In[:1:1], n.Constant(".k", tensor.Ints(n.Int("k", 0))))
	}
	return n.Plain()
}

// coerced: until opset 13 Softmax and its kin worked on the input flattened to
// two dimensions at axis (default 1). The same as today's when axis is the last
// dimension, or all dimensions behind it have size 1.
func coerced(n *build.Node) []*ir.Value {
	if n.Opset >= 13 {
		return n.Plain()
	}
	oneInput(n)
	axis, shape := n.Int("axis", 1), n.In[0].Type.Shape
	rank := len(shape)
	n.Want(axis >= -rank && axis <= rank, "axis", "axis %d is out of range for rank %d", axis, rank)
	if axis < 0 {
		axis += rank
	}
	if axis < rank && tensor.Count(shape[axis+1:]) == 1 {
		n.Attrs["axis"] = ir.Int(axis)
		return n.Plain()
	}
	outer, inner := tensor.Count(shape[:axis]), tensor.Count(shape[axis:])
	flat := n.Sub("Reshape", ".flat", nil, n.In[0], n.Constant(".flat_shape", tensor.Ints(outer, inner)))
	y := n.Sub(n.Op, ".rows", ir.Attrs{"axis": ir.Int(1)}, flat)
	return n.Result("Reshape", nil, y, n.Constant(".shape", tensor.Ints(shape...)))
}

// dropout does nothing in inference; ratio was an attribute until opset 12, and
// the mask had the input's type until opset 10.
func dropout(n *build.Node) []*ir.Value {
	n.Want(n.Input(0) != nil, "arity", "has no input")
	if n.Opset < 12 {
		n.In = n.In[:1]
		delete(n.Attrs, "ratio")
	}
	if training := n.Input(2); training != nil {
		if training.Const == nil {
			n.Fail(n.Dynamicf("dynamic", training,
				"training_mode (input 2, %s) is computed at run time; want a constant false", training))
		}
		if v := n.In[1]; v != nil && v.Const == nil && training.Const.Len() == 1 && training.Const.Int(0) != 0 {
			n.Fail(n.Dynamicf("dynamic", v,
				"the ratio (input 1, %s) is computed at run time, in training mode; want a constant 0", v))
		}
	}
	if len(n.Out) > 1 && n.Out[1] != "" {
		out := n.Plain()
		if n.Opset >= 10 || len(out) < 2 {
			return out
		}
		return []*ir.Value{out[0], n.Sub("Cast", ".mask", build.To(n.In[0].Type.DType), out[1])}
	}
	x := &ir.Node{Name: n.Name, Op: op.Get("", "Dropout"), Attrs: n.Attrs, In: n.In, Out: make([]*ir.Value, 1)}
	_, err := ir.InferNode(x) // training mode and the like
	n.Fail(err)
	return n.Result("Identity", nil, n.In[0])
}
