// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/tensor"
)

func TestTensorEncodings(t *testing.T) {
	typ := func(dt pb.TensorProto_DataType, dims ...int64) *pb.TensorProto {
		return &pb.TensorProto{Name: proto.String("k"), DataType: proto.Int32(int32(dt)), Dims: dims}
	}
	raw := func(t *pb.TensorProto, b ...byte) *pb.TensorProto { t.RawData = b; return t }
	i32 := func(t *pb.TensorProto, v ...int32) *pb.TensorProto { t.Int32Data = v; return t }
	f32 := func(v float32) []byte { return binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)) }

	good := []struct {
		name string
		t    *pb.TensorProto
		want *tensor.Dense
	}{
		{"float raw", raw(typ(1, 2), append(f32(1.5), f32(-2)...)...), tensor.Of([]int{2}, []float32{1.5, -2})},
		{"float scalar", raw(typ(1), f32(3)...), tensor.Scalar[float32](3)},
		{"float empty", typ(1, 0, 3), tensor.New(tensor.F32, []int{0, 3})},
		{"float typed", tFloats("k", []int64{2}, 1.5, -2), tensor.Of([]int{2}, []float32{1.5, -2})},
		{"double typed", &pb.TensorProto{DataType: proto.Int32(11), Dims: []int64{1}, DoubleData: []float64{1e300}},
			tensor.Of([]int{1}, []float64{1e300})},
		{"int64 typed", &pb.TensorProto{DataType: proto.Int32(7), Dims: []int64{1}, Int64Data: []int64{math.MinInt64}},
			tensor.Of([]int{1}, []int64{math.MinInt64})},
		{"uint32 typed", &pb.TensorProto{DataType: proto.Int32(12), Dims: []int64{1},
			Uint64Data: []uint64{math.MaxUint32}}, tensor.Of([]int{1}, []uint32{math.MaxUint32})},
		{"uint64 typed", &pb.TensorProto{DataType: proto.Int32(13), Dims: []int64{1},
			Uint64Data: []uint64{math.MaxUint64}}, tensor.Of([]int{1}, []uint64{math.MaxUint64})},
		{"int32 typed", i32(typ(6, 1), math.MinInt32), tensor.Of([]int{1}, []int32{math.MinInt32})},
		{"int8 typed", i32(typ(3, 2), -128, 127), tensor.Of([]int{2}, []int8{-128, 127})},
		{"uint8 typed", i32(typ(2, 2), 0, 255), tensor.Of([]int{2}, []uint8{0, 255})},
		{"int16 typed", i32(typ(5, 2), -32768, 1), tensor.Of([]int{2}, []int16{-32768, 1})},
		{"uint16 raw", raw(typ(4, 1), 0xff, 0xfe), tensor.Of([]int{1}, []uint16{0xfeff})},
		{"bool typed", i32(typ(9, 2), 1, 0), tensor.Of([]int{2}, []bool{true, false})},
		{"bool raw", raw(typ(9, 2), 0, 1), tensor.Of([]int{2}, []bool{false, true})},
		{"float16 typed", i32(typ(10, 2), 0x3c00, 0xfbff), &tensor.Dense{DType: tensor.F16, Shape: []int{2},
			Data: []uint16{0x3c00, 0xfbff}}},
		{"float16 raw", raw(typ(10, 1), 0x00, 0x3c), &tensor.Dense{DType: tensor.F16, Shape: []int{1},
			Data: []uint16{0x3c00}}},
		{"bfloat16 typed", i32(typ(16, 1), 0x3f80), &tensor.Dense{DType: tensor.BF16, Shape: []int{1},
			Data: []uint16{0x3f80}}},
		{"int4 raw, odd", raw(typ(22, 3), 0x81, 0x07), &tensor.Dense{DType: tensor.I4, Shape: []int{3},
			Data: []int8{1, -8, 7}}},
		{"uint4 raw", raw(typ(21, 4), 0x81, 0xf7), &tensor.Dense{DType: tensor.U4, Shape: []int{4},
			Data: []uint8{1, 8, 7, 15}}},
		{"int4 typed", i32(typ(22, 3), 0x81, 0x0f), &tensor.Dense{DType: tensor.I4, Shape: []int{3},
			Data: []int8{1, -8, -1}}},
	}
	for _, c := range good {
		d, err := TensorData(c.t, "", Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if !tensor.Equal(d, c.want) {
			t.Errorf("%s: %v %v, want %v %v", c.name, d, d.Data, c.want, c.want.Data)
		}
		back, name, err := ParseTensor(tBytes(c.t), Limits{})
		if err != nil || name != c.t.GetName() || !tensor.Equal(back, c.want) {
			t.Errorf("%s, serialised: %v %v", c.name, back, err)
		}
	}

	both := tFloats("k", []int64{1}, 1)
	both.RawData = f32(1)
	bad := []struct {
		name string
		t    *pb.TensorProto
		want string
	}{
		{"raw short", raw(typ(1, 2), f32(1)...), "size of 4 bytes; want 8"},
		{"raw long", raw(typ(1, 1), make([]byte, 8)...), "size of 8 bytes; want 4"},
		{"int4 raw long", raw(typ(22, 3), 1, 2, 3), "want 2"},
		{"two encodings", both, "raw_data and in float_data"},
		{"wrong field", i32(typ(1, 1), 1), "are in int32_data; want float_data"},
		{"int8 range", i32(typ(3, 2), 1, 128), "value 1 of int32_data is 128"},
		{"uint8 range", i32(typ(2, 1), -1), "is -1"},
		{"bool range", i32(typ(9, 1), 2), "is 2"},
		{"float16 range", i32(typ(10, 1), 65536), "is 65536"},
		{"uint32 range", &pb.TensorProto{DataType: proto.Int32(12), Dims: []int64{1}, Uint64Data: []uint64{1 << 32}},
			"no uint32"},
		{"type", typ(77, 0), "77"},
		{"type", typ(-3, 0), "-3"},
		{"text", &pb.TensorProto{DataType: proto.Int32(8), Dims: []int64{1}, StringData: [][]byte{[]byte("a")}},
			"string"},
		{"text raw", raw(typ(8, 1), 'a'), "string_data"},
		{"complex", raw(typ(14, 1), make([]byte, 8)...), "complex64"},
		{"float8", raw(typ(17, 1), 1), "float8e4m3fn"},
		{"float4", raw(typ(23, 2), 1), "float4e2m1"},
		{"int2", raw(typ(26, 4), 1), "2-bit"},
		{"segment", func() *pb.TensorProto {
			x := tFloats("k", []int64{1}, 1)
			x.Segment = &pb.TensorProto_Segment{Begin: proto.Int64(0)}
			return x
		}(), "segments"},
		{"external data not used", func() *pb.TensorProto {
			x := tExternal("k", "location", "a")
			x.DataLocation = nil
			return x
		}(), "data_location"},
		{"limit", typ(1, 1<<20, 1<<20), "too large"},
		{"rank", typ(1, make([]int64, 65)...), "rank 65"},
	}
	for _, c := range bad {
		if _, err := TensorData(c.t, "", Limits{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q in it", c.name, err, c.want)
		}
	}
}

func TestExternalData(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "model")
	write := func(path string, b []byte) {
		t.Helper()
		testenv.OK(t, os.MkdirAll(filepath.Dir(path), 0o755))
		testenv.OK(t, os.WriteFile(path, b, 0o644))
	}
	data := make([]byte, 32)
	for i := range 4 {
		binary.LittleEndian.PutUint32(data[16+4*i:], math.Float32bits(float32(i+4)))
	}
	write(filepath.Join(dir, "w.bin"), data)
	write(filepath.Join(dir, "sub", "w.bin"), data[16:])
	write(filepath.Join(top, "secret"), data)
	for link, to := range map[string]string{"out": "../secret", "in": "sub/w.bin",
		"absolute": filepath.Join(top, "secret"), "folder": "..", "loop": "loop"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	want := tensor.Of([]int{4}, []float32{4, 5, 6, 7})
	good := [][]string{
		{"location", "w.bin", "offset", "16", "length", "16"},
		{"location", "w.bin", "offset", "16"},
		{"location", "./sub//w.bin", "length", "16", "checksum", "unused"},
		{"location", "in"},
	}
	for _, kv := range good {
		if d, err := TensorData(tExternal("k", kv...), dir, Limits{}); err != nil || !tensor.Equal(d, want) {
			t.Errorf("%q: %v %v", kv, d, err)
		}
	}
	bad := []struct {
		kv   []string
		want string
	}{
		{nil, "location"},
		{[]string{"location", ""}, "location"},
		{[]string{"location", "none.bin"}, "none.bin"},
		{[]string{"location", "/etc/passwd"}, "absolute"},
		{[]string{"location", "../secret"}, ".."},
		{[]string{"location", "sub/../../secret"}, ".."},
		{[]string{"location", "sub/../w.bin", "offset", "16"}, ".."},
		{[]string{"location", `sub\w.bin`}, "backslash"},
		{[]string{"location", "a\x00b"}, "no file name"},
		{[]string{"location", "out"}, "escapes"},
		{[]string{"location", "absolute"}, "escapes"},
		{[]string{"location", "folder/secret"}, "escapes"},
		{[]string{"location", "loop"}, "external data"},
		{[]string{"location", "sub"}, "regular file"},
		{[]string{"location", "w.bin", "offset", "-16"}, "negative"},
		{[]string{"location", "w.bin", "offset", "0x10"}, "whole number"},
		{[]string{"location", "w.bin", "offset", "9223372036854775807"}, "overflow"},
		{[]string{"location", "w.bin", "offset", "99999999999999999999"}, "whole number"},
		{[]string{"location", "w.bin", "offset", "20"}, "32 bytes; want 16 at offset 20"},
		{[]string{"location", "w.bin", "length", "8"}, "length is 8"},
		{[]string{"location", "w.bin", "length", "-1"}, "negative"},
		{[]string{"location", "w.bin", "location", "w.bin"}, "twice"},
	}
	for _, c := range bad {
		k := tExternal("k", c.kv...)
		_, err := TensorData(k, dir, Limits{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v; want %q in it", c.kv, err, c.want)
		}
		// The checker says the same.
		m := tModel(tNode("a", "Add", "x", "k", ">", "y"))
		m.Graph.Initializer = []*pb.TensorProto{k}
		model, perr := Parse(tBytes(m), Limits{})
		if perr != nil {
			t.Fatal(perr)
		}
		model.Dir = dir
		if f := Check(model); len(f) != 1 || !strings.Contains(f[0].Error(), c.want) {
			t.Errorf("%q: Check says %v", c.kv, f)
		}
	}
	if _, err := TensorData(tExternal("k", "location", "w.bin"), "", Limits{}); err == nil ||
		!strings.Contains(err.Error(), "folder") {
		t.Error(err)
	}
}
