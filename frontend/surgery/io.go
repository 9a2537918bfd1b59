// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
)

// Dim is one dimension of a declared shape: a size, a symbol, or (the zero
// Symbol with Size -1) unknown.
type Dim struct {
	Size   int64 // -1 when it is not fixed
	Symbol string
}

// Fixed is a shape of sizes.
func Fixed(sizes ...int64) []Dim {
	return lists.Map(sizes, func(d int64) Dim { return Dim{Size: d} })
}

func ints(shape []int) []Dim {
	return lists.Map(shape, func(d int) Dim { return Dim{Size: int64(d)} })
}

func (d Dim) String() string {
	switch {
	case d.Size >= 0:
		return strconv.FormatInt(d.Size, 10)
	case d.Symbol != "":
		return d.Symbol
	}
	return "?"
}

// ShapeText prints a shape as [1,3,N,?].
func ShapeText(s []Dim) string {
	t := lists.Map(s, func(d Dim) string { return d.String() })
	return "[" + strings.Join(t, ",") + "]"
}

// tensorType is a declaration; a nil shape leaves the rank open.
func tensorType(dt int32, shape []Dim) *pb.TypeProto {
	t := &pb.TypeProto_Tensor{ElemType: proto.Int32(dt)}
	if shape != nil {
		t.Shape = &pb.TensorShapeProto{}
		for _, d := range shape {
			x := &pb.TensorShapeProto_Dimension{}
			switch {
			case d.Size >= 0:
				x.Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: d.Size}
			case d.Symbol != "":
				x.Value = &pb.TensorShapeProto_Dimension_DimParam{DimParam: d.Symbol}
			}
			t.Shape.Dim = append(t.Shape.Dim, x)
		}
	}
	return &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: t}}
}

// declared is a tensor's declared type; ok is false without element type,
// shape is nil without a shape.
func declared(v *pb.ValueInfoProto) (dt int32, shape []Dim, ok bool) {
	t := v.GetType().GetTensorType()
	if t.GetElemType() == 0 {
		return 0, nil, false
	}
	if t.Shape == nil {
		return t.GetElemType(), nil, true
	}
	shape = []Dim{}
	for _, d := range t.Shape.Dim {
		x := Dim{Size: -1, Symbol: d.GetDimParam()}
		if v, fixed := d.Value.(*pb.TensorShapeProto_Dimension_DimValue); fixed {
			x.Size = v.DimValue
		}
		shape = append(shape, x)
	}
	return t.GetElemType(), shape, true
}

// IOShape is the declared element type and shape of a graph input or output;
// the shape is nil where it is not declared.
func (m *Model) IOShape(name string) (elemType int32, shape []Dim) {
	v := m.input(name)
	if v == nil {
		v = m.output(name)
	}
	if v == nil {
		fail.Check(m.noIO(name))
	}
	dt, s, _ := declared(v)
	return dt, s
}

func (m *Model) noIO(name string) error {
	all := append(m.InputNames(), m.OutputNames()...)
	return fmt.Errorf("the graph has no input or output %s%s; inputs: %s; outputs: %s", quote(name), near(name, all),
		quoted(m.InputNames()), quoted(m.OutputNames()))
}

func (m *Model) noOutput(name string) error {
	all := m.OutputNames()
	return fmt.Errorf("the graph has no output %s%s; outputs: %s", quote(name), near(name, all), quoted(all))
}

// SetIOShape declares another shape, and with elemType not 0 another element
// type, for a graph input or output.
func (m *Model) SetIOShape(name string, elemType int32, shape []Dim) {
	found := false
	for _, v := range []*pb.ValueInfoProto{m.input(name), m.output(name)} {
		if v == nil {
			continue
		}
		found = true
		dt, _, _ := declared(v)
		if elemType != 0 {
			dt = elemType
		}
		fail.If(dt == 0, "%s has no element type; say which (dtype)", quote(name))
		v.Type = tensorType(dt, shape)
	}
	if !found {
		fail.Check(m.noIO(name))
	}
	m.Touch()
}

// AddInput adds a graph input of any element type.
func (m *Model) AddInput(name string, elemType int32, shape []Dim) {
	fail.Check(m.freeValue(name))
	fail.If(elemType == 0 || shape == nil, "input %s needs an element type and a shape", quote(name))
	m.Touch()
	m.graph().Input = append(m.graph().Input, &pb.ValueInfoProto{Name: proto.String(name),
		Type: tensorType(elemType, shape)})
}

