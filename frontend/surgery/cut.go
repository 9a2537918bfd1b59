// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// InsertTransposePair puts a Transpose in front of input 0 of a node and
// another behind output 0, so that the node works in another order of
// dimensions.
func (m *Model) InsertTransposePair(n *pb.NodeProto, before, after []int) {
	rank := -1
	if t, ok := m.Shapes().Type(at(n.Input, 0)); ok {
		rank = len(t.Shape)
	}
	for i, p := range [][]int{before, after} {
		r := rank
		if r < 0 || i == 1 {
			r = len(p)
		}
		if err := checkPerm(p, r); err != nil {
			fail.Check(nodeErr(n, "%s: %v", [...]string{"before", "after"}[i], err))
		}
	}
	transpose := func(suffix string, p []int) *pb.NodeProto {
		return m.MakeNode(NodeSpec{Op: "Transpose", Name: m.UniqueNode(n.GetName() + suffix),
			Attributes: map[string]any{"perm": p}})
	}
	m.InsertBefore(n, 0, transpose("/transpose_before", before), 0)
	m.InsertAfter(n.Output[0], transpose("/transpose_after", after), 0)
}

// Cut says how InsertSlices cuts a value along an axis: into Sizes; or into
// Count pieces of Size, of equal shares where Size is 0, or into as many pieces
// of Size as there are where Count is 0.
type Cut struct {
	Axis        int `yaml:"-"`
	Count, Size int
	Sizes       []int
}

// equal is the number of equal pieces and their size, where one of the two follows from
// the other and the places that there are.
func (c Cut) equal(total int) (count, each int, ok bool) {
	switch count, each = c.Count, c.Size; {
	case count == 0 && each > 0 && total%each == 0:
		return total / each, each, true
	case each == 0 && count > 0 && total%count == 0:
		return count, total / count, true
	}
	return count, each, count != 0 && each != 0
}

// sizes are the pieces for a value.
func (m *Model) sizes(value string, c Cut) (axis int, sizes []int) {
	t, known := m.Shapes().Type(value)
	axis, total := c.Axis, -1
	if known {
		fail.Under(fmt.Sprintf("value %s of shape %s", quote(value), ShapeText(t.Shape)),
			func() { axis = normAxis(c.Axis, len(t.Shape)) })
		total = int(t.Shape[axis].Size)
	}
	if sizes = c.Sizes; sizes == nil {
		if (c.Count == 0 || c.Size == 0) && total < 0 {
			fail.Errorf("%w; give both count and size of the pieces", m.noShape(value))
		}
		count, each, ok := c.equal(total)
		switch {
		case !ok:
			fail.Errorf("value %s of shape %s: axis %d cannot be cut into equal pieces (count %d, "+
				"size %d); give sizes", quote(value), ShapeText(t.Shape), axis, count, each)
		case count < 1 || count > 1<<16:
			fail.Errorf("value %s is to be cut into %d pieces; want 1 to 65536", quote(value), count)
		}
		sizes = slices.Repeat([]int{each}, count)
	}
	sum := 0
	for _, s := range sizes {
		fail.If(s < 1 || s > tensor.MaxElems, "value %s: a piece of size %d; want at least 1", quote(value), s)
		sum += s
	}
	fail.If(total >= 0 && sum > total, "value %s of shape %s: axis %d has %d places, the pieces %v take %d",
		quote(value), ShapeText(t.Shape), axis, total, sizes, sum)
	return axis, sizes
}

// InsertSlices adds one Slice after another of a value and gives the names of
// their results: those given, or the value's with _slice_0, _slice_1, ... Its
// readers stay.
func (m *Model) InsertSlices(value string, c Cut, outputs []string) []string {
	fail.Check(m.wantValue(value))
	axis, sizes := m.sizes(value, c)
	fail.If(outputs != nil && len(outputs) != len(sizes), "value %s is cut into %d pieces, but %d outputs are named",
		quote(value), len(sizes), len(outputs))
	var out []string
	from := 0
	for i, s := range sizes {
		o := at(outputs, i)
		if outputs == nil {
			o = m.UniqueValue(value + "_slice_" + strconv.Itoa(i))
		}
		n := m.sliceNode(value, o, axis, from, from+s)
		m.AddNode(n)
		out = append(out, o)
		from += s
	}
	return out
}

// sliceNode is a Slice in the form of the model's opset.
func (m *Model) sliceNode(value, out string, axis, from, to int) *pb.NodeProto {
	s := NodeSpec{Op: "Slice", Name: m.UniqueNode(out + "/Slice"), Inputs: []string{value}, Outputs: []string{out}}
	if m.Opset("") < 10 {
		s.Attributes = map[string]any{"starts": []int{from}, "ends": []int{to}, "axes": []int{axis}}
		return m.MakeNode(s)
	}
	for _, x := range []struct {
		what string
		v    int
	}{{"starts", from}, {"ends", to}, {"axes", axis}, {"steps", 1}} {
		s.Inputs = append(s.Inputs, m.shared(x.what, x.v))
	}
	return m.MakeNode(s)
}

// shared is a constant of one int64, made once for all who need that number.
func (m *Model) shared(what string, v int) string {
	name := "surgery_" + what + "_" + strconv.Itoa(v)
	if t := m.initializer(name); t != nil {
		if d, err := m.loaded(m.Proto).Tensor(t); err == nil && tensor.Equal(d, tensor.Ints(v)) {
			return name
		}
	}
	return m.constant(name, tensor.Ints(v))
}

// InsertConcat adds a Concat of values along an axis under a name (empty: made
// up) and gives its result. With to, input index of that node reads it.
func (m *Model) InsertConcat(values []string, axis int, name, output string, to *pb.NodeProto,
	index int) string {
	fail.If(len(values) == 0, "a Concat of no values")
	for _, v := range values {
		fail.Check(m.wantValue(v))
	}
	base := values[0]
	if to != nil {
		base = to.GetName()
	}
	spec := NodeSpec{Op: "Concat", Name: cmp.Or(name, m.UniqueNode(base+"/Concat")),
		Inputs: values, Attributes: map[string]any{"axis": axis}}
	if output != "" {
		spec.Outputs = []string{output}
	}
	n := m.MakeNode(spec)
	m.AddNode(n)
	if to != nil {
		m.Connect(n.Output[0], to, index)
	}
	return n.Output[0]
}

// InsertSlicesConcat cuts a value into pieces along one axis and joins them
// along another, which is a Reshape that an accelerator without Reshape can do:
// rows of a map [N,C,H,W] cut along H and joined along W give [N,C,1,H·W]. The
// node before reads the result where it read the value; nil: everybody does.
func (m *Model) InsertSlicesConcat(value string, c Cut, concatAxis int, before *pb.NodeProto,
	outputs string) string {
	fail.Check(m.wantValue(value))
	readers := m.Consumers(value)
	if before != nil {
		mine := lists.Filter(readers, func(u Use) bool { return u.Node == before })
		refuse(len(mine) == 0, before, "does not read %s; its inputs are %s", quote(value), quoted(before.Input))
		readers = mine
	}
	fail.If(m.IsOutput(value), "%s is a graph output; give the node that makes it another output first (change_output)",
		quote(value))
	parts := m.InsertSlices(value, c, nil)
	joined := m.InsertConcat(parts, concatAxis, m.UniqueNode(value+"/Concat"), outputs, nil, 0)
	for _, u := range readers {
		if u.Index >= 0 {
			u.Node.Input[u.Index] = joined
		} else {
			renameCaptured(u.Node, only(value, joined))
		}
	}
	m.Touch()
	m.Sort()
	return joined
}
