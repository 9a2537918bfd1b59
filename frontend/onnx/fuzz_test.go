// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/check"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/interp"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/lists"
)

// fuzzLimits keep a single case small.
var fuzzLimits = Limits{FileBytes: 1 << 20, MemoryBytes: 32 << 20, Nodes: 2000, Depth: 16, TensorBytes: 4 << 20,
	Findings: 50}

// openFuzzed opens arbitrary bytes: no panic, no invalid graph, bounded memory;
// what was imported can be written and is valid then. Small graphs are run.
func openFuzzed(t *testing.T, b []byte) {
	m, err := Parse(b, fuzzLimits)
	if err != nil {
		return
	}
	Check(m)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g, err := Import(m, ImportOptions{}) // also where Check has found errors
	runtime.ReadMemStats(&after)
	n := after.TotalAlloc - before.TotalAlloc
	testenv.Check(t, n <= 1<<30, "importing %d bytes took %d bytes of memory", len(b), n)
	if err != nil {
		return
	}
	errs := g.Verify()
	testenv.Require(t, len(errs) <= 0, "invalid graph: %v", errs)
	if p, err := Export(g, ExportOptions{}); err == nil && Check(m).Count(diag.Error) == 0 {
		for _, f := range Check(&Model{Proto: p}) {
			if f.Severity == diag.Error {
				t.Errorf("export: %s", f.String())
			}
		}
	}
	size := 0
	for _, n := range g.Nodes {
		for _, v := range n.Out {
			size += v.Type.Elems()
		}
		if n.Op.MACs != nil {
			size += int(min(n.Op.MACs(n), 1<<30))
		}
	}
	for _, v := range g.In {
		size += v.Type.Elems()
	}
	if size < 1<<16 {
		_, _ = interp.Run(g, irtest.Inputs(g, 1), nil) // errors are errors of the model
	}
}

// fuzzSeeds are small models with much in them.
func fuzzSeeds(t testing.TB) [][]byte {
	out := lists.Map([]string{
		`(float[1,2,6,6] x) => (float y) <float[3,2,3,3] w> { k = Constant <value = float[2] {1, 2}> ()
			n = BatchNormalization (x, k, k, k, k) p = MaxPool <kernel_shape = [2, 2]> (n) r = Relu (p)
			y = Softmax <axis = 1> (r) }`,
		`(float[N,3] x) => (float y) { s = Shape (x) i = Constant <value = int64 {0}> () d = Gather (s, i)
			a = Constant <value_ints = [0]> () u = Unsqueeze (d, a) m = Constant <value_ints = [-1]> ()
			t = Concat <axis = 0> (u, m) y = Reshape (x, t) }`,
		`(float[2] x) => (float y) { n = Constant <value_int = 3> ()
			y = Loop (n, "", x) <body = b (int64 i, bool c, float v) => (c, w) { f = Cast <to = 1> (i) w = Add (v,
				f) }> }`,
		`(int8[1,4] x) => (int8 y) { s = Constant <value = float {0.5}> () z = Constant <value = int8 {2}> ()
			y = com.microsoft.QLinearAdd (x, s, z, x, s, z, s, z) }`,
		"(float[1,4,4,4] x) => (float y) { a = com.sigmastar.Reorg <stride = 2> (x) b = local.F <k = 2> (a) y = If " +
			"(c) <then_branch = t () => (p) { p = Neg (b) }, else_branch = e () => (p) { p = Abs (b) }> c = " +
			"Constant <value = bool {1}> () }\n<domain: \"local\", opset_import: [\"\" : 13]> F <k> (a) => (b) " +
			"{ c = Constant <value_int: int = @k> () d = Cast <to = 1> (c) b = Mul (a, d) }",
		`(float[3,1,2] x) => (float y) { w = Constant <value = float[1,4,2] {1,2,3,4,5,6,7,8}> ()
			r = Constant <value = float[1,4,1] {1,2,3,4}> () y = LSTM <hidden_size = 1> (x, w, r) }`,
		`(float[1,1,4,4] x) => (float y) { s = Constant <value_floats = [1.0, 1.0, 0.5, 2.0]> ()
			a = Resize <coordinate_transformation_mode = "asymmetric"> (x, "", s)
			p = Constant <value_ints = [0, 0, 1, 1, 0, 0, 1, 1]> () b = Pad (a, p) c, d = TopK <axis = 3> (b,
				k) y = Add (c, c)
			k = Constant <value_ints = [2]> () }`,
	}, func(text string) []byte {
		return tBytes(textModel(t, 13, text).Proto)
	})
	files := sharedata.Glob("bad", "*.onnx")
	for _, f := range files {
		if b, err := os.ReadFile(f); err == nil && len(b) < 1<<13 {
			out = append(out, b)
		}
	}
	return out
}

