// SPDX-License-Identifier: Apache-2.0

package model

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nncc/nncc/frontend/onnx/pb"
	"github.com/nncc/nncc/ir/fail"
)

type external struct {
	location string
	offset   int64
	length   int64 // -1 where the file does not say
}

// parseExternal reads the key-value pairs and checks the location by its text.
func parseExternal(t *pb.TensorProto) (_ external, err error) {
	defer fail.Catch(&err)
	e := external{length: -1}
	seen := map[string]bool{}
	for _, kv := range t.ExternalData {
		k, v := kv.GetKey(), kv.GetValue()
		fail.If(seen[k], "external data: the key %s appears twice", Quote(k))
		seen[k] = true
		var err error
		switch k {
		case "location":
			e.location = v
		case "offset":
			e.offset, err = nonNegative("offset", v)
		case "length":
			e.length, err = nonNegative("length", v)
		}
		if err != nil {
			return e, err
		}
	}
	switch {
	case e.location == "":
		return e, errors.New("external data without a location; want the name of a file beside the model")
	case strings.ContainsRune(e.location, 0):
		return e, fmt.Errorf("external data: the location %s is no file name", Quote(e.location))
	case path.IsAbs(e.location) || strings.Contains(e.location, ":") && os.PathSeparator == '\\':
		return e, fmt.Errorf("external data: the path %s is absolute; want one relative to the model's folder",
			Quote(e.location))
	case strings.Contains(e.location, `\`):
		return e, fmt.Errorf("external data: the path %s has a backslash; want / between folders", Quote(e.location))
	}
	for _, p := range strings.Split(e.location, "/") {
		fail.If(p == "..", "external data: the path %s leaves the model's folder (it has a .. in it)",
			Quote(e.location))
	}
	return e, nil
}

func nonNegative(key, v string) (_ int64, err error) {
	defer fail.Catch(&err)
	n, err := strconv.ParseInt(v, 10, 64)
	fail.If(err != nil, "external data: the %s is %s; want a whole number", key, Quote(v))
	fail.If(n < 0, "external data: the %s is negative (%d)", key, n)
	return n, nil
}

// openExternal opens the file that holds a tensor's data and checks that it has
// want bytes there. Links are followed only as long as they stay below dir.
func openExternal(t *pb.TensorProto, dir string, want int64) (_ *os.File, _ external, err error) {
	defer fail.Catch(&err)
	e := fail.Must(parseExternal(t))
	fail.If(e.length >= 0 && e.length != want, "external data: the length is %d bytes; want %d for shape %s", e.length,
		want, DimsText(t.Dims))
	fail.If(e.offset > math.MaxInt64-want, "external data: the offset %d and the length %d overflow", e.offset, want)
	fail.If(dir == "", "external data in %s, but the model was not read from a folder", Quote(e.location))
	root, err := os.OpenRoot(dir)
	fail.If(err != nil, "external data: %w", err)
	defer root.Close()
	name := path.Clean(e.location)
	// The kind of file is looked at before opening: opening a pipe would wait.
	st, err := root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, e, fmt.Errorf("external data: there is no file %s beside the model", Quote(e.location))
	case err != nil:
		return nil, e, fmt.Errorf("external data: %s cannot be opened below the model's folder: %w", Quote(e.location),
			unwrapPath(err))
	case !st.Mode().IsRegular():
		return nil, e, fmt.Errorf("external data: %s is not a regular file", Quote(e.location))
	}
	f, err := root.Open(name)
	if err != nil {
		return nil, e, fmt.Errorf("external data: %s: %w", Quote(e.location), unwrapPath(err))
	}
	if st, err = f.Stat(); err == nil && !st.Mode().IsRegular() {
		err = fmt.Errorf("external data: %s is not a regular file", Quote(e.location))
	}
	if err == nil && st.Size() < e.offset+want {
		err = fmt.Errorf("external data: %s has %d bytes; want %d at offset %d", Quote(e.location), st.Size(), want,
			e.offset)
	}
	if err != nil {
		f.Close()
		return nil, e, err
	}
	return f, e, nil
}

func unwrapPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func readExternal(t *pb.TensorProto, dir string, want int64) (_ []byte, err error) {
	defer fail.Catch(&err)
	f, e := fail.Must2(openExternal(t, dir, want))
	defer f.Close()
	b := make([]byte, want)
	if _, err := io.ReadFull(io.NewSectionReader(f, e.offset, want), b); err != nil {
		return nil, fmt.Errorf("external data: reading %s: %w", Quote(e.location), err)
	}
	return b, nil
}

// ExternalFiles are the files that the model's constants lie in, beside its own.
func (m *Model) ExternalFiles() []string {
	seen := map[string]bool{}
	eachTensor(m.Proto.ProtoReflect(), func(t *pb.TensorProto) {
		for _, kv := range t.GetExternalData() {
			if kv.GetKey() == "location" {
				seen[filepath.Join(m.Dir, filepath.FromSlash(kv.GetValue()))] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(seen))
}
