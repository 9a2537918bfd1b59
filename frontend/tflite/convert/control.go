// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/build"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

type calls struct{ open []int }

func ifElse(n *node) {
	o := options[fb.IfOptions](n)
	in := n.o.In[1:]
	branch := func(i int32) build.Branch {
		return func(prefix string, _ []string) vals {
			n.called(int(i), in, n.o.Out)
			return n.call(int(i), prefix, n.values(in))
		}
	}
	n.giveValues(n.flow("If").If(n.raw(0), branch(o.ThenSubgraphIndex()), branch(o.ElseSubgraphIndex())))
}

func composite(n *node) {
	o := options[fb.CompositeOptions](n)
	i := int(o.DecompositionSubgraphIndex())
	n.called(i, n.o.In, n.o.Out)
	n.giveValues(n.call(i, n.c.place(n.out()).name+"/", n.values(n.o.In)))
}

func whileLoop(n *node) {
	o := options[fb.WhileOptions](n)
	n.refuse(len(n.o.In) != len(n.o.Out), "%d values go in and %d come out, want the same", len(n.o.In), len(n.o.Out))
	cond, body := int(o.CondSubgraphIndex()), int(o.BodySubgraphIndex())
	n.called(cond, n.o.In, []*model.Tensor{{Name: "the condition", DType: tensor.Bool}})
	n.called(body, n.o.In, n.o.Out)
	flow, first := n.flow("Loop"), n.values(n.o.In)
	on := n.call(cond, flow.Name+"/first/", first)[0]
	u := flow.Loop(-1, on, first, func(_ int, prefix string, carried vals) (on *ir.Value, next, scanned vals) {
		next = n.call(body, prefix, carried)
		return n.call(cond, prefix+"again/", next)[0], next, nil
	})
	n.giveValues(u.Carried)
}

func (n *node) flow(op string) *build.Node {
	name := n.c.place(n.out()).name
	return &build.Node{Builder: n.c.Builder, Op: op, Name: name, Origin: name, Opset: opset, In: n.values(n.o.In),
		InNames: lists.Map(n.o.In, func(t *model.Tensor) string { return t.Name }), Out: n.c.names(n.o.Out)}
}

// names are the labels of tensors.
func (c *converter) names(ts []*model.Tensor) []string {
	return lists.Map(ts, func(t *model.Tensor) string { return c.place(t).name })
}

func (n *node) values(ts []*model.Tensor) (out vals) {
	for i, t := range ts {
		n.refuse(t == nil, "input %d is missing", i)
		out = append(out, n.c.raw(t))
	}
	return out
}

func (n *node) giveValues(vs vals) {
	for i, v := range vs {
		n.c.put(n.o.Out[i], v)
	}
}

func (n *node) called(i int, in, out []*model.Tensor) {
	graphs := n.c.m.Graphs
	n.refuse(i < 1 || i >= len(graphs), "it calls graph %d, the file has 1 to %d", i, len(graphs)-1)
	n.refuse(slices.Contains(n.c.calls.open, i), "graph %d calls itself, want graphs that end", i)
	n.sameTypes(fmt.Sprintf("graph %d takes", i), graphs[i].Inputs, in)
	n.sameTypes(fmt.Sprintf("graph %d gives", i), graphs[i].Outputs, out)
}

// call puts a copy of graph i in the place of the operator: the names within get a prefix,
// its inputs are the values given.
func (n *node) call(i int, prefix string, given vals) (out vals) {
	g, c := n.c.m.Graphs[i], *n.c
	(&build.Node{Builder: c.Builder, Op: n.o.Name, Name: n.out().Name}).SpendCopy(fmt.Sprintf("a copy of graph %d", i),
		len(g.Tensors))
	c.prefix, c.vars, c.errs, c.derived = prefix, newVariables(), nil, map[derivation]*model.Tensor{}
	c.at = map[*model.Tensor]*place{}
	c.calls.open = append(c.calls.open, i)
	defer func() { c.calls.open = c.calls.open[:len(c.calls.open)-1] }()
	for k, t := range g.Inputs {
		c.place(t).v = given[k]
	}
	c.graph(g)
	for _, t := range g.Outputs {
		_ = c.try(func() { out = append(out, c.raw(t)) })
	}
	n.refuse(len(c.errs) > 0, "graph %d: %v", i, c.errs)
	n.refuse(len(c.vars.order) > 0, "graph %d keeps state, which nncc allows in the model's first graph only; read "+
		"and assign variables there", i)
	if len(out) < len(g.Outputs) {
		fail.Check(build.ErrReported)
	}
	return out
}

