// SPDX-License-Identifier: Apache-2.0

package surgery

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/npz"
	"github.com/nncc/nncc/frontend/onnx"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir"
	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// Observed elsewhere: only float32 interfaces and constants.
func TestAnyElementType(t *testing.T) {
	types := []string{"float", "double", "float16", "bfloat16", "bool", "int4", "uint4", "int8", "int16", "int32",
		"int64", "uint8", "uint16", "uint32", "uint64"}
	m := parse(t, "g (float[1] x) => (float[1] y) { y = Relu (x) }")
	m.Proto.OpsetImport[0].Version = proto.Int64(21)
	m.Proto.IrVersion = proto.Int64(10)
	for _, dt := range types {
		r, err := run(t, m, fmt.Sprintf("steps: [{add_initializer: {name: w, dtype: %s, value: [[1, 0], [1, 1]]}}, "+
			"{add_input: {name: q, dtype: %s, shape: [N, 2, null]}}]", dt, dt), RunOptions{})
		must(t, err)
		d := r.Model.Constant("w")
		if d.DType.ONNXName() != dt || !slices.Equal(d.Floats(), []float64{1, 0, 1, 1}) ||
			!slices.Equal(d.Shape, []int{2, 2}) {
			t.Errorf("%s: %v %v", dt, d, d.Floats())
		}
		num, shape := r.Model.IOShape("q")
		if model.ElemTypeName(num) != dt || ShapeText(shape) != "[N,2,?]" {
			t.Errorf("%s: input is %s%s", dt, model.ElemTypeName(num), ShapeText(shape))
		}
	}
}

func TestInitializerErrors(t *testing.T) {
	for script, says := range map[string]string{
		`{name: w, dtype: int8, value: [1, 300]}`:          "value 1 is 300, outside -128 to 127",
		`{name: w, dtype: int8, value: 1.5}`:               "whole number",
		`{name: w, dtype: float16, value: 1e6}`:            "beyond the range of float16",
		`{name: w, dtype: bool, value: 2}`:                 "true or false",
		`{name: w, value: [[1, 2], [3]]}`:                  "has shape [1], those before it [2]",
		`{name: w, value: [1, x]}`:                         `found "x"; want a number`,
		`{name: w, value: [1, 2], shape: [3]}`:             "2 values for shape [3]",
		`{name: w, dtype: flot, value: 1}`:                 "is unknown",
		`{name: w}`:                                        "0 of value, npy and random",
		`{name: w, value: 1, random: 2}`:                   "2 of value, npy and random",
		`{name: w, random: 1, shape: [70000, 70000]}`:      "too large",
		`{name: w, random: 1, shape: [-1]}`:                "negative",
		`{name: w, npy: none.npy}`:                         "none.npy",
		`{name: w, npy: .}`:                                "not a regular file",
		`{name: x, value: 1}`:                              "is taken",
		`{name: "", value: 1}`:                             "must have a name",
		`{name: w, dtype: float8e4m3fn, value: 1}`:         "cannot be written here",
		`{name: w, value: 99999999999999999999}`:           "",
		`{name: w, value: 9007199254740995}`:               "too large to be written here",
		`{name: w, dtype: string, value: [a], shape: [2]}`: "1 texts for shape [2]",
	} {
		_, err := run(t, parse(t, "g (float[1] x) => (float[1] y) { y = Relu (x) }"), "steps: [{add_initializer: "+
			script+"}]", RunOptions{})
		if says == "" {
			continue // YAML reads it as a float: any answer but a panic
		}
		wantErr(t, err, "s.yaml:1: step 1 (add_initializer)", says)
	}
}

