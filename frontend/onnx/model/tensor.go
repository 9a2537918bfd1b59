// SPDX-License-Identifier: Apache-2.0

package model

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/frontend/onnx/schema"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/lists"
	"github.com/nncc/nncc/ir/tensor"
	"google.golang.org/protobuf/proto"
)

// elem is how files hold elements of a type: bits in raw and external data (0 for text), the
// typed field with so many items an element, and the numbers that this may hold.
type elem struct {
	bits   int
	field  string
	per    int64
	lo, hi int64
}

// elems are the types by their numbers; those of fewer than 8 bits share items, each of them a
// byte, written signed or unsigned.
var elems = [...]elem{
	1:  {32, "float_data", 1, 0, 0},
	2:  {8, "int32_data", 1, 0, math.MaxUint8},
	3:  {8, "int32_data", 1, math.MinInt8, math.MaxInt8},
	4:  {16, "int32_data", 1, 0, math.MaxUint16},
	5:  {16, "int32_data", 1, math.MinInt16, math.MaxInt16},
	6:  {32, "int32_data", 1, math.MinInt32, math.MaxInt32},
	7:  {64, "int64_data", 1, 0, 0},
	8:  {0, "string_data", 1, 0, 0},
	9:  {8, "int32_data", 1, 0, 1},
	10: {16, "int32_data", 1, 0, math.MaxUint16},
	11: {64, "double_data", 1, 0, 0},
	12: {32, "uint64_data", 1, 0, math.MaxUint32},
	13: {64, "uint64_data", 1, 0, 0},
	14: {64, "float_data", 2, 0, 0},
	15: {128, "double_data", 2, 0, 0},
	16: {16, "int32_data", 1, 0, math.MaxUint16},
	17: byte8, 18: byte8, 19: byte8, 20: byte8, 21: packed4, 22: packed4, 23: packed4, 24: byte8, 25: packed2,
	26: packed2,
}

var (
	byte8   = elem{8, "int32_data", 1, 0, math.MaxUint8}
	packed4 = elem{4, "int32_data", 1, math.MinInt8, math.MaxUint8}
	packed2 = elem{2, "int32_data", 1, math.MinInt8, math.MaxUint8}
)

const dtString = int32(pb.TensorProto_STRING)

// TextType is the number of text among the types of elements.
const TextType = int64(dtString)

// IsText tells a constant of text.
func IsText(t *pb.TensorProto) bool { return t.GetDataType() == dtString }

// Texts are the elements of one.
func Texts(t *pb.TensorProto) []string {
	return lists.Map(t.StringData, func(b []byte) string { return Shorten(string(b)) })
}

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

type layout struct {
	n    int64 // elements
	bits int   // per element in raw data; 0 for text
	enc  encoding
}

// inspect checks everything about a tensor except the bytes in external files:
// type, shape, and that exactly one field holds exactly the data of the shape.
func inspect(t *pb.TensorProto, lim Limits) (_ layout, err error) {
	defer fail.Catch(&err)
	var l layout
	dt := t.GetDataType()
	fail.If(schema.ElemName(dt) == "", "data type %d is not defined in ONNX", dt)
	l.bits = elems[dt].bits
	l.n = fail.Must(count(t.Dims, l.bits, lim.TensorBytes))
	fail.If(t.Segment != nil, "data in segments, which no exporter writes, is refused")
	found := encodings(t)
	fail.If(t.GetDataLocation() != pb.TensorProto_EXTERNAL && len(t.ExternalData) > 0,
		"has external_data although data_location is not EXTERNAL")
	if len(found) > 1 {
		fail.Errorf("data are in %s and in %s; want exactly one of them", found[0].field, found[1].field)
	}
	what := fmt.Sprintf("%d elements of type %s (shape %s)", l.n, schema.ElemName(dt), DimsText(t.Dims))
	if len(found) == 0 {
		fail.If(l.n > 0, "holds no data; want %s", what)
		return l, nil
	}
	l.enc = found[0]
	switch l.enc.field {
	case "external_data":
		fail.If(dt == dtString, "text cannot be external data")
	case "raw_data":
		fail.If(dt == dtString, "text cannot be in raw_data; want string_data")
		want := rawBytes(l.n, l.bits)
		fail.If(l.enc.items != want, "raw_data has a size of %d bytes; want %d for %s", l.enc.items, want, what)
	default:
		field, want := elems[dt].field, elems[dt].per*l.n
		if l.bits > 0 && l.bits < 8 {
			want = rawBytes(l.n, l.bits)
		}
		fail.If(l.enc.field != field, "data of type %s are in %s; want %s or raw_data", schema.ElemName(dt),
			l.enc.field, field)
		fail.If(l.enc.items != want, "%s has a size of %d values; want %d for %s", field, l.enc.items, want, what)
	}
	return l, checkRange(t, dt)
}

// checkRange: values in int32_data and uint64_data must fit the narrower type
// that they stand for.
func checkRange(t *pb.TensorProto, dt int32) error {
	e := elems[dt]
	for i, v := range t.Uint64Data {
		if e.hi > 0 && v > uint64(e.hi) {
			return fmt.Errorf("value %d of uint64_data is %d, which is no uint32", i, v)
		}
	}
	for i, v := range t.Int32Data {
		if int64(v) < e.lo || int64(v) > e.hi {
			return fmt.Errorf("value %d of int32_data is %d, outside %d to %d for type %s", i, v, e.lo, e.hi,
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
	case elems[dt].bits == 2:
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
	if elemType > 0 && int(elemType) < len(elems) {
		bits = elems[elemType].bits
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
	shape := lists.Each(t.Dims, func(d int64) int { return int(d) })
	if l.n == 0 {
		return tensor.New(dt, shape), nil
	}
	var raw []byte
	switch l.enc.field {
	case "raw_data":
		raw = t.RawData
	case "external_data":
		if raw, err = readExternal(t, dir, rawBytes(l.n, l.bits)); err != nil {
			return nil, tensorErr(t, err)
		}
	case "float_data":
		return tensor.Of(shape, slices.Clone(t.FloatData)), nil
	case "double_data":
		return tensor.Of(shape, slices.Clone(t.DoubleData)), nil
	case "int64_data":
		return tensor.Of(shape, slices.Clone(t.Int64Data)), nil
	case "uint64_data":
		raw = narrowed(t.Uint64Data, l.bits)
	case "int32_data":
		raw = narrowed(t.Int32Data, l.bits)
	}
	return FromRaw(dt, shape, raw)
}

// narrowed are items as raw data: each holds the bits of a narrower element, or of a byte with two.
func narrowed[T int32 | uint64](items []T, bits int) []byte {
	size := (bits + 7) / 8
	raw := make([]byte, 0, len(items)*size)
	for _, v := range items {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(v))[:len(raw)+size]
	}
	return raw
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
	t.Dims = append(t.Dims, lists.Map(d.Shape, func(k int) int64 { return int64(k) })...)
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
	if schema.ElemName(dt) == "" || elems[dt].bits == 0 {
		return 0, fmt.Errorf("elements of type %s cannot be external data", ElemTypeName(dt))
	}
	n, err := count(t.Dims, elems[dt].bits, math.MaxInt64)
	return rawBytes(n, elems[dt].bits), err
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
