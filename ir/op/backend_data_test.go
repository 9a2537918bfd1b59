// SPDX-License-Identifier: Apache-2.0

package op_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// backendSets finds the ONNX backend test vectors: what the environment names,
// an archive beside the repository, and Debian's libonnx-testdata.
func backendSets(t *testing.T) []string {
	var found []string
	add := func(paths ...string) {
		for _, p := range paths {
			if resolved, err := filepath.EvalSymlinks(p); err == nil && !slices.Contains(found, resolved) {
				found = append(found, resolved)
			}
		}
	}
	if p := testenv.Get("NNCC_ONNX_BACKEND"); p != "" {
		add(strings.Split(p, ",")...)
		return found
	}
	add(sharedata.Glob("onnx-backend-*.tar.gz")...)
	if out, err := exec.Command("dpkg", "-L", "libonnx-testdata").Output(); err == nil {
		for _, l := range strings.Split(string(out), "\n") {
			if strings.HasSuffix(l, "/data") {
				add(l)
			}
		}
	}
	return found
}

// testFiles are the files of one backend test by path below its folder.
type testFiles map[string][]byte

// loadSet reads a set, a folder or a .tar.gz of one, by test name.
func loadSet(path string) (map[string]testFiles, error) {
	set := map[string]testFiles{}
	put := func(name string, r io.Reader) error {
		parts := strings.SplitN(filepath.ToSlash(name), "/", 3)
		if len(parts) < 3 || parts[0] == "real" || parts[0] == "light" || strings.HasSuffix(parts[1], "_expanded") {
			return nil
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		key := parts[0] + "/" + parts[1]
		if set[key] == nil {
			set[key] = testFiles{}
		}
		set[key][parts[2]] = b
		return nil
	}
	if !strings.HasSuffix(path, ".tar.gz") {
		root := os.DirFS(path)
		return set, fs.WalkDir(root, ".", func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			f, err := root.Open(p)
			if err != nil {
				return err
			}
			defer f.Close()
			return put(p, f)
		})
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return set, nil
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag == tar.TypeReg {
			if err := put(h.Name, r); err != nil {
				return nil, err
			}
		}
	}
}

// errUnsupported marks data that nncc does not represent.
var errUnsupported = errors.New("unsupported data")

// readTensor decodes a stored input or output.
func readTensor(b []byte) (*tensor.Dense, error) {
	var tp pb.TensorProto
	if err := proto.Unmarshal(b, &tp); err != nil {
		return nil, fmt.Errorf("%w: no tensor", errUnsupported)
	}
	return denseOf(&tp)
}

// denseOf decodes the encodings of TensorProto that the test vectors use.
func denseOf(tp *pb.TensorProto) (*tensor.Dense, error) {
	dt, ok := tensor.FromONNX(int(tp.GetDataType()))
	if !ok {
		return nil, fmt.Errorf("%w: tensor of data type %d", errUnsupported, tp.GetDataType())
	}
	shape := make([]int, len(tp.GetDims()))
	for i, d := range tp.GetDims() {
		shape[i] = int(d)
	}
	raw := tp.GetRawData()
	four := dt == tensor.I4 || dt == tensor.U4
	if tp.RawData == nil {
		le := binary.LittleEndian
		for _, v := range tp.GetFloatData() {
			raw = le.AppendUint32(raw, math.Float32bits(v))
		}
		for _, v := range tp.GetDoubleData() {
			raw = le.AppendUint64(raw, math.Float64bits(v))
		}
		for _, v := range tp.GetInt64Data() {
			raw = le.AppendUint64(raw, uint64(v))
		}
		for _, v := range tp.GetUint64Data() {
			if dt == tensor.U32 {
				raw = le.AppendUint32(raw, uint32(v))
			} else {
				raw = le.AppendUint64(raw, v)
			}
		}
		for _, v := range tp.GetInt32Data() {
			switch {
			case four || dt.Size() == 1:
				raw = append(raw, byte(v))
			case dt.Size() == 2:
				raw = le.AppendUint16(raw, uint16(v))
			default:
				raw = le.AppendUint32(raw, uint32(v))
			}
		}
	}
	if four {
		var wide []byte
		for _, b := range raw {
			lo, hi := b&15, b>>4
			if dt == tensor.I4 {
				lo, hi = byte(int8(lo<<4)>>4), byte(int8(hi<<4)>>4)
			}
			wide = append(wide, lo, hi)
		}
		raw = wide[:min(len(wide), tensor.Count(shape))]
	}
	return tensor.FromBytes(dt, shape, raw)
}

// differs says how got differs from want, or "".
func differs(got, want *tensor.Dense) string {
	if got.DType != want.DType || fmt.Sprint(got.Shape) != fmt.Sprint(want.Shape) {
		return fmt.Sprintf("got %s%v, want %s%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	if !want.DType.IsFloat() {
		if !bytes.Equal(got.Bytes(), want.Bytes()) {
			for i := range got.Len() {
				if got.Int(i) != want.Int(i) {
					return fmt.Sprintf("element %d is %d, want %d", i, got.Int(i), want.Int(i))
				}
			}
		}
		return ""
	}
	abs, rel := 1e-6, 1e-4
	switch want.DType {
	case tensor.F16:
		abs, rel = 1e-3, 1e-3
	case tensor.BF16:
		abs, rel = 1e-2, 1e-2
	}
	for i := range got.Len() {
		a, b := got.Float(i), want.Float(i)
		if a == b || a != a && b != b {
			continue
		}
		if !(math.Abs(a-b) <= abs+rel*math.Abs(b)) {
			return fmt.Sprintf("element %d is %v, want %v", i, a, b)
		}
	}
	return ""
}
