// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"slices"

	"github.com/nncc/nncc/frontend/tflite/fb"
	"github.com/nncc/nncc/frontend/tflite/model"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// gather takes slices of input 0 along an axis by the indices that input 1 holds; the
// first batch_dims dimensions are those of both.
func gather(n *node) {
	o := options[fb.GatherOptions](n)
	x, at := n.in(0), n.in(1)
	axis, batch := int(o.Axis()), int(o.BatchDims())
	if axis < 0 {
		axis += len(x.Shape)
	}
	if batch < 0 {
		batch += len(at.Shape)
	}
	n.refuse(axis < 0 || axis >= len(x.Shape) || batch < 0 || batch > axis || batch > len(at.Shape),
		"axis %d and %d batch dimensions of data %v and indices %v", o.Axis(), o.BatchDims(), x.Shape, at.Shape)
	if batch == 0 {
		n.give("Gather", vals{n.raw(0), n.raw(1)}, intAttr("axis", axis))
		return
	}
	n.gatherBatches(axis, batch)
}

// gatherBatches is a gathering with batch dimensions. The axis stands behind these, and
// goes back to its place afterwards.
func (n *node) gatherBatches(axis, batch int) {
	x, at := n.in(0), n.in(1)
	data, picked := n.raw(0), len(at.Shape)-batch
	if axis > batch {
		perm := slices.Concat(count(0, batch), []int{axis}, count(batch, axis), count(axis+1, len(x.Shape)))
		data = n.make("moved", "Transpose", vals{data}, intsAttr("perm", perm...))
	}
	index := n.wide(n.reshape(n.raw(1), slices.Concat(at.Shape, []int{1})...))
	if axis == batch || picked == 0 {
		n.give("GatherND", vals{data, index}, intAttr("batch_dims", batch))
		return
	}
	out := n.make("picked", "GatherND", vals{data, index}, intAttr("batch_dims", batch))
	behind, rank := axis+picked, len(x.Shape)-1+picked
	perm := slices.Concat(count(0, batch), count(batch+picked, behind), count(batch, batch+picked), count(behind, rank))
	n.give("Transpose", vals{out}, intsAttr("perm", perm...))
}

func (n *node) wide(v *ir.Value) *ir.Value {
	if v.Type.DType == tensor.I64 {
		return v
	}
	return n.make("wide", "Cast", vals{v}, to(tensor.I64))
}

func count(lo, hi int) []int {
	var v []int
	for i := lo; i < hi; i++ {
		v = append(v, i)
	}
	return v
}

func gatherND(n *node) {
	n.give("GatherND", vals{n.raw(0), n.wide(n.raw(1))})
}

func embeddingLookup(n *node) {
	rows, y := n.in(1), n.out()
	if rows.Quantized() == y.Quantized() {
		n.give("Gather", vals{n.raw(1), n.raw(0)}, intAttr("axis", 0))
		return
	}
	n.refuse(y.DType != tensor.F32 || len(rows.Scale) != 1,
		"rows of %s as %s, want one type, or float32 of rows with one scale", rows.DType, y.DType)
	found := n.make("rows", "Gather", vals{n.raw(1), n.raw(0)}, intAttr("axis", 0))
	n.give("DequantizeLinear", n.c.quantized(found, n.c.like(rows, found)))
}

