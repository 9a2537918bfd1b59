// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	onnx "github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/tensor"
)

// variable is a value that lives from one run to the next: an input that holds what an
// output gave the run before.
type variable struct {
	name string        // for messages
	like *model.Tensor // its type, once something reads or writes it
	init *tensor.Dense // what the first run finds
	in   *ir.Value     // the graph's input for it, nil where there is none
	// last is the value that it has at the point of the graph that is being made, nil
	// before anything wrote it.
	last *ir.Value
}

// variables are those of the model in order, by what names them: a tensor that keeps its
// value, or container and name in the file; what an operator keeps has no such name.
type variables struct {
	by     map[any]*variable
	order  []*variable
	handle map[*model.Tensor]*variable
}

func newVariables() *variables {
	return &variables{by: map[any]*variable{}, handle: map[*model.Tensor]*variable{}}
}

func (v *variables) add(name string) *variable {
	x := &variable{name: name}
	v.order = append(v.order, x)
	return x
}

func (v *variables) shared(key any, name string) *variable {
	x := v.by[key]
	if x == nil {
		x = v.add(name)
		v.by[key] = x
	}
	return x
}

func varHandle(n *node) {
	o := options[fb.VarHandleOptions](n)
	key := [2]string{string(o.Container()), string(o.SharedName())}
	n.c.vars.handle[n.out()] = n.c.vars.shared(key, strings.TrimPrefix(key[0]+"/"+key[1], "/"))
}

// variable is the one that input 0 names, which gets the type of its values.
func (n *node) variable(like *model.Tensor) *variable {
	x := n.c.vars.handle[n.in(0)]
	n.refuse(x == nil, "%q names no variable", n.in(0).Name)
	x.like = cmp.Or(x.like, like)
	n.refuse(x.like.DType != like.DType || !slices.Equal(x.like.Shape, like.Shape),
		"variable %q is %s%v here and %s%v elsewhere, want one type", x.name, like.DType, like.Shape, x.like.DType,
		x.like.Shape)
	return x
}

func readVariable(n *node) { n.give("Identity", vals{n.c.value(n.variable(n.out()))}) }

func (c *converter) value(v *variable) *ir.Value {
	switch {
	case v.last != nil:
		return v.last
	case v.in != nil:
		return v.in
	}
	if tensor.Count(v.like.Shape) > maxMade {
		stop("too-large", fmt.Sprintf("variable %q", v.name), "it has shape %v, want at most %d elements", v.like.Shape,
			maxMade)
	}
	v.in = c.Graph.AddInput(c.free("state/"+v.name), ir.T(v.like.DType, v.like.Shape...))
	return v.in
}

func assignVariable(n *node) {
	n.refuse(len(n.o.In) < 2 || n.in(1) == nil, "no value is assigned")
	n.variable(n.in(1)).last = n.raw(1)
}

func callOnce(n *node) {
	o := options[fb.CallOnceOptions](n)
	i := int(o.InitSubgraphIndex())
	n.refuse(i < 1 || i >= len(n.c.m.Graphs), "it calls graph %d of %d", i, len(n.c.m.Graphs))
	for _, op := range n.c.m.Graphs[i].Ops {
		once := &node{c: n.c, o: op}
		switch {
		case op.Name == "VAR_HANDLE" && len(op.Out) == 1:
			varHandle(once)
		case op.Name == "ASSIGN_VARIABLE" && len(op.In) == 2 && op.In[0] != nil && op.In[1] != nil:
			once.variable(once.in(1)).init = once.data(once.in(1), "the value")
		default:
			n.failf("graph %d, %s: nncc runs nothing before the first run but VAR_HANDLE, and ASSIGN_VARIABLE of "+
				"constants", i, op)
		}
	}
}

// state adds an output for every variable that a run leaves changed. Without a value
// of its own a variable begins with zero, as a real number.
func (c *converter) state(out *[]*ir.Value) []onnx.State {
	var states []onnx.State
	for _, v := range c.vars.order {
		if v.in == nil {
			continue
		}
		if v.init == nil {
			v.init = tensor.New(v.like.DType, v.like.Shape)
			for i := range v.init.Len() {
				if v.like.Quantized() {
					v.init.SetInt(i, v.like.Zero[0])
				}
			}
		}
		name := c.free(v.in.Name + "/next")
		*out = append(*out, c.add("Identity", []string{name}, vals{cmp.Or(v.last, v.in)})...)
		states = append(states, onnx.State{Out: name, In: v.in.Name, Init: v.init})
	}
	return states
}

