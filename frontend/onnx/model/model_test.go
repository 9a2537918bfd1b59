// SPDX-License-Identifier: Apache-2.0

package model

import (
	"os"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

func TestLimitsSet(t *testing.T) {
	var l Limits
	for _, s := range []string{"nodes=7", "work=2G", "elements=3K", "depth=1"} {
		err := l.Set(s)
		testenv.Check(t, err == nil, "%v", err)
	}
	l = l.OrDefault()
	if l.Nodes != 7 || l.Work != 2<<30 || l.Elements != 3<<10 || l.Depth != 1 ||
		l.FileBytes != DefaultLimits.FileBytes || l.Trips != DefaultLimits.Trips {
		t.Errorf("%+v", l)
	}
	for s, want := range map[string]string{
		"nodes": "want NAME=N", "": "want NAME=N", "node=1": "want one of file, memory, names, nodes",
		"nodes=0": "from 1", "nodes=-1": "from 1",
		"nodes=": "from 1", "nodes=K": "from 1", "nodes=1KK": "from 1", "nodes=1.5": "from 1",
		"work=9223372036854775807": "from 1", "work=99999999999G": "from 1",
	} {
		testenv.Refused(t, l.Set(s), want)
	}
	readme := testenv.Must(os.ReadFile("README.md"))(t)
	for _, x := range limits {
		row := "| `" + x.name + "` | " + x.doc + " |"
		testenv.Check(t, strings.Contains(string(readme), row), "README.md lacks %s", row)
	}
}

// TestRelease: wherever a tensor stands and however it holds its values, they are gone
// afterwards, and its name is not.
func TestRelease(t *testing.T) {
	const mark = 0x5A17C3
	tensors := []*pb.TensorProto{
		{RawData: []byte{mark >> 16, mark >> 8 & 0xFF, mark & 0xFF}}, {StringData: [][]byte{[]byte("value")}},
		{FloatData: []float32{mark}}, {DoubleData: []float64{mark}}, {Int32Data: []int32{mark}},
		{Int64Data: []int64{mark}}, {Uint64Data: []uint64{mark}},
	}
	for _, x := range tensors {
		x.Name, x.Dims = proto.String("a name"), []int64{1}
	}
	inner := &pb.GraphProto{Initializer: tensors, Node: []*pb.NodeProto{{Attribute: []*pb.AttributeProto{
		{T: tensors[0], Tensors: tensors, SparseTensor: &pb.SparseTensorProto{Values: tensors[2], Indices: tensors[5]}},
	}}}}
	node := &pb.NodeProto{Attribute: []*pb.AttributeProto{{G: inner, Graphs: []*pb.GraphProto{inner}}}}
	all := &pb.ModelProto{
		Graph: &pb.GraphProto{Initializer: tensors, Node: []*pb.NodeProto{node},
			SparseInitializer: []*pb.SparseTensorProto{{Values: tensors[1], Indices: tensors[5]}}},
		Functions: []*pb.FunctionProto{{Node: []*pb.NodeProto{node}}},
	}
	m := &Model{Proto: proto.Clone(all).(*pb.ModelProto)}
	for _, x := range tensors { // all shares them
		x.RawData, x.StringData, x.FloatData, x.DoubleData = nil, nil, nil, nil
		x.Int32Data, x.Int64Data, x.Uint64Data = nil, nil, nil
	}
	testenv.Require(t, !proto.Equal(m.Proto, all), "there are no values")
	if m.Release(); !proto.Equal(m.Proto, all) {
		t.Errorf("values are left, or more than values is gone: %v", m.Proto)
	}
}
