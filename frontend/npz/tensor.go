// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
)

// ToTensor gives an array as a tensor; the data are shared, not copied. Complex
// arrays and arrays of more than tensor.MaxElems elements give an error.
func ToTensor(a *Array) (*tensor.Dense, error) {
	if n, err := tensor.Elems(a.Shape); err != nil {
		return nil, fmt.Errorf("npz: %w", err)
	} else if n != a.Len() {
		return nil, fmt.Errorf("npz: %d values for shape %v, want %d", a.Len(), a.Shape, n)
	}
	dt, ok := tensorTypes[a.DType]
	if !ok {
		return nil, fmt.Errorf("npz: %s arrays are not computed with; want real numbers or bool", a.DType)
	}
	return &tensor.Dense{DType: dt, Shape: slices.Clone(a.Shape), Data: a.Data}, nil
}

var tensorTypes = map[string]tensor.DType{
	"bool": tensor.Bool, "int8": tensor.I8, "int16": tensor.I16, "int32": tensor.I32, "int64": tensor.I64,
	"uint8": tensor.U8, "uint16": tensor.U16, "uint32": tensor.U32, "uint64": tensor.U64,
	"float16": tensor.F16, "float32": tensor.F32, "float64": tensor.F64,
}

// FromTensor gives a tensor as an array. Data are shared where NumPy has the
// type; int4 and uint4 become int8 and uint8, bfloat16 becomes float32 (both
// without loss).
func FromTensor(d *tensor.Dense) *Array {
	switch d.DType {
	case tensor.BF16:
		d = d.Cast(tensor.F32)
	case tensor.F16:
		return &Array{DType: "float16", Shape: slices.Clone(d.Shape), Data: d.Data}
	}
	name, _ := typeOf(d.Data) // the slices of I4 and U4 are those of int8 and uint8
	if name == "" {
		panic(bug.Errorf("npz: tensor of type %s", d.DType))
	}
	return &Array{DType: name, Shape: slices.Clone(d.Shape), Data: d.Data}
}
