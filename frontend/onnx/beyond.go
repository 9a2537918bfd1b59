package onnx

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/tensor"
)

// Beyond says why a model has more than tensors of numbers and bools: text,
// sequences, optionals, maps, sparse tensors, floats of 8 bits and less, 2-bit
// integers, operators of preview domains. It is "" for all other models.
func (m *Model) Beyond() string { return beyondGraph(m.Proto.GetGraph()) }

func beyondGraph(g *pb.GraphProto) string {
	for _, v := range append(append(append([]*pb.ValueInfoProto(nil), g.GetInput()...), g.GetOutput()...), g.GetValueInfo()...) {
		if why := beyondType(v.GetType()); why != "" {
			return quote(v.GetName()) + " is " + why
		}
	}
	for _, n := range g.GetNode() {
		switch o := n.GetOpType(); {
		case strings.Contains(n.GetDomain(), "preview"):
			return fmt.Sprintf("operator %s of the preview domain %s", plain(o), quote(n.GetDomain()))
		case domain(n.GetDomain()) == "" && (strings.Contains(o, "Sequence") && o != "ReverseSequence" || strings.HasPrefix(o, "Optional") || strings.HasPrefix(o, "String") || o == "RegexFullMatch"):
			return fmt.Sprintf("operator %s works on sequences, optionals or text", plain(o))
		}
		for _, a := range n.GetAttribute() {
			if a.GetT() != nil {
				if _, ok := tensor.FromONNX(int(a.GetT().GetDataType())); !ok {
					return fmt.Sprintf("attribute %s holds %s", quote(a.GetName()), dataTypeName(a.GetT().GetDataType()))
				}
			}
			if a.GetG() != nil {
				if why := beyondGraph(a.GetG()); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

func beyondType(t *pb.TypeProto) string {
	switch v := t.GetValue().(type) {
	case nil:
		return ""
	case *pb.TypeProto_TensorType:
		if e := v.TensorType.GetElemType(); e != 0 {
			if _, ok := tensor.FromONNX(int(e)); !ok {
				return "a tensor of " + dataTypeName(e)
			}
		}
		return ""
	}
	return "a " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", t.GetValue()), "*pb.TypeProto_"), "Type")
}

func dataTypeName(e int32) string { return strings.ToLower(pb.TensorProto_DataType(e).String()) }
