// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// Operators that TensorFlow Lite has and TensorFlow Lite Micro has not.

func gelu(n *node) {
	var o fb.GeluOptions
	n.options("GeluOptions", o.Init)
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

// topK are the largest elements of the last dimension, and where they are.
func topK(n *node) {
	k := n.known(1)
	n.refuse(len(k) != 1 || len(n.in(0).Shape) == 0, "the %v largest of a tensor of shape %v, want one number", k,
		n.in(0).Shape)
	values, at := n.o.Out[0], n.o.Out[1]
	out := n.c.add("TopK", []string{n.c.realName(values), n.becoming(at).label("wide")}, vals{n.real(0), n.list(k...)},
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

// reverseSequence turns the begin of each sequence around, as long as input 1 says.
func reverseSequence(n *node) {
	var o fb.ReverseSequenceOptions
	n.options("ReverseSequenceOptions", o.Init)
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
	var o fb.OneHotOptions
	n.options("OneHotOptions", o.Init)
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

// where are the places of elements that are not zero: --dim gives room for them.
func where(n *node) {
	y := n.out()
	found := n.c.add("NonZero", []string{n.c.place(y).name}, vals{n.raw(0)})[0]
	n.c.put(y, n.transposed(found, 1, 0))
}

// unique are the different elements in the order in which they come, and which of them each
// element is.
func unique(n *node) {
	values, at := n.o.Out[0], n.o.Out[1]
	n.refuse(n.raw(0).Const == nil, "the elements are computed at run time, so that the number of different ones is "+
		"not known; want a constant")
	out := n.c.add("Unique", []string{n.c.place(values).name, n.label("first"), n.becoming(at).label("wide")},
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
