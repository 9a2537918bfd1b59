// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"math/bits"
	"strings"
)

// Types is a set of value types. The masks have bit n set for the element type
// with TensorProto.DataType number n.
type Types struct {
	Tensor, Seq, OptTensor, OptSeq, Sparse uint32
	Other                                  []string // maps and the like, as the data files write them
}

// elemNames gives the names of element types by DataType number.
var elemNames = [...]string{"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
	"bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16",
	"float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0",
	"uint2",
	"int2"}

// ElemName is the ONNX name of an element type ("float" for 1), or "" for a
// number that the format does not define.
func ElemName(dataType int32) string {
	if dataType > 0 && int(dataType) < len(elemNames) {
		return elemNames[dataType]
	}
	return ""
}

// ElemNumber is the inverse of ElemName, 0 for an unknown name.
func ElemNumber(name string) int32 {
	for i, n := range elemNames {
		if i > 0 && n == name {
			return int32(i)
		}
	}
	return 0
}

// HasTensor reports whether tensors of an element type are in the set.
func (t *Types) HasTensor(dataType int32) bool {
	return dataType > 0 && dataType < 32 && t.Tensor>>uint(dataType)&1 != 0
}

// ParseTypes reads a set as the data files write it: element types and
// seq(…), optional(…), optional(seq(…)), sparse_tensor(…) around them, with spaces.
func ParseTypes(s string) *Types {
	t := &Types{}
	for _, w := range strings.Fields(s) {
		mask := &t.Tensor
		in := w
		for prefix, m := range map[string]*uint32{"seq(": &t.Seq, "optional(": &t.OptTensor,
			"sparse_tensor(": &t.Sparse} {
			if rest, ok := strings.CutPrefix(in, prefix); ok {
				mask, in = m, strings.TrimSuffix(rest, ")")
				break
			}
		}
		if rest, ok := strings.CutPrefix(in, "seq("); ok && mask == &t.OptTensor {
			mask, in = &t.OptSeq, strings.TrimSuffix(rest, ")")
		}
		if n := ElemNumber(in); n != 0 {
			*mask |= 1 << uint(n)
		} else {
			t.Other = append(t.Other, w)
		}
	}
	return t
}

// String writes the set as ParseTypes reads it.
func (t *Types) String() string {
	var w []string
	for _, p := range []struct {
		mask        uint32
		open, close string
	}{{t.Tensor, "", ""}, {t.Seq, "seq(", ")"}, {t.OptTensor, "optional(", ")"}, {t.OptSeq, "optional(seq(", "))"},
		{t.Sparse, "sparse_tensor(", ")"}} {
		for m := p.mask; m != 0; m &= m - 1 {
			w = append(w, p.open+elemNames[bits.TrailingZeros32(m)]+p.close)
		}
	}
	return strings.Join(append(w, t.Other...), " ")
}
