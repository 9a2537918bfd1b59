// SPDX-License-Identifier: Apache-2.0

// Package upgrade converts nodes of old opsets to the newest operators' form. The
// facts are in ONNX's change log of operator versions.
package upgrade

import (
	"math"
	"slices"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
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
		"LayerNormalization": norm("LayerNormalization"),
		"RMSNormalization":   norm("RMSNormalization"),
		"RoiAlign":           meant(16, "coordinate_transformation_mode", ir.Str("output_half_pixel")),
	}
}

// Rule is the rule of a node of ai.onnx, nil where it needs none. The opset is not
// below MinOpset, or PreOpset7 has been applied.
func Rule(op string, opset int) build.Rule {
	if s := schema.Early(op, int64(opset)); s != nil && early[op] != nil {
		return early[op]
	} else if s != nil && s.Out[0].Type != s.In[0].Type {
		return mixedNorm(op)
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

func oneInput(n *build.Node) {
	n.Want(len(n.In) == 1 && n.In[0] != nil, "arity", "has %d inputs, want 1 in opset %d", len(n.In), n.Opset)
}

type attrInput struct {
	name   string
	always bool // an absent attribute is an empty list
}

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
		n.WantKnown(training.Const != nil, "dynamic", training,
			"training_mode (input 2, %s) is computed at run time; want a constant false", training)
		if v := n.In[1]; v != nil && v.Const == nil && training.Const.Len() == 1 && training.Const.Int(0) != 0 {
			fail.Check(n.Dynamicf("dynamic", v,
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
	fail.Must(ir.InferNode(x)) // training mode and the like
	return n.Result("Identity", nil, n.In[0])
}

// upsample is Resize with the rules of opset 10. Scales were an attribute in
// opset 7 and an input in opset 9.
func upsample(n *build.Node) []*ir.Value {
	n.Want(n.Input(0) != nil, "arity", "has no input")
	scales := n.Input(1)
	if v := n.FloatList("scales"); v != nil {
		scales = n.Constant(".scales", tensor.Of([]int{len(v)}, v))
	}
	n.Want(scales != nil, "arity", "has no scales")
	return resize10(n, n.In[0], scales)
}

// resize in opset 10 had (X, scales).
func resize(n *build.Node) []*ir.Value {
	if n.Opset >= 11 {
		return n.Plain()
	}
	n.Want(len(n.In) == 2 && n.In[0] != nil && n.In[1] != nil, "arity", "has %d inputs, want 2 in opset %d", len(n.In),
		n.Opset)
	return resize10(n, n.In[0], n.In[1])
}

// resize10 resamples as Upsample and Resize did until opset 10: asymmetric
// coordinates; mode nearest takes the source element below where a dimension
// grows and the one above where it shrinks.
func resize10(n *build.Node, x, scales *ir.Value) []*ir.Value {
	mode := n.Str("mode", "nearest")
	attrs := func(nearest string) ir.Attrs {
		return ir.Attrs{"mode": ir.Str(mode), "coordinate_transformation_mode": ir.Str("asymmetric"),
			"nearest_mode": ir.Str(nearest)}
	}
	if mode != "nearest" || scales.Const == nil {
		return n.Result("Resize", attrs("floor"), x, nil, scales)
	}
	k := scales.Const.Len()
	down, up := make([]float32, k), make([]float32, k)
	shrinks, grows := false, false
	for i := range k {
		s := float32(scales.Const.Float(i))
		down[i], up[i] = min(s, 1), max(s, 1)
		shrinks, grows = shrinks || s < 1, grows || s > 1
	}
	switch {
	case !shrinks:
		return n.Result("Resize", attrs("floor"), x, nil, scales)
	case !grows:
		return n.Result("Resize", attrs("ceil"), x, nil, scales)
	}
	y := n.Sub("Resize", ".down", attrs("ceil"), x, nil, n.Constant(".down_scales", tensor.Of([]int{k}, down)))
	return n.Result("Resize", attrs("floor"), y, nil, n.Constant(".up_scales", tensor.Of([]int{k}, up)))
}

// Element types that the standard permits and that the operators of ir/op
// leave out, since others say the same.

// asBytes computes on bools as on the bytes 0 and 1; what is not 0 then is true.
func asBytes(rule build.Rule) build.Rule {
	return func(n *build.Node) []*ir.Value {
		if n.Input(0) == nil || n.In[0].Type.DType != tensor.Bool {
			return rule(n)
		}
		inner := *n
		inner.In = append([]*ir.Value{n.Sub("Cast", ".bytes", build.To(tensor.U8), n.In[0])}, n.In[1:]...)
		inner.Out = []string{n.Out[0] + ".bytes"}
		return n.Result("Cast", build.To(tensor.Bool), rule(&inner)[0])
	}
}

// unsignedPRelu: no unsigned integer is below zero.
func unsignedPRelu(n *build.Node) []*ir.Value {
	if len(n.In) == 2 && n.In[0] != nil && strings.HasPrefix(n.In[0].Type.DType.ONNXName(), "uint") {
		return n.Result("Identity", nil, n.In[0])
	}
	return n.Plain()
}

// reduceLogSumExp of integers is the integer part of the result in float64.
func reduceLogSumExp(n *build.Node) []*ir.Value {
	d := n.Need(0, -1).Type.DType
	if d.IsInt() {
		n.In[0] = n.Cast(n.In[0], tensor.F64)
	}
	return []*ir.Value{n.Cast(axesInput(18)(n)[0], d)}
}