func TestInitializerFromFile(t *testing.T) {
	dir := t.TempDir()
	d := ir.Rand(3, tensor.F64, []int{2, 6})
	must(t, npz.WriteNpyFile(filepath.Join(dir, "w.npy"), npz.FromTensor(d)))
	sc, err := ParseScript("s.yaml", dir, []byte(`
steps:
  - add_initializer: {name: a, npy: w.npy}
  - add_initializer: {name: b, npy: w.npy, dtype: float32, shape: [3, -1]}
  - add_initializer: {name: c, random: 5, shape: [4], dtype: float16}
`))
	must(t, err)
	if _, err := sc.Run(parse(t, "g (float[1] x) => (float[1] y) { y = Relu (x) }"), RunOptions{}); err == nil {
		t.Fatal("a shape of -1 is refused for constants")
	}
	sc,
		err = ParseScript("s.yaml", dir,
		[]byte(
			`steps: [{add_initializer: {name: a, npy: w.npy}}, {add_initializer: {name: b, npy: w.npy, dtype: float32, shape: [3, 4]}}, {add_initializer: {name: c, random: 5, shape: [4], dtype: float16}}]`))
	must(t, err)
	r := testenv.Must(sc.Run(parse(t, "g (float[1] x) => (float[1] y) { y = Relu (x) }"), RunOptions{}))(t)
	a := r.Model.Constant("a")
	b := r.Model.Constant("b")
	c := r.Model.Constant("c")
	if !tensor.Equal(a, d) || !tensor.Equal(b, d.Cast(tensor.F32).Reshaped([]int{3, 4})) ||
		!tensor.Equal(c, ir.Rand(5, tensor.F16, []int{4})) {
		t.Errorf("%v %v %v", a, b, c)
	}
}

func TestDeduplicate(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 2)
	one := tensor.Of([]int{2}, []float32{1, 2})
	b.init("a", one)
	b.init("b", one)
	b.init("c", tensor.Of([]int{1, 2}, []float32{1, 2})) // another shape
	b.init("d", tensor.Of([]int{2}, []float32{1, float32(2.0000002)}))
	b.init("e", tensor.Of([]int{2}, []int32{0x3f800000, 0x40000000})) // the same bytes
	b.m.AddInitializer(&pb.TensorProto{Name: proto.String("f"), DataType: proto.Int32(1), Dims: []int64{2},
		FloatData: []float32{1, 2}})
	v := x
	for _, w := range in("a", "b", "f", "d", "c") {
		v = b.node("Add", "/add_"+w, in(v, w), nil)
	}
	m := b.output(v)
	ref := m.Clone()
	gone := m.DeduplicateInitializers()
	testenv.Check(t, len(gone) == 2 && gone["b"] == "a" && gone["f"] == "a", "removed %v", gone)
	same(t, m, ref, 0)
}

func TestRemoveInitializers(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 2)
	b.weights("used", 2)
	b.weights("left", 2)
	b.weights("over", 2)
	m := b.output(b.node("Add", "/add", in(x, "used"), nil))
	refused(t, func() { m.RemoveInitializers(in("left", "used")) }, `"used" is read by node "/add" (Add)`)
	testenv.Check(t, m.IsInitializer("left"), "nothing may be removed on an error")
	refused(t, func() { m.RemoveInitializers(in("lft")) }, `did you mean "left"?`)
	m.RemoveInitializers(in("left"))
	testenv.Same(t, m.RemoveUnusedInitializers(), in("over"), "removed")
	valid(t, m)
}

