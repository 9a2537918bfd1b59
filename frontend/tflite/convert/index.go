// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir/tensor"
)

// gather takes slices of input 0 along an axis by the indices that input 1 holds; the
// first batch_dims dimensions are those of both.
func gather(n *operands) error {
	var o fb.GatherOptions
	if err := n.options("GatherOptions", o.Init); err != nil {
		return err
	}
	x, at := n.in(0), n.in(1)
	axis, batch := int(o.Axis()), int(o.BatchDims())
	if axis < 0 {
		axis += len(x.Shape)
	}
	if batch < 0 {
		batch += len(at.Shape)
	}
	if axis < 0 || axis >= len(x.Shape) || batch < 0 || batch > axis || batch > len(at.Shape) {
		return fmt.Errorf("axis %d and %d batch dimensions of data %v and indices %v", o.Axis(), o.BatchDims(), x.Shape,
			at.Shape)
	}
	if batch == 0 {
		n.c.node("Gather", n.out().Name, []string{n.raw(0), n.raw(1)}, intAttr("axis", axis))
		return nil
	}
	return n.gatherBatches(axis, batch)
}

// gatherBatches is a gathering with batch dimensions. The axis stands behind these, and
// goes back to its place afterwards.
func (n *operands) gatherBatches(axis, batch int) error {
	x, at, y := n.in(0), n.in(1), n.out()
	data, picked := n.raw(0), len(at.Shape)-batch
	if axis > batch {
		perm := slices.Concat(count(0, batch), []int{axis}, count(batch, axis), count(axis+1, len(x.Shape)))
		data = n.c.node("Transpose", n.c.fresh(y, "moved"), []string{data}, intsAttr("perm", perm...))
	}
	one := slices.Concat(at.Shape, []int{1})
	index := n.c.node("Reshape", n.c.fresh(y, "indices"), []string{n.raw(1), n.list("indices_shape", one...)})
	if at.DType != tensor.I64 {
		index = n.c.node("Cast", n.c.fresh(y, "wide"), []string{index}, intAttr("to", tensor.I64.ONNXCode()))
	}
	out, rank := y.Name, len(x.Shape)-1+picked
	if axis > batch && picked != 0 {
		out = n.c.fresh(y, "picked")
	}
	n.c.node("GatherND", out, []string{data, index}, intAttr("batch_dims", batch))
	if out != y.Name {
		between := axis - batch
		perm := slices.Concat(count(0, batch), count(batch+picked, batch+picked+between), count(batch, batch+picked),
			count(batch+picked+between, rank))
		n.c.node("Transpose", y.Name, []string{out}, intsAttr("perm", perm...))
	}
	return nil
}

// count gives the numbers from lo up to but without hi.
func count(lo, hi int) []int {
	var v []int
	for i := lo; i < hi; i++ {
		v = append(v, i)
	}
	return v
}

// gatherND has indices in the last dimension of input 1.
func gatherND(n *operands) error {
	index := n.raw(1)
	if n.in(1).DType != tensor.I64 {
		index = n.c.node("Cast", n.c.fresh(n.out(), "wide"), []string{index}, intAttr("to", tensor.I64.ONNXCode()))
	}
	n.c.node("GatherND", n.out().Name, []string{n.raw(0), index})
	return nil
}

// embeddingLookup takes rows of input 1. Those of integers may be wanted as reals.
func embeddingLookup(n *operands) error {
	rows, y := n.in(1), n.out()
	if rows.Quantized() == y.Quantized() {
		n.c.node("Gather", y.Name, []string{n.raw(1), n.raw(0)}, intAttr("axis", 0))
		return nil
	}
	if y.DType != tensor.F32 || len(rows.Scale) != 1 {
		return fmt.Errorf("rows of %s as %s, want one type, or float32 of rows with one scale", rows.DType, y.DType)
	}
	found := *rows
	found.Name, found.Data = n.c.fresh(y, "rows"), nil
	n.c.node("Gather", found.Name, []string{n.raw(1), n.raw(0)}, intAttr("axis", 0))
	n.c.node("DequantizeLinear", y.Name, n.c.quantized(found.Name, &found))
	return nil
}

