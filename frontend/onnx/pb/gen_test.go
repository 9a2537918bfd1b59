// SPDX-License-Identifier: Apache-2.0

package pb

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/ir/irtest/testenv"
)

// stripProtoc drops the header line that carries protoc's own version: it
// differs between distributions while the rest of the file does not.
func stripProtoc(b []byte) []byte {
	var out [][]byte
	for _, l := range bytes.Split(b, []byte("\n")) {
		if bytes.HasPrefix(l, []byte("// \tprotoc  ")) {
			continue
		}
		out = append(out, l)
	}
	return bytes.Join(out, []byte("\n"))
}

// TestGeneratedIsCurrent regenerates onnx.pb.go and compares it with the
// committed file. It needs protoc; NNCC_REQUIRE=protoc makes its absence fail.
func TestGeneratedIsCurrent(t *testing.T) {
	protoc := testenv.Tool(t, "protoc", "protoc")
	dir := t.TempDir()
	plugin := filepath.Join(dir, "protoc-gen-go")
	if out, err := exec.Command("go", "build", "-o", plugin,
		"google.golang.org/protobuf/cmd/protoc-gen-go").CombinedOutput(); err != nil {
		t.Fatalf("building protoc-gen-go: %v\n%s", err, out)
	}
	cmd := exec.Command(protoc, "--plugin=protoc-gen-go="+plugin, "--go_out="+dir, "--go_opt=paths=source_relative",
		"onnx.proto")
	out, err := cmd.CombinedOutput()
	testenv.Require(t, err == nil, "protoc: %v\n%s", err, out)
	got := testenv.Must(os.ReadFile(filepath.Join(dir, "onnx.pb.go")))(t)
	want := testenv.Must(os.ReadFile("onnx.pb.go"))(t)
	testenv.Require(t, bytes.Equal(stripProtoc(got), stripProtoc(want)),
		"onnx.pb.go is not what onnx.proto gives; run go generate in this folder")
}

// TestWireFacts pins bytes on the wire that other ONNX tools depend on: field
// numbers and the packing of attribute lists (unpacked) and tensor data (packed).
func TestWireFacts(t *testing.T) {
	cases := []struct {
		name string
		m    proto.Message
		want string
	}{
		{"model", &ModelProto{IrVersion: proto.Int64(8),
			OpsetImport: []*OperatorSetIdProto{{Version: proto.Int64(13)}}}, "\x08\x08\x42\x02\x10\x0d"},
		{"ints", &AttributeProto{Name: proto.String("p"), Ints: []int64{1, 2}, Type: AttributeProto_INTS.Enum()},
			"\x0a\x01p\x40\x01\x40\x02\xa0\x01\x07"},
		{"tensor", &TensorProto{Dims: []int64{2}, DataType: proto.Int32(7), Int64Data: []int64{3, 4},
			Name: proto.String("t")}, "\x08\x02\x10\x07\x3a\x02\x03\x04\x42\x01t"},
		{"node", &NodeProto{Input: []string{"x"}, Output: []string{"y"}, OpType: proto.String("R"),
			Domain: proto.String("d")}, "\x0a\x01x\x12\x01y\x22\x01R\x3a\x01d"},
	}
	for _, c := range cases {
		b := testenv.Must(proto.MarshalOptions{Deterministic: true}.Marshal(c.m))(t)
		testenv.Check(t, string(b) == c.want, "%s: wrote %q, want %q", c.name, b, c.want)
		back := c.m.ProtoReflect().New().Interface()
		err := proto.Unmarshal(b, back)
		testenv.Check(t, err == nil && proto.Equal(back, c.m), "%s: did not come back: %v (%v)", c.name, back, err)
	}
}
