// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/tensor"
)

// IsInitializer reports a constant among the graph's initializers.
func (m *Model) IsInitializer(name string) bool { return m.initializer(name) != nil }

func (m *Model) initializer(name string) *pb.TensorProto {
	if name == "" {
		return nil
	}
	for _, t := range m.graph().Initializer {
		if t.GetName() == name {
			return t
		}
	}
	return nil
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
func (m *Model) Constant(value string) (*tensor.Dense, error) {
	for range 16 {
		if t := m.initializer(value); t != nil {
			return m.loaded(m.Proto).Tensor(t)
		}
		p := m.Producer(value)
		switch {
		case p == nil:
			if err := m.wantValue(value); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%s is a graph input, not a constant", quote(value))
		case p.GetOpType() == "Identity" && p.GetDomain() == "" && len(p.Input) == 1:
			value = p.Input[0]
			continue
		case p.GetOpType() == "Constant" && p.GetDomain() == "":
			return m.constantNode(p)
		}
		return nil, fmt.Errorf("%s is not a constant: it is computed by %s (simplify folds what can be computed "+
			"before)",
			quote(value), label(p))
	}
	return nil, fmt.Errorf("%s is behind too many Identity nodes", quote(value))
}

// constantNode is the value of a Constant node in any of its forms.
func (m *Model) constantNode(n *pb.NodeProto) (*tensor.Dense, error) {
	for _, a := range n.Attribute {
		switch a.GetName() {
		case "value":
			if a.T != nil {
				return m.loaded(m.Proto).Tensor(a.T)
			}
		case "value_int":
			return tensor.Scalar(a.GetI()), nil
		case "value_ints":
			return tensor.Of([]int{len(a.Ints)}, slices.Clone(a.Ints)), nil
		case "value_float":
			return tensor.Scalar(a.GetF()), nil
		case "value_floats":
			return tensor.Of([]int{len(a.Floats)}, slices.Clone(a.Floats)), nil
		}
	}
	return nil, nodeErr(n, "holds no tensor of numbers")
}

// AddInitializer adds a constant.
func (m *Model) AddInitializer(t *pb.TensorProto) error {
	if err := m.freeValue(t.GetName()); err != nil {
		return err
	}
	m.Touch()
	m.graph().Initializer = append(m.graph().Initializer, t)
	return nil
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
func (m *Model) SetInitializer(t *pb.TensorProto) error {
	name := t.GetName()
	m.Touch()
	for i, old := range m.graph().Initializer {
		if old.GetName() == name {
			m.graph().Initializer[i] = t
			if vi := m.input(name); vi != nil { // IR version 3 lists it as an input
				vi.Type = tensorType(t.GetDataType(), Fixed(t.Dims...))
			}
			return nil
		}
	}
	p := m.Producer(name)
	if p == nil || !m.isConstant(name) {
		if err := m.wantValue(name); err != nil {
			return err
		}
		return fmt.Errorf("%s is no initializer", quote(name))
	}
	m.delete(p)
	m.graph().Initializer = append(m.graph().Initializer, t)
	return nil
}

// RemoveInitializers deletes constants by name; an error, and nothing deleted,
// where something reads one.
func (m *Model) RemoveInitializers(list []string) error {
	for _, s := range list {
		if !m.IsInitializer(s) {
			return fmt.Errorf("no initializer %s%s", quote(s), near(s, names(m.graph().Initializer)))
		}
		if u := m.Consumers(s); len(u) > 0 {
			return fmt.Errorf("initializer %s is read by %s; remove or re-wire that first", quote(s), label(u[0].Node))
		}
		if m.IsOutput(s) {
			return fmt.Errorf("initializer %s is a graph output; remove that first", quote(s))
		}
	}
	for _, s := range list {
		m.deleteInitializer(s)
	}
	return nil
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
func (m *Model) DeduplicateInitializers() (map[string]string, error) {
	first := map[string]string{}
	gone := map[string]string{}
	for _, t := range slices.Clone(m.graph().Initializer) {
		key, err := contents(t)
		if err != nil {
			return nil, err
		}
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
	return gone, nil
}

// contents is a key that two constants share when they are equal, whatever
// field that holds their data.
func contents(t *pb.TensorProto) (string, error) {
	c := proto.Clone(t).(*pb.TensorProto)
	c.Name, c.DocString, c.MetadataProps = nil, nil, nil
	if _, ok := tensor.FromONNX(int(c.GetDataType())); ok && len(c.RawData) == 0 {
		d, err := onnx.TensorData(t, "", onnx.Limits{})
		if err != nil {
			return "", err
		}
		c = model.TensorProto("", d)
	}
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	return string(b), err
}
