// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
)

// Data movement computes on elements as they are stored: input and output share their
// quantisation (the format wants it, and its interpreters rely on it).

// shaped gives a value the shape of the result.
func (n *operands) shaped(x string) error {
	n.c.node("Reshape", n.out().Name, []string{x, n.list("shape", n.out().Shape...)})
	return nil
}

// reshape is every operator that changes the shape alone: the file states the result's.
func reshape(n *operands) error { return n.shaped(n.raw(0)) }

func concat(n *operands) error {
	var o fb.ConcatenationOptions
	if err := n.options("ConcatenationOptions", o.Init); err != nil {
		return err
	}
	y := n.out()
	same := o.Activation() == actNone
	for _, t := range n.o.In {
		if t == nil {
			return fmt.Errorf("an input is absent")
		}
		same = same && slices.Equal(t.Scale, y.Scale) && slices.Equal(t.Zero, y.Zero)
	}
	var in []string
	for i := range n.o.In {
		if same {
			in = append(in, n.raw(i))
		} else {
			in = append(in, n.real(i))
		}
	}
	if same {
		n.c.node("Concat", y.Name, in, intAttr("axis", int(o.Axis())))
		return nil
	}
	return n.activate(o.Activation(), func(result string) {
		n.c.node("Concat", result, in, intAttr("axis", int(o.Axis())))
	})
}

func transpose(n *operands) error {
	perm, err := n.ints(1)
	if err != nil {
		return err
	}
	n.c.node("Transpose", n.out().Name, []string{n.raw(0)}, intsAttr("perm", perm...))
	return nil
}

// split has its data and its axis as inputs; the results say what their sizes are.
func split(data, axis int) func(n *operands) error {
	return func(n *operands) error {
		v, err := n.ints(axis)
		if err != nil {
			return err
		}
		x := n.in(data)
		if len(v) != 1 || v[0] < -len(x.Shape) || v[0] >= len(x.Shape) {
			return fmt.Errorf("axis %v of a tensor of shape %v", v, x.Shape)
		}
		at := (v[0] + len(x.Shape)) % len(x.Shape)
		var names []string
		var sizes []int
		for _, t := range n.o.Out {
			if len(t.Shape) != len(x.Shape) {
				return fmt.Errorf("result %q of shape %v, the input has %v", t.Name, t.Shape, x.Shape)
			}
			names, sizes = append(names, t.Name), append(sizes, t.Shape[at])
		}
		n.c.nodes("Split", names, []string{n.raw(data), n.list("sizes", sizes...)}, intAttr("axis", at))
		return nil
	}
}

func slice(n *operands) error {
	begin, err := n.ints(1)
	if err != nil {
		return err
	}
	size, err := n.ints(2)
	if err != nil {
		return err
	}
	x := n.in(0)
	if len(begin) != len(x.Shape) || len(size) != len(x.Shape) {
		return fmt.Errorf("begins %v and sizes %v of a tensor of shape %v", begin, size, x.Shape)
	}
	end, axes := make([]int, len(size)), make([]int, len(size))
	for i := range size {
		axes[i] = i
		if end[i] = begin[i] + size[i]; size[i] < 0 {
			end[i] = x.Shape[i]
		}
	}
	n.c.node("Slice", n.out().Name, []string{n.raw(0), n.list("starts", begin...), n.list("ends", end...),
		n.list("axes", axes...)})
	return nil
}

func stridedSlice(n *operands) error {
	var o fb.StridedSliceOptions
	if err := n.options("StridedSliceOptions", o.Init); err != nil {
		return err
	}
	var v [3][]int
	for i := range v {
		var err error
		if v[i], err = n.ints(i + 1); err != nil {
			return err
		}
	}
	if len(v[1]) != len(v[0]) || len(v[2]) != len(v[0]) {
		return fmt.Errorf("%d begins, %d ends and %d strides", len(v[0]), len(v[1]), len(v[2]))
	}
	axes, err := slicedAxes(&o, len(v[0]), len(n.in(0).Shape))
	if err != nil {
		return err
	}
	var at [4][]int
	for i, axis := range axes {
		if axis >= 0 {
			begin, end, stride := slicedDim(&o, i, v[0][i], v[1][i], v[2][i])
			for j, v := range [4]int{begin, end, axis, stride} {
				at[j] = append(at[j], v)
			}
		}
	}
	in := []string{n.raw(0), n.list("starts", at[0]...), n.list("ends", at[1]...), n.list("axes", at[2]...),
		n.list("steps", at[3]...)}
	if o.ShrinkAxisMask() == 0 && o.NewAxisMask() == 0 {
		n.c.node("Slice", n.out().Name, in)
		return nil
	}
	return n.shaped(n.c.node("Slice", n.c.fresh(n.out(), "slice"), in))
}