// Operators that keep samples from one run to the next.

// maxFrames bounds the frames of a run, each of which is written out.
const maxFrames = 256

// streamed are the sizes of data whose last dimension is time: what is in front of it, and
// its length.
func (n *node) streamed() (outer []int, length int) {
	t := n.in(0)
	n.refuse(len(t.Shape) == 0 || t.Elems() == 0,
		"tensor %q has shape %v, want samples in the last dimension", t.Name, t.Shape)
	n.room(t.Elems())
	return t.Shape[:len(t.Shape)-1], t.Shape[len(t.Shape)-1]
}

// signalFramer cuts overlapping frames of a stream. Without prefill the first ones are not
// whole: they are zeros, and the second result is false.
func signalFramer(n *node) {
	o := n.numbers("frame_size", "frame_step", "prefill")
	n.of(i16s, []tensor.DType{tensor.I16, tensor.Bool})
	size, step, y := o[0], o[1], n.out()
	outer, length := n.streamed()
	n.refuse(step < 1 || size < step || length%step != 0 || length/step > maxFrames ||
		!slices.Equal(y.Shape, append(slices.Clone(outer), length/step, size)),
		"frames of %d each %d of %v, for a result %v, want at most %d", size, step, n.in(0).Shape,
		y.Shape, maxFrames)
	n.refuse(n.o.Out[1].Elems() != 1, "result 1 has shape %v, want one element", n.o.Out[1].Shape)
	frames, left := length/step, (size+step-1)/step*step-step
	if o[2] != 0 {
		left = size - step
	}
	all := n.raw(0)
	if left > 0 {
		kept := n.memory("samples", tensor.I16, append(slices.Clone(outer), left)...)
		all = n.join(n.c.value(kept), all)
		kept.last = n.cut(all, length, length+left)
	}
	var parts vals
	shape := n.list(append(slices.Clone(outer), 1, size)...)
	for i := range frames {
		parts = append(parts, n.step("Reshape", vals{n.cut(all, i*step, i*step+size), shape}))
	}
	if o[2] != 0 || left == 0 {
		n.becoming(n.o.Out[1]).fold(tensor.Of([]int{}, []bool{true}).Reshaped(n.o.Out[1].Shape))
	} else {
		n.onlyWhole(parts, int64(left/step))
	}
	n.give("Concat", parts, intAttr("axis", len(outer)))
}

// onlyWhole makes zeros of frames that are not whole: so many must be before those that
// are. The second result tells whether all of this run are.
func (n *node) onlyWhole(frames vals, need int64) {
	count := n.memory("frames", tensor.I32)
	before := n.c.value(count)
	total := n.step("Add", vals{before, n.whole(int64(len(frames)))})
	count.last = n.step("Min", vals{total, n.whole(need)})
	for i, f := range frames {
		whole := n.step("GreaterOrEqual", vals{before, n.whole(need - int64(i))})
		if i == 0 {
			n.becoming(n.o.Out[1]).give("Identity", vals{whole})
		}
		frames[i] = n.step("Where", vals{whole, f, n.one(tensor.I16, 0)})
	}
}

// signalStacker puts frames beside each other, each step of them, and zeros in between; the
// first one counts as often as there is context in front of it.
func signalStacker(n *node) {
	o := n.numbers("num_channels", "stacker_left_context", "stacker_right_context", "stacker_step")
	n.of(i16s, []tensor.DType{tensor.I16, tensor.Bool})
	x, y, channels, left, step := n.in(0), n.out(), o[0], o[1], o[3]
	width := left + o[2] + 1
	n.refuse(channels < 1 || min(left, o[2]) < 0 || step < 1 || step > width || x.Elems() != channels ||
		y.Elems() != channels*width || len(x.Shape) != 1 || len(y.Shape) != 1,
		"%d channels, context %d and %d, step %d, for a result %v", channels, left, o[2], step, y.Shape)
	count := n.memory("frames", tensor.I32) // since the last result, and what is left of it
	begun := n.memory("begun", tensor.I32)  // 0 before the first frame
	frames := n.memory("stack", tensor.I16, y.Elems())
	first := n.step("Equal", vals{n.c.value(begun), n.whole(0)})
	begun.last = n.whole(1)
	stack := n.join(n.cut(n.c.value(frames), channels, y.Elems()), n.raw(0))
	repeats := n.step("Tile", vals{n.raw(0), n.list(width)})
	stack = n.step("Where", vals{first, repeats, stack})
	more := n.step("Where", vals{first, n.whole(int64(left) + 1), n.step("Add", vals{n.c.value(count), n.whole(1)})})
	whole := n.step("GreaterOrEqual", vals{more, n.whole(int64(width))})
	count.last = n.step("Where", vals{whole, n.step("Sub", vals{more, n.whole(int64(step))}), more})
	frames.last = stack
	n.give("Where", vals{whole, stack, n.one(tensor.I16, 0)})
	n.becoming(n.o.Out[1]).give("Identity", vals{whole})
}

