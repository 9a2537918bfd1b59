// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"math"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
)

// internalise copies the data of external files into the model, of any
// element type.
func (m *Model) internalise(dir string) {
	eachTensor(m.graph(), func(t *pb.TensorProto) error {
		if t.GetDataLocation() != pb.TensorProto_EXTERNAL {
			return nil
		}
		n, err := model.RawBytes(t)
		fail.If(err != nil, "tensor %s: %w", quote(t.GetName()), err)
		// The bytes, whatever they stand for.
		b := fail.Must(onnx.TensorData(&pb.TensorProto{Name: t.Name, DataType: proto.Int32(int32(pb.TensorProto_UINT8)),
			Dims: []int64{n}, DataLocation: t.DataLocation, ExternalData: t.ExternalData}, dir, m.lim))
		t.RawData, t.DataLocation, t.ExternalData = b.Bytes(), nil, nil
		return nil
	})
}

// eachTensor visits every tensor of a graph, its attributes and subgraphs.
func eachTensor(g *pb.GraphProto, f func(*pb.TensorProto) error) {
	for _, t := range g.Initializer {
		fail.Check(f(t))
	}
	for _, n := range g.Node {
		for _, a := range n.Attribute {
			for _, t := range append(slices.Clone(a.Tensors), a.T) {
				if t != nil {
					fail.Check(f(t))
				}
			}
		}
		for _, s := range subgraphs(n) {
			eachTensor(s, f)
		}
	}
}

// aliases are names of element types beside ONNX's own.
var aliases = map[string]string{"float32": "float", "float64": "double", "f32": "float", "f64": "double",
	"f16": "float16", "bf16": "bfloat16",
	"i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32",
	"u64": "uint64", "i4": "int4", "u4": "uint4"}

// ElemType is the ONNX number of an element type by its name: as ONNX calls it
// (float, int64, bool, string, ...), as NumPy does (float32) or short (f32).
func ElemType(name string) int32 {
	if a := aliases[name]; a != "" {
		name = a
	}
	if n := schema.ElemNumber(name); n != 0 {
		return n
	}
	fail.Errorf("element type %s is unknown; want float, double, float16, bfloat16, bool, string, int8 to "+
		"int64, uint8 to uint64, int4, uint4 or another type of ONNX", quote(name))
	return 0
}

// StringTensor is a constant of text.
func StringTensor(name string, shape []int, values []string) *pb.TensorProto {
	return &pb.TensorProto{Name: proto.String(name), DataType: proto.Int32(int32(pb.TensorProto_STRING)),
		Dims:       lists.Map(shape, func(k int) int64 { return int64(k) }),
		StringData: lists.Map(values, func(s string) []byte { return []byte(s) })}
}

// filled is a tensor of a type from numbers, checked: an integer type takes
// whole numbers of its range, float types take what float64 holds.
func filled(dt tensor.DType, shape []int, v []float64) *tensor.Dense {
	n := fail.Must(tensor.Elems(shape))
	fail.If(len(v) != n && len(v) != 1, "%d values for shape %v; want %d, or one for all", len(v), shape, n)
	d := tensor.New(dt, shape)
	for i := range n {
		x := v[0]
		if len(v) > 1 {
			x = v[i]
		}
		switch {
		case dt.IsFloat():
			d.SetFloat(i, x)
			fail.If(math.IsInf(d.Float(i), 0) && !math.IsInf(x, 0), "value %d is %g, beyond the range of %s", i, x,
				dt.ONNXName())
		case dt == tensor.Bool:
			fail.If(x != 0 && x != 1, "value %d is %g; a bool is true or false, 1 or 0", i, x)
			d.SetInt(i, int64(x))
		default:
			fail.If(x != math.Trunc(x) || math.Abs(x) > 1<<53, "value %d is %g; want a whole number for %s", i, x,
				dt.ONNXName())
			lo, hi := dt.IntRange()
			fail.If(x < float64(lo) || x > float64(hi), "value %d is %g, outside %d to %d of %s", i, x, lo, hi,
				dt.ONNXName())
			d.SetInt(i, int64(x))
		}
	}
	return d
}