func (n *node) sameTypes(what string, have, want []*model.Tensor) {
	n.refuse(len(have) != len(want), "%s %d tensors, want %d", what, len(have), len(want))
	for k, t := range have {
		w := want[k]
		n.refuse(t == nil || w == nil, "%s no tensor as number %d", what, k)
		n.refuse(t.DType != w.DType || !slices.Equal(t.Shape, w.Shape) && !(w.Shape == nil && t.Elems() == 1),
			"%s %s%v as number %d, want %s%v", what, t.DType, t.Shape, k, w.DType, w.Shape)
	}
}

type detectionOptions struct {
	most, categories, perClass, classes int
	regular                             bool
	score, iou                          float32
	scale                               []float32
}

// defaultPerClass is how many boxes each class keeps where the file does not say.
const defaultPerClass = 100

// detection reads the options. Numbers that are missing are 0, as TensorFlow Lite has
// them, and refused where 0 is not possible.
func (n *node) detection() *detectionOptions {
	all, err := fb.ReadNumbers(n.o.Custom)
	n.refuse(err != nil, "damaged options: %v", err)
	whole := func(name string) int {
		v := all[name]
		n.refuse(v != math.Trunc(v) || math.Abs(v) > math.MaxInt32, "option %s is %g, want a whole number", name, v)
		return int(v)
	}
	o := &detectionOptions{most: whole("max_detections"), categories: whole("max_classes_per_detection"),
		classes: whole("num_classes"), regular: whole("use_regular_nms") != 0,
		score: float32(all["nms_score_threshold"]), iou: float32(all["nms_iou_threshold"])}
	for _, name := range []string{"y_scale", "x_scale", "h_scale", "w_scale"} {
		o.scale = append(o.scale, float32(all[name]))
	}
	if o.regular {
		o.perClass = defaultPerClass
		if _, ok := all["detections_per_class"]; ok {
			o.perClass = whole("detections_per_class")
		}
		n.refuse(o.perClass < 1, "option detections_per_class is %d, want at least 1", o.perClass)
	}
	n.refuse(min(o.most, o.classes) < 1 || !o.regular && o.categories < 1,
		"options max_detections %d, num_classes %d, max_classes_per_detection %d, want at least 1", o.most, o.classes,
		o.categories)
	return o
}

// detectionPostprocess writes nncc.Detections: boxes and scores as real numbers, and the
// anchors. Shapes of results that the file leaves out are those that the options give.
func detectionPostprocess(n *node) {
	o := n.detection()
	n.refuse(len(n.o.In) != 3 || len(n.o.Out) != 4, "%d inputs and %d results, want 3 (boxes, scores, anchors) and 4 "+
		"(boxes, classes, scores, number)", len(n.o.In), len(n.o.Out))
	boxes := n.o.Out[0]
	if o.regular && (o.categories < 1 || len(boxes.Shape) == 3 && boxes.Shape[1] == o.most) {
		o.categories = 1 // it counts rows of results only
	}
	n.refuse(o.most > math.MaxInt32/o.categories, "%d detections of %d classes each", o.most, o.categories)
	rows := o.most * o.categories
	for i, want := range [][]int{{1, rows, 4}, {1, rows}, {1, rows}, {1}} {
		y := n.o.Out[i]
		n.refuse(y.DType != tensor.F32 || len(y.Shape) != 0 && !slices.Equal(y.Shape, want),
			"result %d (%q) is %s%v, want float32%v, by max_detections and max_classes_per_detection", i, y.Name,
			y.DType, y.Shape, want)
	}
	n.giveAll("nncc.Detections", vals{n.real(0), n.real(1), n.real(2)},
		intAttr("max_detections", o.most), intAttr("per_class", o.perClass), intAttr("max_classes", o.categories),
		intAttr("classes", o.classes), floatAttr("score_threshold", o.score), floatAttr("iou_threshold", o.iou),
		attr{"scale", ir.Floats(o.scale...)})
}