// FuzzImport: no file makes the importer panic or take much memory.
func FuzzImport(f *testing.F) {
	for _, b := range fuzzSeeds(f) {
		f.Add(b)
	}
	f.Fuzz(openFuzzed)
}

// TestImportMutated is a short fuzzing session with a fixed seed: bytes changed,
// cut out and doubled in valid models.
func TestImportMutated(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 500
	}
	mutate(t, rounds, 1)
}

// around is a folder with a model's data in it, and ways that lead out of it.
func around(t testing.TB) (dir string, inside [][]byte) {
	top := t.TempDir()
	dir = filepath.Join(top, "model")
	check := func(err error) {
		testenv.OK(t, err)
	}
	check(os.MkdirAll(filepath.Join(dir, "sub"), 0o755))
	for i, name := range []string{"w.bin", "sub/w.bin"} {
		b := bytes.Repeat([]byte{byte(1 + i)}, 64)
		inside = append(inside, b)
		check(os.WriteFile(filepath.Join(dir, name), b, 0o644))
	}
	check(os.WriteFile(filepath.Join(top, "secret"), bytes.Repeat([]byte("S"), 64), 0o644))
	for name, to := range map[string]string{
		"in": "sub/w.bin", "out": "../secret", "far": filepath.Join(top, "secret"), "zero": "/dev/zero", "up": "..",
		"self": "self", "sub/back": "../w.bin", "sub/two": "../../secret",
	} {
		check(os.Symlink(to, filepath.Join(dir, name)))
	}
	check(syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	return dir, inside
}

// FuzzExternal: whatever the location, offset and length of external data are,
// what is read lies in a file of the model's folder, whole, and nothing waits.
func FuzzExternal(f *testing.F) {
	dir, inside := around(f)
	for _, s := range [][3]string{
		{"w.bin", "", ""}, {"sub/w.bin", "16", "16"}, {"in", "48", "16"}, {"out", "0", "16"}, {"far", "", ""},
		{"zero", "", ""}, {"up/secret", "", ""}, {"../secret", "", ""}, {"sub/../../secret", "", ""},
		{"/dev/zero", "", ""}, {"pipe", "", ""}, {"sub", "", ""}, {"self", "", ""}, {"sub/two", "", ""},
		{"w.bin", "9223372036854775807", "16"}, {"w.bin", "-1", "16"}, {"w.bin", "56", ""}, {"w.bin", "0x10", ""},
		{"w.bin", "", "18446744073709551616"}, {"w.bin\x00", "", ""}, {".\\w.bin", "", ""}, {"", "", ""},
		{"./w.bin", "+4", "016"}, {"C:w.bin", "", ""},
	} {
		f.Add(s[0], s[1], s[2], int64(4))
	}
	f.Fuzz(func(t *testing.T, location, offset, length string, elements int64) {
		p := &pb.TensorProto{Name: proto.String("w"), DataType: proto.Int32(int32(pb.TensorProto_FLOAT)),
			Dims: []int64{elements}, DataLocation: pb.TensorProto_EXTERNAL.Enum()}
		for k, v := range map[string]string{"location": location, "offset": offset, "length": length} {
			if v != "" {
				p.ExternalData = append(p.ExternalData, &pb.StringStringEntryProto{Key: proto.String(k),
					Value: proto.String(v)})
			}
		}
		d, err := TensorData(p, dir, fuzzLimits)
		if err != nil {
			testenv.Check(t, len(err.Error()) >= 10, "error %q", err)
			return
		}
		at, _ := strconv.ParseInt(offset, 10, 64)
		b := d.Bytes()
		if int64(len(b)) != 4*elements || elements > 0 && !bytes.Equal(b, inside[0][at:at+4*elements]) &&
			!bytes.Equal(b, inside[1][at:at+4*elements]) {
			t.Errorf("%q, offset %q, length %q, %d elements gave % x", location, offset, length, elements, b)
		}
	})
}

// FuzzFunctions: no library of functions makes the reader panic, and what it
// takes can be put into a model.
func FuzzFunctions(f *testing.F) {
	for _, s := range []string{
		"<domain: \"local\", opset_import: [\"\" : 17]> F (a) => (b) { b = Relu (a) }",
		"<domain: \"local\", opset_import: [\"\" : 17, \"local\" : 1]> F (a) => (b) { b = local.F (a) }",
		"<domain: \"local\", opset_import: [\"\" : 13]> F <k, m: int = 2> (a, c) => (b, d) { e = Constant " +
			"<value_int: int = @k> () f = Cast <to = 1> (e) b = Mul (a, f) d = Split <axis = 0> (c) }",
		"<domain: \"local\", opset_import: [\"\" : 17]> F (a) => (b) { b = If (a) <then_branch = t () => (x) { x = " +
			"Neg (a) }, else_branch = e () => (x) { x = local.F (a) }> }",
		"<domain: \"\", opset_import: [\"\" : 17]> Relu (a) => (b) { b = Relu (a) }",
		"<domain: \"local\"> F (a) => (a) { }",
		"F", "",
	} {
		f.Add([]byte(s))
	}
	f.Add(tBytes(textModel(f, 17, "(float[2] x) => (float y) { y = local.F (x) }\n<domain: \"local\", opset_import: "+
		"[\"\" : 17]> F (a) => (b) { b = Relu (a) }").Proto))
	f.Fuzz(func(t *testing.T, b []byte) {
		fs, err := model.ParseFunctions(b, fuzzLimits.OrDefault())
		if err != nil || check.Functions(fs, fuzzLimits).Count(diag.Error) > 0 {
			return
		}
		m := testenv.Must(Parse(
			[]byte(
				`<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
					g (float[1, 4] x, float[1, 4] z) => (float y) { y = local.F (x, z) }`), fuzzLimits))(t)
		if g, err := Import(m, ImportOptions{Functions: fs}); err == nil {
			errs := g.Verify()
			testenv.Require(t, len(errs) <= 0, "invalid graph: %v", errs)
		}
	})
}

// mutate opens models that were damaged in the bytes and in their meaning.
func mutate(t *testing.T, rounds int, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	seeds := fuzzSeeds(t)
	var decoded []*pb.ModelProto
	for _, b := range seeds {
		if m, err := Parse(b, fuzzLimits); err == nil {
			decoded = append(decoded, m.Proto)
		}
	}
	for range rounds {
		b := slices.Clone(seeds[r.IntN(len(seeds))])
		if r.IntN(2) == 0 {
			m := proto.Clone(decoded[r.IntN(len(decoded))]).(*pb.ModelProto)
			for range 1 + r.IntN(3) {
				damage(r, m)
			}
			b = tBytes(m)
		} else {
			for range 1 + r.IntN(4) {
				if len(b) < 2 {
					break
				}
				switch at := r.IntN(len(b)); r.IntN(4) {
				case 0:
					b[at] = byte(r.Uint32())
				case 1:
					b[at] ^= 1 << r.IntN(8)
				case 2:
					b = slices.Delete(b, at, min(len(b), at+1+r.IntN(8)))
				case 3:
					b = slices.Insert(b, at, b[at:min(len(b), at+r.IntN(16))]...)
				}
			}
		}
		func() {
			defer func() {
				p := recover()
				testenv.Require(t, p == nil, "panic: %v\nmodel %q", p, b)
			}()
			openFuzzed(t, b)
		}()
		testenv.Require(t, !t.Failed(), "model %q", b)
	}
}

// damage changes one thing in a model that stays a well-formed message.
func damage(r *rand.Rand, m *pb.ModelProto) {
	g := m.GetGraph()
	if g == nil || len(g.Node) == 0 {
		return
	}
	odd := []int64{0, 1, -1, 2, 3, 7, 100, 1 << 20, 1 << 31, 1 << 40, -1 << 63, 1<<63 - 1}
	number := func() int64 { return odd[r.IntN(len(odd))] }
	n := g.Node[r.IntN(len(g.Node))]
	switch r.IntN(11) {
	case 0:
		m.OpsetImport[0].Version = proto.Int64(int64(r.IntN(30)))
	case 1: // another input
		if len(n.Input) > 0 {
			o := g.Node[r.IntN(len(g.Node))]
			n.Input[r.IntN(len(n.Input))] = slices.Concat(o.Output, o.Input, []string{"x", ""})[0]
		}
	case 2:
		n.Input = append(n.Input, "x")
	case 3:
		if len(n.Input) > 0 {
			n.Input = n.Input[:len(n.Input)-1]
		}
	case 4:
		n.OpType = proto.String(g.Node[r.IntN(len(g.Node))].GetOpType())
	case 5:
		ops := []string{"Conv", "Gather", "Slice", "Split", "Tile", "Expand", "Concat", "Transpose", "Squeeze",
			"Einsum", "ReduceMax", "ArgMax", "OneHot", "Resize", "Cast", "GRU", "ConvTranspose", "DepthToSpace",
			"Range", "ScatterND", "Identity", "Clip", "TopK", "CumSum"}
		n.OpType = proto.String(ops[r.IntN(len(ops))])
	case 6:
		for _, a := range n.Attribute {
			if a.I != nil {
				a.I = proto.Int64(number())
			}
			if len(a.Ints) > 0 {
				a.Ints[r.IntN(len(a.Ints))] = number()
			}
			if a.T != nil && len(a.T.Int64Data) > 0 {
				a.T.Int64Data[r.IntN(len(a.T.Int64Data))] = number()
			}
		}
	case 7:
		names := []string{"axis", "axes", "pads", "strides", "dilations", "group", "kernel_shape", "perm", "to", "mode",
			"blocksize", "keepdims", "auto_pad"}
		a := &pb.AttributeProto{Name: proto.String(names[r.IntN(len(names))])}
		if r.IntN(2) == 0 {
			a.Type, a.I = pb.AttributeProto_INT.Enum(), proto.Int64(number())
		} else {
			a.Type, a.Ints = pb.AttributeProto_INTS.Enum(), []int64{number(), number()}
		}
		n.Attribute = append(n.Attribute, a)
	case 8:
		if d := g.Input[0].GetType().GetTensorType().GetShape().GetDim(); len(d) > 0 {
			d[r.IntN(len(d))].Value = &pb.TensorShapeProto_Dimension_DimValue{DimValue: number()}
		}
	case 9:
		if t := g.Input[0].GetType().GetTensorType(); t != nil {
			t.ElemType = proto.Int32(int32(r.IntN(27)))
		}
	case 10:
		i, j := r.IntN(len(g.Node)), r.IntN(len(g.Node))
		g.Node[i], g.Node[j] = g.Node[j], g.Node[i]
	}
}