// dynamicUpdateSlice writes input 1 into input 0 where input 2 says, moved to lie within.
func dynamicUpdateSlice(n *operands) error {
	x, u, y := n.in(0), n.in(1), n.out()
	depth := 0 // dimensions up to the last one of which the update has a part
	if len(u.Shape) != len(x.Shape) || n.in(2).Elems() != len(x.Shape) {
		return fmt.Errorf("an update %v and %d starts for data %v", u.Shape, n.in(2).Elems(), x.Shape)
	}
	for i, d := range u.Shape {
		if d > x.Shape[i] {
			return fmt.Errorf("an update %v for data %v, want no dimension longer", u.Shape, x.Shape)
		}
		if d < x.Shape[i] {
			depth = i + 1
		}
	}
	switch {
	case depth == 0:
		n.c.node("Identity", y.Name, []string{n.raw(1)})
		return nil
	case u.Elems() == 0:
		n.c.node("Identity", y.Name, []string{n.raw(0)})
		return nil
	}
	if err := room(append(slices.Clone(u.Shape[:depth]), depth)...); err != nil {
		return err
	}
	last := make([]int, depth)
	for i := range last {
		last[i] = x.Shape[i] - u.Shape[i]
	}
	start := n.c.node("Cast", n.c.fresh(y, "wide"), []string{n.raw(2)}, intAttr("to", tensor.I64.ONNXCode()))
	if depth < len(x.Shape) {
		start = n.c.node("Slice", n.c.fresh(y, "start"), []string{start, n.list("from", 0), n.list("to", depth)})
	}
	start = n.c.node("Max", n.c.fresh(y, "least"), []string{start, n.list("first", 0)})
	start = n.c.node("Min", n.c.fresh(y, "most"), []string{start, n.list("last", last...)})
	grid := tensor.Ints(indices(u.Shape[:depth])...)
	grid.Shape = slices.Concat(u.Shape[:depth], []int{depth})
	at := n.c.node("Add", n.c.fresh(y, "indices"), []string{n.c.constant(n.c.fresh(y, "grid"), grid), start})
	n.c.node("ScatterND", y.Name, []string{n.raw(0), at, n.raw(1)})
	return nil
}

// indices are those of all elements of a shape, one after the other.
func indices(shape []int) []int {
	all := []int{}
	at := make([]int, len(shape))
	for {
		all = append(all, at...)
		i := len(at) - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < shape[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return all
		}
	}
}

// symmetric pads by mirroring with the border itself: indices along each dimension.
func (n *operands) symmetric() error {
	v, err := n.ints(1)
	if err != nil {
		return err
	}
	value, y := n.raw(0), n.out()
	if x := n.in(0); len(v) != 2*len(x.Shape) {
		return fmt.Errorf("%d paddings of a tensor of rank %d", len(v), len(x.Shape))
	}
	for i, d := range n.in(0).Shape {
		if err := room(3, d); err != nil {
			return err
		}
		before, after := v[2*i], v[2*i+1]
		if before < 0 || after < 0 || before > d || after > d {
			return fmt.Errorf("paddings %d and %d of dimension %d, which has %d elements", before, after, i, d)
		}
		if before == 0 && after == 0 {
			continue
		}
		at := slices.Concat(count(0, before), count(0, d), count(d-after, d))
		slices.Reverse(at[:before])
		slices.Reverse(at[before+d:])
		value = n.c.node("Gather", n.c.fresh(y, "mirrored"), []string{value, n.list("at", at...)}, intAttr("axis", i))
	}
	n.c.node("Identity", y.Name, []string{value})
	return nil
}

// reverse turns dimensions around.
func reverse(n *operands) error {
	axes, err := n.ints(1)
	if err != nil {
		return err
	}
	fill := func(v int) []int { return slices.Repeat([]int{v}, len(axes)) }
	n.c.node("Slice", n.out().Name, []string{n.raw(0), n.list("starts", fill(-1)...),
		n.list("ends", fill(-1<<31)...), n.list("axes", axes...), n.list("steps", fill(-1)...)})
	return nil
}