// Operators that TensorFlow Lite has and TensorFlow Lite Micro has not.

func gelu(n *node) {
	o := options[fb.GeluOptions](n)
	how := "none"
	if o.Approximate() {
		how = "tanh"
	}
	n.result("Gelu", vals{n.real(0)}, textAttr("approximate", how))
}

// atan2 is the angle of the point (x, y), which are inputs 1 and 0: the arctangent of their
// quotient, turned by half a circle on the left, and 0 at the origin.
func atan2(n *node) {
	y, x := n.real(0), n.real(1)
	num := func(v float64) *ir.Value {
		return n.constant("number", tensor.FromFloats(x.Type.DType, []int{}, []float64{v}))
	}
	zero := num(0)
	turn := n.step("Where", vals{n.step("Less", vals{y, zero}), num(-math.Pi), num(math.Pi)})
	turn = n.step("Where", vals{n.step("Less", vals{x, zero}), turn, zero})
	angle := n.step("Add", vals{n.step("Atan", vals{n.step("Div", vals{y, x})}), turn})
	flat, none := n.step("Equal", vals{y, zero}), n.step("Equal", vals{x, zero})
	n.result("Where", vals{n.step("And", vals{flat, none}), zero, angle})
}

func topK(n *node) {
	k := n.known(1)
	n.refuse(len(k) != 1 || len(n.in(0).Shape) == 0, "the %v largest of a tensor of shape %v, want one number", k,
		n.in(0).Shape)
	values, at := n.o.Out[0], n.o.Out[1]
	out := n.add("TopK", []string{n.c.realName(values), n.becoming(at).label("wide")}, vals{n.real(0), n.list(k...)},
		intAttr("axis", -1))
	n.c.store(values, out[0])
	n.becoming(at).give("Cast", vals{out[1]}, to(at.DType))
}

// scatterND adds input 1 up where input 0 says, in zeros of the shape that input 2 is.
func scatterND(n *node) {
	shape := n.known(2)
	n.room(shape...)
	n.refuse(len(shape) == 0 || slices.Min(shape) < 0, "the shape %v, want at least one dimension", shape)
	zeros := n.constant("zeros", tensor.New(n.in(1).DType, shape))
	n.give("ScatterND", vals{zeros, n.wide(n.raw(0)), n.raw(1)}, textAttr("reduction", "add"))
}

// selectRows takes elements of input 1 where input 0 is true, of input 2 elsewhere; a list of
// conditions speaks of the first dimension.
func selectRows(n *node) {
	cond, x := n.raw(0), n.in(1)
	if rank := len(x.Shape); cond.Type.Rank() == 1 && rank > 1 {
		shape := slices.Repeat([]int{1}, rank)
		shape[0] = cond.Type.Shape[0]
		cond = n.reshape(cond, shape...)
	}
	n.give("Where", vals{cond, n.raw(1), n.raw(2)})
}

func reverseSequence(n *node) {
	o := options[fb.ReverseSequenceOptions](n)
	rank, seq, batch := len(n.in(0).Shape), int(o.SeqDim()), int(o.BatchDim())
	n.refuse(seq == batch || min(seq, batch) < 0 || max(seq, batch) >= rank,
		"sequences along dimension %d of batches along %d of a tensor of rank %d", seq, batch, rank)
	perm := []int{batch, seq}
	for d := range rank {
		if d != seq && d != batch {
			perm = append(perm, d)
		}
	}
	back := make([]int, rank)
	for i, d := range perm {
		back[d] = i
	}
	v := n.step("ReverseSequence", vals{n.transposed(n.raw(0), perm...), n.wide(n.raw(1))}, intAttr("batch_axis", 0),
		intAttr("time_axis", 1))
	n.give("Transpose", vals{v}, intsAttr("perm", back...))
}

