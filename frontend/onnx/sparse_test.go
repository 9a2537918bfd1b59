// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
)

// TestSparse: sparse constants are checked by the rules of SparseTensorProto.
func TestSparse(t *testing.T) {
	for _, c := range []struct {
		name       string
		dims       []int64
		values     []float32
		indices    []int64
		shape      []int64 // of the indices; nil: one dimension
		want       string
		valueShape []int64
	}{
		{name: "linear", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 11}},
		{name: "coordinates", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 3, 2, 0},
			shape: []int64{2, 2}},
		{name: "nothing", dims: []int64{3, 4}, values: []float32{}, indices: nil},
		{name: "beyond the end", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 12},
			want: "index 1 of the sparse tensor is 12, where there are 12 elements"},
		{name: "negative", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{-1, 1},
			want: "index 0 of the sparse tensor is -1"},
		{name: "far away", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1 << 62},
			want: "where there are 12 elements"},
		{name: "coordinate beyond the end", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 4, 2, 0},
			shape: []int64{2, 2}, want: "index 0 of the sparse tensor is 4, where there are 4"},
		{name: "negative coordinate", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{-1, 0},
			shape: []int64{1, 2}, want: "is -1"},
		{name: "not in order", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5, 4},
			want: "smaller than the one before"},
		{name: "coordinates not in order", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{1, 0, 0, 3},
			shape: []int64{2, 2}, want: "smaller than the one before"},
		{name: "twice", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5, 5},
			want: "the same as the one before"},
		{name: "one too few", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5},
			want: "2 values with 1 indices"},
		{name: "other rank", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1, 1, 1}, shape: []int64{1, 3},
			want: "an index has 3 coordinates, the tensor 2"},
		{name: "indices of rank 3", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1},
			shape: []int64{1, 1, 1}, want: "want [1] or [1,2]"},
		{name: "values of rank 2", dims: []int64{3, 4}, values: []float32{1}, valueShape: []int64{1, 1},
			indices: []int64{1}, want: "one dimension"},
		{name: "scalar", dims: nil, values: []float32{1}, indices: []int64{0}, want: "at least one dimension"},
		{name: "no elements", dims: []int64{0, 4}, values: []float32{1}, indices: []int64{0}, want: "none of them 0"},
		{name: "overflow", dims: []int64{1 << 40, 1 << 40}, values: []float32{1}, indices: []int64{0}, want: ""},
		{name: "no indices", dims: []int64{4}, values: []float32{1}, indices: nil,
			want: "without values or without indices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m,
				err := Parse(
				[]byte(
					`<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 4] y) { y = Relu (x) }`),
				Limits{})
			testenv.OK(t, err)
			v := &pb.TensorProto{Name: proto.String("s"), DataType: proto.Int32(1), FloatData: c.values,
				Dims: []int64{int64(len(c.values))}}
			if c.valueShape != nil {
				v.Dims = c.valueShape
			}
			s := &pb.SparseTensorProto{Dims: c.dims, Values: v}
			if c.indices != nil {
				s.Indices = &pb.TensorProto{DataType: proto.Int32(7), Int64Data: c.indices, Dims: c.shape}
				if c.shape == nil {
					s.Indices.Dims = []int64{int64(len(c.indices))}
				}
			}
			m.Proto.Graph.SparseInitializer = append(m.Proto.Graph.SparseInitializer, s)
			var said []string
			for _, f := range Check(m) {
				if f.Severity == diag.Error {
					said = append(said, f.Error())
				}
			}
			all := strings.Join(said, "\n")
			bad := c.want != "" || c.name == "overflow"
			if bad != (all != "") || !strings.Contains(all, c.want) || bad && !strings.Contains(all, `"s"`) {
				t.Errorf("got %q, want %q", all, c.want)
			}
			// Indices of another type.
			if s.Indices != nil && !bad {
				s.Indices.DataType, s.Indices.Int32Data, s.Indices.Int64Data = proto.Int32(6),
					make([]int32, len(c.indices)), nil
				if fs := Check(m); fs.Count(diag.Error) == 0 {
					t.Error("32-bit indices are accepted")
				}
			}
		})
	}
}
