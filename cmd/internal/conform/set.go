// SPDX-License-Identifier: Apache-2.0

package conform

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nncc/nncc/ir/fail"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
)

// Folders are the parts of ONNX's backend suite that are run, in this order.
var Folders = []string{"node", "simple", "pytorch-converted", "pytorch-operator"}

// Test is one test of the suite: a model with the inputs and outputs of its
// first data set, as files.
type Test struct {
	Folder, Name string
	Model        []byte
	In, Out      [][]byte // TensorProto (or a sequence, an optional)
}

// ID names a test in the ratchet.
func (t *Test) ID() string { return t.Folder + "/" + t.Name }

// Find gives the newest set there is: what the environment names
// (NNCC_ONNX_BACKEND), an archive in the folder beside the repository, or
// Debian's libonnx-testdata. It is "" where there is none.
func Find() string {
	if p := testenv.Get("NNCC_ONNX_BACKEND"); p != "" {
		return p
	}
	if m := sharedata.Glob("onnx-backend-*.tar.gz"); len(m) > 0 {
		slices.Sort(m)
		return m[len(m)-1]
	}
	out, err := exec.Command("dpkg", "-L", "libonnx-testdata").Output()
	if err != nil {
		return ""
	}
	for _, l := range strings.Split(string(out), "\n") {
		if strings.HasSuffix(l, "/data") {
			return l
		}
	}
	return ""
}

// SetName names a set for the ratchet: its file name without extensions.
func SetName(p string) string {
	if !strings.HasSuffix(p, ".tar.gz") {
		return "libonnx-testdata"
	}
	return strings.TrimSuffix(filepath.Base(p), ".tar.gz")
}

// Read reads a set, an archive (.tar.gz) or a folder, sorted by ID.
func Read(p string) ([]*Test, error) {
	files := map[string]map[string][]byte{}
	put := func(name string, r io.Reader) error {
		parts := strings.SplitN(path.Clean(filepath.ToSlash(name)), "/", 3)
		if len(parts) < 3 || !slices.Contains(Folders, parts[0]) {
			return nil
		}
		b, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		key := parts[0] + "/" + parts[1]
		if files[key] == nil {
			files[key] = map[string][]byte{}
		}
		files[key][parts[2]] = b
		return nil
	}
	var err error
	if strings.HasSuffix(p, ".tar.gz") {
		err = readTar(p, put)
	} else {
		err = readDir(p, put)
	}
	if err != nil {
		return nil, err
	}
	var tests []*Test
	for key, f := range files {
		if f["model.onnx"] == nil {
			continue
		}
		t := &Test{Folder: path.Dir(key), Name: path.Base(key), Model: f["model.onnx"]}
		for i := 0; f[fmt.Sprintf("test_data_set_0/input_%d.pb", i)] != nil; i++ {
			t.In = append(t.In, f[fmt.Sprintf("test_data_set_0/input_%d.pb", i)])
		}
		for i := 0; f[fmt.Sprintf("test_data_set_0/output_%d.pb", i)] != nil; i++ {
			t.Out = append(t.Out, f[fmt.Sprintf("test_data_set_0/output_%d.pb", i)])
		}
		tests = append(tests, t)
	}
	slices.SortFunc(tests, func(a, b *Test) int { return strings.Compare(a.ID(), b.ID()) })
	return tests, nil
}

func readTar(p string, put func(string, io.Reader) error) (err error) {
	defer fail.Catch(&err)
	f := fail.Must(os.Open(p))
	defer f.Close()
	z := fail.Must(gzip.NewReader(f))
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			fail.Check(put(h.Name, r))
		}
	}
}

func readDir(p string, put func(string, io.Reader) error) error {
	root := os.DirFS(p)
	return fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		f, err := root.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		return put(name, f)
	})
}
