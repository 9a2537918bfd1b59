// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest/testenv"
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
		testenv.Check(t, err == nil && name == c.t.GetName() && tensor.Equal(back, c.want), "%s, serialised: %v %v",
			c.name, back, err)
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
		testenv.Refused(t, testenv.Err(TensorData(c.t, "", Limits{})), c.want)
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
		d, err := TensorData(tExternal("k", kv...), dir, Limits{})
		testenv.Check(t, err == nil && tensor.Equal(d, want), "%q: %v %v", kv, d, err)
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
		testenv.Refused(t, err, c.want)
		// The checker says the same.
		m := tModel(tNode("a", "Add", "x", "k", ">", "y"))
		m.Graph.Initializer = []*pb.TensorProto{k}
		model, perr := Parse(tBytes(m), Limits{})
		testenv.OK(t, perr)
		model.Dir = dir
		f := Check(model)
		testenv.Check(t, len(f) == 1 && strings.Contains(f[0].Error(), c.want), "%q: Check says %v", c.kv, f)
	}
	testenv.Refused(t, testenv.Err(TensorData(tExternal("k", "location", "w.bin"), "", Limits{})), "folder")
}

// TestSparse: sparse constants are checked by the rules of SparseTensorProto.
func TestSparse(t *testing.T) {
	for _, c := range []struct {
		name       string
		dims       []int64
		values     []float32
		indices    []int64
		shape      []int64 // of the indices; nil: one dimension
		want       string
		valueShape []int64
		at         []int // where the values are
	}{
		{name: "linear", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 11}, at: []int{0, 11}},
		{name: "coordinates", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 3, 2, 0},
			shape: []int64{2, 2}, at: []int{3, 8}},
		{name: "nothing", dims: []int64{3, 4}, values: []float32{}, indices: nil},
		{name: "beyond the end", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 12},
			want: "index 1 of the sparse tensor is 12, where there are 12 elements"},
		{name: "negative", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{-1, 1},
			want: "index 0 of the sparse tensor is -1"},
		{name: "far away", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1 << 62},
			want: "where there are 12 elements"},
		{name: "coordinate beyond the end", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{0, 4, 2, 0},
			shape: []int64{2, 2}, want: "index 0 of the sparse tensor is 4, where there are 4"},
		{name: "negative coordinate", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{-1, 0},
			shape: []int64{1, 2}, want: "is -1"},
		{name: "not in order", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5, 4},
			want: "smaller than the one before"},
		{name: "coordinates not in order", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{1, 0, 0, 3},
			shape: []int64{2, 2}, want: "smaller than the one before"},
		{name: "twice", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5, 5},
			want: "the same as the one before"},
		{name: "one too few", dims: []int64{3, 4}, values: []float32{1, 2}, indices: []int64{5},
			want: "2 values with 1 indices"},
		{name: "other rank", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1, 1, 1}, shape: []int64{1, 3},
			want: "an index has 3 coordinates, the tensor 2"},
		{name: "indices of rank 3", dims: []int64{3, 4}, values: []float32{1}, indices: []int64{1},
			shape: []int64{1, 1, 1}, want: "want [1] or [1,2]"},
		{name: "values of rank 2", dims: []int64{3, 4}, values: []float32{1}, valueShape: []int64{1, 1},
			indices: []int64{1}, want: "one dimension"},
		{name: "scalar", dims: nil, values: []float32{1}, indices: []int64{0}, want: "at least one dimension"},
		{name: "no elements", dims: []int64{0, 4}, values: []float32{1}, indices: []int64{0}, want: "none of them 0"},
		{name: "overflow", dims: []int64{1 << 40, 1 << 40}, values: []float32{1}, indices: []int64{0}, want: ""},
		{name: "no indices", dims: []int64{4}, values: []float32{1}, indices: nil,
			want: "without values or without indices"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := testenv.Must(Parse(
				[]byte(
					`<ir_version: 8, opset_import: ["" : 17]> g (float[3, 4] x) => (float[3, 4] y, float[3, 4] z)
						{ y = Add (x, s) c = Constant <value = float {0}> () z = Add (x, c) }`),
				Limits{}))(t)
			v := &pb.TensorProto{Name: proto.String("s"), DataType: proto.Int32(1), FloatData: c.values,
				Dims: []int64{int64(len(c.values))}}
			if c.valueShape != nil {
				v.Dims = c.valueShape
			}
			s := &pb.SparseTensorProto{Dims: c.dims, Values: v, Indices: indicesOf(c.indices, c.shape)}
			m.Proto.Graph.SparseInitializer = append(m.Proto.Graph.SparseInitializer, s)
			m.Proto.Graph.Node[1].Attribute = []*pb.AttributeProto{{Name: proto.String("sparse_value"),
				Type: pb.AttributeProto_SPARSE_TENSOR.Enum(), SparseTensor: s}}
			all := errorsOf(Check(m))
			bad := c.want != "" || c.name == "overflow"
			if bad != (all != "") || !strings.Contains(all, c.want) || bad && !strings.Contains(all, `"s"`) {
				t.Errorf("got %q, want %q", all, c.want)
			}
			if !bad {
				dense := make([]float64, 12)
				for i, p := range c.at {
					dense[p] = float64(c.values[i])
				}
				for _, n := range open(t, m, ImportOptions{}).Nodes {
					testenv.Same(t, n.In[1].Const.Floats(), dense)
				}
				p := proto.Clone(m.Proto).(*pb.ModelProto) // listed as an input, too: a constant still
				p.Graph.Input = append(p.Graph.Input, &pb.ValueInfoProto{Name: proto.String("s")})
				testenv.Same(t, (&Model{Proto: p}).Inputs(), []string{"x"})
			}
			// Indices of another type.
			if s.Indices != nil && !bad {
				s.Indices.DataType, s.Indices.Int32Data, s.Indices.Int64Data = proto.Int32(6),
					make([]int32, len(c.indices)), nil
				fs := Check(m)
				testenv.Check(t, fs.Count(diag.Error) != 0, "32-bit indices are accepted")
			}
		})
	}
}