// fold makes the result a constant of the model.
func (n *operands) fold(d *tensor.Dense) error {
	n.out().Data = d.Bytes()
	return nil
}

// shapeOf is the shape of the input.
func shapeOf(n *operands) error {
	y := n.out()
	if y.Elems() != len(n.in(0).Shape) || !y.DType.IsInt() {
		return fmt.Errorf("the result is %s%v, the input has %d dimensions", y.DType, y.Shape, len(n.in(0).Shape))
	}
	d := tensor.New(y.DType, y.Shape)
	for i, v := range n.in(0).Shape {
		d.SetInt(i, int64(v))
	}
	return n.fold(d)
}

// zeros are as many as the input has elements.
func zeros(n *operands) error {
	if err := room(n.out().Shape...); err != nil {
		return err
	}
	return n.fold(tensor.New(n.out().DType, n.out().Shape))
}

// maxMade bounds the elements of a constant that is made for an operator: shapes in files
// are not to be trusted.
const maxMade = 1 << 22

// room refuses to make constants that are too large.
func room(shape ...int) error {
	n := 1
	for _, d := range shape {
		if d > 0 && n > maxMade/d {
			return fmt.Errorf("it takes a constant of shape %v, want at most %d elements", shape, maxMade)
		}
		n *= d
	}
	return nil
}

// expand repeats a tensor so that it has the shape of the result.
func expand(input int) func(n *operands) error {
	return func(n *operands) error {
		n.c.node("Expand", n.out().Name, []string{n.raw(input), n.list("shape", n.out().Shape...)})
		return nil
	}
}

// broadcastArgs is the shape that two shapes have when they are broadcast.
func broadcastArgs(n *operands) error {
	y := n.out()
	var in [2]string
	for i := range in {
		t := n.in(i)
		if len(t.Shape) != 1 || len(y.Shape) != 1 || t.Shape[0] > y.Shape[0] {
			return fmt.Errorf("shapes of shape %v, the result's is %v, want one dimension", t.Shape, y.Shape)
		}
		in[i] = n.raw(i)
		if missing := y.Shape[0] - t.Shape[0]; missing > 0 {
			if err := room(missing); err != nil {
				return err
			}
			in[i] = n.c.node("Concat", n.c.fresh(y, "padded"), []string{n.ones(t, missing), in[i]}, intAttr("axis", 0))
		}
	}
	one := n.c.node("Equal", n.c.fresh(y, "one"), []string{in[0], n.ones(n.in(0), 1)})
	n.c.node("Where", y.Name, []string{one, in[1], in[0]})
	return nil
}

func (n *operands) ones(like *model.Tensor, count int) string {
	d := tensor.New(like.DType, []int{count})
	for i := range count {
		d.SetInt(i, 1)
	}
	return n.c.constant(n.c.fresh(n.out(), "ones"), d)
}

// selected takes elements of input 1 where input 0 is true, of input 2 elsewhere.
func selected(n *operands) error {
	n.c.node("Where", n.out().Name, []string{n.raw(0), n.raw(1), n.raw(2)})
	return nil
}

func cast(n *operands) error {
	n.c.node("Cast", n.out().Name, []string{n.raw(0)}, intAttr("to", n.out().DType.ONNXCode()))
	return nil
}

// tile repeats each dimension as often as input 1 says.
func tile(n *operands) error {
	v, err := n.ints(1)
	if err != nil {
		return err
	}
	n.c.node("Tile", n.out().Name, []string{n.raw(0), n.list("repeats", v...)})
	return nil
}

// blocks are sizes and borders of SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND.
func (n *operands) blocks() (size, borders []int, err error) {
	if size, err = n.ints(1); err == nil {
		borders, err = n.ints(2)
	}
	x := n.in(0)
	if err == nil && (len(size) == 0 || len(x.Shape) < 1+len(size) || len(borders) != 2*len(size) ||
		slices.Min(size) < 1) {
		err = fmt.Errorf("blocks %v and borders %v of a tensor of shape %v", size, borders, x.Shape)
	}
	return size, borders, err
}

