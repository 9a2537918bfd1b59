// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// IsInitializer reports a constant among the graph's initializers.
func (m *Model) IsInitializer(name string) bool { return m.initializer(name) != nil }

func (m *Model) initializer(name string) *pb.TensorProto {
	if name == "" {
		return nil
	}
	return lists.Find(m.graph().Initializer, func(t *pb.TensorProto) bool { return t.GetName() == name })
}

// isConstant reports a value known from the file: an initializer, or the
// result of a Constant node.
func (m *Model) isConstant(value string) bool {
	if m.IsInitializer(value) {
		return true
	}
	p := m.Producer(value)
	return p != nil && p.GetOpType() == "Constant" && p.GetDomain() == ""
}

// Constant is the data of an initializer, or of a Constant node's result; an
// Identity in between is looked through.
func (m *Model) Constant(value string) *tensor.Dense {
	for range 16 {
		if t := m.initializer(value); t != nil {
			return fail.Must(m.loaded(m.Proto).Tensor(t))
		}
		p := m.Producer(value)
		switch {
		case p == nil:
			fail.Check(m.wantValue(value))
			fail.Errorf("%s is a graph input, not a constant", quote(value))
		case p.GetOpType() == "Identity" && p.GetDomain() == "" && len(p.Input) == 1:
			value = p.Input[0]
			continue
		case p.GetOpType() == "Constant" && p.GetDomain() == "":
			return m.constantNode(p)
		}
		fail.Errorf("%s is not a constant: it is computed by %s (simplify folds what can be computed "+
			"before)", quote(value), label(p))
	}
	fail.Errorf("%s is behind too many Identity nodes", quote(value))
	return nil
}

// constantNode is the value of a Constant node in any of its forms.
func (m *Model) constantNode(n *pb.NodeProto) *tensor.Dense {
	for _, a := range n.Attribute {
		switch a.GetName() {
		case "value":
			if a.T != nil {
				return fail.Must(m.loaded(m.Proto).Tensor(a.T))
			}
		case "value_int":
			return tensor.Scalar(a.GetI())
		case "value_ints":
			return tensor.Of([]int{len(a.Ints)}, slices.Clone(a.Ints))
		case "value_float":
			return tensor.Scalar(a.GetF())
		case "value_floats":
			return tensor.Of([]int{len(a.Floats)}, slices.Clone(a.Floats))
		}
	}
	fail.Check(nodeErr(n, "holds no tensor of numbers"))
	return nil
}

// AddInitializer adds a constant.
func (m *Model) AddInitializer(t *pb.TensorProto) {
	fail.Check(m.freeValue(t.GetName()))
	m.Touch()
	m.graph().Initializer = append(m.graph().Initializer, t)
}

// constant adds data as an initializer under a name like base, and gives the name.
func (m *Model) constant(base string, d *tensor.Dense) string {
	name := m.UniqueValue(base)
	m.Touch()
	m.graph().Initializer = append(m.graph().Initializer, model.TensorProto(name, d))
	return name
}

// SetInitializer replaces the data of an initializer; the result of a Constant
// node becomes an initializer of the same name.
func (m *Model) SetInitializer(t *pb.TensorProto) {
	name := t.GetName()
	m.Touch()
	for i, old := range m.graph().Initializer {
		if old.GetName() == name {
			m.graph().Initializer[i] = t
			if vi := m.input(name); vi != nil { // IR version 3 lists it as an input
				vi.Type = tensorType(t.GetDataType(), Fixed(t.Dims...))
			}
			return
		}
	}
	p := m.Producer(name)
	if p == nil || !m.isConstant(name) {
		fail.Check(m.wantValue(name))
		fail.Errorf("%s is no initializer", quote(name))
	}
	m.delete(p)
	m.graph().Initializer = append(m.graph().Initializer, t)
}

// RemoveInitializers deletes constants by name; an error, and nothing deleted,
// where something reads one.
func (m *Model) RemoveInitializers(list []string) {
	for _, s := range list {
		fail.If(!m.IsInitializer(s), "no initializer %s%s", quote(s), near(s, names(m.graph().Initializer)))
		if u := m.Consumers(s); len(u) > 0 {
			fail.Errorf("initializer %s is read by %s; remove or re-wire that first", quote(s), label(u[0].Node))
		}
		fail.If(m.IsOutput(s), "initializer %s is a graph output; remove that first", quote(s))
	}
	for _, s := range list {
		m.deleteInitializer(s)
	}
}

func (m *Model) deleteInitializer(name string) {
	m.Touch()
	g := m.graph()
	g.Initializer = slices.DeleteFunc(g.Initializer, func(t *pb.TensorProto) bool { return t.GetName() == name })
	g.Input = slices.DeleteFunc(g.Input, func(v *pb.ValueInfoProto) bool { return v.GetName() == name })
	g.ValueInfo = slices.DeleteFunc(g.ValueInfo, func(v *pb.ValueInfoProto) bool { return v.GetName() == name })
}

// RemoveUnusedInitializers deletes the constants that nothing reads and gives
// their names.
func (m *Model) RemoveUnusedInitializers() []string {
	used := setOf(m.OutputNames())
	for _, n := range m.graph().Node {
		used.add(reads(n)...)
	}
	gone := slices.DeleteFunc(names(m.graph().Initializer), func(s string) bool { return used[s] })
	for _, s := range gone {
		m.deleteInitializer(s)
	}
	return gone
}

// DeduplicateInitializers lets the readers of equal constants (type, shape and
// every bit) read the first of them, and deletes the others; it gives a map
// from deleted names to the kept ones.
func (m *Model) DeduplicateInitializers() map[string]string {
	first := map[string]string{}
	gone := map[string]string{}
	for _, t := range slices.Clone(m.graph().Initializer) {
		key := contents(t)
		name := t.GetName()
		kept, dup := first[key]
		if !dup {
			first[key] = name
			continue
		}
		if m.IsOutput(name) {
			continue
		}
		m.rewire(name, kept, nil)
		m.deleteInitializer(name)
		gone[name] = kept
	}
	return gone
}

// contents is a key that two constants share when they are equal, whatever
// field that holds their data.
func contents(t *pb.TensorProto) string {
	c := proto.Clone(t).(*pb.TensorProto)
	c.Name, c.DocString, c.MetadataProps = nil, nil, nil
	if _, ok := tensor.FromONNX(int(c.GetDataType())); ok && len(c.RawData) == 0 {
		d := fail.Must(onnx.TensorData(t, "", onnx.Limits{}))
		c = model.TensorProto("", d)
	}
	return string(fail.Must(proto.MarshalOptions{Deterministic: true}.Marshal(c)))
}
