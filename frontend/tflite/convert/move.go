// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
)

// Data movement computes on elements as they are stored: input and output share their
// quantisation (the format wants it, and its interpreters rely on it).

func (n *node) shaped(x *ir.Value) { n.give("Reshape", vals{x, n.list(n.out().Shape...)}) }

// reshape is every operator that changes the shape alone: the file states the result's.
func reshape(n *node) { n.shaped(n.raw(0)) }

func concat(n *node) {
	o := options[fb.ConcatenationOptions](n)
	y := n.out()
	same := o.Activation() == actNone
	for _, t := range n.o.In {
		n.refuse(t == nil, "an input is absent")
		same = same && slices.Equal(t.Scale, y.Scale) && slices.Equal(t.Zero, y.Zero)
	}
	axis := intAttr("axis", int(o.Axis()))
	if same {
		n.give("Concat", lists.Map(n.o.In, n.c.raw), axis)
		return
	}
	n.activated(o.Activation(), "Concat", lists.Map(n.o.In, n.c.real), axis)
}

func transpose(n *node) {
	n.give("Transpose", vals{n.raw(0)}, intsAttr("perm", n.known(1)...))
}

func split(data, axis int) func(n *node) {
	return func(n *node) {
		v, x := n.known(axis), n.in(data)
		n.refuse(len(v) != 1 || v[0] < -len(x.Shape) || v[0] >= len(x.Shape),
			"axis %v of a tensor of shape %v", v, x.Shape)
		at := (v[0] + len(x.Shape)) % len(x.Shape)
		var sizes []int
		for _, t := range n.o.Out {
			n.refuse(len(t.Shape) != len(x.Shape), "result %q of shape %v, the input has %v", t.Name, t.Shape, x.Shape)
			sizes = append(sizes, t.Shape[at])
		}
		n.giveAll("Split", vals{n.raw(data), n.list(sizes...)}, intAttr("axis", at))
	}
}

func slice(n *node) {
	begin, size, x := n.known(1), n.known(2), n.in(0)
	n.refuse(len(begin) != len(x.Shape) || len(size) != len(x.Shape),
		"begins %v and sizes %v of a tensor of shape %v", begin, size, x.Shape)
	end, axes := make([]int, len(size)), make([]int, len(size))
	for i := range size {
		axes[i] = i
		if end[i] = begin[i] + size[i]; size[i] < 0 {
			end[i] = x.Shape[i]
		}
	}
	n.give("Slice", vals{n.raw(0), n.list(begin...), n.list(end...), n.list(axes...)})
}

func stridedSlice(n *node) {
	o := options[fb.StridedSliceOptions](n)
	var v [3][]int
	for i := range v {
		v[i] = n.known(i + 1)
	}
	n.refuse(len(v[1]) != len(v[0]) || len(v[2]) != len(v[0]), "%d begins, %d ends and %d strides", len(v[0]),
		len(v[1]), len(v[2]))
	axes := n.slicedAxes(o, len(v[0]), len(n.in(0).Shape))
	var at [4][]int
	for i, axis := range axes {
		if axis >= 0 {
			begin, end, stride := slicedDim(o, i, v[0][i], v[1][i], v[2][i])
			for j, v := range [4]int{begin, end, axis, stride} {
				at[j] = append(at[j], v)
			}
		}
	}
	in := vals{n.raw(0), n.list(at[0]...), n.list(at[1]...), n.list(at[2]...), n.list(at[3]...)}
	if o.ShrinkAxisMask() == 0 && o.NewAxisMask() == 0 {
		n.give("Slice", in)
		return
	}
	n.shaped(n.make("slice", "Slice", in))
}

// slicedAxes are the dimensions that the entries of a slice of so many speak of, -1 for a
// new one and for the ellipsis, which stands for all that no other entry names.
func (n *node) slicedAxes(o *fb.StridedSliceOptions, entries, rank int) []int {
	axes, next, dots := make([]int, entries), 0, false
	for i := range axes {
		axes[i] = -1
		switch {
		case o.EllipsisMask()>>i&1 != 0 && dots:
			n.failf("two ellipses in the slice, want one")
		case o.EllipsisMask()>>i&1 != 0:
			dots = true
			next = rank
			for j := i + 1; j < entries; j++ {
				next -= int(^o.NewAxisMask() >> j & 1)
			}
		case o.NewAxisMask()>>i&1 == 0:
			axes[i] = next
			next++
		}
		n.refuse(next < 0 || next > rank, "%d entries in the slice of a tensor of rank %d", entries, rank)
	}
	return axes
}

func slicedDim(o *fb.StridedSliceOptions, i, begin, end, stride int) (int, int, int) {
	bit := func(mask int32) bool { return mask>>i&1 != 0 }
	if o.Offset() {
		end += begin
	}
	if bit(o.BeginMask()) {
		if begin = 0; stride < 0 {
			begin = math.MaxInt32
		}
	}
	if bit(o.EndMask()) {
		if end = math.MaxInt32; stride < 0 {
			end = math.MinInt32
		}
	}
	if bit(o.ShrinkAxisMask()) {
		if end, stride = begin+1, 1; begin == -1 {
			end = math.MaxInt32
		}
	}
	return begin, end, stride
}

// pads are those of a constant [rank, 2], in ONNX's order.
func (n *node) pads() *ir.Value {
	v, rank := n.known(1), len(n.in(0).Shape)
	n.refuse(len(v) != 2*rank, "%d paddings of a tensor of rank %d", len(v), rank)
	p := make([]int, len(v))
	for i := range v {
		p[i%2*len(v)/2+i/2] = v[i]
	}
	return n.list(p...)
}

func pad(n *node) {
	in := vals{n.real(0), n.pads()}
	if t := n.in(2); t != nil {
		in = append(in, n.c.real(t))
	}
	n.result("Pad", in)
}

func mirrorPad(n *node) {
	o := options[fb.MirrorPadOptions](n)
	if o.Mode() != 0 {
		n.symmetric()
		return
	}
	n.give("Pad", vals{n.raw(0), n.pads()}, textAttr("mode", "reflect"))
}

func pack(n *node) {
	o := options[fb.PackOptions](n)
	axes := n.list(int(o.Axis()))
	var in vals
	for i, t := range n.o.In {
		n.refuse(t == nil, "input %d is absent", i)
		in = append(in, n.make("part", "Unsqueeze", vals{n.raw(i), axes}))
	}
	n.give("Concat", in, intAttr("axis", int(o.Axis())))
}

func unpack(n *node) {
	o := options[fb.UnpackOptions](n)
	labels := lists.Map(n.o.Out, func(t *model.Tensor) string { return n.becoming(t).label("part") })
	parts := n.add("Split", labels, vals{n.raw(0)}, intAttr("axis", int(o.Axis())),
		intAttr("num_outputs", len(labels)))
	for i, t := range n.o.Out {
		n.becoming(t).shaped(parts[i])
	}
}

// space is DEPTH_TO_SPACE or SPACE_TO_DEPTH, between transpositions.
func space(op string) func(n *node) {
	return func(n *node) {
		o := options[fb.BlockOptions](n)
		x := n.in(0)
		n.refuse(len(x.Shape) != 4, "shape %v, want [batch, height, width, channels]", x.Shape)
		first := n.make("nchw", "Transpose", vals{n.raw(0)}, intsAttr("perm", 0, 3, 1, 2))
		moved := n.make("blocks", op, vals{first}, intAttr("blocksize", int(o.BlockSize())))
		n.give("Transpose", vals{moved}, intsAttr("perm", 0, 2, 3, 1))
	}
}
