// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// NodeSpec describes a new node. Attribute values are int, int64, float64,
// bool, string, *tensor.Dense, *pb.TensorProto, or lists of the former ([]any,
// []int, []int64, []float64, []string); the operator's schema says what an
// integer without a point stands for.
type NodeSpec struct {
	Op, Domain, Name string
	Inputs, Outputs  []string
	Attributes       map[string]any
}

// MakeNode makes a node (not yet part of the graph) with the attributes that
// the operator has in the model's opset.
func (m *Model) MakeNode(s NodeSpec) *pb.NodeProto {
	fail.If(s.Op == "", "a new node has no op")
	n := &pb.NodeProto{OpType: proto.String(s.Op), Input: slices.Clone(s.Inputs), Output: slices.Clone(s.Outputs)}
	if s.Domain != "" {
		n.Domain = proto.String(s.Domain)
	}
	if s.Name != "" {
		n.Name = proto.String(s.Name)
	}
	for _, k := range sortedKeys(s.Attributes) {
		m.SetAttribute(n, k, s.Attributes[k])
	}
	return n
}

// Attribute finds an attribute of a node by name; nil where it has none.
func Attribute(n *pb.NodeProto, name string) *pb.AttributeProto {
	return lists.Find(n.Attribute, func(a *pb.AttributeProto) bool { return a.GetName() == name })
}

// SetAttribute gives an attribute a value, by its name: one that is there is
// replaced, the others stay what they are. See NodeSpec for values. The
// operator must have such an attribute, where its schema is known.
func (m *Model) SetAttribute(n *pb.NodeProto, name string, value any) {
	var want schema.AttrType
	if sch := schema.Lookup(n.GetDomain(), n.GetOpType(), m.Opset(n.GetDomain())); sch != nil && !sch.Deprecated {
		a := sch.Attr(name)
		if a == nil && schema.Domain(n.GetDomain()) == "" {
			have := lists.Map(sch.Attrs, func(a schema.Attr) string { return a.Name })
			fail.Check(nodeErr(n, "has no attribute %s in opset %d; attributes of %s: %s%s", quote(name),
				m.Opset(n.GetDomain()), n.GetOpType(), quoted(have), near(name, have)))
		}
		if a != nil {
			want = a.Type
		}
	}
	var a *pb.AttributeProto
	ofNode(n, "attribute "+quote(name)+": ", func() { a = makeAttr(name, value, want) })
	m.Touch()
	if i := slices.IndexFunc(n.Attribute, func(x *pb.AttributeProto) bool { return x.GetName() == name }); i >= 0 {
		n.Attribute[i] = a
		return
	}
	n.Attribute = append(n.Attribute, a)
}

// RemoveAttribute deletes an attribute by name; an error where there is none.
func (m *Model) RemoveAttribute(n *pb.NodeProto, name string) {
	i := slices.IndexFunc(n.Attribute, func(x *pb.AttributeProto) bool { return x.GetName() == name })
	refuse(i < 0, n, "has no attribute %s to remove; it has: %s", quote(name), quoted(names(n.Attribute)))
	m.Touch()
	n.Attribute = slices.Delete(n.Attribute, i, i+1)
}

// makeAttr builds an attribute; want is the type in the schema, 0 if unknown.
func makeAttr(name string, v any, want schema.AttrType) *pb.AttributeProto {
	a := &pb.AttributeProto{Name: proto.String(name)}
	v = basic(v)
	switch x := v.(type) {
	case int64:
		if want == schema.Float {
			setFloat(a, float64(x))
			return a
		}
		a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(x)
	case float64:
		if want == schema.Int && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
			a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(int64(x))
			break
		}
		setFloat(a, x)
	case string:
		if want == schema.Int { // a data type: Cast's to
			dt, err := fail.Try(func() int32 { return ElemType(x) })
			fail.If(err != nil, "found %s; want an integer, or the name of an element type", quote(x))
			a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(int64(dt))
			break
		}
		a.Type, a.S = pb.AttributeProto_STRING.Enum(), []byte(x)
	case *pb.TensorProto:
		a.Type, a.T = pb.AttributeProto_TENSOR.Enum(), proto.Clone(x).(*pb.TensorProto)
	case []any:
		setList(a, x, want)
	default:
		fail.Errorf("a value of type %T cannot be an attribute; want a number, text, a tensor or a list", v)
	}
	fail.If(want != 0 && schema.AttrType(a.GetType()) != want, "found a value of type %s; want %s",
		schema.AttrType(a.GetType()), want)
	return a
}

// basic is a value of an attribute in one of the forms int64, float64, string,
// *pb.TensorProto and []any.
func basic(v any) any {
	switch x := v.(type) {
	case int:
		return int64(x)
	case bool:
		if x {
			return int64(1)
		}
		return int64(0)
	case *tensor.Dense:
		return model.TensorProto("", x)
	case []int:
		return toList(x)
	case []int64:
		return toList(x)
	case []float64:
		return toList(x)
	case []string:
		return toList(x)
	}
	return v
}

func toList[T any](x []T) []any {
	return lists.Map(x, func(v T) any { return v })
}

func setFloat(a *pb.AttributeProto, x float64) {
	f := float32(x)
	fail.If(math.IsInf(float64(f), 0) && !math.IsInf(x, 0), "%g is beyond the range of a 32-bit float", x)
	a.Type, a.F = pb.AttributeProto_FLOAT.Enum(), proto.Float32(f)
}

// setList fills INTS, FLOATS or STRINGS; an empty list is what the schema wants,
// else INTS.
func setList(a *pb.AttributeProto, list []any, want schema.AttrType) {
	numbers, whole, texts := true, true, true
	for i, v := range list {
		list[i] = basic(v)
		switch x := list[i].(type) {
		case int64:
			texts = false
		case float64:
			texts, whole = false, whole && x == math.Trunc(x) && want == schema.Ints
		case string:
			numbers = false
		default:
			fail.Errorf("element %d of the list is a %T; want numbers or text", i, v)
		}
	}
	number := func(v any) float64 {
		if x, ok := v.(float64); ok {
			return x
		}
		return float64(v.(int64))
	}
	switch {
	case texts && (len(list) > 0 || want == schema.Strings):
		a.Type = pb.AttributeProto_STRINGS.Enum()
		a.Strings = lists.Map(list, func(v any) []byte { return []byte(v.(string)) })
	case numbers && whole && want != schema.Floats:
		a.Type = pb.AttributeProto_INTS.Enum()
		a.Ints = lists.Map(list, func(v any) int64 {
			if x, ok := v.(int64); ok {
				return x
			}
			return int64(number(v))
		})
	case numbers:
		a.Type = pb.AttributeProto_FLOATS.Enum()
		a.Floats = lists.Map(list, func(v any) float32 { return float32(number(v)) })
	default:
		fail.Errorf("a list of text and numbers; want one kind")
	}
}

// intsAttr is an attribute with a list of integers.
func intsAttr(name string, v ...int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INTS.Enum(), Ints: v}
}

// newProto is a node without attributes and with one output.
func newProto(op, name, output string, inputs ...string) *pb.NodeProto {
	return &pb.NodeProto{OpType: proto.String(op), Name: proto.String(name), Input: inputs, Output: []string{output}}
}

// attrInt, attrFloat and attrInts read attributes with their defaults.
func attrInt(n *pb.NodeProto, name string, def int64) int64 {
	if a := Attribute(n, name); a != nil {
		return a.GetI()
	}
	return def
}

func attrFloat(n *pb.NodeProto, name string, def float32) float32 {
	if a := Attribute(n, name); a != nil {
		return a.GetF()
	}
	return def
}
