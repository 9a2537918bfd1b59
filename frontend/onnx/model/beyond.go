// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/tensor"
)

// Beyond says why a model is not one from tensors of numbers and bools to
// such: inputs or outputs of text, sequences, optionals, maps, sparse tensors,
// floats of 8 bits and less or 2-bit integers, or operators of preview domains.
// It is "" for all other models.
func (m *Model) Beyond() string {
	for _, o := range m.Proto.GetOpsetImport() {
		if d := o.GetDomain(); strings.Contains(d, "preview") {
			return "imports the preview domain " + Quote(d)
		}
	}
	g := m.Proto.GetGraph()
	for _, v := range append(append([]*pb.ValueInfoProto(nil), g.GetInput()...), g.GetOutput()...) {
		if why := beyondType(v.GetType()); why != "" {
			return Quote(v.GetName()) + " is " + why
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
				return "a tensor of " + DataTypeName(e)
			}
		}
		return ""
	}
	return "a " + strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", t.GetValue()), "*pb.TypeProto_"), "Type")
}