// errorsOf are what is said of errors.
func errorsOf(list diag.List) string {
	var said []string
	for _, f := range list {
		if f.Severity == diag.Error {
			said = append(said, f.Error())
		}
	}
	return strings.Join(said, "\n")
}

// indicesOf are those of a sparse constant, of one dimension where shape is nil.
func indicesOf(list, shape []int64) *pb.TensorProto {
	switch {
	case list == nil:
		return nil
	case shape == nil:
		shape = []int64{int64(len(list))}
	}
	return &pb.TensorProto{DataType: proto.Int32(7), Int64Data: list, Dims: shape}
}

// TestScales: whatever is no scale of data that are computed is refused with
// the node and the reason, wherever the number comes from and in whichever
// operator it stands; compile and check both import the model.
func TestScales(t *testing.T) {
	open := func(t *testing.T, text string) error {
		t.Helper()
		m, err := Parse([]byte(`<ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]> g `+text), Limits{})
		testenv.OK(t, err)
		_, err = OpenModel(m, ImportOptions{})
		return err
	}
	const consts = "int8 z = {0}, float ok = {0.1}, int8[1, 1, 1, 1] w = {3}, int8[4, 2] m = {1, 2, 3, 4, 5, 6, 7, 8}"
	graphs := map[string]struct{ sig, body, node string }{
		"quantize": {"(float[1, 4] x) => (float[1, 4] y)",
			"q = QuantizeLinear (x, S, z) y = DequantizeLinear (q, ok, z)", "QuantizeLinear"},
		"dequantize": {"(float[1, 4] x) => (float[1, 4] y)",
			"q = QuantizeLinear (x, ok, z) y = DequantizeLinear (q, S, z)", "DequantizeLinear"},
		"constant": {"(float[1, 4] x) => (float[1, 2] y)",
			"q = QuantizeLinear (ok, S, z) k = DequantizeLinear (q, ok, z) y = Mul (x, k)", "QuantizeLinear"},
		"QLinearConv x": {"(int8[1, 1, 4, 4] x) => (int8[1, 1, 4, 4] y)",
			"y = QLinearConv (x, S, z, w, ok, z, ok, z)", "QLinearConv"},
		"QLinearConv y": {"(int8[1, 1, 4, 4] x) => (int8[1, 1, 4, 4] y)",
			"y = QLinearConv (x, ok, z, w, ok, z, S, z)", "QLinearConv"},
		"QLinearMatMul a": {"(int8[1, 4] x) => (int8[1, 2] y)", "y = QLinearMatMul (x, S, z, m, ok, z, ok, z)",
			"QLinearMatMul"},
		"QLinearMatMul y": {"(int8[1, 4] x) => (int8[1, 2] y)", "y = QLinearMatMul (x, ok, z, m, ok, z, S, z)",
			"QLinearMatMul"},
		"QLinearAdd b": {"(int8[1, 4] x) => (int8[1, 4] y)",
			"y = com.microsoft.QLinearAdd (x, ok, z, x, S, z, ok, z)", "QLinearAdd"},
		"QLinearAdd c": {"(int8[1, 4] x) => (int8[1, 4] y)",
			"y = com.microsoft.QLinearAdd (x, ok, z, x, ok, z, S, z)", "QLinearAdd"},
		"QLinearSigmoid y": {"(int8[1, 4] x) => (int8[1, 4] y)", "y = com.microsoft.QLinearSigmoid (x, ok, z, S, z)",
			"QLinearSigmoid"},
		"QLinearConcat y": {"(int8[1, 4] x) => (int8[1, 8] y)",
			"y = com.microsoft.QLinearConcat <axis = 1> (S, z, x, ok, z, x, ok, z)", "QLinearConcat"},
		"QLinearConcat x": {"(int8[1, 4] x) => (int8[1, 8] y)",
			"y = com.microsoft.QLinearConcat <axis = 1> (ok, z, x, ok, z, x, S, z)", "QLinearConcat"},
		"QGemm a": {"(int8[1, 4] x) => (float[1, 2] y)", "y = com.microsoft.QGemm (x, S, z, m, ok, z)",
			"QGemm"},
	}
	sources := map[string][2]string{ // constants and nodes that give S
		"initializer": {"float S = {%s}", ""},
		"Constant":    {"", "S = Constant <value = float {%s}> () "},
		"folded":      {"float raw = {%s}, float one = {1}", "S = Mul (raw, one) "},
		"of a shape": {"float raw = {%s}", "sh = Shape (x) n = Size (sh) f = Cast <to = 1> (n) h = Div (f, f) S = " +
			"Mul (h, raw) "},
		"squeezed": {"float[1] raw = {%s}", "S = Squeeze (raw) "},
	}
	for what, g := range graphs {
		for from, src := range sources {
			for _, v := range []string{"0.25", "0", "-0.0", "-1", "nan", "inf", "-inf", "1e-40"} {
				fill := func(s string) string {
					if !strings.Contains(s, "%s") {
						return s
					}
					return fmt.Sprintf(s, v)
				}
				list := consts
				if src[0] != "" {
					list += ", " + fill(src[0])
				}
				err := open(t, g.sig+" <"+list+"> { "+fill(src[1])+g.body+" }")
				if v == "0.25" {
					testenv.Check(t, err == nil, "%s, %s: %v", what, from, err)
				} else if err == nil || !strings.Contains(err.Error(), "the scale") || !strings.Contains(err.Error(),
					g.node+` "`) {
					t.Errorf("%s, %s, %s: got %v", what, from, v, err)
				}
			}
		}
	}
	// A channel of weights that is off: its scale may be 0.
	if err := open(t, "(float[1, 4] x) => (float[1, 2] y) <int8[4, 2] m = {1, 0, 3, 0, 5, 0, 7, 0}, float[2] s = "+
		"{0.5, 0}> { k = DequantizeLinear <axis = 1> (m, s) y = MatMul (x, k) }"); err != nil {
		t.Error(err)
	}
	// Zero points and counts along an axis.
	for what, text := range map[string]string{
		"zero point of another type": "(int8[1, 4] x) => (float[1, 4] y) <float s = {1}, uint8 z = {200}> { y = " +
			"DequantizeLinear (x, s, z) }",
		"zero point that is a float": "(float[1, 4] x) => (float[1, 4] y) <float s = {1}, float z = {0}> { y = " +
			"QuantizeLinear (x, s, z) }",
		"zero point of 32 bits": "(int32[1, 4] x) => (float[1, 4] y) <float s = {1}, int32 z = {7}> { y = " +
			"DequantizeLinear (x, s, z) }",
		"three scales for four": "(float[1, 4] x) => (int8[1, 4] y) <float[3] s = {1, 1, 1}, int8[3] z = {0, " +
			"0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"two zero points for four": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[2] z = " +
			"{0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"one zero point for four": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[1] z = " +
			"{0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"scales of rank 2": "(float[1, 4] x) => (int8[1, 4] y) <float[1, 4] s = {1, 1, 1, 1}, int8[1, " +
			"4] z = {0, 0, 0, 0}> { y = QuantizeLinear <axis = 1> (x, s, z) }",
		"an axis beyond the rank": "(float[1, 4] x) => (int8[1, 4] y) <float[4] s = {1, 1, 1, 1}, int8[4] z = " +
			"{0, 0, 0, 0}> { y = QuantizeLinear <axis = 2> (x, s, z) }",
		"no scales": "(float[1, 4] x) => (int8[1, 4] y) <float[0] s = {}, int8[0] z = {}> { y = " +
			"QuantizeLinear <axis = 1> (x, s, z) }",
		"two scales for three filters": "(int8[1, 1, 2, 2] x) => (int8[1, 3, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, int8[3, 1, 1, 1] w = {1, 2, 3}, float[2] s = {1, 1}, int8[2] zs = {0, 0}> { y = QLinearConv (x, " +
			"ok, z, w, s, zs, ok, z) }",
		"zero point for two of three": "(int8[1, 1, 2, 2] x) => (int8[1, 3, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, int8[3, 1, 1, 1] w = {1, 2, 3}, float[3] s = {1, 1, 1}, int8[2] zs = {0, 0}> { y = QLinearConv " +
			"(x, ok, z, w, s, zs, ok, z) }",
		"uint8 weights' zero of int8": "(int8[1, 1, 2, 2] x) => (int8[1, 1, 2, 2] y) <float ok = {1}, int8 z = " +
			"{0}, uint8[1, 1, 1, 1] w = {1}> { y = QLinearConv (x, ok, z, w, ok, z, ok, z) }",
	} {
		t.Run(what, func(t *testing.T) { testenv.Refused(t, open(t, text), "Linear") })
	}
}
