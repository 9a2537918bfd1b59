// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// Sparse decodes a sparse constant: zeros but where it has values.
func (m *Model) Sparse(t *pb.SparseTensorProto) (_ *tensor.Dense, err error) {
	defer fail.Catch(&err)
	at, found, want := Places(t, m.Dir, m.Limits.OrDefault())
	fail.If(found != "", "sparse constant %s: %s; want %s", Quote(t.GetValues().GetName()), found, want)
	values := fail.Must(m.Tensor(t.Values))
	shape := lists.Each(t.Dims, func(d int64) int { return int(d) })
	out := tensor.New(values.DType, shape)
	out.Put(at, values)
	return out, nil
}

// Places are the positions of a sparse constant's values among the elements of the dense one; or what is
// found of its shape or indices, and wanted.
func Places(t *pb.SparseTensorProto, dir string, lim Limits) (at []int, found, want string) {
	wrong := func(want, found string, args ...any) ([]int, string, string) {
		return nil, fmt.Sprintf(found, args...), want
	}
	x := t.GetIndices()
	if err := CheckShape(t.Dims, t.GetValues().GetDataType(), lim); err != nil {
		return wrong("", "%s", err)
	}
	if want, found = sparseForm(t); found != "" || x == nil {
		return nil, found, want
	}
	d, err := TensorData(x, dir, lim)
	if err != nil {
		return wrong("", "%s", err)
	}
	if at, found = linear(t, d); found != "" {
		want = "indices in range, each once, in ascending order"
	}
	return at, found, want
}

// sparseForm says what of the parts' shapes and types is not as a sparse constant has it, and
// what is wanted.
func sparseForm(t *pb.SparseTensorProto) (want, found string) {
	wrong := func(want, found string, args ...any) (string, string) { return want, fmt.Sprintf(found, args...) }
	v, x := t.GetValues(), t.GetIndices()
	none := len(v.GetDims()) == 1 && v.Dims[0] == 0
	switch rank := len(t.Dims); {
	case v == nil || x == nil && !none:
		return wrong("both", "a sparse tensor without values or without indices")
	case rank == 0 || slices.Contains(t.Dims, 0):
		return wrong("at least one dimension, none of them 0", "the shape of a sparse tensor is %s", DimsText(t.Dims))
	case len(v.Dims) != 1:
		return wrong("one dimension, the number of values", "the values of a sparse tensor have shape %s",
			DimsText(v.Dims))
	case x == nil:
		return "", ""
	case x.GetDataType() != int32(pb.TensorProto_INT64):
		return wrong("int64", "the indices of a sparse tensor are of type %s", DataTypeName(x.GetDataType()))
	case len(x.Dims) != 1 && len(x.Dims) != 2:
		return wrong(fmt.Sprintf("[%d] or [%d,%d]", v.Dims[0], v.Dims[0], rank),
			"the indices of a sparse tensor have shape %s", DimsText(x.Dims))
	case x.Dims[0] != v.Dims[0]:
		return wrong("as many of both", "%d values with %d indices", v.Dims[0], x.Dims[0])
	case len(x.Dims) == 2 && x.Dims[1] != int64(rank):
		return wrong("as many of both", "an index has %d coordinates, the tensor %d dimensions", x.Dims[1], rank)
	}
	return "", ""
}

// linear are the indices as positions; a text says what is wrong with them.
func linear(t *pb.SparseTensorProto, d *tensor.Dense) (at []int, wrong string) {
	dims := t.Dims // of one coordinate of an index
	if len(t.Indices.Dims) == 1 {
		n := int64(1)
		for _, x := range t.Dims {
			n *= x // it was counted
		}
		dims = []int64{n}
	}
	last := int64(-1)
	for k := range int(t.Indices.Dims[0]) {
		p := int64(0)
		for i, n := range dims {
			x := d.Int(k*len(dims) + i)
			if x < 0 || x >= n {
				return nil, fmt.Sprintf("index %d of the sparse tensor is %d, where there are %d elements", k, x, n)
			}
			p = p*n + x
		}
		if p == last {
			return nil, fmt.Sprintf("index %d of the sparse tensor is the same as the one before", k)
		}
		if p < last {
			return nil, fmt.Sprintf("index %d of the sparse tensor is smaller than the one before", k)
		}
		last = p
		at = append(at, int(p))
	}
	return at, ""
}