// spaceToBatch pads with zeros, as elements are stored, and makes a batch of each place in
// a block.
func spaceToBatch(n *operands) error {
	size, borders, err := n.blocks()
	if err != nil {
		return err
	}
	x, y, m := n.in(0), n.out(), len(size)
	value, shape := n.raw(0), slices.Clone(x.Shape)
	pads := make([]int, 2*len(shape))
	for i := range size {
		pads[1+i], pads[len(shape)+1+i] = borders[2*i], borders[2*i+1]
		if shape[1+i] += borders[2*i] + borders[2*i+1]; shape[1+i]%size[i] != 0 {
			return fmt.Errorf("dimension %d has %d elements with its borders, want a multiple of %d", 1+i, shape[1+i],
				size[i])
		}
	}
	if slices.Max(borders) > 0 {
		padded := *x
		padded.Name, padded.Data = n.c.fresh(y, "padded"), nil
		in := []string{n.real(0), n.list("pads", pads...)}
		if x.Quantized() && x.Zero[0] != 0 {
			in = append(in, n.number("fill", -float32(x.Zero[0])*x.Scale[0]))
		}
		n.c.node("Pad", n.c.realOut(&padded), in)
		n.c.store(&padded)
		value = padded.Name
	}
	parts, perm := []int{shape[0]}, []int{}
	for i, b := range size {
		parts = append(parts, shape[1+i]/b, b)
		perm = append(perm, 2+2*i)
	}
	perm = append(perm, 0)
	for i := range m {
		perm = append(perm, 1+2*i)
	}
	parts = append(parts, shape[1+m:]...)
	perm = append(perm, count(1+2*m, len(parts))...)
	return n.rearranged(value, parts, perm)
}

// rearranged splits dimensions into parts, exchanges these, and joins them to the result.
func (n *operands) rearranged(value string, parts, perm []int) error {
	y := n.out()
	value = n.c.node("Reshape", n.c.fresh(y, "parts"), []string{value, n.list("parts_shape", parts...)})
	return n.shaped(n.c.node("Transpose", n.c.fresh(y, "moved"), []string{value}, intsAttr("perm", perm...)))
}

// batchToSpace puts batches back to the places in blocks, and cuts the borders.
func batchToSpace(n *operands) error {
	size, borders, err := n.blocks()
	if err != nil {
		return err
	}
	x, y, m := n.in(0), n.out(), len(size)
	batch := x.Shape[0]
	for _, b := range size {
		if batch%b != 0 {
			return fmt.Errorf("%d batches for blocks of %v", x.Shape[0], size)
		}
		batch /= b
	}
	parts := slices.Concat(size, []int{batch}, x.Shape[1:])
	perm, whole := []int{m}, *y
	whole.Shape = []int{batch}
	starts, ends := []int{}, []int{}
	for i, b := range size {
		perm = append(perm, m+1+i, i)
		whole.Shape = append(whole.Shape, x.Shape[1+i]*b)
		starts, ends = append(starts, borders[2*i]), append(ends, x.Shape[1+i]*b-borders[2*i+1])
	}
	perm = append(perm, count(2*m+1, len(parts))...)
	whole.Shape = append(whole.Shape, x.Shape[1+m:]...)
	if slices.Max(borders) == 0 {
		return n.rearranged(n.raw(0), parts, perm)
	}
	whole.Name = n.c.fresh(y, "uncut")
	o := *n.o
	o.Out = []*model.Tensor{&whole}
	if err := (&operands{c: n.c, o: &o, row: n.row}).rearranged(n.raw(0), parts, perm); err != nil {
		return err
	}
	n.c.node("Slice", y.Name, []string{whole.Name, n.list("starts", starts...), n.list("ends", ends...),
		n.list("axes", count(1, 1+m)...)})
	return nil
}
