// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/bug"
	"github.com/nncc/nncc/ir/tensor"
	"google.golang.org/protobuf/proto"
)

// elemBits is the size of an element in raw and external data, by data type
// number; 0 for text and for numbers that the format does not define.
var elemBits = [...]int{1: 32, 2: 8, 3: 8, 4: 16, 5: 16, 6: 32, 7: 64, 8: 0, 9: 8, 10: 16, 11: 64, 12: 32, 13: 64,
	14: 64, 15: 128, 16: 16, 17: 8, 18: 8, 19: 8, 20: 8, 21: 4, 22: 4, 23: 4, 24: 8, 25: 2, 26: 2}

const dtString = int32(pb.TensorProto_STRING)

const maxDims = 64

// count is the number of elements that dims give; an error for a negative
// dimension and where the data would be larger than maxBytes.
func count(dims []int64, bits int, maxBytes int64) (int64, error) {
	if len(dims) > maxDims {
		return 0, fmt.Errorf("rank %d; want at most %d", len(dims), maxDims)
	}
	zero := false
	for i, d := range dims {
		if d < 0 {
			return 0, fmt.Errorf("dimension %d of the shape is negative (%d)", i, d)
		}
		zero = zero || d == 0
	}
	if zero {
		return 0, nil
	}
	maxElems := int64(tensor.MaxElems)
	if bits > 0 {
		maxElems = min(maxElems, maxBytes/int64((bits+7)/8))
	}
	n := int64(1)
	for _, d := range dims {
		if d > maxElems/n {
			return 0, fmt.Errorf("the shape %s is too large; the limit is %d elements of this type; %s", DimsText(dims),
				maxElems, Raise("tensor"))
		}
		n *= d
	}
	return n, nil
}

func rawBytes(n int64, bits int) int64 { return (n*int64(bits) + 7) / 8 }

type encoding struct {
	field string // name of the field, or "external_data"
	items int64  // elements of that field (bytes for raw_data)
}

// encodings lists the fields of t that hold data. External data hide nothing:
// fields that are filled beside them are listed too.
func encodings(t *pb.TensorProto) []encoding {
	var e []encoding
	add := func(name string, n int) {
		if n > 0 {
			e = append(e, encoding{name, int64(n)})
		}
	}
	if t.GetDataLocation() == pb.TensorProto_EXTERNAL {
		e = append(e, encoding{"external_data", 0})
	}
	add("raw_data", len(t.RawData))
	add("float_data", len(t.FloatData))
	add("int32_data", len(t.Int32Data))
	add("int64_data", len(t.Int64Data))
	add("double_data", len(t.DoubleData))
	add("uint64_data", len(t.Uint64Data))
	add("string_data", len(t.StringData))
	return e
}

// typedField is the typed field that holds a data type, and how many of its
// items n elements take.
func typedField(dt int32, n int64) (field string, items int64) {
	switch pb.TensorProto_DataType(dt) {
	case pb.TensorProto_FLOAT:
		return "float_data", n
	case pb.TensorProto_COMPLEX64:
		return "float_data", 2 * n
	case pb.TensorProto_DOUBLE:
		return "double_data", n
	case pb.TensorProto_COMPLEX128:
		return "double_data", 2 * n
	case pb.TensorProto_INT64:
		return "int64_data", n
	case pb.TensorProto_UINT32, pb.TensorProto_UINT64:
		return "uint64_data", n
	case pb.TensorProto_STRING:
		return "string_data", n
	}
	if b := elemBits[dt]; b < 8 {
		return "int32_data", rawBytes(n, b) // each item is a byte with several elements
	}
	return "int32_data", n
}

type layout struct {
	n    int64 // elements
	bits int   // per element in raw data; 0 for text
	enc  encoding
}