func TestConversions(t *testing.T) {
	seq := func(shape ...int) *tensor.Dense {
		d := tensor.New(tensor.F32, shape)
		for i := range d.Len() {
			d.SetFloat(i, float64(i))
		}
		return d
	}
	for _, c := range []struct {
		name  string
		in    []int
		shape []int
		vals  []float64 // the first ones
	}{
		{"wbc_to_chw", []int{3, 1, 2}, []int{2, 1, 3}, []float64{0, 2, 4, 1, 3, 5}},
		{"ck_to_kchw", []int{2, 3}, []int{3, 2, 1, 1}, []float64{0, 3, 1, 4, 2, 5}},
		{"xc_to_xchw", []int{2, 3}, []int{2, 3, 1, 1}, []float64{0, 1, 2, 3, 4, 5}},
		{"hwc_to_nchw", []int{1, 3, 2}, []int{1, 2, 1, 3}, []float64{0, 2, 4, 1, 3, 5}},
		{"nchw_to_hwc", []int{1, 2, 1, 3}, []int{1, 3, 2}, []float64{0, 3, 1, 4, 2, 5}},
		{"c_to_chw", []int{3}, []int{3, 1, 1}, []float64{0, 1, 2}},
	} {
		d := Convert(seq(c.in...), c.name)
		if !slices.Equal(d.Shape, c.shape) || !slices.Equal(d.Floats(), c.vals) {
			t.Errorf("%s: %v %v, want %v %v", c.name, d.Shape, d.Floats(), c.shape, c.vals)
		}
	}
	err := fail.Caught(func() { Convert(seq(2, 2), "hwc_to_nchw") })
	wantErr(t, err, "does not fit shape [2 2]")
	err = fail.Caught(func() { Convert(seq(2, 2, 1, 1), "nchw_to_hwc") })
	wantErr(t, err, "does not fit")
	err = fail.Caught(func() { Convert(seq(2, 2), "hwc_nchw") })
	wantErr(t, err, "unknown", `did you mean "hwc_to_nchw"?`)
	d := TransposeReshape(seq(2, 3), []int{1, 0}, []int{1, -1})
	if !slices.Equal(d.Shape, []int{1, 6}) || !slices.Equal(d.Floats(), []float64{0, 3, 1, 4, 2, 5}) {
		t.Errorf("%v %v", d.Shape, d.Floats())
	}
	for _, c := range []struct {
		perm, shape []int
		says        string
	}{
		{[]int{0, 0}, nil, "no permutation"}, {[]int{0}, nil, "1 places, want 2"}, {[]int{2, 0}, nil, "no permutation"},
		{nil, []int{4}, "4 elements, the constant of shape [2 3] has 6"}, {nil, []int{-1, -1}, "one may be -1"},
		{nil, []int{-1, 4}, "elements"},
		{nil, []int{-1, 0}, "elements"}, {nil, []int{1 << 40, 1 << 40}, "too large"}, {nil, []int{-2}, "negative"},
	} {
		err := fail.Caught(func() { TransposeReshape(seq(2, 3), c.perm, c.shape) })
		wantErr(t, err, c.says)
	}
	err = fail.Caught(func() { SliceAxis(seq(2, 3), 1, 2, 4) })
	wantErr(t, err, "do not lie within the 3 of axis 1")
	d = SliceAxis(seq(2, 3), -1, -2, 3)
	testenv.Same(t, d.Floats(), []float64{1, 2, 4, 5})
}

func TestSplitToMaps(t *testing.T) {
	b := build(t, 17)
	p, q := b.input("p", 1, 3, 2, 2), b.input("q", 1, 3, 1, 2)
	b.weights("anchors", 1, 2, 6)
	m := b.output(b.node("Relu", "/p", in(p), nil), b.node("Relu", "/q", in(q), nil))
	m.SplitToMaps("anchors", -1, in("p", "q"), in("a0", "a1"))
	whole, _ := fail.Try(func() *tensor.Dense { return m.Constant("anchors") })
	a0, _ := fail.Try(func() *tensor.Dense { return m.Constant("a0") })
	a1, _ := fail.Try(func() *tensor.Dense { return m.Constant("a1") })
	testenv.Require(t, slices.Equal(a0.Shape, []int{1, 2, 2, 2}) && slices.Equal(a1.Shape, []int{1, 2, 1, 2}),
		"%v %v", a0, a1)
	w := whole.Floats()
	if !slices.Equal(a0.Floats(), append(slices.Clone(w[0:4]), w[6:10]...)) ||
		!slices.Equal(a1.Floats(), append(slices.Clone(w[4:6]), w[10:12]...)) {
		t.Errorf("%v\n%v\n%v", w, a0.Floats(), a1.Floats())
	}
	refused(t, func() { m.SplitToMaps("anchors", 2, in("p", "p"), in("a2", "a3")) }, "has 6 places", "the maps have 8")
	refused(t, func() { m.SplitToMaps("anchors", 3, in("p", "q"), in("a2", "a3")) }, "axis 3 is outside rank 3")
	refused(t, func() { m.SplitToMaps("anchors", 2, in("p", "r"), in("a2", "a3")) }, `no value "r"`)
	refused(t, func() { m.SplitToMaps("anchors", 2, in("p"), in("a2", "a3")) }, "1 maps and 2 names")
}