// dynamicUpdateSlice writes input 1 into input 0 where input 2 says, moved to lie within.
func dynamicUpdateSlice(n *node) {
	x, u := n.in(0), n.in(1)
	depth := 0 // dimensions up to the last one of which the update has a part
	n.refuse(len(u.Shape) != len(x.Shape) || n.in(2).Elems() != len(x.Shape),
		"an update %v and %d starts for data %v", u.Shape, n.in(2).Elems(), x.Shape)
	for i, d := range u.Shape {
		n.refuse(d > x.Shape[i], "an update %v for data %v, want no dimension longer", u.Shape, x.Shape)
		if d < x.Shape[i] {
			depth = i + 1
		}
	}
	switch {
	case depth == 0:
		n.give("Identity", vals{n.raw(1)})
		return
	case u.Elems() == 0:
		n.give("Identity", vals{n.raw(0)})
		return
	}
	n.room(append(slices.Clone(u.Shape[:depth]), depth)...)
	last := lists.Make(depth, func(i int) int { return x.Shape[i] - u.Shape[i] })
	start := n.wide(n.raw(2))
	if depth < len(x.Shape) {
		start = n.make("start", "Slice", vals{start, n.list(0), n.list(depth)})
	}
	start = n.make("least", "Max", vals{start, n.list(0)})
	start = n.make("most", "Min", vals{start, n.list(last...)})
	grid := tensor.Ints(indices(u.Shape[:depth])...)
	grid.Shape = slices.Concat(u.Shape[:depth], []int{depth})
	at := n.make("indices", "Add", vals{n.constant("grid", grid), start})
	n.give("ScatterND", vals{n.raw(0), at, n.raw(1)})
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
func (n *node) symmetric() {
	v, value, rank := n.known(1), n.raw(0), len(n.in(0).Shape)
	n.refuse(len(v) != 2*rank, "%d paddings of a tensor of rank %d", len(v), rank)
	for i, d := range n.in(0).Shape {
		n.room(3, d)
		before, after := v[2*i], v[2*i+1]
		n.refuse(before < 0 || after < 0 || before > d || after > d,
			"paddings %d and %d of dimension %d, which has %d elements", before, after, i, d)
		if before == 0 && after == 0 {
			continue
		}
		at := slices.Concat(count(0, before), count(0, d), count(d-after, d))
		slices.Reverse(at[:before])
		slices.Reverse(at[before+d:])
		value = n.make("mirrored", "Gather", vals{value, n.list(at...)}, intAttr("axis", i))
	}
	n.give("Identity", vals{value})
}

func reverse(n *node) {
	axes := n.known(1)
	fill := func(v int) []int { return slices.Repeat([]int{v}, len(axes)) }
	n.give("Slice", vals{n.raw(0), n.list(fill(-1)...), n.list(fill(-1 << 31)...), n.list(axes...),
		n.list(fill(-1)...)})
}

func (n *node) fold(d *tensor.Dense) { n.c.put(n.out(), n.c.Const(n.c.place(n.out()).name, d)) }

func shapeOf(n *node) {
	y := n.out()
	n.refuse(y.Elems() != len(n.in(0).Shape) || !y.DType.IsInt(),
		"the result is %s%v, the input has %d dimensions", y.DType, y.Shape, len(n.in(0).Shape))
	d := tensor.New(y.DType, y.Shape)
	for i, v := range n.in(0).Shape {
		d.SetInt(i, int64(v))
	}
	n.fold(d)
}

func zeros(n *node) {
	n.room(n.out().Shape...)
	n.fold(tensor.New(n.out().DType, n.out().Shape))
}

// maxMade bounds the elements of a constant that is made for an operator: shapes in files
// are not to be trusted.
const maxMade = 1 << 22

// room refuses to make constants that are too large.
func (n *node) room(shape ...int) {
	elems := 1
	for _, d := range shape {
		n.refuse(d > 0 && elems > maxMade/d, "it takes a constant of shape %v, want at most %d elements", shape,
			maxMade)
		elems *= d
	}
}

func expand(input int) func(n *node) {
	return func(n *node) { n.give("Expand", vals{n.raw(input), n.list(n.out().Shape...)}) }
}

func broadcastArgs(n *node) {
	y := n.out()
	var in [2]*ir.Value
	for i := range in {
		t := n.in(i)
		n.refuse(len(t.Shape) != 1 || len(y.Shape) != 1 || t.Shape[0] > y.Shape[0],
			"shapes of shape %v, the result's is %v, want one dimension", t.Shape, y.Shape)
		in[i] = n.raw(i)
		if missing := y.Shape[0] - t.Shape[0]; missing > 0 {
			n.room(missing)
			in[i] = n.make("padded", "Concat", vals{n.ones(t, missing), in[i]}, intAttr("axis", 0))
		}
	}
	one := n.make("one", "Equal", vals{in[0], n.ones(n.in(0), 1)})
	n.give("Where", vals{one, in[1], in[0]})
}

func (n *node) ones(like *model.Tensor, count int) *ir.Value {
	d := tensor.New(like.DType, []int{count})
	for i := range count {
		d.SetInt(i, 1)
	}
	return n.constant("ones", d)
}

func selected(n *node) { n.give("Where", vals{n.raw(0), n.raw(1), n.raw(2)}) }

func cast(n *node) { n.give("Cast", vals{n.raw(0)}, to(n.out().DType)) }

func tile(n *node) {
	n.give("Tile", vals{n.raw(0), n.list(n.known(1)...)})
}

func (n *node) blocks() (size, borders []int) {
	size, borders = n.known(1), n.known(2)
	x := n.in(0)
	n.refuse(len(size) == 0 || len(x.Shape) < 1+len(size) || len(borders) != 2*len(size) || slices.Min(size) < 1,
		"blocks %v and borders %v of a tensor of shape %v", size, borders, x.Shape)
	return size, borders
}

// spaceToBatch pads with zeros, as elements are stored, and makes a batch of each place in
// a block.
func spaceToBatch(n *node) {
	size, borders := n.blocks()
	x, m := n.in(0), len(size)
	value, shape := n.raw(0), slices.Clone(x.Shape)
	pads := make([]int, 2*len(shape))
	for i := range size {
		pads[1+i], pads[len(shape)+1+i] = borders[2*i], borders[2*i+1]
		if shape[1+i] += borders[2*i] + borders[2*i+1]; shape[1+i]%size[i] != 0 {
			n.failf("dimension %d has %d elements with its borders, want a multiple of %d", 1+i, shape[1+i], size[i])
		}
	}
	if slices.Max(borders) > 0 {
		padded := n.beside(x, "padded")
		in := vals{n.real(0), n.list(pads...)}
		if x.Quantized() && x.Zero[0] != 0 {
			in = append(in, n.number(-float32(x.Zero[0])*x.Scale[0]))
		}
		n.resultOf(padded, "Pad", in)
		value = n.c.raw(padded)
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
	n.shaped(n.rearranged(value, parts, perm))
}

// rearranged splits dimensions into parts and exchanges these.
func (n *node) rearranged(value *ir.Value, parts, perm []int) *ir.Value {
	value = n.make("parts", "Reshape", vals{value, n.list(parts...)})
	return n.make("moved", "Transpose", vals{value}, intsAttr("perm", perm...))
}

func batchToSpace(n *node) {
	size, borders := n.blocks()
	x, m := n.in(0), len(size)
	batch := x.Shape[0]
	for _, b := range size {
		n.refuse(batch%b != 0, "%d batches for blocks of %v", batch, size)
		batch /= b
	}
	parts := slices.Concat(size, []int{batch}, x.Shape[1:])
	perm, whole := []int{m}, []int{batch}
	starts, ends := []int{}, []int{}
	for i, b := range size {
		perm = append(perm, m+1+i, i)
		whole = append(whole, x.Shape[1+i]*b)
		starts, ends = append(starts, borders[2*i]), append(ends, x.Shape[1+i]*b-borders[2*i+1])
	}
	perm = append(perm, count(2*m+1, len(parts))...)
	moved := n.rearranged(n.raw(0), parts, perm)
	if slices.Max(borders) == 0 {
		n.shaped(moved)
		return
	}
	uncut := n.make("uncut", "Reshape", vals{moved, n.list(append(whole, x.Shape[1+m:]...)...)})
	n.give("Slice", vals{uncut, n.list(starts...), n.list(ends...), n.list(count(1, 1+m)...)})
}