// inspect checks everything about a tensor except the bytes in external files:
// type, shape, and that exactly one field holds exactly the data of the shape.
func inspect(t *pb.TensorProto, lim Limits) (layout, error) {
	var l layout
	dt := t.GetDataType()
	if schema.ElemName(dt) == "" {
		return l, fmt.Errorf("data type %d is not defined in ONNX", dt)
	}
	l.bits = elemBits[dt]
	var err error
	if l.n, err = count(t.Dims, l.bits, lim.TensorBytes); err != nil {
		return l, err
	}
	if t.Segment != nil {
		return l, errors.New("data in segments, which no exporter writes, is refused")
	}
	found := encodings(t)
	if t.GetDataLocation() != pb.TensorProto_EXTERNAL && len(t.ExternalData) > 0 {
		return l, errors.New("has external_data although data_location is not EXTERNAL")
	}
	if len(found) > 1 {
		return l, fmt.Errorf("data are in %s and in %s; want exactly one of them", found[0].field, found[1].field)
	}
	what := fmt.Sprintf("%d elements of type %s (shape %s)", l.n, schema.ElemName(dt), DimsText(t.Dims))
	if len(found) == 0 {
		if l.n > 0 {
			return l, fmt.Errorf("holds no data; want %s", what)
		}
		return l, nil
	}
	l.enc = found[0]
	switch l.enc.field {
	case "external_data":
		if dt == dtString {
			return l, errors.New("text cannot be external data")
		}
	case "raw_data":
		if dt == dtString {
			return l, errors.New("text cannot be in raw_data; want string_data")
		}
		if want := rawBytes(l.n, l.bits); l.enc.items != want {
			return l, fmt.Errorf("raw_data has a size of %d bytes; want %d for %s", l.enc.items, want, what)
		}
	default:
		field, want := typedField(dt, l.n)
		if l.enc.field != field {
			return l, fmt.Errorf("data of type %s are in %s; want %s or raw_data", schema.ElemName(dt), l.enc.field,
				field)
		}
		if l.enc.items != want {
			return l, fmt.Errorf("%s has a size of %d values; want %d for %s", field, l.enc.items, want, what)
		}
	}
	return l, checkRange(t, dt)
}

// checkRange: values in int32_data and uint64_data must fit the narrower type
// that they stand for.
func checkRange(t *pb.TensorProto, dt int32) error {
	var lo, hi int64
	switch pb.TensorProto_DataType(dt) {
	case pb.TensorProto_INT8:
		lo, hi = -128, 127
	case pb.TensorProto_INT16:
		lo, hi = -32768, 32767
	case pb.TensorProto_BOOL:
		lo, hi = 0, 1
	case pb.TensorProto_UINT32:
		for i, v := range t.Uint64Data {
			if v > math.MaxUint32 {
				return fmt.Errorf("value %d of uint64_data is %d, which is no uint32", i, v)
			}
		}
		return nil
	case pb.TensorProto_INT32:
		return nil
	case pb.TensorProto_UINT4, pb.TensorProto_INT4, pb.TensorProto_UINT2, pb.TensorProto_INT2,
		pb.TensorProto_FLOAT4E2M1:
		lo, hi = -128, 255 // one byte, written signed or unsigned
	default:
		if elemBits[dt] == 8 {
			lo, hi = 0, 255
		} else {
			lo, hi = 0, 65535
		}
	}
	for i, v := range t.Int32Data {
		if int64(v) < lo || int64(v) > hi {
			return fmt.Errorf("value %d of int32_data is %d, outside %d to %d for type %s", i, v, lo, hi,
				schema.ElemName(dt))
		}
	}
	return nil
}

// refused gives the reason why tensors of a type cannot be computed with, "" where
// they can.
func refused(dt int32) string {
	if _, ok := tensor.FromONNX(int(dt)); ok {
		return ""
	}
	name := schema.ElemName(dt)
	switch {
	case name == "":
		return fmt.Sprintf("data type %d is not defined in ONNX", dt)
	case dt == dtString:
		return "tensors of text (string) have no place in firmware that computes with numbers"
	case name == "complex64" || name == "complex128":
		return "complex numbers (" + name + ") are not computed with; split them into real and imaginary tensors"
	case elemBits[dt] == 2:
		return "2-bit integers (" + name + ") are not computed with; store the data as int4 or int8"
	}
	return "numbers of type " + name +
		" are not computed with on microcontrollers; store the data as float16, bfloat16 or int8"
}

// CheckTensor says what is wrong with a constant: its header, its data, and that
// external data are where it says. The contents of external files are not read.
func (m *Model) CheckTensor(t *pb.TensorProto) error {
	l, err := inspect(t, m.Limits.OrDefault())
	if err != nil || l.enc.field != "external_data" {
		return err
	}
	if l.n == 0 {
		_, err = parseExternal(t)
		return err
	}
	f, _, err := openExternal(t, m.Dir, rawBytes(l.n, l.bits))
	if err == nil {
		f.Close()
	}
	return err
}

// CheckShape says what is wrong with the dimensions of a tensor of an element type:
// negative ones, too many of them, or more data than Limits.TensorBytes.
func CheckShape(dims []int64, elemType int32, lim Limits) error {
	bits := 0
	if elemType > 0 && int(elemType) < len(elemBits) {
		bits = elemBits[elemType]
	}
	_, err := count(dims, bits, lim.TensorBytes)
	return err
}

