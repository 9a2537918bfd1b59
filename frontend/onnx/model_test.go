// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	good := tBytes(tModel(tNode("r", "Relu", "x", ">", "y")))
	file := func(name string, b []byte) string {
		p := filepath.Join(dir, name)
		testenv.OK(t, os.WriteFile(p, b, 0o644))
		return p
	}
	m, err := Load(file("good.onnx", good), Limits{})
	if err != nil || m.Dir != dir || m.Proto.GetGraph().GetName() != "g" || m.SHA256 == [32]byte{} {
		t.Fatal(m, err)
	}
	unknown := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(good), 2004, protowire.BytesType),
		[]byte("future"))
	if _, err := Load(file("unknown.onnx", unknown), Limits{}); err != nil {
		t.Error("an unknown field:", err)
	}

	deep := []byte("x")
	for range 5000 { // optional types within optional types
		deep = protowire.AppendBytes([]byte{1<<3 | 2}, deep)
		deep = protowire.AppendBytes([]byte{9<<3 | 2}, deep)
	}
	deep = protowire.AppendBytes([]byte{2<<3 | 2}, deep)  // of a value
	deep = protowire.AppendBytes([]byte{11<<3 | 2}, deep) // which is an input
	deep = protowire.AppendBytes([]byte{7<<3 | 2}, deep)  // of the graph

	bad := []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"half", good[:len(good)/2], "truncated"},
		{"last byte", good[:len(good)-1], "truncated"},
		{"zeros", append(bytes.Clone(good), make([]byte, 16)...), "tag 0"},
		{"text", []byte("Hello, this is no model at all"), "cannot parse"},
		{"wrong wire type", []byte{7 << 3, 5}, "graph"},
		{"lfs", []byte("version https://git-lfs.github.com/spec/v1\noid"), "git lfs pull"},
		{"tflite", []byte("\x1c\x00\x00\x00TFL3\x14\x00"), "TensorFlow Lite"},
		{"zip", []byte("PK\x03\x04archive"), "unpack it first"},
		{"html", []byte("<!DOCTYPE html>"), "web page"},
		{"deep", deep, "nested"},
	}
	for _, c := range bad {
		_, err := Load(file(c.name+".onnx", c.b), Limits{})
		testenv.Check(t, err != nil && strings.Contains(strings.ReplaceAll(err.Error(), c.name+".onnx", ""), c.want),
			"%s: %v; want %q in it", c.name, err, c.want)
	}
	// Every prefix of a model is refused or is a model itself; nothing panics.
	for n := range good {
		if m, err := Parse(good[:n], Limits{}); err == nil {
			Check(m)
		}
	}
	for _, p := range []string{dir, os.DevNull, filepath.Join(dir, "none.onnx")} {
		if _, err := Load(p, Limits{}); err == nil {
			t.Error(p, "was loaded")
		}
	}
	testenv.Refused(t, testenv.Err(Load(filepath.Join(dir, "good.onnx"), Limits{FileBytes: 10})), "limit")
}

// TestMessageBomb: a file of empty messages would grow a hundredfold in memory.
func TestMessageBomb(t *testing.T) {
	nodes := bytes.Repeat([]byte{1<<3 | 2, 0}, 1<<20)
	b := protowire.AppendBytes([]byte{7<<3 | 2}, nodes)
	testenv.Refused(t, testenv.Err(Parse(b, Limits{MemoryBytes: 64 << 20})), "memory")
	packed := protowire.AppendBytes([]byte{7<<3 | 2}, make([]byte, 1<<20)) // int64_data of a tensor
	b = protowire.AppendBytes([]byte{7<<3 | 2}, protowire.AppendBytes([]byte{5<<3 | 2}, packed))
	testenv.Refused(t, testenv.Err(Parse(b, Limits{MemoryBytes: 4 << 20})), "graph.initializer[0]")
}

// FuzzCheck: whatever the bytes, loading and checking end without a panic, and
// constants of models that pass decode or say why not.
func FuzzCheck(f *testing.F) {
	f.Add(tBytes(tModel(tNode("r", "Relu", "x", ">", "y"))))
	m := tModel(tWith(tNode("c", "Concat", "x", "k", ">", "y"), tInt("axis", 1)))
	m.Graph.Initializer = []*pb.TensorProto{tFloats("k", []int64{1, 2}, 1, 2), tExternal("e", "location", "w", "offset",
		"4")}
	f.Add(tBytes(m))
	m = tModel(tWith(tNode("i", "If", "c", ">", "y"), tGraphAttr("then_branch",
		&pb.GraphProto{Node: []*pb.NodeProto{tNode("r", "Relu", "x", ">", "s")},
			Output: []*pb.ValueInfoProto{tValue("s", 1)}})), tDomain(tNode("f", "F", "x", ">", "z"), "local"))
	m.Functions = []*pb.FunctionProto{tFunc("local", "F", []string{"a"}, []string{"b"},
		tWith(tNode("s", "Softmax", "a", ">", "b"), &pb.AttributeProto{Name: proto.String("axis"),
			RefAttrName: proto.String("q"), Type: pb.AttributeProto_INT.Enum()}))}
	f.Add(tBytes(m))
	f.Fuzz(func(t *testing.T, b []byte) {
		lim := Limits{MemoryBytes: 16 << 20, TensorBytes: 1 << 20, Nodes: 1000, Depth: 8, Findings: 50}
		m, err := Parse(b, lim)
		if err != nil {
			return
		}
		for _, f := range Check(m) {
			if f.Msg == "" || len(f.Error()) > 4000 {
				t.Fatalf("message %q", f.Error())
			}
		}
		for _, i := range m.Proto.GetGraph().GetInitializer() {
			m.Tensor(i)
		}
	})
}

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
	b := bug.Must(proto.MarshalOptions{Deterministic: true}.Marshal(m))
	return b
}
