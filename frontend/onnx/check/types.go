// SPDX-License-Identifier: Apache-2.0

package check

import (
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/lists"
)

// vtype is the type of a value as far as schemas constrain it: its kind and
// element type. The zero value is an unknown type.
type vtype struct {
	kind uint8
	elem int32 // TensorProto.DataType number
}

// Kinds of vtype.
const (
	kUnknown uint8 = iota
	kTensor
	kSeq
	kOptTensor
	kOptSeq
	kSparse
)

func (t vtype) known() bool { return t.kind != kUnknown && schema.ElemName(t.elem) != "" }

func (t vtype) String() string {
	e := schema.ElemName(t.elem)
	switch t.kind {
	case kTensor:
		return e
	case kSeq:
		return "seq(" + e + ")"
	case kOptTensor:
		return "optional(" + e + ")"
	case kOptSeq:
		return "optional(seq(" + e + "))"
	case kSparse:
		return "sparse_tensor(" + e + ")"
	}
	return "unknown"
}

// typeOf reads a declared type; unknown for maps, opaque and deeper nested types.
func typeOf(t *pb.TypeProto) vtype {
	if x := t.GetTensorType(); x != nil {
		return vtype{kTensor, x.GetElemType()}
	}
	if x := t.GetSparseTensorType(); x != nil {
		return vtype{kSparse, x.GetElemType()}
	}
	if x := t.GetSequenceType(); x != nil {
		if e := x.GetElemType().GetTensorType(); e != nil {
			return vtype{kSeq, e.GetElemType()}
		}
	}
	if x := t.GetOptionalType(); x != nil {
		switch e := typeOf(x.GetElemType()); e.kind {
		case kTensor:
			return vtype{kOptTensor, e.elem}
		case kSeq:
			return vtype{kOptSeq, e.elem}
		}
	}
	return vtype{}
}

func allows(s *schema.Types, t vtype) bool {
	mask := s.Tensor
	switch t.kind {
	case kSeq:
		mask = s.Seq
	case kOptTensor:
		mask = s.OptTensor
	case kOptSeq:
		mask = s.OptSeq
	case kSparse:
		mask = s.Sparse
	}
	return mask>>uint(t.elem)&1 != 0
}

func only(s *schema.Types) vtype {
	if s.Tensor != 0 && s.Tensor&(s.Tensor-1) == 0 && s.Seq == 0 && s.OptTensor == 0 && s.OptSeq == 0 &&
		s.Sparse == 0 && len(s.Other) == 0 {
		for e := int32(1); e < 32; e++ {
			if s.HasTensor(e) {
				return vtype{kTensor, e}
			}
		}
	}
	return vtype{}
}

func inferElem(n *pb.NodeProto) vtype {
	if schema.Domain(n.GetDomain()) != "" {
		return vtype{}
	}
	byName := func(name string) *pb.AttributeProto {
		return lists.Find(n.Attribute,
			func(a *pb.AttributeProto) bool { return a.GetName() == name && a.GetRefAttrName() == "" })
	}
	switch n.GetOpType() {
	case "Cast":
		if a := byName("to"); a.GetI() == int64(int32(a.GetI())) && schema.ElemName(int32(a.GetI())) != "" {
			return vtype{kTensor, int32(a.GetI())}
		}
	case "Constant":
		if a := byName("value"); a.GetT() != nil {
			return vtype{kTensor, a.GetT().GetDataType()}
		}
		if a := byName("sparse_value"); a.GetSparseTensor() != nil {
			return vtype{kTensor, a.GetSparseTensor().GetValues().GetDataType()}
		}
		for name, t := range map[string]pb.TensorProto_DataType{"value_float": pb.TensorProto_FLOAT,
			"value_floats": pb.TensorProto_FLOAT, "value_int": pb.TensorProto_INT64,
			"value_ints": pb.TensorProto_INT64} {
			if byName(name) != nil {
				return vtype{kTensor, int32(t)}
			}
		}
	}
	return vtype{}
}