// TensorData decodes a constant: any encoding, external data from below dir.
// Four-bit types come out with one element per byte. Strings, complex numbers,
// 8-bit and 4-bit floats and 2-bit integers are refused with the reason.
func TensorData(t *pb.TensorProto, dir string, lim Limits) (*tensor.Dense, error) {
	lim = lim.OrDefault()
	l, err := inspect(t, lim)
	if err != nil {
		return nil, tensorErr(t, err)
	}
	if why := refused(t.GetDataType()); why != "" {
		return nil, tensorErr(t, errors.New(why))
	}
	dt, _ := tensor.FromONNX(int(t.GetDataType()))
	shape := make([]int, len(t.Dims))
	for i, d := range t.Dims {
		shape[i] = int(d)
	}
	if l.n == 0 {
		return tensor.New(dt, shape), nil
	}
	switch l.enc.field {
	case "raw_data":
		return FromRaw(dt, shape, t.RawData)
	case "external_data":
		raw, err := readExternal(t, dir, rawBytes(l.n, l.bits))
		if err != nil {
			return nil, tensorErr(t, err)
		}
		return FromRaw(dt, shape, raw)
	case "float_data":
		return tensor.Of(shape, append([]float32(nil), t.FloatData...)), nil
	case "double_data":
		return tensor.Of(shape, append([]float64(nil), t.DoubleData...)), nil
	case "int64_data":
		return tensor.Of(shape, append([]int64(nil), t.Int64Data...)), nil
	case "uint64_data":
		if dt == tensor.U64 {
			return tensor.Of(shape, append([]uint64(nil), t.Uint64Data...)), nil
		}
		d := make([]uint32, l.n)
		for i, v := range t.Uint64Data {
			d[i] = uint32(v)
		}
		return tensor.Of(shape, d), nil
	case "int32_data":
		if dt == tensor.I32 {
			return tensor.Of(shape, append([]int32(nil), t.Int32Data...)), nil
		}
		// The items hold the bits of narrower elements (or of a byte with two
		// 4-bit ones): that is raw data spread over 32-bit words.
		raw := make([]byte, 0, rawBytes(l.n, l.bits))
		for _, v := range t.Int32Data {
			if l.bits == 16 {
				raw = binary.LittleEndian.AppendUint16(raw, uint16(v))
			} else {
				raw = append(raw, byte(v))
			}
		}
		return FromRaw(dt, shape, raw)
	}
	panic(bug.Errorf("onnx: tensor data in %s", l.enc.field))
}

// FromRaw decodes little-endian data; 4-bit types are packed two to a byte, the first
// in the low half.
func FromRaw(dt tensor.DType, shape []int, raw []byte) (*tensor.Dense, error) {
	if dt != tensor.I4 && dt != tensor.U4 {
		return tensor.FromBytes(dt, shape, raw)
	}
	b := make([]byte, tensor.Count(shape))
	for i := range b {
		v := raw[i/2] >> (4 * (i & 1)) & 15
		if dt == tensor.I4 {
			v = byte(int8(v<<4) >> 4)
		}
		b[i] = v
	}
	return tensor.FromBytes(dt, shape, b)
}

// TensorProto is a constant as raw data; 4-bit integers are packed two to a byte, the first
// in the low half.
func TensorProto(name string, d *tensor.Dense) *pb.TensorProto {
	t := &pb.TensorProto{DataType: proto.Int32(int32(d.DType.ONNXCode())), RawData: d.Bytes()}
	if name != "" {
		t.Name = proto.String(name)
	}
	for _, k := range d.Shape {
		t.Dims = append(t.Dims, int64(k))
	}
	if d.DType.Bits() == 4 {
		packed := make([]byte, (len(t.RawData)+1)/2)
		for i, b := range t.RawData {
			packed[i/2] |= b & 15 << (4 * (i & 1))
		}
		t.RawData = packed
	}
	return t
}

// RawBytes is the size of a tensor's data as raw or external data; an error for text,
// unknown types and shapes that are none.
func RawBytes(t *pb.TensorProto) (int64, error) {
	dt := t.GetDataType()
	if schema.ElemName(dt) == "" || elemBits[dt] == 0 {
		return 0, fmt.Errorf("elements of type %s cannot be external data", ElemTypeName(dt))
	}
	n, err := count(t.Dims, elemBits[dt], math.MaxInt64)
	return rawBytes(n, elemBits[dt]), err
}

// ParseTensor decodes a serialised TensorProto, the form of ONNX's test vectors.
// It has no external data.
func ParseTensor(b []byte, lim Limits) (*tensor.Dense, string, error) {
	lim = lim.OrDefault()
	t := &pb.TensorProto{}
	if err := decode(b, t, lim); err != nil {
		return nil, "", err
	}
	d, err := TensorData(t, "", lim)
	return d, t.GetName(), err
}

func tensorErr(t *pb.TensorProto, err error) error {
	if t.GetName() == "" {
		return fmt.Errorf("tensor: %w", err)
	}
	return fmt.Errorf("tensor %s: %w", Quote(t.GetName()), err)
}

// Tensor decodes a constant of the model.
func (m *Model) Tensor(t *pb.TensorProto) (*tensor.Dense, error) {
	return TensorData(t, m.Dir, m.Limits)
}