func signalDelay(n *node) {
	o := n.numbers("delay_length")
	n.of(i16s, i16s)
	outer, length := n.streamed()
	n.refuse(o[0] < 0 || o[0] > math.MaxInt16, "a delay of %d samples, want 0 to %d", o[0], math.MaxInt16)
	if o[0] == 0 {
		n.give("Identity", vals{n.raw(0)})
		return
	}
	kept := n.memory("samples", tensor.I16, append(slices.Clone(outer), o[0])...)
	all := n.join(n.c.value(kept), n.raw(0))
	kept.last = n.cut(all, length, length+o[0])
	n.give("Identity", vals{n.cut(all, 0, length)})
}

// signalOverlapAdd adds up frames that overlap; sums of int16 are limited.
func signalOverlapAdd(n *node) {
	o := n.numbers("frame_step")
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) < 2 || x.DType != y.DType || x.DType != tensor.I16 && x.DType != tensor.F32 || x.Elems() == 0,
		"frames %s%v and samples %s%v, want two dimensions, and int16 or float32", x.DType, x.Shape,
		y.DType, y.Shape)
	rank := len(x.Shape)
	outer, frames, size, step := x.Shape[:rank-2], x.Shape[rank-2], x.Shape[rank-1], o[0]
	n.room(x.Elems())
	n.refuse(step < 1 || step > size || frames > maxFrames ||
		!slices.Equal(y.Shape, append(slices.Clone(outer), frames*step)),
		"%d frames of %d each %d, for a result %v", frames, size, step, y.Shape)
	shape := append(slices.Clone(outer), size)
	kept := n.memory("samples", x.DType, shape...)
	sum, zeros := n.c.value(kept), n.kept(x.DType, append(slices.Clone(outer), step))
	var parts vals
	for i := range frames {
		frame := n.step("Slice", vals{n.raw(0), n.list(i), n.list(i + 1), n.list(-2)})
		frame = n.reshape(frame, shape...)
		sum = n.summed(sum, frame, x.DType)
		parts = append(parts, n.cut(sum, 0, step))
		if sum = n.cut(sum, step, size); step == size {
			sum = zeros
			continue
		}
		sum = n.join(sum, zeros)
	}
	kept.last = sum
	n.give("Concat", parts, intAttr("axis", -1))
}

func (n *node) summed(a, b *ir.Value, d tensor.DType) *ir.Value {
	if d == tensor.F32 {
		return n.step("Add", vals{a, b})
	}
	wide := func(v *ir.Value) *ir.Value { return n.cast(v, tensor.I32) }
	sum := n.step("Add", vals{wide(a), wide(b)})
	sum = n.step("Min", vals{n.step("Max", vals{sum, n.whole(math.MinInt16)}), n.whole(math.MaxInt16)})
	return n.cast(sum, tensor.I16)
}

func circularBuffer(n *node) {
	x, y := n.in(0), n.out()
	n.refuse(len(x.Shape) != 4 || len(y.Shape) != 4 || x.DType != y.DType || x.Shape[0] != 1 || x.Shape[1] != 1 ||
		!slices.Equal(x.Shape[2:], y.Shape[2:]) || y.Shape[1] < 1 || y.Shape[0] != 1,
		"inputs %s%v kept as %s%v, want [1, 1, n, depth] and [1, slots, n, depth] of one type",
		x.DType, x.Shape, y.DType, y.Shape)
	o := n.numbers("cycles_max")
	n.refuse(o[0] != 1, "cycles_max %d: runs that end here without a result; want 1, and the rest of the model called "+
		"each %d runs", o[0], o[0])
	v := n.c.vars.add(y.Name + "/slots")
	v.like = y
	all := n.make("slots", "Concat", vals{n.c.value(v), n.raw(0)}, intAttr("axis", 1))
	n.give("Slice", vals{all, n.list(1), n.list(y.Shape[1] + 1), n.list(1)})
	v.last = n.c.raw(y)
}

func refused(why string) func(n *node) {
	return func(n *node) { n.failf("%s", why) }
}