// slicedAxes are the dimensions that the entries of a slice of so many speak of, -1 for a
// new one and for the ellipsis, which stands for all that no other entry names.
func slicedAxes(o *fb.StridedSliceOptions, entries, rank int) ([]int, error) {
	axes, next, dots := make([]int, entries), 0, false
	for i := range axes {
		axes[i] = -1
		switch {
		case o.EllipsisMask()>>i&1 != 0 && dots:
			return nil, fmt.Errorf("two ellipses in the slice, want one")
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
		if next < 0 || next > rank {
			return nil, fmt.Errorf("%d entries in the slice of a tensor of rank %d", entries, rank)
		}
	}
	return axes, nil
}

// slicedDim is begin, end and stride of dimension i for ONNX, with the masks read.
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
func (n *operands) pads() ([]int, error) {
	v, err := n.ints(1)
	if err != nil {
		return nil, err
	}
	if rank := len(n.in(0).Shape); len(v) != 2*rank {
		return nil, fmt.Errorf("%d paddings of a tensor of rank %d", len(v), rank)
	}
	p := make([]int, len(v))
	for i := range v {
		p[i%2*len(v)/2+i/2] = v[i]
	}
	return p, nil
}

// pad writes zeros, or the real number that input 2 is.
func pad(n *operands) error {
	p, err := n.pads()
	if err != nil {
		return err
	}
	in := []string{n.real(0), n.list("pads", p...)}
	if t := n.in(2); t != nil {
		in = append(in, n.c.real(t))
	}
	n.c.node("Pad", n.c.realOut(n.out()), in)
	n.c.store(n.out())
	return nil
}

func mirrorPad(n *operands) error {
	var o fb.MirrorPadOptions
	if err := n.options("MirrorPadOptions", o.Init); err != nil {
		return err
	}
	p, err := n.pads()
	if err != nil {
		return err
	}
	if o.Mode() != 0 {
		return n.symmetric()
	}
	n.c.node("Pad", n.out().Name, []string{n.raw(0), n.list("pads", p...)}, textAttr("mode", "reflect"))
	return nil
}

// pack stacks tensors along a new dimension.
func pack(n *operands) error {
	var o fb.PackOptions
	if err := n.options("PackOptions", o.Init); err != nil {
		return err
	}
	axes := n.list("axes", int(o.Axis()))
	var in []string
	for i, t := range n.o.In {
		if t == nil {
			return fmt.Errorf("input %d is absent", i)
		}
		in = append(in, n.c.node("Unsqueeze", n.c.fresh(n.out(), "part"), []string{n.raw(i), axes}))
	}
	n.c.node("Concat", n.out().Name, in, intAttr("axis", int(o.Axis())))
	return nil
}

func unpack(n *operands) error {
	var o fb.UnpackOptions
	if err := n.options("UnpackOptions", o.Init); err != nil {
		return err
	}
	var parts []string
	for _, t := range n.o.Out {
		parts = append(parts, n.c.fresh(t, "part"))
	}
	n.c.nodes("Split", parts, []string{n.raw(0)}, intAttr("axis", int(o.Axis())), intAttr("num_outputs", len(parts)))
	for i, t := range n.o.Out {
		n.c.node("Reshape", t.Name, []string{parts[i], n.listOf(t, "shape", t.Shape...)})
	}
	return nil
}

// listOf is list beside another tensor.
func (n *operands) listOf(t *model.Tensor, what string, v ...int) string {
	at := *n.o
	at.Out = []*model.Tensor{t}
	return (&operands{c: n.c, o: &at}).list(what, v...)
}

// space is DEPTH_TO_SPACE or SPACE_TO_DEPTH, between transpositions.
func space(op string) func(n *operands) error {
	return func(n *operands) error {
		var o fb.BlockOptions
		if err := n.options("BlockOptions", o.Init); err != nil {
			return err
		}
		x, y := n.in(0), n.out()
		if len(x.Shape) != 4 {
			return fmt.Errorf("shape %v, want [batch, height, width, channels]", x.Shape)
		}
		first := n.c.node("Transpose", n.c.fresh(y, "nchw"), []string{n.raw(0)}, intsAttr("perm", 0, 3, 1, 2))
		moved := n.c.node(op, n.c.fresh(y, "blocks"), []string{first}, intAttr("blocksize", int(o.BlockSize())))
		n.c.node("Transpose", y.Name, []string{moved}, intsAttr("perm", 0, 2, 3, 1))
		return nil
	}
}
