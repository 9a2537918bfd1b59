// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/nncc/nncc/ir/irtest/testenv"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/check"
	"github.com/nncc/nncc/frontend/onnx/model"
	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/diag"
)

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
			if len(err.Error()) < 10 {
				t.Errorf("error %q", err)
			}
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
		m,
			err := Parse(
			[]byte(
				`<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
					g (float[1, 4] x, float[1, 4] z) => (float y) { y = local.F (x, z) }`), fuzzLimits)
		testenv.OK(t, err)
		if g, err := Import(m, ImportOptions{Functions: fs}); err == nil {
			if errs := g.Verify(); len(errs) > 0 {
				t.Fatalf("invalid graph: %v", errs)
			}
		}
	})
}
