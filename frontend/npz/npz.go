// SPDX-License-Identifier: Apache-2.0

package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nncc/nncc/frontend/files"
	"github.com/nncc/nncc/ir/fail"
)

// Entry is a named array of an archive.
type Entry struct {
	Name  string // without the .npy that the file in the archive carries
	Array *Array
}

// Archive is an open .npz file whose arrays are read one at a time.
type Archive struct {
	z     *zip.Reader
	files map[string]*zip.File
	names []string
	left  int64 // bytes of array data that may still be decoded
	c     io.Closer
}

// maxRatio is the most that deflate can expand: 258 bytes for two bits, 1032:1.
const maxRatio = 1032

// NewArchive opens an archive of the given size. Its directory is checked at once:
// the entries' packed sizes must fit the file, and none may claim an expansion
// that its compression method cannot have.
func NewArchive(r io.ReaderAt, size int64, lim Limits) (*Archive, error) {
	lim = lim.orDefault()
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("npz: not a .npz archive: %w", err)
	}
	if len(z.File) > lim.Entries {
		return nil, fmt.Errorf("npz: %d entries, the limit is %d", len(z.File), lim.Entries)
	}
	a := &Archive{z: z, files: map[string]*zip.File{}, left: lim.Bytes}
	var packed uint64
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		name, ok := strings.CutSuffix(f.Name, ".npy")
		if !ok {
			return nil, fmt.Errorf("npz: %.64q in the archive is not a .npy file", f.Name)
		}
		if a.files[name] != nil {
			return nil, fmt.Errorf("npz: the archive has two arrays %.64q", name)
		}
		if f.Flags&1 != 0 {
			return nil, fmt.Errorf("npz: the array %.64q is encrypted", name)
		}
		c, u := f.CompressedSize64, f.UncompressedSize64
		if c > uint64(size) || packed+c > uint64(size) {
			return nil, fmt.Errorf("npz: the entries up to %.64q claim more packed bytes than the %d of the file", name,
				size)
		}
		packed += c
		switch f.Method {
		case zip.Store:
			if u != c {
				return nil, fmt.Errorf("npz: the stored array %.64q claims %d bytes and %d packed bytes", name, u, c)
			}
		case zip.Deflate:
			if u > maxRatio*c+64 {
				return nil, fmt.Errorf(
					"npz: the array %.64q claims to expand from %d to %d bytes, which deflate cannot do", name, c, u)
			}
		default:
			return nil, fmt.Errorf("npz: the array %.64q is packed by method %d, only stored and deflated are read",
				name, f.Method)
		}
		a.files[name] = f
		a.names = append(a.names, name)
	}
	return a, nil
}

// OpenArchive opens a .npz file; Close it after use.
func OpenArchive(path string, lim Limits) (*Archive, error) {
	f, st, err := files.Open(path)
	if err != nil {
		return nil, err
	}
	a, err := NewArchive(f, st.Size(), lim)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	a.c = f
	return a, nil
}

// Close closes the file that OpenArchive opened.
func (a *Archive) Close() error {
	if a.c == nil {
		return nil
	}
	return a.c.Close()
}

// Names lists the arrays in the archive's order.
func (a *Archive) Names() []string { return append([]string(nil), a.names...) }

// Header reads the header of one array.
func (a *Archive) Header(name string) (*Header, error) {
	r, _, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := readHeader(r)
	if err != nil {
		return nil, fmt.Errorf("array %.64q: %w", name, err)
	}
	return h, nil
}

// Read reads one array. What all calls together decode is bounded by Limits.Bytes.
func (a *Archive) Read(name string) (*Array, error) {
	r, size, err := a.open(name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	arr, err := readNpy(r, size, a.files[name].Method == zip.Store, Limits{Bytes: a.left})
	if err != nil {
		return nil, fmt.Errorf("array %.64q: %w", name, err)
	}
	a.left -= int64(arr.Len() * arr.ElemSize())
	return arr, nil
}

func (a *Archive) open(name string) (io.ReadCloser, int64, error) {
	f := a.files[name]
	if f == nil {
		return nil, 0, fmt.Errorf("npz: no array %.64q; the archive holds %.200q", name, a.names)
	}
	r, err := f.Open()
	if err != nil {
		return nil, 0, fmt.Errorf("array %.64q: %w", name, err)
	}
	return r, int64(f.UncompressedSize64), nil
}

// ReadNpzFile reads every numeric array of a .npz file, in the archive's order;
// arrays of text (notes) are left out.
func ReadNpzFile(path string, lim Limits) ([]Entry, error) {
	return ReadNpzNamed(path, lim, func(string) bool { return true })
}

// ReadNpzNamed is ReadNpzFile for the arrays that want names; of the others, the
// entries have no array.
func ReadNpzNamed(path string, lim Limits, want func(name string) bool) ([]Entry, error) {
	a, err := OpenArchive(path, lim)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	var out []Entry
	for _, n := range a.names {
		if !want(n) {
			out = append(out, Entry{n, nil})
			continue
		}
		arr, err := a.Read(n)
		if errors.Is(err, ErrText) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, Entry{n, arr})
	}
	return out, nil
}

// ReadFile reads a .npy or .npz file, told apart by its first bytes. The only
// entry of a .npy file has an empty name.
func ReadFile(path string, lim Limits) ([]Entry, error) {
	return ReadFileNamed(path, lim, func(string) bool { return true })
}

// ReadFileNamed is ReadFile, of a .npz file as ReadNpzNamed.
func ReadFileNamed(path string, lim Limits, want func(name string) bool) (_ []Entry, err error) {
	defer fail.Catch(&err)
	f, _ := fail.Must2(files.Open(path))
	var first [6]byte
	n, err := io.ReadFull(f, first[:])
	f.Close()
	if err != nil && n == 0 {
		return nil, fmt.Errorf("%s: npz: the file is empty", path)
	}
	if string(first[:2]) == "PK" {
		return ReadNpzNamed(path, lim, want)
	}
	a := fail.Must(ReadNpyFile(path, lim))
	return []Entry{{"", a}}, nil
}

// WriteNpz writes an archive with the entries in the order given. Entries are
// stored, not packed, and carry no time: the same entries give the same bytes.
func WriteNpz(w io.Writer, entries []Entry) error { return writeNpz(w, entries, zip.Store) }

func writeNpz(w io.Writer, entries []Entry, method uint16) error {
	z := zip.NewWriter(w)
	seen := map[string]bool{}
	for _, e := range entries {
		if seen[e.Name] {
			return fmt.Errorf("npz: the array %.64q is written twice", e.Name)
		}
		seen[e.Name] = true
		f, err := z.CreateHeader(&zip.FileHeader{Name: e.Name + ".npy", Method: method, Modified: time.Time{}})
		if err != nil {
			return err
		}
		if err := WriteNpy(f, e.Array); err != nil {
			return fmt.Errorf("array %.64q: %w", e.Name, err)
		}
	}
	return z.Close()
}

// WriteNpyFile writes a .npy file; it appears complete or not at all.
func WriteNpyFile(path string, a *Array) error {
	var b bytes.Buffer
	if err := WriteNpy(&b, a); err != nil {
		return err
	}
	return writeFile(path, b.Bytes())
}

// WriteNpzFile writes a .npz file; it appears complete or not at all.
func WriteNpzFile(path string, entries []Entry) error {
	var b bytes.Buffer
	if err := WriteNpz(&b, entries); err != nil {
		return err
	}
	return writeFile(path, b.Bytes())
}

func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".npz-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