// Data in files beside the model come into the edited one, whatever their type.
func TestExternalDataBecomePartOfTheModel(t *testing.T) {
	dir := t.TempDir()
	b := build(t, 17)
	x := b.input("x", 1, 4)
	m := b.output(b.node("Mul", "/mul", in(x, b.weights("w", 1, 4)), nil))
	raw := m.initializer("w").RawData
	m.AddInitializer(&pb.TensorProto{Name: proto.String("f8"), DataType: proto.Int32(17), Dims: []int64{3},
		RawData: []byte{1, 2, 3}})
	ref := m.Clone()
	must(t, os.WriteFile(filepath.Join(dir, "w.bin"), append(slices.Clone(raw), 1, 2, 3), 0o666))
	p := proto.Clone(m.Proto).(*pb.ModelProto)
	kv := func(k, v string) *pb.StringStringEntryProto {
		return &pb.StringStringEntryProto{Key: proto.String(k), Value: proto.String(v)}
	}
	for _, x := range p.Graph.Initializer {
		off, n := "0", "16"
		if x.GetName() == "f8" {
			off, n = "16", "3"
		}
		x.RawData, x.DataLocation = nil, pb.TensorProto_EXTERNAL.Enum()
		x.ExternalData = []*pb.StringStringEntryProto{kv("location", "w.bin"), kv("offset", off), kv("length", n)}
	}
	bytes := testenv.Must(onnx.Marshal(p))(t)
	must(t, os.WriteFile(filepath.Join(dir, "m.onnx"), bytes, 0o666))
	got, err := Load(filepath.Join(dir, "m.onnx"), onnx.Limits{})
	must(t, err)
	if string(got.initializer("f8").RawData) != "\x01\x02\x03" || got.initializer("w").DataLocation != nil {
		t.Errorf("%v", got.graph().Initializer)
	}
	same(t, got, ref, 0)
	must(t, os.Remove(filepath.Join(dir, "w.bin")))
	_, err = Load(filepath.Join(dir, "m.onnx"), onnx.Limits{})
	wantErr(t, err, "m.onnx", "w.bin")
}

// Constants stand in many forms.
func TestConstantForms(t *testing.T) {
	b := build(t, 17)
	x := b.input("x", 1, 2)
	for name, a := range map[string]attrs{
		"int": {"value_int": 7}, "ints": {"value_ints": []int{7, 8}}, "float": {"value_float": 7},
		"floats": {"value_floats": []int{7, 8}},
		"tensor": {"value": tensor.Ints(7)},
	} {
		b.node("Constant", "/"+name, nil, a, name)
	}
	b.node("Identity", "/id", in("floats"), nil, "behind")
	m := b.output(b.node("Add", "/add", in(x, "behind"), nil))
	for name, want := range map[string]string{"int": "i64[] [7]", "ints": "i64[2] [7 8]", "float": "f32[] [7]",
		"floats": "f32[2] [7 8]", "tensor": "i64[1] [7]", "behind": "f32[2] [7 8]"} {
		d := m.Constant(name)
		testenv.Equal(t, fmt.Sprintf("%s%v %v", d.DType, d.Shape, d.Floats()), want, name)
	}
	for name, says := range map[string]string{"/add_output_0": "computed by node \"/add\"", "x": "graph input",
		"q": "no value"} {
		err := fail.Caught(func() { m.Constant(name) })
		wantErr(t, err, says)
	}
	// In place: the node becomes an initializer.
	ref := m.Clone()
	m.ConvertInitializer("floats", "", func(d *tensor.Dense) *tensor.Dense {
		return TransposeReshape(d, nil, []int{1, 2})
	})
	testenv.Check(t, m.IsInitializer("floats") && len(m.Find(Query{Output: "floats"})) == 0,
		"floats must be an initializer now")
	same(t, m, ref, 0)
	refused(t, func() { m.SetInitializer(model.TensorProto("x", tensor.Ints(1))) }, "is no initializer")
	refused(t, func() { m.SetInitializer(model.TensorProto("qq", tensor.Ints(1))) }, "no value")
	m.AddInitializer(StringTensor("names", []int{2}, in("a", "b")))
	valid(t, m)
}
