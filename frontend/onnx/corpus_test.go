// SPDX-License-Identifier: Apache-2.0

package onnx

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nncc/nncc/ir/diag"
	"github.com/nncc/nncc/ir/irtest"
	"github.com/nncc/nncc/ir/irtest/sharedata"
	"github.com/nncc/nncc/ir/irtest/testenv"
	"github.com/nncc/nncc/ir/tensor"
)

// shared is the folder of measuring data beside the repository, or a skip.
func shared(t *testing.T, parts ...string) string {
	t.Helper()
	return sharedata.Need(t, parts...)
}

// loadAndCheck gives all messages of errors about a model file.
func loadAndCheck(path string) []string {
	m, err := Load(path, Limits{})
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	for _, f := range Check(m) {
		if f.Severity == diag.Error {
			out = append(out, f.Error())
		}
	}
	return out
}

// TestSharedModels: valid models have no errors, and all their constants decode.
func TestSharedModels(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(shared(t, "models"), "*.onnx"))
	for _, f := range files {
		for _, msg := range loadAndCheck(f) {
			t.Errorf("%s: %s", filepath.Base(f), msg)
		}
		m, err := Load(f, Limits{})
		if err != nil {
			t.Error(err)
			continue
		}
		for _, i := range m.Proto.GetGraph().GetInitializer() {
			if _, err := m.Tensor(i); err != nil {
				t.Errorf("%s: %v", filepath.Base(f), err)
			}
		}
	}
}

// TestSharedBad: what the checker finds in malformed models is about the fault,
// and it finds nothing in models that must compile. Faults that need shapes are
// found later, by the importer.
func TestSharedBad(t *testing.T) {
	dir := shared(t, "bad")
	b := testenv.Must(os.ReadFile(filepath.Join(dir, "manifest.json")))(t)
	var manifest struct {
		Cases []struct {
			File, Expect string
			Mention      []string
		}
	}
	testenv.OK(t, json.Unmarshal(b, &manifest))
	found := 0
	for _, c := range manifest.Cases {
		msgs := loadAndCheck(filepath.Join(dir, c.File))
		text := strings.ReplaceAll(strings.ToLower(strings.Join(msgs, "\n")), strings.ToLower(c.File), "")
		if len(msgs) == 0 {
			t.Logf("%-28s %s: nothing", c.File, c.Expect)
			continue
		}
		found++
		t.Logf("%-28s %s: %s", c.File, c.Expect, strings.Join(msgs, "\n    "))
		testenv.Check(t, c.Expect != "compile", "%s must compile; found: %s", c.File, msgs)
		ok := len(c.Mention) == 0
		for _, w := range c.Mention {
			ok = ok || strings.Contains(text, strings.ToLower(w))
		}
		testenv.Check(t, ok, "%s: %q contains none of %q", c.File, msgs, c.Mention)
	}
	testenv.Check(t, found >= 30, "faults were found in %d files only", found)
}

// TestSharedBackend: the models of ONNX's own backend tests are valid; what
// the importer says of some of them are limits of nncc.
func TestSharedBackend(t *testing.T) {
	f := testenv.Must(os.Open(shared(t, "onnx-backend-1.23.tar.gz")))(t)
	defer f.Close()
	z := testenv.Must(gzip.NewReader(f))(t)
	models, tensors := 0, 0
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		testenv.OK(t, err)
		b := testenv.Must(io.ReadAll(r))(t)
		switch name := path.Base(h.Name); {
		case name == "model.onnx":
			models++
			m, err := Parse(b, Limits{})
			if err != nil {
				t.Errorf("%s: %v", h.Name, err)
				continue
			}
			for _, f := range Check(m) {
				t.Errorf("%s: %s", h.Name, f.String())
			}
			_, err = Import(m, ImportOptions{})
			for _, f := range ImportFindings(err) {
				if f.Severity != diag.Limit {
					t.Errorf("%s: %s", h.Name, f.String())
				}
			}
		case strings.HasSuffix(name, ".pb"):
			if _, _, err := ParseTensor(b, Limits{}); err != nil {
				t.Logf("%s: %v", h.Name, err)
				continue
			}
			tensors++
		}
	}
	t.Logf("%d models, %d tensors", models, tensors)
}

// BenchmarkOpen measures decoding, checking and importing a small network.
func BenchmarkOpen(b *testing.B) {
	m := testenv.Must(Export(irtest.Gen(3, tensor.F32), ExportOptions{}))(b)
	file := testenv.Must(Marshal(m))(b)
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	for b.Loop() {
		m := testenv.Must(Parse(file, Limits{}))(b)
		testenv.OK(b, testenv.Err(OpenModel(m, ImportOptions{})))
	}
}

// BenchmarkExport measures writing one.
func BenchmarkExport(b *testing.B) {
	g := irtest.Gen(3, tensor.F32)
	b.ReportAllocs()
	for b.Loop() {
		m := testenv.Must(Export(g, ExportOptions{}))(b)
		testenv.OK(b, testenv.Err(Marshal(m)))
	}
}