// AddOutput makes a value a graph output. Element type and shape come from
// inference where elemType is 0 or shape nil.
func (m *Model) AddOutput(name string, elemType int32, shape []Dim) {
	fail.If(m.IsOutput(name), "%s is an output already", quote(name))
	fail.Check(m.wantValue(name))
	if elemType == 0 || shape == nil {
		if t, ok := m.Shapes().Type(name); ok {
			if elemType == 0 {
				elemType = t.Elem
			}
			if shape == nil {
				shape = t.Shape
			}
		}
	}
	v := &pb.ValueInfoProto{Name: proto.String(name)}
	if elemType != 0 {
		v.Type = tensorType(elemType, shape)
	}
	m.Touch()
	m.graph().Output = append(m.graph().Output, v)
}

// RemoveOutputs takes values out of the graph outputs; the nodes stay until
// Prune. One output must remain.
func (m *Model) RemoveOutputs(list []string) {
	for _, s := range list {
		if !m.IsOutput(s) {
			fail.Check(m.noOutput(s))
		}
	}
	left := slices.DeleteFunc(slices.Clone(m.graph().Output),
		func(v *pb.ValueInfoProto) bool { return slices.Contains(list, v.GetName()) })
	m.Touch()
	m.graph().Output = left
}

// KeepOutputs keeps only these graph outputs, in the given order.
func (m *Model) KeepOutputs(list []string) {
	var left []*pb.ValueInfoProto
	for i, s := range list {
		v := m.output(s)
		if v == nil {
			fail.Check(m.noOutput(s))
		}
		fail.If(slices.Contains(list[:i], s), "output %s is listed twice", quote(s))
		left = append(left, v)
	}
	fail.If(len(left) == 0, "no output is to be kept; want at least one")
	m.Touch()
	m.graph().Output = left
}

// RemoveInputs takes graph inputs away; an error, and nothing removed, where
// something reads one, unless only is set: then a later edit is to serve the
// readers.
func (m *Model) RemoveInputs(list []string, only bool) {
	for _, s := range list {
		fail.If(m.input(s) == nil, "the graph has no input %s%s; inputs: %s", quote(s), near(s, m.InputNames()),
			quoted(m.InputNames()))
		if u := m.Consumers(s); len(u) > 0 && !only && !m.IsInitializer(s) {
			fail.Errorf("input %s is read by %s; remove or re-wire that first (only: true removes it all the "+
				"same, for an initializer to take its place)", quote(s), label(u[0].Node))
		}
	}
	m.Touch()
	g := m.graph()
	g.Input = slices.DeleteFunc(g.Input, func(v *pb.ValueInfoProto) bool { return slices.Contains(list, v.GetName()) })
}

// PinDims gives symbolic dimensions of the interface fixed sizes, in the file:
// by their symbol, or by place as "input.axis".
func (m *Model) PinDims(dims map[string]int64) {
	used, have := set{}, set{}
	for _, list := range [][]*pb.ValueInfoProto{m.graph().Input, m.graph().Output, m.graph().ValueInfo} {
		for _, v := range list {
			dt, shape, ok := declared(v)
			if !ok || shape == nil {
				continue
			}
			for i, d := range shape {
				at := v.GetName() + "." + strconv.Itoa(i)
				if d.Size >= 0 {
					continue
				}
				key := at
				if d.Symbol != "" {
					key = d.Symbol
				}
				have[key] = true
				if _, ok := dims[at]; ok {
					key = at
				}
				if n, ok := dims[key]; ok {
					shape[i], used[key] = Dim{Size: n}, true
				}
			}
			v.Type = tensorType(dt, shape)
		}
	}
	for _, k := range sortedKeys(dims) {
		fail.If(!used[k], "the model has no symbolic dimension %s; it has: %s", quote(k), quoted(sortedKeys(have)))
	}
	m.Touch()
}

// openDims are the names of the inputs' dimensions without a size: the symbol,
// and the place as "input.axis".
func (m *Model) openDims() []string {
	names := set{}
	for _, v := range m.graph().Input {
		_, shape, _ := declared(v)
		for i, d := range shape {
			if d.Size < 0 {
				names[v.GetName()+"."+strconv.Itoa(i)] = true
				if d.Symbol != "" {
					names[d.Symbol] = true
				}
			}
		}
	}
	return sortedKeys(names)
}
