// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// Builders for models in tests.

// tModel is a model of opset 13 whose input "x" and output "y" are float[1,4].
func tModel(nodes ...*pb.NodeProto) *pb.ModelProto {
	return &pb.ModelProto{
		IrVersion:   proto.Int64(8),
		OpsetImport: []*pb.OperatorSetIdProto{tOpset("", 13)},
		Graph: &pb.GraphProto{
			Name:   proto.String("g"),
			Node:   nodes,
			Input:  []*pb.ValueInfoProto{tValue("x", 1, 1, 4)},
			Output: []*pb.ValueInfoProto{tValue("y", 1, 1, 4)},
		},
	}
}

func tOpset(domain string, v int64) *pb.OperatorSetIdProto {
	return &pb.OperatorSetIdProto{Domain: proto.String(domain), Version: proto.Int64(v)}
}

// tNode makes an unnamed-input list node: outputs after ">" in the operands.
func tNode(name, op string, operands ...string) *pb.NodeProto {
	n := &pb.NodeProto{Name: proto.String(name), OpType: proto.String(op)}
	out := false
	for _, o := range operands {
		switch {
		case o == ">":
			out = true
		case out:
			n.Output = append(n.Output, o)
		default:
			n.Input = append(n.Input, o)
		}
	}
	return n
}

func tWith(n *pb.NodeProto, attrs ...*pb.AttributeProto) *pb.NodeProto {
	n.Attribute = append(n.Attribute, attrs...)
	return n
}

func tDomain(n *pb.NodeProto, d string) *pb.NodeProto {
	n.Domain = proto.String(d)
	return n
}

func tInt(name string, v int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INT.Enum(), I: proto.Int64(v)}
}

func tInts(name string, v ...int64) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_INTS.Enum(), Ints: v}
}

func tGraphAttr(name string, g *pb.GraphProto) *pb.AttributeProto {
	return &pb.AttributeProto{Name: proto.String(name), Type: pb.AttributeProto_GRAPH.Enum(), G: g}
}

func tValue(name string, elem int32, dims ...int64) *pb.ValueInfoProto {
	s := &pb.TensorShapeProto{}
	for _, d := range dims {
		s.Dim = append(s.Dim,
			&pb.TensorShapeProto_Dimension{Value: &pb.TensorShapeProto_Dimension_DimValue{DimValue: d}})
	}
	return &pb.ValueInfoProto{Name: proto.String(name),
		Type: &pb.TypeProto{Value: &pb.TypeProto_TensorType{TensorType: &pb.TypeProto_Tensor{ElemType: proto.Int32(
			elem), Shape: s}}}}
}

func tFloats(name string, dims []int64, v ...float32) *pb.TensorProto {
	return &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(1), Dims: dims, FloatData: v}
}

// tExternal is a float[4] constant whose data are said to be elsewhere; kv are
// keys and values in turn.
func tExternal(name string, kv ...string) *pb.TensorProto {
	t := &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(1), Dims: []int64{4},
		DataLocation: pb.TensorProto_EXTERNAL.Enum()}
	for i := 0; i < len(kv); i += 2 {
		t.ExternalData = append(t.ExternalData, &pb.StringStringEntryProto{Key: proto.String(kv[i]),
			Value: proto.String(kv[i+1])})
	}
	return t
}

func tFunc(domain, name string, in, out []string, nodes ...*pb.NodeProto) *pb.FunctionProto {
	return &pb.FunctionProto{Domain: proto.String(domain), Name: proto.String(name), Input: in, Output: out,
		Node: nodes, OpsetImport: []*pb.OperatorSetIdProto{tOpset("", 13), tOpset("local", 1)}}
}

// bytes serialises a message; models in tests are small and well-formed.
func tBytes(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}
