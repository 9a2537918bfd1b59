// SPDX-License-Identifier: Apache-2.0

package model

import (
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/nncc/nncc/frontend/onnx/pb"
)

// Release lets go of the values of the model's tensors, once a graph has copies of them:
// half of what a compilation would hold. Names, types and shapes stay; the model cannot be
// imported again.
func (m *Model) Release() { release(m.Proto.ProtoReflect()) }

func release(m protoreflect.Message) {
	if t, ok := m.Interface().(*pb.TensorProto); ok {
		t.RawData, t.StringData = nil, nil
		t.FloatData, t.DoubleData = nil, nil
		t.Int32Data, t.Int64Data, t.Uint64Data = nil, nil, nil
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case f.Message() == nil:
		case f.IsList():
			for i := range v.List().Len() {
				release(v.List().Get(i).Message())
			}
		default: // ONNX has no maps
			release(v.Message())
		}
		return true
	})
}