// oneHot is input 2 at the index that input 0 is, input 3 elsewhere, also where the index is
// outside.
func oneHot(n *node) {
	o := options[fb.OneHotOptions](n)
	depth, rank := n.known(1), len(n.in(0).Shape)
	axis := int(o.Axis())
	if axis < 0 {
		axis += rank + 1
	}
	n.refuse(len(depth) != 1 || axis < 0 || axis > rank, "depth %v along dimension %d of indices %v", depth, o.Axis(),
		n.in(0).Shape)
	n.room(depth[0], n.in(0).Elems())
	shape := slices.Repeat([]int{1}, rank+1)
	shape[axis] = max(depth[0], 0)
	at := n.constant("at", tensor.Ints(count(0, depth[0])...).Cast(n.in(0).DType).Reshaped(shape))
	is := n.step("Equal", vals{n.step("Unsqueeze", vals{n.raw(0), n.list(axis)}), at})
	n.give("Where", vals{is, n.raw(2), n.raw(3)})
}

func rangeOf(n *node) { n.give("Range", vals{n.raw(0), n.raw(1), n.raw(2)}) }

func rank(n *node) {
	n.fold(tensor.Ints(len(n.in(0).Shape)).Cast(n.out().DType).Reshaped([]int{}))
}

func where(n *node) {
	y := n.out()
	found := n.add("NonZero", []string{n.c.place(y).name}, vals{n.raw(0)})[0]
	n.c.put(y, n.transposed(found, 1, 0))
}

// unique are the different elements in the order in which they come, with room for as many as there are,
// and which of them each element is.
func unique(n *node) {
	values, at := n.o.Out[0], n.o.Out[1]
	out := n.add("Unique", []string{n.c.place(values).name, n.label("first"), n.becoming(at).label("wide")},
		vals{n.raw(0)}, intAttr("sorted", 0))
	n.c.put(values, out[0])
	n.becoming(at).give("Cast", vals{out[2]}, to(at.DType))
}

// nonMaxSuppression selects boxes by their scores: their indices, their scores (version 5),
// and how many they are; behind them are zeros.
func nonMaxSuppression(n *node) {
	boxes, scores, most := n.in(0), n.in(1), n.known(2)
	n.refuse(len(boxes.Shape) != 2 || len(scores.Shape) != 1 || len(most) != 1, "boxes %v, scores %v and a limit %v, "+
		"want [boxes, 4], [boxes] and one number", boxes.Shape, scores.Shape, most)
	if t := n.in(5); t != nil {
		n.refuse(n.data(t, "soft_nms_sigma").Float(0) != 0, "soft_nms_sigma is not 0, which nncc does not compute")
	}
	room := most[0]
	n.refuse(room < 0, "a limit of %d boxes", room)
	n.room(room)
	rows := n.step("NonMaxSuppression", vals{n.reshape(n.real(0), 1, boxes.Shape[0], 4),
		n.reshape(n.real(1), 1, 1, scores.Shape[0]), n.list(room), n.c.real(n.in(3)), n.c.real(n.in(4))})
	found := rows.Type.Shape[0]
	at := n.reshape(n.step("Slice", vals{rows, n.list(2), n.list(3), n.list(1)}), found)
	is := n.step("GreaterOrEqual", vals{at, n.constant("first", tensor.Scalar(int64(0)))})
	at = n.step("Where", vals{is, at, n.constant("none", tensor.Scalar(int64(0)))})
	padded := func(y *model.Tensor, v *ir.Value) {
		if found < room {
			v = n.step("Pad", vals{v, n.list(0, room-found)})
		}
		n.becoming(y).give("Cast", vals{v}, to(y.DType))
	}
	padded(n.o.Out[0], at)
	last := n.o.Out[len(n.o.Out)-1]
	if len(n.o.Out) > 2 {
		picked := n.step("Gather", vals{n.real(1), at}, intAttr("axis", 0))
		padded(n.o.Out[1], n.step("Where", vals{is, picked, n.number(0)}))
	}
	sum := n.step("ReduceSum", vals{n.cast(is, tensor.I32)}, intAttr("keepdims", 0))
	n.becoming(last).give("Reshape", vals{sum, n.list(last.Shape...)})
}
